"""All that a run folder holds on one turn, of every lane: for the turn screen and the reproducer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replayer.errors import RunFolderError, TraceError
from replayer.journal.lane_turn import LaneTurn, lane_turn
from replayer.journal.run_traces import history_of
from replayer.journal.view import RunView
from replayer.requests.history import RecordedHistory
from replayer.text import shared_start
from replayer.traces.schema import AnyItem, ToolCallItem, ToolResultItem, plain
from replayer.wire.types import JsonObject


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
    messages: list[JsonObject]
    new_messages: list[JsonObject]
    dropped: int
    recorded: tuple[AnyItem, ...]
    results: dict[str, str]
    lanes: dict[str, LaneTurn]


def turn_detail(folder: Path, view: RunView, trace: str, repeat: int, turn: int) -> TurnDetail:
    """Raises RunFolderError when the run has no such turn, TraceError when its trace is not the run's or damaged."""
    lanes = {lane.name: lane_turn(folder, view, lane.name, trace, repeat, turn) for lane in view.lanes}
    attempts = (lane.attempts.find((trace, repeat)) for lane in view.lanes)
    recorded_turn = next(
        (one.turns[turn].recorded_turn for one in attempts if one and turn in one.turns), None
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
    shared = shared_start(before, messages)
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
