"""How the fifth set draws its loops, and its families within the arguments of tools."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count

SIZE = 6000
Draw = Callable[[random.Random, list[str], str], tuple[str, int]]
"""(generator, five sentences, what stands between two words) -> collapsed part and the onset within it."""


def grow(pieces: Iterator[str], *, counted: bool = False) -> tuple[str, int]:
    out: list[str] = []
    size = 0
    for piece in pieces:
        out.append(piece)
        size += len(piece)
        if size >= SIZE:
            break
    return "".join(out), len(out[0]) if counted else 0


def circle(unit: str) -> tuple[str, int]:
    return unit * max(5, SIZE // len(unit)), len(unit)


def parts_of(sentence: str, end: str) -> list[str]:
    return sentence.split() if end else [sentence[at : at + 3] for at in range(0, len(sentence), 3)]


def any_order(
    rng: random.Random, pool: list[str] | tuple[str, ...], ends: tuple[str, ...]
) -> tuple[str, int]:
    return grow(rng.choice(pool) + rng.choice(ends) for _ in count())


def same_flag(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    flags = ("--exclude-dir=node_modules ", "-not -path '*/dist/*' ", "-e 's/wind/gale/g' ", "&& npm test ")
    return circle(rng.choice(flags))


def flags_at_random(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    flags = ("--exclude-dir=node_modules", "--exclude-dir=dist", "--exclude-dir=.git", "--exclude-dir=build")
    return any_order(rng, flags, (" ",))


def alternatives(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(
        "|".join(rng.sample(("wind", "rain", "snow", "hail", "fog", "sleet"), rng.randint(1, 4))) + "|"
    )


def alternatives_at_random(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, rng.sample(("wind", "rain", "snow", "hail", "fog", "sleet"), 4), ("|",))


def union_all(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(
        rng.choice(("union all select null, null ", "or region = 4 ", "and id not in (select id from gone) "))
    )


def paths_again(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    folder = rng.choice(("src", "app/pages", "pkg/store"))
    names = [
        f'"{folder}/{one}.ts", '
        for one in rng.sample(("log", "wind", "gate", "clock", "shelf"), rng.randint(1, 5))
    ]
    return circle("".join(names))


def nested_json(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(
        rng.choice(('{"children": [', '{"type": "object", "properties": {"value": ', '{"not": ', "[["))
    )


def written_lines(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A file's lines as a JSON string has them, one of three drawn each time."""
    lines = [f"    # {one.replace(chr(34), '')}\\n" for one in rng.sample(said, 3)]
    return any_order(rng, lines, ("",))


def hex_bytes(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(rng.choice(("\\x00", "\\u0000", "\\\\", "&nbsp;", "%20", "\\u200b")))


def same_record(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Records that differ by their number only."""
    sentence = rng.choice(said)
    return grow((f'{{"id": {n}, "text": "{sentence}", "done": false}}, ' for n in count(1)), counted=True)
