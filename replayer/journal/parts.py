"""The parts of a run's journal: the run's own is part 0, and each process that drove a share of its sessions has one.

The parts are never copied into one: readers put them together (`replayer.journal.log.Reading` by time, `facts` part after
part). A session lies in one part as long as its process lives, so that part by part its lines are in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from replayer.journal.older import loads
from replayer.wire.types import JsonObject

JOURNAL = "journal.jsonl"
_SHARDS = "shards"


class Line(NamedTuple):
    """Where a line starts: a part of the journal, and the byte in its file."""

    part: int
    offset: int


def part_folder(folder: Path, part: int) -> Path:
    return folder / _SHARDS / str(part) if part else folder


def journal_of(folder: Path, part: int) -> Path:
    return part_folder(folder, part) / JOURNAL


def parts(folder: Path) -> list[int]:
    """The run's own, then its shards'."""
    found = (path.parent.name for path in (folder / _SHARDS).glob(f"*/{JOURNAL}"))
    return [0, *sorted(int(name) for name in found if name.isdigit() and int(name))]


def next_part(folder: Path) -> int:
    """The number after all that were given, to processes too that ended before they wrote anything."""
    found = (path.name for path in (folder / _SHARDS).glob("*"))
    return 1 + max((int(name) for name in found if name.isdigit()), default=0)


def lines(folder: Path) -> Iterator[bytes]:
    """Every line of every part, a torn one included; raises OSError."""
    for part in parts(folder):
        with journal_of(folder, part).open("rb") as stream:
            yield from stream


def facts(folder: Path) -> Iterator[JsonObject]:
    """Every line as plain values, wall times set right by the clock of their part. A damaged line says nothing."""
    ahead = 0.0
    for line in lines(folder):
        try:
            found = loads(line)
        except orjson.JSONDecodeError:
            continue
        if found.get("type") == "shard_clock":
            ahead = found["ahead_ns"] / 1e9
        if ahead and "wall" in found:
            found["wall"] -= ahead
        yield found
