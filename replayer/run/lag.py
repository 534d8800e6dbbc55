"""How late the receiver is: the part of every measured time that is ours."""

from __future__ import annotations

from collections import Counter, deque

_KEPT = 3000
"""Samples of which turns may ask: a minute's."""


class LagMeter:
    """Collects how late the process that reads the sockets was, as it says so. `worst_since` serves turns, `p99` the run."""

    def __init__(self) -> None:
        self._samples: Counter[int] = Counter()
        """How often each lag was seen, in microseconds, to three digits."""
        self._recent: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        self.busy_at = 0
        """When the receiver was last found over its limit of CPU; nanoseconds of the monotonic clock."""

    def add(self, at: int, late: int) -> None:
        """`late` nanoseconds at worst in the time before `at`."""
        digits = max(0, len(str(late // 1000)) - 3)
        self._samples[late // 1000 // 10**digits * 10**digits] += 1
        self._recent.append((at, late))

    def worst_since(self, since: int) -> int:
        """Largest lag in nanoseconds seen since the monotonic time `since` (ns)."""
        worst = 0
        for at, late in reversed(self._recent):
            if at < since:
                break
            worst = max(worst, late)
        return worst

    def p99(self) -> int:
        """99th percentile over the whole run, in nanoseconds, to three digits; 0 before the first sample."""
        above = self._samples.total() - int(self._samples.total() * 0.99)
        for late in sorted(self._samples, reverse=True):
            above -= self._samples[late]
            if above <= 0:
                return late * 1000
        return 0
