"""How far apart two processes' clocks are: of many round trips the quickest says it best."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from replayer.run.shards.messages import Clock, Pong

_TRIPS = 64


async def compared(ask: Callable[[], Awaitable[Pong | None]], now: Callable[[], int]) -> Clock | None:
    """`ask` brings the other's clocks, `now` is the clock of this journal. None where the other is gone.

    The other answered somewhere between sending and receiving: the middle is off by half of the trip at most.
    """
    best: tuple[int, Clock] | None = None
    for _ in range(_TRIPS):
        wall, at, sent = time.time_ns(), now(), time.monotonic_ns()
        pong = await ask()
        trip = time.monotonic_ns() - sent
        if pong is None:
            return None
        if best is None or trip < best[0]:
            half = trip // 2
            clock = Clock(
                ahead_ns=pong.wall_ns - wall - half, shift_ns=at + half - pong.at_ns, bound_ns=half + 1
            )
            best = trip, clock
    assert best is not None
    return best[1]
