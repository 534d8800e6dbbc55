"""Sound texts beside the sixth set: timetables, families, receipts, subtitles, hymns, build logs, minutes, riddles.

Each says something new in every line or verse, or ends by itself where its form says so (ten bottles, a refrain).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

from benchmarks.repetition_fifth_words import NAMES, WORDS, lines
from benchmarks.repetition_machine import Found

PER_KIND = 22
_WORDS = WORDS["English"]
_PEOPLE = "Ada Bela Cem Dov Eyo Fay Gus Hana Ido Jun Kai Lea Mo Nils Ora Pia Quy Rosa Sol Tim".split()
_PLACES = "Arden Brome Calder Dunmore Elsing Farley Goring Hurst Ibsley Kelso Lydd Marlow Nairn".split()


def timetable(rng: random.Random) -> str:
    stops = rng.sample(_PLACES, 6)
    return lines(
        rng, lambda n: " ".join(f"{stop} {5 + n // 3:02d}:{rng.randint(0, 59):02d}" for stop in stops) + "\n"
    )


def family(rng: random.Random) -> str:
    return "".join(
        f"And {a} begat {b}, and {b} lived {rng.randint(40, 900)} years in {rng.choice(_PLACES)}.\n"
        for a, b in pairwise(_PEOPLE)
    )


def receipt(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{rng.randint(1, 9)} x {rng.choice(_WORDS)} {rng.choice(_WORDS):12s} {rng.randint(10, 9999) / 100:8.2f}\n"
        ),
        10,
        30,
    )


def subtitles(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{n}\n00:{n // 20:02d}:{3 * n % 60:02d},100 --> 00:{n // 20:02d}:{(3 * n + 2) % 60:02d},900\n{' '.join(rng.sample(_WORDS, 5))}.\n\n"
        ),
    )


def hymn(rng: random.Random) -> str:
    """Six verses of four lines, and after each the same two lines."""
    chorus = f"Praise the {rng.choice(_WORDS)} and the {rng.choice(_WORDS)} above,\nSing of the light and the love.\n\n"
    verse = lambda _: (  # noqa: E731
        "".join(f"{rng.choice(NAMES).title()} the {' '.join(rng.sample(_WORDS, 4))},\n" for _ in range(4))
        + chorus
    )
    return lines(rng, verse, 4, 6)


def bottles(rng: random.Random) -> str:
    numbers = "ten nine eight seven six five four three two one no".split()
    thing = rng.choice(_WORDS)
    return "".join(
        f"There were {a} green {thing}s standing on the wall, {a} green {thing}s on the wall,\nand if one green {thing} should fall, there would be {b} green {thing}s on the wall.\n\n"
        for a, b in zip(numbers[-5:], numbers[-4:], strict=False)
    )


def build_log(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"   Compiling {rng.choice(NAMES)}-{rng.choice(_WORDS)} v{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 20)}\n"
        ),
        30,
        90,
    )


def layers(rng: random.Random) -> str:
    states = ("Pulling fs layer", "Downloading", "Verifying Checksum", "Download complete", "Pull complete")
    ids = [f"{rng.getrandbits(48):012x}" for _ in range(12)]
    return "".join(f"{one}: {state}\n" for state in states for one in ids)


def minutes(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{n}. {rng.choice(_PEOPLE)} reported on the {rng.choice(_WORDS)} of {rng.choice(_PLACES)}; {rng.choice(_PEOPLE)} will {rng.choice(NAMES)} it by {rng.randint(1, 28)} May.\n"
        ),
        8,
        24,
    )


def weather(rng: random.Random) -> str:
    return "".join(
        f"{place}: {rng.choice(('rain', 'sun', 'cloud', 'fog'))}, {rng.randint(-5, 30)} degrees, wind {rng.randint(2, 70)} km/h from the {rng.choice(('north', 'east', 'south', 'west'))}.\n"
        for place in rng.sample(_PLACES, 12)
    )


def play_recap(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"host{n:02d}.{rng.choice(_PLACES).lower()} : ok={rng.randint(1, 40)} changed={rng.randint(0, 9)} unreachable=0 failed={rng.randint(0, 2)}\n"
        ),
        10,
        40,
    )


def frames(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f'  File "src/{rng.choice(NAMES)}/{rng.choice(_WORDS)}.py", line {rng.randint(3, 900)}, in {rng.choice(NAMES)}_{rng.choice(_WORDS)}\n    return self.{rng.choice(NAMES)}({rng.choice(_WORDS)}, depth + 1)\n'
        ),
        5,
        25,
    )


def clues(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{n} {'across' if n % 2 else 'down'}: {' '.join(rng.sample(_WORDS, 4))} ({rng.randint(3, 11)})\n"
        ),
    )


def villanelle(rng: random.Random) -> str:
    """Nineteen lines, two of which come four times each."""
    new = [" ".join(rng.sample(_WORDS, 6)) for _ in range(13)]
    first, last, rest = new[0], new[1], iter(new[2:])
    middle = [f"{next(rest)}\n{next(rest)}\n{last if n % 2 else first}\n" for n in range(4)]
    return "\n".join(
        [f"{first}\n{next(rest)}\n{last}\n", *middle, f"{next(rest)}\n{next(rest)}\n{first}\n{last}\n"]
    )


def events(rng: random.Random) -> str:
    reasons = ("Scheduled", "Pulling", "Pulled", "Created", "Started", "Unhealthy")
    return lines(
        rng,
        lambda n: (
            f"{rng.randint(1, 59)}m Normal {rng.choice(reasons)} pod/{rng.choice(_WORDS)}-{rng.getrandbits(20):05x} {' '.join(rng.sample(_WORDS, 4))}\n"
        ),
        20,
        60,
    )


def retries(rng: random.Random) -> str:
    """An agent tries six times and writes what was different each time."""
    return "".join(
        f"Attempt {n}: I changed the {rng.choice(_WORDS)} of `{rng.choice(NAMES)}_{rng.choice(_WORDS)}` and ran the tests again. {rng.randint(1, 40)} fail now, the first in `test_{rng.choice(_WORDS)}.py`.\n\n"
        for n in range(1, 9)
    )


KINDS: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "timetable": (timetable, "table"),
    "family": (family, "prose"),
    "receipt": (receipt, "list"),
    "subtitles": (subtitles, "data"),
    "hymn": (hymn, "verse"),
    "bottles": (bottles, "verse"),
    "build log": (build_log, "log"),
    "layers": (layers, "polling"),
    "minutes": (minutes, "list"),
    "weather": (weather, "prose"),
    "recap": (play_recap, "log"),
    "frames": (frames, "log"),
    "clues": (clues, "list"),
    "villanelle": (villanelle, "verse"),
    "events": (events, "polling"),
    "retries": (retries, "prose"),
}


def drawn(seed: str) -> Iterator[Found]:
    for kind, (make, group) in KINDS.items():
        for number in range(PER_KIND):
            yield Found(group, f"{kind}/{number}", make(random.Random(f"{seed}/{kind}/{number}")))
