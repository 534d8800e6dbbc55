"""Exact cycles of any period in a stream of text, in constant memory.

The newest characters are looked up in the text before them (`str.rfind`, which runs in C); a hit gives a lag, and
from then on each piece is compared once with the piece one lag earlier. A long window finds long periods but costs
more per look, so a detector runs two of these: a short window looked at often, a long one looked at seldom.
"""

from __future__ import annotations

from typing import NamedTuple

from replayer.signals.repetition.finding import Level
from replayer.signals.repetition.thresholds import LEAST_COPIES, NEVER, Needed, needed, primitive, tidy

LEAST = 60
"""Shorter runs are not stated: no rule asks for less."""
BEFORE = 320
"""Characters before a run that are looked at to judge what it is."""


class Run(NamedTuple):
    """A stretch of text that equals itself one `period` earlier. Offsets count characters of the whole stream."""

    start: int
    end: int
    period: int

    @property
    def copies(self) -> float:
        return (self.end - self.start) / self.period


class CycleTracker:
    """Follows the longest periodic run that ends at the newest character.

    `window` bounds memory and the period (characters); `probe` is how many of the newest characters must recur for
    a lag to be believed; `glance` of them are looked up first: in text that says something new they are found nowhere.
    """

    def __init__(self, window: int, probe: int, glance: int | None = None) -> None:
        self._window = window
        self._probe = probe
        self._glance = glance or probe
        self._text = ""
        self._end = 0
        self.lag = 0
        """Distance to the text that the newest characters repeat; 0 while they repeat nothing."""
        self._start = 0
        self.recurs = 0
        """How many looks in a row found the newest few characters in the window: perhaps nothing new is being said."""

    def push(self, piece: str) -> Run | None:
        """Append `piece` and return the run that ends with it, if it is long enough to matter."""
        size = len(piece)
        self._end += size
        self._text = text = self._text[-self._window :] + piece
        lag = self.lag
        if not lag or (size and text[-size:] != text[-size - lag : -lag]):
            self.lag = 0
            if text.find(text[-self._glance :], 0, -1) < 0:
                self.recurs = 0
                return None
            self.recurs += 1
            probe = text[-self._probe :]
            at = text.find(probe, 0, -1)  # faster than `rfind`, and mostly in vain
            if at < 0:
                return None
            lag = self.lag = len(text) - len(probe) - text.rfind(probe, at, -1)
            self._start = self._end - lag - _common_suffix(text, lag)
        return Run(self._start, self._end, lag) if self._end - self._start >= LEAST else None

    @property
    def run(self) -> Run | None:
        """The run that goes on."""
        return Run(self._start, self._end, self.lag) if self.lag else None

    def skip(self, size: int) -> None:
        """Pass over `size` characters: no run reaches across them."""
        self._text = ""
        self._end += size
        self.lag = 0

    def tail(self, size: int) -> str:
        """The newest characters, at most the window."""
        return self._text[-size:]


def _common_suffix(text: str, lag: int) -> int:
    """Length of the longest common suffix of `text` and of `text` without its last `lag` characters."""
    limit = len(text) - lag
    low, high = 0, 1
    while high <= limit and text[-high:] == text[-high - lag : -lag]:
        low, high = high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if text[-middle:] == text[-middle - lag : -lag]:
            low = middle
        else:
            high = middle
    return low


class CycleSignal:
    """A tracker of cycles and what its present run still needs."""

    def __init__(self, window: int, probe: int, glance: int | None = None) -> None:
        self.tracker = CycleTracker(window, probe, glance)
        self._run = (-1, 0)
        self._unit = ""
        self._needed = Needed(NEVER, NEVER)

    def judge(self, run: Run) -> tuple[Level, Run, str] | None:
        """Return level, run (with its primitive period) and unit once the newest run is long enough."""
        if run.end - run.start < LEAST_COPIES * run.period:
            return None
        if (run.start, run.period) != self._run:
            self._begin(run)
        length = run.end - run.start
        if length < self._needed.suspect:
            return None
        level: Level = "collapsed" if length >= self._needed.collapse else "suspect"
        return level, run._replace(period=len(self._unit)), self._unit

    def spans(self, onset: int) -> tuple[Run, str] | None:
        """The run that goes on, and its unit, where all text since `onset` is of it."""
        run = self.tracker.run
        if run is None or run.start > onset or run.end - run.start < LEAST_COPIES * run.period:
            return None
        if (run.start, run.period) != self._run:
            self._begin(run)
        return run._replace(period=len(self._unit)), self._unit

    def _begin(self, run: Run) -> None:
        self._run = (run.start, run.period)
        length = run.end - run.start
        covered = self.tracker.tail(length + BEFORE)
        text = covered[-length:]
        self._unit = tidy(primitive(text[: run.period]))
        self._needed = needed(self._unit, covered[: -len(text)])
