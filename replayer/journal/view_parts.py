"""What a view holds besides lanes and turns: what servers were asked, periods of load, the processes that drove a run."""

from __future__ import annotations

from dataclasses import replace

from replayer.journal.events import ShardClock, ShardHealth
from replayer.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asked of a lane's server: all lanes on it, all attempts, interrupted ones included.

    Tokens are None where some request's are not known: its stream broke or was stopped, or is still on its way.
    """

    lanes: tuple[str, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    in_flight: int = 1
    """Sessions at a time, by the plan."""


@dataclass(frozen=True, slots=True)
class LoadPeriod:
    """The time in which sessions were kept alive on a lane, in nanoseconds of the journal's clock. `ended` is None while it
    goes on; `sessions` where as many were alive as arrived."""

    sessions: int | None
    started: int
    cache_reset: str = "unknown"
    ended: int | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class ShardView:
    """One of the processes that drove a run: its clock against the run's, and the most that it needed of anything. Shares are
    of one core."""

    shard: int
    host: str = ""
    pid: int = 0
    clock_ahead_ms: float = 0.0
    clock_bound_ms: float = 0.0
    judge_cpu: float = 0.0
    receiver_cpu: float = 0.0
    lag_p99_ms: float = 0.0
    sockets: int = 0
    over: int = 0
    """Times that it was found over one of its limits."""

    def after(self, event: ShardClock | ShardHealth) -> ShardView:
        if isinstance(event, ShardClock):
            ahead, bound = event.ahead_ns / 1e6, max(self.clock_bound_ms, event.bound_ns / 1e6)
            return replace(self, host=event.host, pid=event.pid, clock_ahead_ms=ahead, clock_bound_ms=bound)
        return replace(
            self,
            judge_cpu=max(self.judge_cpu, event.judge_cpu),
            receiver_cpu=max(self.receiver_cpu, event.receiver_cpu),
            lag_p99_ms=max(self.lag_p99_ms, event.lag_p99_ns / 1e6),
            sockets=max(self.sockets, event.sockets),
            over=self.over + bool(event.over),
        )
