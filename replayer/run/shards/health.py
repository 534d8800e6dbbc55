"""Whether a shard keeps up: the CPU of its two processes, how late it received, its sockets, and what TCP sent again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from replayer.journal.events import ShardHealth
from replayer.run.lag import LagMeter

_EVERY = 1.0
_JOURNALLED = 5
"""Of so many looks one is journalled, and each that finds a limit passed."""
MOST_CPU = 0.85
"""Of one core, for what receives: beyond, bytes wait."""
MOST_PORTS = 0.9
"""Of the ports that the system gives to connections."""
MOST_SENT_AGAIN = 0.01
"""Of the TCP segments of the machine."""
_TICK = os.sysconf("SC_CLK_TCK")


class Health:
    """Looks once a second. While the receiver is over its limit, turns are marked through the meter."""

    def __init__(self, shard: int, receiver: int, lag: LagMeter, emit: Callable[[ShardHealth], None]) -> None:
        self._shard, self._receiver, self._lag, self._emit = shard, receiver, lag, emit
        self._last = self._counts()

    async def run(self) -> None:
        """Until cancelled."""
        looks = 0
        while True:
            await asyncio.sleep(_EVERY)
            looks += 1
            found = self._look()
            if found.over or looks % _JOURNALLED == 1:
                self._emit(found)

    def report(self) -> None:
        """Journal what is known now."""
        self._emit(self._look())

    def _look(self) -> ShardHealth:
        before, self._last = self._last, self._counts()
        past, judge, receiver, out, again = (new - old for new, old in zip(self._last, before, strict=True))
        shares = [seconds / past if past > 0 else 0.0 for seconds in (judge, receiver)]
        found = ShardHealth(
            shard=self._shard,
            judge_cpu=round(shares[0], 3),
            receiver_cpu=round(shares[1], 3),
            lag_p99_ns=self._lag.p99(),
            sockets=_sockets(self._receiver),
            retransmits=round(again) if out else None,
        )
        over = list(_over(found, again / out if out else 0.0))
        if found.receiver_cpu > MOST_CPU:
            self._lag.busy_at = time.monotonic_ns()
        return found.model_copy(update={"over": over})

    def _counts(self) -> tuple[float, float, float, float, float]:
        """Seconds: of the clock, of the judge's CPU, of the receiver's; TCP segments sent, and sent again."""
        return (time.monotonic(), time.process_time(), _cpu_seconds(self._receiver), *_segments())


def _over(found: ShardHealth, sent_again: float) -> list[str]:
    ports = _ports()
    limits = (
        (found.receiver_cpu > MOST_CPU, f"receiving took {found.receiver_cpu:.0%} of a core"),
        (
            bool(ports) and found.sockets > MOST_PORTS * ports,
            f"{found.sockets:,} sockets of {ports:,} ports",
        ),
        (sent_again > MOST_SENT_AGAIN, f"TCP sent {sent_again:.1%} of the segments again"),
    )
    return [words for holds, words in limits if holds]


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def _sockets(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _ports() -> int:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return 0
    return int(high) - int(low) + 1


def _segments() -> tuple[float, float]:
    """TCP segments sent and sent again on this machine; zeros where it does not say."""
    try:
        rows = [row.split() for row in Path("/proc/net/snmp").read_text().splitlines() if row[:4] == "Tcp:"]
        named = dict(zip(rows[0], rows[1], strict=True))
        return float(named["OutSegs"]), float(named["RetransSegs"])
    except (OSError, LookupError, ValueError):
        return 0.0, 0.0
