"""What a lane's column tells: its newest or pinned stream, and the replies of that session before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from replayer.journal.lane_turn import LaneTurn, take
from replayer.journal.older import loads
from replayer.journal.parts import Line, journal_of
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.lazy import Newest
from replayer.tui.live_text import LiveTexts, Stream
from replayer.tui.replies import Shown, of_journal, of_stream

BEFORE = 12
"""Finished replies kept above the newest one."""
_LINES, _BYTES = 400, 4 << 20
"""How far the journal is read for what follows a turn's reply: other streams write between."""
_KEPT = 40


@dataclass(frozen=True, slots=True, eq=False)
class Talk:
    """`shown` are the replies of one session, oldest first; `streams` the sessions that could be pinned."""

    attempt: Attempt
    shown: tuple[Shown, ...]
    streams: tuple[str, ...]
    pinned: bool


class LaneReplies:
    """Reads one lane's replies: the streaming one from the live feed, finished ones from the journal, each once."""

    def __init__(self, folder: Path, lane: str) -> None:
        self._folder = folder
        self._live = LiveTexts(folder, lane)
        self._known: Newest[tuple[object, ...], Shown] = Newest(_KEPT)

    def poll(self, lane: LaneView, pins: Mapping[str, str]) -> Talk | None:
        """None before the lane's first session."""
        self._live.poll({attempt.session for attempt in lane.running})
        pinned = pins.get(lane.name)
        running = (one for one in lane.running if one.session == pinned)
        held = next(running, None) or lane.attempts.find(pinned) if pinned else None
        attempt = held or self._newest(lane)
        if attempt is None:
            return None
        streams = tuple(running.session for running in lane.running) or (attempt.session,)
        return Talk(attempt, self._shown(attempt), streams, attempt.session == pinned)

    def _newest(self, lane: LaneView) -> Attempt | None:
        """Of the sessions that run, the one that spoke last."""
        spoke = next((a for a in lane.running if a.session == self._live.newest), None)
        return spoke or newest_attempt(lane)

    def _shown(self, attempt: Attempt) -> tuple[Shown, ...]:
        numbers = sorted(attempt.turns)[-BEFORE - 1 :]
        shown = [self._reply(attempt, attempt.turns[number]) for number in numbers]
        stream = self._live.stream(attempt.session)
        if attempt.ended is None and stream is not None and stream.turn > max(numbers, default=-1):
            shown.append(of_stream(stream))
        return tuple(shown)

    def _reply(self, attempt: Attempt, turn: TurnFacts) -> Shown:
        if turn.total_ns is None or turn.line is None:
            stream = self._live.stream(attempt.session)
            here = stream is not None and stream.turn == turn.turn
            return of_stream(stream if stream and here else Stream(attempt.session, turn.turn, ()))
        key = (attempt.session, attempt.number, turn.turn, turn.usable, len(turn.tool_outcomes))
        if key not in self._known:
            self._known[key] = self._read(attempt, turn, turn.line)
        return self._known[key]

    def _read(self, attempt: Attempt, turn: TurnFacts, at_line: Line) -> Shown:
        read = LaneTurn(attempt.lane, attempt.number)
        place = (attempt.session, attempt.number, turn.turn)
        part, offset = at_line
        with journal_of(self._folder, part).open("rb") as stream:
            stream.seek(offset)
            for _ in range(_LINES):
                line = stream.readline()
                if not line.endswith(b"\n") or stream.tell() - offset > _BYTES:
                    break
                values = loads(line)
                if (values.get("session"), values.get("attempt"), values.get("turn")) == place:
                    take(read, values)
                if read.verdict and len(read.tool_runs) == len(turn.tool_outcomes):
                    break
        return of_journal(attempt.session, turn.turn, read)


def newest_attempt(lane: LaneView) -> Attempt | None:
    """The session that began last."""
    return max((*lane.attempts.recent(), *lane.running), key=attrgetter("started"), default=None)
