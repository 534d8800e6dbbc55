"""What a screen holds of a long run: older turns packed exactly as they were, and whole sessions that ended long ago.

A turn takes 40 bytes in a file where it would take 1,100. A session as an object of its own takes 650 bytes, strewn among what is
soon freed again; put away by the page, some 20.
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from typing import NamedTuple, overload

from replayer.journal.spill import Box, Spill
from replayer.journal.turns import Attempt, Kept, TurnFacts
from replayer.lazy import dataclass
from replayer.signals.tool_reliability import FaultMark

_BOX = 256
"""Turns that are packed together."""
_BOXES_OPEN = 4
"""Boxes whose turns are kept for the next look: 140 KB each."""
_FIELDS = TurnFacts.__slots__
_MARKS = _FIELDS.index("marks")
_values_of = attrgetter(*_FIELDS)
_NUMBERS: dict[tuple[int, ...], tuple[int, ...]] = {}
_MOST_NUMBERS = 1 << 10
_HEADS = tuple(name for name in Attempt.__slots__ if name not in ("turns", "counted", "packed"))
_heads_of = attrgetter(*_HEADS)
_PAGES_OPEN = 8
_PAGE = (1 << 20) - 1
"""The lower bits of an entry of the index: the number of a page. The others are of a hash."""


class Sealed(Kept):
    """The turns of a session that has ended. What is read of it is a copy."""

    __slots__ = ("_numbers", "box", "place")

    def __init__(self, box: Box, place: int, numbers: tuple[int, ...]) -> None:
        self.box, self.place = box, place
        self._numbers = _NUMBERS.setdefault(numbers, numbers) if len(_NUMBERS) < _MOST_NUMBERS else numbers

    def __getitem__(self, number: int) -> TurnFacts:
        return _contents(self.box)[self.place][0][number]

    @property
    def gaps(self) -> bytes:
        return _contents(self.box)[self.place][1]

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def seal(attempts: Sequence[Attempt], spill: Spill) -> None:
    """Pack the turns of sessions that have ended."""
    numbers = [tuple(attempt.turns) for attempt in attempts]
    rows = [_values_of(turn) for attempt in attempts for turn in attempt.turns.values()]
    plain = [(*row[:_MARKS], tuple(map(tuple, row[_MARKS])), *row[_MARKS + 1 :]) for row in rows]
    gaps = [attempt.packed for attempt in attempts]
    box = spill.put(marshal.dumps((numbers, gaps, list(zip(*plain, strict=True)))))
    for place, (attempt, mine) in enumerate(zip(attempts, numbers, strict=True)):
        attempt.turns, attempt.packed = Sealed(box, place, mine), b""


def unsealed(attempt: Attempt) -> Attempt:
    """For what goes over all turns many times."""
    kept = attempt.turns
    return replace(attempt, turns=dict(kept), packed=kept.gaps) if isinstance(kept, Kept) else attempt


@lru_cache(_BOXES_OPEN)
def _contents(box: Box) -> list[tuple[dict[int, TurnFacts], bytes]]:
    numbers, gaps, columns = marshal.loads(box.open())
    rows = starmap(TurnFacts, zip(*columns, strict=True))
    found = [dict(zip(mine, rows, strict=False)) for mine in numbers]
    for turn in chain.from_iterable(turns.values() for turns in found):
        turn.marks = tuple(FaultMark(*mark) for mark in turn.marks)
    return list(zip(found, gaps, strict=True))


@dataclass(slots=True)
class Keeping:
    """How much of a run is held as it is: the newest sessions that have ended, with `most` turns in all. None: everything."""

    most: int | None = None
    sealed: bool = False
    """Some are."""
    spill: Spill = field(default_factory=Spill)
    _ended: deque[Attempt] = field(default_factory=deque)
    _open: int = 0

    def ended(self, attempt: Attempt) -> Sequence[Attempt]:
        """Returns those that were packed."""
        if self.most is None or not attempt.turns:
            return ()
        self._ended.append(attempt)
        self._open += len(attempt.turns)
        oldest: list[Attempt] = []
        if self._open > self.most + _BOX:
            while self._open > self.most:
                oldest.append(self._ended.popleft())
                self._open -= len(oldest[-1].turns)
            seal(oldest, self.spill)
            self.sealed = True
        return oldest


class Page(NamedTuple):
    """Sessions that were put away together; where their turns are, by box."""

    heads: Box
    turns: tuple[Box, ...]


def _fits(attempt: Attempt) -> bool:
    """A session with an alarm stays as it is: a screen looks for those all the time."""
    return isinstance(attempt.turns, Sealed) and not (attempt.collapsed or attempt.counted)


@dataclass(slots=True)
class Archive:
    """Of one lane. The sums are over all its sessions."""

    pages: tuple[Page, ...] = ()
    sessions: int = 0
    complete: int = 0
    planned: int = 0
    finished: int = 0
    index: array[int] = field(default_factory=lambda: array("q"))
    """By hash, of ids and of traces with their repeat, the pages that may hold them."""

    def put(self, attempts: Sequence[Attempt], spill: Spill) -> None:
        number = len(self.pages)
        self.pages = (*self.pages, _packed(attempts, spill))
        self._count(attempts, 1)
        for attempt in attempts:
            for key in (attempt.session, (attempt.trace, attempt.repeat)):
                insort(self.index, (hash(key) & ~_PAGE) | number & _PAGE)

    def take(self, session: str, spill: Spill) -> Attempt | None:
        """The attempt at a session, which leaves."""
        for number in _pages_of(self.index, session):
            held = _attempts(self.pages[number])
            if (found := next((one for one in held if one.session == session), None)) is not None:
                rest = _packed([one for one in held if one is not found], spill)
                self.pages = (*self.pages[:number], rest, *self.pages[number + 1 :])
                self._count([found], -1)
                return found
        return None

    def _count(self, attempts: Sequence[Attempt], sign: int) -> None:
        self.sessions += sign * len(attempts)
        self.complete += sign * sum(one.complete for one in attempts)
        self.planned += sign * sum(one.planned for one in attempts)
        self.finished += sign * sum(one.finished for one in attempts)


class Archives(defaultdict[str, Archive]):
    """By lane."""

    def __init__(self) -> None:
        super().__init__(Archive)

    def take(self, session: str, spill: Spill) -> tuple[Attempt, ...]:
        """The only attempt at a session that was put away."""
        found = (archive.take(session, spill) for archive in self.values())
        return tuple([one for one in found if one is not None])

    def put(self, packed: Iterable[Attempt], attempts: dict[str, tuple[Attempt, ...]], spill: Spill) -> None:
        """Of those packed, sessions with a single attempt leave the `attempts`."""
        away: defaultdict[str, list[Attempt]] = defaultdict(list)
        for attempt in packed:
            tries = attempts.get(attempt.session, ())
            if _fits(attempt) and len(tries) == 1 and tries[0] is attempt:
                away[attempt.lane].append(attempt)
                del attempts[attempt.session]
        for lane, leaving in away.items():
            self[lane].put(leaving, spill)


class Attempts(Sequence[Attempt]):
    """All of a lane in the order in which they began, those of an archive among them. Going over it unpacks them: what is drawn all
    the time looks at `recent`, or asks for one."""

    def __init__(self, held: Iterable[Attempt] = (), archive: Archive | None = None) -> None:
        self.held = tuple(held)
        away = archive or Archive()
        self.pages, self._index = away.pages, away.index
        self._sessions, self._finished = away.sessions, away.finished

    def __iter__(self) -> Iterator[Attempt]:
        return iter(sorted(self.after(0), key=attrgetter("started")) if self.pages else self.held)

    def __len__(self) -> int:
        return self._sessions + len(self.held)

    @overload
    def __getitem__(self, place: int) -> Attempt: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Attempt]: ...
    def __getitem__(self, place: int | slice) -> Attempt | Sequence[Attempt]:
        return tuple(self)[place]

    def after(self, pages: int) -> Iterator[Attempt]:
        """Those of later pages, and those that are held, in any order."""
        return chain(chain.from_iterable(map(_unpacked, self.pages[pages:])), self.held)

    def recent(self) -> Sequence[Attempt]:
        """Those that are held: that run, have an alarm, or ended last; and the last ones put away, for another lane may be
        the one that goes on."""
        return (*(_attempts(self.pages[-1]) if self.pages else ()), *self.held)

    @property
    def finished(self) -> int:
        """Turns that are over."""
        return self._finished + sum(one.finished for one in self.held)

    def find(self, key: str | tuple[str, int]) -> Attempt | None:
        """By id, or by trace and repeat."""
        numbers = [number for number in _pages_of(self._index, key) if number < len(self.pages)]
        away = chain.from_iterable(_attempts(self.pages[number]) for number in numbers)
        for one in chain(self.held, away):
            if (one.session if isinstance(key, str) else (one.trace, one.repeat)) == key:
                return one
        return None


def _pages_of(index: array[int], key: object) -> Iterator[int]:
    start = hash(key) & ~_PAGE
    for place in range(bisect_left(index, start), len(index)):
        if index[place] & ~_PAGE != start:
            return
        yield index[place] & _PAGE


def _packed(attempts: Sequence[Attempt], spill: Spill) -> Page:
    boxes: dict[Box, int] = {}
    rows = []
    for attempt in attempts:
        turns = attempt.turns
        assert isinstance(turns, Sealed)
        box = boxes.setdefault(turns.box, len(boxes))
        rows.append((box, turns.place, tuple(turns), *_heads_of(attempt)))
    return Page(spill.put(marshal.dumps(list(zip(*rows, strict=True)))), tuple(boxes))


def _unpacked(page: Page) -> list[Attempt]:
    found = []
    for box, place, numbers, *heads in zip(*marshal.loads(page.heads.open()), strict=True):
        turns = Sealed(page.turns[box], place, numbers)
        found.append(Attempt(turns=turns, **dict(zip(_HEADS, heads, strict=True))))
    return found


@lru_cache(_PAGES_OPEN)
def _attempts(page: Page) -> list[Attempt]:
    return _unpacked(page)
