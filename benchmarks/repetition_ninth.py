"""A ninth set, small and blind: twelve families of five loops, and ten kinds of twenty sound texts beside them.

Committed before version 11 of the detector was made. The families are those of forms that no set before has: references, links,
tags, cues of a film, mail, settings, frames of a stack, key words of a picture, a count that goes down, an equation that
goes round. The sound texts say the same forms with something new in each piece.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

from benchmarks.repetition_eighth import Draw, Make, eighth
from benchmarks.repetition_eighth import drawn as drawn_eighth
from benchmarks.repetition_fifth import SAID as SAID_IN_FIFTH
from benchmarks.repetition_fifth_arguments import any_order, circle, grow
from benchmarks.repetition_fifth_sound import REAL
from benchmarks.repetition_fifth_words import NAMES, WORDS, lines
from benchmarks.repetition_loops import Loop
from benchmarks.repetition_machine import Found
from benchmarks.repetition_seventh import SAID

SEED = "ninth 3"
_WORDS = WORDS["English"]
_SAID = list(dict.fromkeys([*REAL[_WORDS[0]], *SAID["English"], *SAID_IN_FIFTH["English"]]))
_PEOPLE = (
    "Miller",
    "Okafor",
    "Lindqvist",
    "Tanaka",
    "Moreau",
    "Haddad",
    "Kowalski",
    "Ferreira",
    "Novak",
    "Singh",
)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{seconds * 37 % 1000:03d}"


def references(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """One book under a new number each time."""
    book = f"{rng.choice(_PEOPLE)}, A. (2014). {said[0].rstrip('.।。')}. Springer."
    return grow((f"[{n}] {book}\n" for n in count(1)), counted=True)


def links(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Four addresses in any order."""
    pool = [
        f"- https://example.org/{rng.choice(_WORDS)}/{name}\n" for name in rng.sample([*NAMES, *_WORDS], 4)
    ]
    return any_order(rng, pool, ("",))


def hashtags(rng: random.Random, said: list[str]) -> tuple[str, int]:
    pool = [f"#{one.title()}{rng.choice(NAMES).title()}" for one in rng.sample(_WORDS, 6)]
    return any_order(rng, pool, (" ",))


