"""Follows run folders for the screen: journal into a view, live feed into the text that streams now."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from replayer.errors import RunFolderError
from replayer.journal.log import Reading, writer_pid
from replayer.journal.parts import JOURNAL
from replayer.journal.sealed import Attempts, Keeping, unsealed
from replayer.journal.several_runs import named_apart, side_by_side
from replayer.journal.view import MISFITS, Fold, LaneView, RunView, fold_from, misfit
from replayer.metrics.conclusions import lane_conclusion
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import lane_figures
from replayer.metrics.run_documents import LaneConclusion
from replayer.tui.apart import apart
from replayer.tui.better import NOTHING, Better, Compared, compared
from replayer.tui.curves import LaneCurves, lane_curves
from replayer.tui.lane_replies import LaneReplies, Talk
from replayer.tui.outcomes import Outcomes
from replayer.tui.rest import Rest

T = TypeVar("T")

_MOST_EVENTS = 20_000
"""Read for one frame: about a quarter of a second."""
_OPENING_S = 0.3
"""Of reading what was there when the screen opened, until its first picture; each further piece takes twice as long."""
_MOST_OPEN = 2048
"""Turns of ended sessions that are held as they are; of a longer run, older ones are sealed, and its figures are worked out
apart: what that takes of memory would else grow with the run."""
_PIECE = 500
"""Events after which the thread that reads rests, so that the one that answers keys gets on."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """All that the screen shows at one moment."""

    views: tuple[RunView, ...]
    figures: dict[str, LaneFigures]
    """Figures by lane, as in `report --json`."""
    curves: dict[str, LaneCurves]
    """By lane what its telemetry and its speed were over the run's time."""
    talks: dict[str, Talk]
    """By lane the replies that its column shows; absent before the first session."""
    compared: Compared
    """The lanes beside each other."""
    lag: float
    """Seconds that making this frame took."""
    behind: bool = False
    """More of the journal has been written than was read yet."""
    outcomes: Outcomes = field(default_factory=Outcomes)
    """Of every turn, for a filter."""
    figures_at: int = 0
    """The moment that the figures are of, in nanoseconds of the run; a large run's are not computed for every frame."""

    @property
    def view(self) -> RunView:
        return self.views[0]

    @property
    def best(self) -> dict[str, Better]:
        return self.compared.best

    @property
    def conclusions(self) -> dict[str, LaneConclusion]:
        """What the report says of each lane."""
        return {name: lane_conclusion(found) for name, found in self.figures.items()}


class _Worked(NamedTuple):
    """What goes over all turns of a run."""

    figures: dict[str, LaneFigures]
    curves: dict[str, LaneCurves]
    compared: Compared

    @classmethod
    def of(cls, view: RunView, rest: Rest | None = None) -> _Worked:
        figures, curves = {}, {}
        for lane in view.lanes:
            figures[lane.name] = lane_figures(lane, stopped=view.stopped_early is not None)
            curves[lane.name] = lane_curves(view, lane)
            if rest is not None:
                rest.take()
        return cls(figures, curves, compared(view, figures))


def _apart(view: RunView, work: Callable[[RunView], T]) -> T:
    return apart(lambda: work(replace(view, lanes=tuple(map(_open, view.lanes)))))


def _open(lane: LaneView) -> LaneView:
    return replace(lane, attempts=Attempts(map(unsealed, lane.attempts)), telemetry=tuple(lane.telemetry))


