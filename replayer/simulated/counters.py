"""What a simulated engine counts while it serves. Cumulative since its start, as on a real metrics page."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.simulated.kv_pool import Pool
    from replayer.simulated.spec import SimulatedSpec


@dataclass(slots=True)
class State:
    spec: SimulatedSpec
    pool: Pool
    started: float = field(default_factory=time.time)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """In any tier; `host_tokens` and `remote_tokens` are the parts that the device itself no longer had."""
    host_tokens: int = 0
    remote_tokens: int = 0
    generated_tokens: int = 0
    prompt_seconds: float = 0.0
    decode_seconds: float = 0.0
    decodes: int = 0
    longest: int = 0
    drafts: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_per_position: list[int] = field(default_factory=list)
    finished: Counter[str] = field(default_factory=Counter)
    last_hit_rate: float = 0.0
    last_throughput: float = 0.0
    injected: deque[JsonObject] = field(default_factory=lambda: deque(maxlen=10_000))
    """Ground truth of the faults committed, for tests (`GET /simulated/injected`)."""
    drained: Counter[str] = field(default_factory=Counter)
    """What TensorRT-LLM's statistics have already reported."""

    @property
    def device_tokens(self) -> int:
        return self.cached_tokens - self.host_tokens - self.remote_tokens

    @property
    def running_tokens(self) -> int:
        return self.pool.cache.held

    @property
    def kv_used(self) -> float:
        return min(1.0, self.running_tokens / max(1, self.spec.pool_tokens))

    def step(self, drafted: int, accepted: int) -> None:
        """One speculative step of one request."""
        if not self.accepted_per_position:
            self.accepted_per_position = [0] * max(1, self.spec.draft_tokens)
        self.drafts += 1
        self.drafted += drafted
        self.accepted += accepted
        for position in range(min(accepted, len(self.accepted_per_position))):
            self.accepted_per_position[position] += 1


@dataclass(slots=True)
class Counts:
    """The tokens of one request, and its times in seconds."""

    prompt: int
    cached: int
    host: int = 0
    remote: int = 0
    completion: int = 0
    reasoning: int = 0
    drafted: int = 0
    accepted: int = 0
    steps: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
