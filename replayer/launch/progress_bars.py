"""Progress without a screen: one bar per lane on a terminal, one line per lane elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from replayer.journal.events import (
    AnyEvent,
)
from replayer.journal.view import LaneView, RunView
from replayer.plan.model import Plan
from replayer.text import console, safe
from replayer.tui.pace import NEWEST, duration_words, seconds_for, seconds_left

if TYPE_CHECKING:
    from rich.progress import TaskID

_LINE_EVERY, _SESSION_EVERY = 2.0, 0.2
"""Seconds between two lines of one lane; the second where a session has ended."""


class Bars:
    """A bar per lane; one turn of a session moves it by one."""

    def __init__(self, plan: Plan) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("turns"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}
        self._plan = plan

    def __enter__(self) -> Bars:
        self._progress.start()
        for lane in self._plan.lane:
            self._tasks[lane.name] = self._progress.add_task(lane.name, total=None, note="")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, view: RunView) -> None:
        for lane in view.lanes:
            task = self._tasks.get(lane.name)
            if task is not None:
                done, total = lane.turns_done, lane.turns_planned
                self._progress.update(task, completed=done, total=total, note=_note(lane))


def _note(lane: LaneView) -> str:
    left = seconds_left(lane)
    collapsed = sum(turn.collapse is not None for turn in lane.turns)
    errors = sum(turn.error is not None for turn in lane.turns)
    notes = [f"{duration_words(left)} left"] if left else []
    notes += [f"{collapsed} collapsed" if collapsed else "", f"{errors} errors" if errors else ""]
    return "  ".join(note for note in notes if note)


class LineProgress:
    """Lines for logs and CI: every few seconds where each lane is, alarms and warnings at once."""

    def __init__(self, plan: Plan, stream: TextIO, before: Mapping[str, int]) -> None:
        """`before`: turns by lane that are done already."""
        self._stream = stream
        self._width = max((len(lane.name) for lane in plan.lane), default=4)
        self._lane_of: dict[str, str] = {}
        self._repeat, self._load = plan.repeat, plan.load.asked
        self._planned = 0
        self._done = dict(before)
        self._shown: dict[str, float] = {}
        self._ends: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=NEWEST))
        """When the newest turns of each lane finished."""

    def event(self, event: AnyEvent) -> None:
        if event.type == "session_started":  # to match the class of a model is slow
            self._lane_of[event.session] = event.lane
        elif event.type == "turn_finished":
            lane = self._lane_of[event.session]
            self._done[lane] = self._done.get(lane, 0) + 1
            self._ends[lane].append(time.monotonic())
            self._line(lane, _LINE_EVERY)
        elif event.type == "session_finished":
            self._line(self._lane_of.pop(event.session), _SESSION_EVERY, ended=True)
        elif event.type == "run_started" or event.type == "run_resumed":
            self._planned = 0 if self._load else sum(event.turns.values()) * self._repeat
            for sentence in event.coverage if event.type == "run_started" else ():
                self._say("", safe(sentence))
        elif event.type == "alarm" and event.finding.get("level") == "collapsed":
            unit = safe(str(event.finding.get("unit", "")))[:60]
            what = "stopped" if event.stopped else "observed"
            self._say(self._lane_of[event.session], f"collapse in turn {event.turn + 1}, {what}: {unit!r}")
        elif event.type == "warning":
            self._say(event.lane or "", safe(event.message))

    def _line(self, lane: str, every: float, *, ended: bool = False) -> None:
        now, done, planned = time.monotonic(), self._done.get(lane, 0), self._planned
        if now - self._shown.get(lane, 0.0) < every and (ended or done != planned):
            return
        self._shown[lane] = now
        if self._load:
            self._say(lane, f"{done} turns")
            return
        filled = round(20 * min(1.0, done / planned)) if planned else 0
        left = seconds_for(planned - done, self._ends[lane]) if done < planned else None
        words = "" if left is None else f", {duration_words(left)} left"
        self._say(lane, f"[{'#' * filled}{'.' * (20 - filled)}] {done}/{planned or '?'} turns{words}")

    def _say(self, lane: str, text: str) -> None:
        print(f"{lane:<{self._width}}  {text}", file=self._stream, flush=True)
