"""What a screen holds of a long run: the facts of older turns and readings packed, exactly as they were. A turn takes 40 bytes
of it where it would take 1,100."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from typing import overload
from zlib import compress, decompress

from replayer.journal.events import TelemetryRead
from replayer.journal.turns import Attempt, Kept, TurnFacts
from replayer.lazy import dataclass
from replayer.signals.tool_reliability import FaultMark

_BOX, _READINGS = 256, 32
"""Turns, and readings, that are packed together. A reading takes 6 KB as it is."""
_BOXES_OPEN = 4
"""Boxes whose turns are kept for the next look: 140 KB each."""
_FIELDS = TurnFacts.__slots__
_MARKS = _FIELDS.index("marks")
_values_of = attrgetter(*_FIELDS)
_NUMBERS: dict[tuple[int, ...], tuple[int, ...]] = {}
_MOST_NUMBERS = 1 << 10


class Sealed(Kept):
    """The turns of a session that has ended. What is read of it is a copy."""

    __slots__ = ("_box", "_numbers", "_place")

    def __init__(self, box: bytes, place: int, numbers: tuple[int, ...]) -> None:
        self._box, self._place = box, place
        self._numbers = _NUMBERS.setdefault(numbers, numbers) if len(_NUMBERS) < _MOST_NUMBERS else numbers

    def __getitem__(self, number: int) -> TurnFacts:
        return _contents(self._box)[self._place][0][number]

    @property
    def gaps(self) -> bytes:
        return _contents(self._box)[self._place][1]

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def seal(attempts: Sequence[Attempt]) -> None:
    """Pack the turns of sessions that have ended."""
    numbers = [tuple(attempt.turns) for attempt in attempts]
    rows = [_values_of(turn) for attempt in attempts for turn in attempt.turns.values()]
    plain = [(*row[:_MARKS], tuple(map(tuple, row[_MARKS])), *row[_MARKS + 1 :]) for row in rows]
    gaps = [attempt.packed for attempt in attempts]
    box = compress(marshal.dumps((numbers, gaps, list(zip(*plain, strict=True)))))
    for place, (attempt, mine) in enumerate(zip(attempts, numbers, strict=True)):
        attempt.turns, attempt.packed = Sealed(box, place, mine), b""


def unsealed(attempt: Attempt) -> Attempt:
    """For what goes over all turns many times."""
    kept = attempt.turns
    return replace(attempt, turns=dict(kept), packed=kept.gaps) if isinstance(kept, Kept) else attempt


@lru_cache(_BOXES_OPEN)
def _contents(box: bytes) -> list[tuple[dict[int, TurnFacts], bytes]]:
    numbers, gaps, columns = marshal.loads(decompress(box))
    rows = starmap(TurnFacts, zip(*columns, strict=True))
    found = [dict(zip(mine, rows, strict=False)) for mine in numbers]
    for turn in chain.from_iterable(turns.values() for turns in found):
        turn.marks = tuple(FaultMark(*mark) for mark in turn.marks)
    return list(zip(found, gaps, strict=True))


class Readings(Sequence[TelemetryRead]):
    """Readings of a lane's server, older ones packed if that is wanted."""

    def __init__(
        self, readings: Iterable[TelemetryRead] = (), boxes: Iterable[bytes] = (), *, packs: bool = False
    ) -> None:
        self._boxes, self._new, self._packs = list(boxes), list[TelemetryRead](), packs
        for reading in readings:
            self.append(reading)

    def append(self, reading: TelemetryRead) -> None:
        self._new.append(reading)
        if self._packs and len(self._new) >= 2 * _READINGS:
            facts = [(one.at, one.lane, one.instance, one.sample) for one in self._new[:_READINGS]]
            self._boxes.append(compress(marshal.dumps(facts)))
            del self._new[:_READINGS]

    def frozen(self) -> Sequence[TelemetryRead]:
        """Those of now."""
        return Readings(self._new, self._boxes) if self._boxes else tuple(self._new)

    def __len__(self) -> int:
        return len(self._boxes) * _READINGS + len(self._new)

    def __iter__(self) -> Iterator[TelemetryRead]:
        for box in self._boxes:
            for at, lane, instance, sample in marshal.loads(decompress(box)):
                yield TelemetryRead(at=at, lane=lane, instance=instance, sample=sample)
        yield from self._new

    @overload
    def __getitem__(self, place: int) -> TelemetryRead: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TelemetryRead]: ...
    def __getitem__(self, place: int | slice) -> TelemetryRead | Sequence[TelemetryRead]:
        return tuple(self)[place]


@dataclass(slots=True)
class Keeping:
    """How much of a run is held as it is: the newest sessions that have ended, with `most` turns in all. None: everything."""

    most: int | None = None
    sealed: bool = False
    """Some are."""
    _ended: deque[Attempt] = field(default_factory=deque)
    _open: int = 0

    def ended(self, attempt: Attempt) -> None:
        if self.most is None or not attempt.turns:
            return
        self._ended.append(attempt)
        self._open += len(attempt.turns)
        if self._open > self.most + _BOX:
            oldest: list[Attempt] = []
            while self._open > self.most:
                oldest.append(self._ended.popleft())
                self._open -= len(oldest[-1].turns)
            seal(oldest)
            self.sealed = True
