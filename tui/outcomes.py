"""The outcomes of all turns in words and codes: so a filter or the next fault goes over thousands of sessions within a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from operator import is_
from threading import Lock
from typing import NamedTuple

from replayer.journal.sealed import Attempts, Page
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.tui import glyphs
from replayer.tui.rest import Rest
from replayer.tui.turn_cells import is_faulty, lost_cause

Session = tuple[str, int]
"""Trace, repeat."""
LaneTurns = dict[Session, Attempt]
State = tuple[tuple[bool, int] | None, ...]
"""Of each lane whether the session's attempt has ended, and its number."""

_PIECE = 50
"""New sessions after which the thread that reads rests."""


class Outcome(NamedTuple):
    """What all lanes made of a turn."""

    words: str
    """What a filter searches, in lower case."""
    faulty: bool


class Codes(NamedTuple):
    """The outcomes of a session's turns, as places in `Outcomes.known`. Sessions that went alike share one."""

    turns: tuple[int, ...]
    faulty: tuple[int, ...]
    """Numbers of the turns with a fault in any lane."""


class Outcomes:
    """Filled by the thread that reads, with sessions that have ended; the thread that answers keys asks for any."""

    def __init__(self) -> None:
        self.known: list[Outcome] = []
        self._codes: dict[object, int] = {}
        self._of: dict[Session, tuple[State, Codes]] = {}
        self._alike: dict[tuple[State, tuple[int, ...]], tuple[State, Codes]] = {}
        self._lock = Lock()
        self._pages: list[tuple[Page, ...]] = []
        """Of each lane those that were gathered."""

    def learn(self, views: Sequence[RunView], rest: Rest) -> None:
        """Of a long run only what is new is gathered: a key for every session would be memory that grows with it."""
        lanes = [lane.attempts for view in views for lane in view.lanes]
        pages = [attempts.pages for attempts in lanes]
        new: dict[Session, list[Attempt | None]] = {}
        for place, attempts in enumerate(lanes):
            for attempt in self._later(place, attempts, pages[place]):
                if not self._knows(place, attempt):
                    new[attempt.trace, attempt.repeat] = [None] * len(lanes)
        for place, attempts in enumerate(lanes if new else ()):
            for attempt in self._later(place, attempts, pages[place]):
                if (found := new.get((attempt.trace, attempt.repeat))) is not None:
                    found[place] = attempt
            for session, found in new.items() if pages[place] else ():
                found[place] = found[place] or attempts.find(session)
        self._pages = pages
        ended = (one for one in new.items() if all(each is None or each.ended is not None for each in one[1]))
        for number, (session, found) in enumerate(ended, 1):
            self.codes(session, found)
            if number % _PIECE == 0:
                rest.take()

    def _later(self, place: int, attempts: Attempts, pages: Sequence[Page]) -> Iterable[Attempt]:
        """Those that were not put away when the last ones were gathered."""
        before = self._pages[place] if place < len(self._pages) else ()
        return attempts.after(sum(map(is_, before, pages)))

    def _knows(self, place: int, attempt: Attempt) -> bool:
        known = self._of.get((attempt.trace, attempt.repeat))
        return known is not None and known[0][place : place + 1] == (_state(attempt),)

    def codes(self, session: Session, attempts: Sequence[Attempt | None]) -> Codes:
        """`attempts`: of every lane."""
        state = tuple(map(_state, attempts))
        if (known := self._of.get(session)) is not None and known[0] == state:
            return known[1]
        with self._lock:
            found = self._read([{} if one is None else one.turns for one in attempts])
            if all(one is None or one[0] for one in state):
                self._of[session] = alike = self._alike.setdefault((state, found.turns), (state, found))
                return alike[1]
        return found

    def _read(self, lanes: Sequence[Mapping[int, TurnFacts]]) -> Codes:
        last = max([max(lane, default=-1) for lane in lanes])
        turns = tuple([self._code([lane.get(turn) for lane in lanes]) for turn in range(last + 1)])
        faulty = tuple(turn for turn, code in zip(count(), turns) if self.known[code].faulty)
        return Codes(turns, faulty)

    def _code(self, turns: Sequence[TurnFacts | None]) -> int:
        key = tuple([one and (glyphs.of(one), one.error, one.marks, lost_cause(one)) for one in turns])
        if (code := self._codes.get(key)) is None:
            code = self._codes[key] = len(self.known)
            self.known.append(Outcome(_searchable(turns), any(map(is_faulty, turns))))
        return code


class Search:
    """The turns with all of some words, which stand in its trace's name, its number or its outcome."""

    def __init__(self, outcomes: Outcomes, words: Sequence[str]) -> None:
        self._outcomes, self._words = outcomes, words
        self._found: dict[tuple[str, tuple[int, ...]], list[int]] = {}

    def turns(self, trace: str, codes: Codes) -> list[int]:
        key = trace, codes.turns
        if (found := self._found.get(key)) is None:
            known = self._outcomes.known
            name = trace.lower()
            words = [word for word in self._words if word not in name and word not in "turn"]
            found = self._found[key] = [
                turn
                for turn, code in enumerate(codes.turns)
                if all(word in known[code].words or word in str(turn + 1) for word in words)
            ]
        return found


def by_session(lane: LaneView) -> LaneTurns:
    return {(attempt.trace, attempt.repeat): attempt for attempt in lane.attempts}


def _state(attempt: Attempt | None) -> tuple[bool, int] | None:
    return None if attempt is None else (attempt.ended is not None, attempt.number)


def _searchable(turns: Sequence[TurnFacts | None]) -> str:
    words = []
    for turn in turns:
        if turn is not None:
            words += [*turn.faults, turn.error or "", glyphs.of(turn).words]
            words.append(f"prefix lost: {cause}" if (cause := lost_cause(turn)) else "")
    return " ".join(words).lower()
