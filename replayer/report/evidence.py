"""What a report quotes of a run: the answers of chosen turns, read in one pass over each journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from replayer.journal.lane_turn import LaneTurn, take
from replayer.journal.parts import facts
from replayer.journal.run_traces import kept_history
from replayer.journal.several_runs import check_same_traces, side_by_side, trace_digests
from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView, load
from replayer.plan.schedule import trace_name
from replayer.traces.schema import AnyItem

MOST_SOUND, MOST_BESIDE = 200, 300
"""Positions quoted of every lane: some that no lane failed, and some that one did."""
MOST_FAULTY = 30_000
"""Turns quoted that failed: all of them, unless a very long run is broken altogether."""


class Position(NamedTuple):
    trace: str
    repeat: int
    turn: int


Key = tuple[str, Position]
"""Lane and position."""
T = TypeVar("T")


@dataclass(slots=True)
class Evidence:
    """`view` sets the runs side by side; `answers` are by lane and position."""

    view: RunView
    answers: dict[Key, LaneTurn] = field(default_factory=dict)
    recorded: dict[Position, tuple[AnyItem, ...]] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    """sha256 of each trace as replayed."""
    versions: dict[str, str] = field(default_factory=dict)
    """Version of replayer by run."""

    @property
    def positions(self) -> list[Position]:
        return sorted(self.recorded)


def gather(folders: Sequence[Path]) -> Evidence:
    """Raises RunFolderError, and PlanError where the runs cannot be set side by side."""
    check_same_traces(folders)
    views = [load(folder) for folder in folders]
    evidence = Evidence(side_by_side(views))
    chosen = _chosen(evidence.view)
    evidence.recorded = {position: () for _, position in chosen}
    names = iter(lane.name for lane in evidence.view.lanes)
    for folder, view in zip(folders, views, strict=True):
        lanes = [(lane, next(names)) for lane in view.lanes]
        _read(folder, lanes, chosen, evidence)
        _recordings(folder, view, evidence)
    return evidence


def _chosen(view: RunView) -> set[Key]:
    """Every turn that failed, and of some positions every lane's."""
    every: dict[Position, list[str]] = {}
    for lane in view.lanes:
        for attempt in lane.attempts:
            for turn in attempt.turns.values():
                failed = every.setdefault(Position(attempt.trace, attempt.repeat, turn.turn), [])
                failed += [lane.name] if troubled(turn) else []
    faulty = sorted(at for at, failed in every.items() if failed)
    beside = _evenly(sorted(every.keys() - set(faulty)), MOST_SOUND) + _evenly(faulty, MOST_BESIDE)
    found = {(lane.name, at) for lane in view.lanes for at in beside}
    return found | set(_evenly([(name, at) for at in faulty for name in every[at]], MOST_FAULTY))


def _evenly(found: list[T], most: int) -> list[T]:
    if len(found) <= most:
        return found
    return [found[int(at * len(found) / most)] for at in range(most)]


def troubled(turn: TurnFacts) -> bool:
    return turn.usable is False or turn.error is not None or turn.collapse is not None


def _read(folder: Path, lanes: list[tuple[LaneView, str]], chosen: set[Key], evidence: Evidence) -> None:
    sessions = {
        (attempt.session, attempt.number): (name, attempt.trace, attempt.repeat)
        for lane, name in lanes
        for attempt in lane.attempts
    }
    for event in facts(folder):
        if event.get("type") == "run_started":
            evidence.versions[folder.name] = event["version"]
        session = sessions.get((event.get("session", ""), event.get("attempt", 0)))
        if session is None or "turn" not in event:
            continue
        name, trace, repeat = session
        key = name, Position(trace, repeat, event["turn"])
        if key in chosen:
            event.pop("arrivals", None)  # the longest part of a reply, and never quoted
            take(evidence.answers.setdefault(key, LaneTurn(name, event["attempt"])), event)


def _recordings(folder: Path, view: RunView, evidence: Evidence) -> None:
    recorded_turns = {
        Position(attempt.trace, attempt.repeat, number): turn.recorded_turn
        for lane in view.lanes
        for attempt in lane.attempts
        for number, turn in attempt.turns.items()
    }
    digests = trace_digests(folder)
    for trace in sorted({position.trace for position in recorded_turns}):
        if trace_name(trace) in digests:
            evidence.traces[trace] = digests[trace_name(trace)]
        history = kept_history(folder, trace, view.plan)  # without one, the report shows the lanes alone
        for position in evidence.recorded:
            if history is not None and position.trace == trace and position in recorded_turns:
                evidence.recorded[position] = history.recorded(recorded_turns[position])
