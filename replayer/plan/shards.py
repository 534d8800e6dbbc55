"""How the sessions of a run are dealt out to several processes: the same way each time, whoever asks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from replayer.plan.schedule import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """The `number`th of `of` parts, counted from 0."""

    number: int = 0
    of: int = 1

    def part(self, total: int) -> int:
        """Of so many places, those of this part: the parts add up to all."""
        return total // self.of + (self.number < total % self.of)

    def deal(self, order: Iterable[T]) -> Iterator[T]:
        """Every `of`th of what comes."""
        return islice(order, self.number, None, self.of)


def shards(todo: Sequence[Session], n: int) -> list[list[Session]]:
    """The sessions in `n` parts, each in the order of `todo`.

    A session with all its threads lies in one part. Sessions of one trace and repeat lie together whatever their lane; the
    hash of the two decides their turn, so that parts differ by one tree at most.
    """
    trees = sorted({(session.trace, session.repeat) for session in todo}, key=_hash)
    part_of = {tree: place % n for place, tree in enumerate(trees)}
    parts: list[list[Session]] = [[] for _ in range(n)]
    for session in todo:
        parts[part_of[session.trace, session.repeat]].append(session)
    return parts


def _hash(tree: tuple[str, int]) -> bytes:
    trace, repeat = tree
    return hashlib.sha256(f"{trace}/{repeat}".encode()).digest()
