"""What is known of a server beside the turns of a lane, and the sentence on a pool that is too small."""

from __future__ import annotations

from replayer.lazy import dataclass

FULL, _IDLE = 0.9, 0.3
"""Peak use of the KV pool from which on it counts as full, and below which nothing was evicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What is known of a lane's server beside its turns. None is unknown, never 0."""

    sessions: int = 1
    """In flight at most, of all `lanes` on it."""
    lanes: int = 1
    session_tokens: int | None = None
    """What one session holds at its end."""
    pool_tokens: int | None = None
    preempted: float | None = None
    """Preemptions and retractions, counted since the run began."""
    kv_peak: float | None = None
    """Peak use of the pool, 0..1, among readings that found requests running."""
    cached: float | None = None
    prompt: float | None = None
    """Tokens that the server counted, cached ones and all."""
    alone: bool = True
    """Nothing but this lane used the server: its counters are this lane's."""
    ms_per_token: float | None = None
    """Time to the first token per prompt token that is computed, without waiting."""

    @property
    def is_full(self) -> bool:
        return bool(self.preempted) or (self.kv_peak or 0.0) >= FULL or self.fill > 1

    @property
    def fill(self) -> float:
        """What the sessions in flight hold at their ends, as a share of the pool; 0 where it is not known."""
        return self.sessions * (self.session_tokens or 0) / self.pool_tokens if self.pool_tokens else 0.0

    @property
    def is_idle(self) -> bool:
        """Nothing had to be evicted for this run; what was preempted was not its own."""
        if self.preempted and self.fill > 1:
            return False
        return 0 < self.fill < _IDLE if self.kv_peak is None else self.kv_peak < _IDLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """The pool is too small for the sessions in flight."""

    sessions: int
    lanes: int
    """That these sessions are of."""
    preempted: int
    kv_peak: float | None
    expected: float
    reported: float
    would_fit: int | None
    session_tokens: int | None = None
    pool_tokens: int | None = None

    @property
    def sentence(self) -> str:
        facts = [f"{self.preempted} preemption{'s' * (self.preempted != 1)}"] if self.preempted else []
        facts += [f"KV at {self.kv_peak:.0%}"] if self.kv_peak is not None and self.kv_peak >= FULL else []
        if not facts and self.session_tokens and self.pool_tokens:
            facts.append(f"{self.session_tokens:,} tokens each on {self.pool_tokens:,}")
        facts.append(f"reuse fell from {self.expected:.0%} to {self.reported:.0%}")
        fit = f"; about {self.would_fit} would fit" if self.would_fit else ""
        of = f" of {self.lanes} lanes together" if self.lanes > 1 else ""
        return f"pool too small for {self.sessions} sessions{of}: {', '.join(facts)}{fit}"
