"""How late the receiving loop is: the part of every measured time that is ours."""

from __future__ import annotations

import asyncio
import time

_INTERVAL = 0.02


class LagMeter:
    """Measures by how much short sleeps overrun. `worst_since` serves turns, `p99` the run."""

    def __init__(self) -> None:
        self._samples: list[int] = []
        self._recent: list[tuple[int, int]] = []

    async def run(self) -> None:
        while True:
            due = time.monotonic_ns() + int(_INTERVAL * 1e9)
            await asyncio.sleep(_INTERVAL)
            now = time.monotonic_ns()
            lag = max(0, now - due)
            self._samples.append(lag)
            self._recent.append((now, lag))
            if len(self._recent) > 3000:
                del self._recent[:1500]

    def worst_since(self, since: int) -> int:
        """Largest lag in nanoseconds seen since the monotonic time `since` (ns)."""
        worst = 0
        for at, lag in reversed(self._recent):
            if at < since:
                break
            worst = max(worst, lag)
        return worst

    def p99(self) -> int:
        """99th percentile in nanoseconds over the whole run; 0 before the first sample."""
        ordered = sorted(self._samples)
        return ordered[int(len(ordered) * 0.99)] if ordered else 0