def keywords(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """What a picture is asked to be."""
    pool = ("masterpiece", "best quality", "soft light", "8k", "highly detailed", "sharp focus", "cinematic")
    return any_order(rng, rng.sample(pool, 6), (", ",))


def countdown(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """A count that goes down and never ends."""
    start = rng.randint(400, 900)
    return grow((f"{max(0, start - n)}: {said[0]} " for n in count()), counted=True)


def glossary(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Five words of a dictionary in any order."""
    other = WORDS[rng.choice(("Russian", "Korean", "Hindi", "Arabic"))]
    return any_order(rng, [f"{_WORDS[at]} – {other[at]}" for at in rng.sample(range(25), 5)], ("; ", "\n"))


def subtitles(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Two lines of a film in any order, each with its number and time."""
    return grow(
        (f"{n}\n{_clock(3 * n)} --> {_clock(3 * n + 2)}\n{rng.choice(said[:2])}\n\n" for n in count(1)),
        counted=True,
    )


def mail(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """An answer that quotes itself."""
    return circle(f"On Monday, {rng.choice(_PEOPLE)} wrote:\n> {said[0]}\n\n{said[1]}\n\n")


def checklist(rng: random.Random, said: list[str]) -> tuple[str, int]:
    return any_order(rng, [f"- [{rng.choice(' x')}] {one}" for one in said[:3]], ("\n",))


def settings(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """The same three blocks of a file of settings in any order."""
    pool = [
        f"  - name: {one}\n    port: {rng.randint(80, 9000)}\n    restart: always\n"
        for one in rng.sample(_WORDS, 3)
    ]
    return any_order(rng, pool, ("",))


def frames(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Two functions that call each other for ever, at one of three lines."""
    a, b = rng.sample(NAMES, 2)
    pool = [
        f'  File "src/{name}.py", line {rng.randint(10, 400)}, in {name}\n    return {other}(rows)\n'
        for name, other in ((a, b), (b, a), (a, a))
    ]
    return any_order(rng, pool, ("",))


def equation(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """A sum that is turned over and over."""
    a, b, c = rng.sample(range(2, 10), 3)
    return any_order(
        rng, (f"{a}({b} + {c})", f"{a}*{b} + {a}*{c}", f"{a * b} + {a * c}", f"{a * (b + c)}"), (" = ",)
    )


FAMILIES: dict[str, Draw] = {
    one.__name__: one
    for one in (
        references,
        links,
        hashtags,
        keywords,
        countdown,
        glossary,
        subtitles,
        mail,
        checklist,
        settings,
        frames,
        equation,
    )
}


def ninth(seed: str = SEED) -> Iterator[Loop]:
    return eighth(seed, FAMILIES)


def _some(rng: random.Random, most: int = 4) -> str:
    return " ".join(rng.sample(_WORDS, rng.randint(1, most)))


def _bibliography(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"[{n}] {rng.choice(_PEOPLE)}, {rng.choice('ABCDEJKLMR')}. ({rng.randint(1961, 2025)}). {rng.choice(_SAID)} "
            f"{rng.choice(('Springer', 'Elsevier', 'MIT Press'))}, {rng.randint(1, 400)}–{rng.randint(401, 900)}.\n"
        ),
    )


def _sitemap(rng: random.Random) -> str:
    return lines(rng, lambda n: f"- https://example.org/{'/'.join(rng.sample([*_WORDS, *NAMES], 3))}-{n}\n")


def _posts(rng: random.Random) -> str:
    said = rng.sample(_SAID, 12)
    return "\n\n".join(f"{one} {' '.join('#' + tag for tag in rng.sample(_WORDS, 3))}" for one in said)


def _launch(rng: random.Random) -> str:
    """A count that goes down to zero, and what is done at each second."""
    said = rng.sample(_SAID, 20)
    return "".join(f"T-{20 - n} {one}\n" for n, one in enumerate(said)) + "T-0 Lift-off.\n"


def _dictionary(rng: random.Random) -> str:
    other = WORDS[rng.choice(tuple(WORDS))]
    return "".join(f"{_WORDS[at]} – {other[at]}; " for at in rng.sample(range(25), 25))


def _film(rng: random.Random) -> str:
    return "".join(
        f"{n}\n{_clock(3 * n)} --> {_clock(3 * n + 2)}\n{one}\n\n"
        for n, one in enumerate(rng.sample(_SAID, 18), 1)
    )


def _thread(rng: random.Random) -> str:
    said = rng.sample(_SAID, 12)
    return "".join(f"On {rng.choice(_PEOPLE)}'s note:\n> {said[n]}\n\n{said[n + 1]}\n\n" for n in range(11))


def _todo(rng: random.Random) -> str:
    return "".join(f"- [{rng.choice(' x')}] {one}\n" for one in rng.sample(_SAID, 20))


def _compose(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"  {rng.choice(_WORDS)}-{n}:\n    image: {rng.choice(NAMES)}:{rng.randint(1, 9)}.{rng.randint(0, 30)}\n"
            f"    ports: ['{rng.randint(1000, 9999)}:80']\n    restart: always\n"
        ),
        6,
        16,
    )


def _trace(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f'  File "src/{rng.choice(NAMES)}.py", line {rng.randint(10, 900)}, in {rng.choice(NAMES)}\n'
            f"    return {rng.choice(NAMES)}({_some(rng, 2).replace(' ', ', ')})\n"
        ),
        8,
        24,
    )


SOUND: dict[str, Make] = {
    one.__name__[1:]: one
    for one in (
        _bibliography,
        _sitemap,
        _posts,
        _launch,
        _dictionary,
        _film,
        _thread,
        _todo,
        _compose,
        _trace,
    )
}


def drawn(seed: str) -> Iterator[Found]:
    return drawn_eighth(seed, SOUND)