class RunSource:
    """One run folder. `poll` reads what is new; call it from one thread only."""

    def __init__(self, folder: Path, pins: dict[str, str] | None = None, rest: Rest | None = None) -> None:
        self.folder = folder
        self._rest = Rest() if rest is None else rest
        self.pins = {} if pins is None else pins
        """Lane -> the session whose stream its column keeps to; the screen writes it."""
        self._begin()
        self._worked = _Worked({}, {}, NOTHING)
        self._stale = True
        self._figures_at = 0.0
        self._figures_cost = 0.0
        self._figures_of = 0
        self._frame: Frame | None = None
        self._pinned: dict[str, str] = {}

    def _begin(self) -> None:
        self._fold = Fold(keeping=Keeping(_MOST_OPEN))
        self._reading = Reading(self.folder)
        self._inode = 0
        self._behind = False
        self._opening = _OPENING_S
        """Seconds for the next piece; 0 once all that was there has been read."""
        self._replies: dict[str, LaneReplies] = {}

    @property
    def is_long(self) -> bool:
        return self._fold.keeping.sealed

    def poll(self) -> Frame:
        """Raises RunFolderError when the journal is damaged or gone."""
        try:
            return self._poll()
        except MISFITS as error:
            raise misfit(self.folder, error) from error
        except OSError as error:
            raise RunFolderError(f"{self.folder} cannot be read: {error.strerror}") from error

    def _poll(self) -> Frame:
        began = time.monotonic()
        changed = self._read()
        running = self._behind or writer_pid(self.folder) is not None
        known = self._frame
        if known and not (
            changed or running or self._stale or known.view.state == "running" or self.pins != self._pinned
        ):
            return known
        self._pinned = dict(self.pins)
        view = self._fold.view(run=self.folder.name, running=running)
        self._stale = self._stale or changed
        if self._stale:
            self._refresh(view, force=not running)
        talks, (figures, curves, best) = self._talks(view), self._worked
        lag, at = time.monotonic() - began, self._figures_of
        self._frame = Frame((view,), figures, curves, talks, best, lag, self._behind, figures_at=at)
        return self._frame

    def _read(self) -> bool:
        """In pieces: what was there at first by time, then at most so much a frame that a flood of events leaves the
        keys answered."""
        self._begin_again_where_replaced()
        before, until = dict(self._reading.offsets), time.monotonic() + self._opening
        self._behind = False
        for count, _ in enumerate(fold_from(self._reading, self._fold), 1):
            if before and count % (_PIECE if not self._opening else 8 * _PIECE) == 0:
                self._rest.take()
            if self._opening:
                self._behind = count % _PIECE == 0 and time.monotonic() > until
            else:
                self._behind = count == _MOST_EVENTS
            if self._behind:
                break
        self._opening = 2 * self._opening if self._behind else 0.0
        return self._reading.offsets != before

    def _begin_again_where_replaced(self) -> None:
        """Another file, or one that lost what was read of it, is read from its start."""
        inode = (self.folder / JOURNAL).stat().st_ino
        if self._reading.offsets and (inode != self._inode or self._reading.replaced()):
            self._begin()
            self._stale = True
        self._inode = inode

    def _refresh(self, view: RunView, *, force: bool) -> None:
        """Figures cost some microseconds per turn: on long runs they are refreshed less often."""
        now = time.monotonic()
        if not force and now - self._figures_at < 10 * self._figures_cost:
            return
        self._worked = _apart(view, _Worked.of) if self.is_long else _Worked.of(view, self._rest)
        self._stale = False
        self._figures_of = view.last_at
        self._figures_at = time.monotonic()
        self._figures_cost = self._figures_at - now

    def _talks(self, view: RunView) -> dict[str, Talk]:
        for lane in view.lanes:
            self._replies.setdefault(lane.name, LaneReplies(self.folder, lane.name))
        found = ((lane.name, self._replies[lane.name].poll(lane, self.pins)) for lane in view.lanes)
        return {name: talk for name, talk in found if talk is not None}


class Sources:
    """One run or several side by side: all their lanes in one frame, named RUN:LANE where names clash."""

    def __init__(
        self, folders: Sequence[Path], pins: dict[str, str] | None = None, rest: Rest | None = None
    ) -> None:
        self._rest = Rest() if rest is None else rest
        self._outcomes = Outcomes()
        self._sources = [RunSource(folder, pins, self._rest) for folder in folders]
        self._of_runs: list[dict[str, LaneFigures]] = []
        self._frames: list[Frame] = []
        self._whole: Frame | None = None
        self._best = NOTHING

    def poll(self) -> Frame:
        """The same frame as before where nothing is new. Raises RunFolderError when a journal is damaged, PlanError
        when the runs' modes differ."""
        frames = [source.poll() for source in self._sources]
        if self._whole is None or any(a is not b for a, b in zip(frames, self._frames, strict=True)):
            whole = frames[0] if len(frames) == 1 else self._merged(frames)
            if self._whole is None or whole.behind or whole.figures is not self._whole.figures:
                self._outcomes.learn(whole.views, self._rest)
            self._frames, self._whole = frames, replace(whole, outcomes=self._outcomes)
        return self._whole

    def _merged(self, frames: Sequence[Frame]) -> Frame:
        whole = side_by_side([frame.view for frame in frames])
        lanes = iter(whole.lanes)
        named = named_apart([frame.view for frame in frames])
        views = [replace(view, lanes=tuple(next(lanes) for _ in view.lanes)) for view in named]
        pairs = [
            (lane.name, own.name, frame)
            for frame, view in zip(frames, views, strict=True)
            for lane, own in zip(view.lanes, frame.view.lanes, strict=True)
        ]
        figures = {name: frame.figures[own] for name, own, frame in pairs if own in frame.figures}
        return Frame(
            views=tuple(views),
            figures=figures,
            curves={name: frame.curves[own] for name, own, frame in pairs if own in frame.curves},
            talks={name: frame.talks[own] for name, own, frame in pairs if own in frame.talks},
            compared=self._compare(whole, figures, [frame.figures for frame in frames]),
            lag=sum(frame.lag for frame in frames),
            behind=any(frame.behind for frame in frames),
            figures_at=frames[0].figures_at,
        )

    def _compare(
        self, whole: RunView, figures: dict[str, LaneFigures], of_runs: list[dict[str, LaneFigures]]
    ) -> Compared:
        """Anew only when a run's figures are new."""
        known = len(of_runs) == len(self._of_runs)
        if not known or any(a is not b for a, b in zip(of_runs, self._of_runs, strict=True)):
            self._of_runs = of_runs
            if len(figures) == len(whole.lanes):
                named = {name: replace(found, lane=name) for name, found in figures.items()}
                sealed = any(source.is_long for source in self._sources)
                work = partial(compared, figures=named)
                self._best = _apart(whole, work) if sealed else work(whole)
        return self._best
