"""How late the receiver is: the part of every measured time that is ours."""

from __future__ import annotations

import asyncio
import time
from collections import deque

_INTERVAL = 0.02
_KEPT = 3000
"""Samples of which turns may ask: a minute's."""


class LagMeter:
    """Collects how late the process that reads the sockets was, each 20 ms. `worst_since` serves turns, `p99` the run.

    The receiver process sends its samples to `add`; where this process reads the sockets itself, `run` takes them.
    """

    def __init__(self) -> None:
        self._samples: list[int] = []
        self._recent: deque[tuple[int, int]] = deque(maxlen=_KEPT)

    def add(self, at: int, late: int) -> None:
        """`late` nanoseconds at worst in the time before `at`."""
        self._samples.append(late)
        self._recent.append((at, late))

    async def run(self) -> None:
        """Measure by how much short sleeps of this process overrun, until cancelled."""
        while True:
            due = time.monotonic_ns() + int(_INTERVAL * 1e9)
            await asyncio.sleep(_INTERVAL)
            now = time.monotonic_ns()
            self.add(now, max(0, now - due))

    def worst_since(self, since: int) -> int:
        """Largest lag in nanoseconds seen since the monotonic time `since` (ns)."""
        worst = 0
        for at, late in reversed(self._recent):
            if at < since:
                break
            worst = max(worst, late)
        return worst

    def p99(self) -> int:
        """99th percentile in nanoseconds over the whole run; 0 before the first sample."""
        ordered = sorted(self._samples)
        return ordered[int(len(ordered) * 0.99)] if ordered else 0
