"""How far apart two processes' clocks are: of many round trips the quickest says it best."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from replayer.run.shards.messages import Clock, Pong

_TRIPS = 64
_ENOUGH, _LONG_NS = 8, 1_000_000_000
"""Round trips that are made even where they take longer than this together."""


async def compared(ask: Callable[[], Awaitable[Pong | None]], now: Callable[[], int]) -> Clock | None:
    """`ask` brings the other's clocks, `now` is the clock of this journal. None where the other is gone.

    The other answered somewhere between sending and receiving: the middle is off by half of the trip at most.
    """
    best: tuple[int, Clock] | None = None
    until = time.monotonic_ns() + _LONG_NS
    for made in range(_TRIPS):
        if made >= _ENOUGH and time.monotonic_ns() > until:
            break
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
