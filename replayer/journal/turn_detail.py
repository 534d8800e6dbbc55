"""All that a run folder holds on one turn, of every lane: for the turn screen and the reproducer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from replayer.errors import RunFolderError, TraceError
from replayer.journal.older import loads
from replayer.journal.run_traces import history_of
from replayer.journal.view import RunView
from replayer.requests.history import RecordedHistory
from replayer.traces.schema import AnyItem, ToolCallItem, ToolResultItem, plain


@dataclass(frozen=True, slots=True)
class Asked:
    """A request beside the one before it: the messages that are `new`, of how many, and how many of those before
    were `dropped` or rewritten."""

    new: list[dict[str, Any]]
    total: int
    dropped: int


@dataclass(slots=True)
class LaneTurn:
    """What one lane did at a turn; the values are the journal's events as dictionaries.

    `asked` is the lane's own request where lanes are sent their own replies (live history), else None.
    """

    lane: str
    attempt: int
    asked: Asked | None = None
    reply: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    alarms: list[dict[str, Any]] = field(default_factory=list)
    tool_runs: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def finding(self, signal: str) -> dict[str, Any] | None:
        return next((f["finding"] for f in self.findings if f["signal"] == signal), None)


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """`new_messages` are those that the turn before was not yet sent; `dropped` were sent then and no longer are.

    `results` are the recorded results of the turn's recorded calls, by call id. In live mode the messages are those
    of the recording: what each lane was sent stands in its `asked`.
    """

    trace: str
    repeat: int
    turn: int
    recorded_turn: int
    messages: list[dict[str, Any]]
    new_messages: list[dict[str, Any]]
    dropped: int
    recorded: tuple[AnyItem, ...]
    results: dict[str, str]
    lanes: dict[str, LaneTurn]


def turn_detail(folder: Path, view: RunView, trace: str, repeat: int, turn: int) -> TurnDetail:
    """Raises RunFolderError when the run has no such turn, TraceError when its trace is not the run's or damaged."""
    lanes = {lane.name: lane_turn(folder, view, lane.name, trace, repeat, turn) for lane in view.lanes}
    recorded_turn = next(
        (
            attempt.turns[turn].recorded_turn
            for lane in view.lanes
            for attempt in lane.attempts
            if (attempt.trace, attempt.repeat) == (trace, repeat) and turn in attempt.turns
        ),
        None,
    )
    if recorded_turn is None:
        raise RunFolderError(f"{folder} has no turn {turn + 1} of {trace}, repeat {repeat}")
    history = history_of(folder, trace, view.plan, recorded_turn)
    if recorded_turn not in history.turns:
        raise TraceError(
            f"{history.trace.path} has no turn {recorded_turn + 1}: it is not the trace that this run replayed"
        )
    messages = history.messages(recorded_turn)
    earlier = history.before(recorded_turn)
    before = history.messages(earlier) if earlier is not None else []
    shared = _shared(before, messages)
    return TurnDetail(
        trace=trace,
        repeat=repeat,
        turn=turn,
        recorded_turn=recorded_turn,
        messages=messages,
        new_messages=messages[shared:],
        dropped=len(before) - shared,
        recorded=history.recorded(recorded_turn),
        results=_recorded_results(history, recorded_turn),
        lanes={name: found for name, found in lanes.items() if found is not None},
    )


def _shared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> int:
    shared = 0
    for a, b in zip(before, after, strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _recorded_results(history: RecordedHistory, recorded_turn: int) -> dict[str, str]:
    """The results that the next turn was sent for this turn's calls."""
    calls = {item.call_id for item in history.recorded(recorded_turn) if isinstance(item, ToolCallItem)}
    following = history.following(recorded_turn)
    if not calls or following is None:
        return {}
    known = set(history.trace.context(recorded_turn))
    new = (number for number in history.trace.context(following) if number not in known)
    items = (history.trace.item(number) for number in new)
    return {
        item.call_id: plain(item.content)
        for item in items
        if isinstance(item, ToolResultItem) and item.call_id in calls
    }


def lane_turn(folder: Path, view: RunView, lane: str, trace: str, repeat: int, turn: int) -> LaneTurn | None:
    """One lane's events of a turn, of the counted attempt; None where it never got there."""
    attempts = [
        attempt
        for view_lane in view.lanes
        if view_lane.name == lane
        for attempt in view_lane.attempts
        if (attempt.trace, attempt.repeat) == (trace, repeat)
    ]
    if not attempts or turn not in attempts[0].turns:
        return None
    chosen = attempts[0]
    found = LaneTurn(lane=lane, attempt=chosen.number)
    before = 0
    for event in _events(folder, chosen.session, chosen.number, (turn - 1, turn)):
        if event["type"] == "turn_started":
            found.asked = _asked(event, before)
            before = found.asked.total if found.asked else 0
        elif event["turn"] == turn:
            take(found, event)
    return found


def _asked(started: dict[str, Any], before: int) -> Asked | None:
    """`before`: messages of the request before this one."""
    sent = started.get("sent") or {}
    if "messages" not in sent:
        return None
    return Asked(sent["messages"], sent["keep"] + len(sent["messages"]), max(0, before - sent["keep"]))


def _events(folder: Path, session: str, attempt: int, turns: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The lines of some turns, found by their bytes: most of a journal is other turns."""
    name = orjson.dumps(session)
    with (folder / "journal.jsonl").open("rb") as stream:
        for line in stream:
            if name not in line or not line.endswith(b"\n"):
                continue
            try:
                values = loads(line)
            except orjson.JSONDecodeError as error:
                raise RunFolderError(
                    f"{folder / 'journal.jsonl'}: a damaged line of {session} ({error})"
                ) from None
            if (values.get("session"), values.get("attempt")) == (session, attempt) and values.get(
                "turn"
            ) in turns:
                yield values


def take(found: LaneTurn, event: dict[str, Any]) -> None:
    """File one event of the turn's journal lines."""
    match event["type"]:
        case "turn_finished":
            found.reply = event
        case "verdict":
            found.verdict = event
        case "alarm":
            found.alarms.append(event)
        case "tool_run":
            found.tool_runs.append(event)
        case "signal":
            found.findings.append(event)
        case _:
            pass
