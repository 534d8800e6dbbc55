"""When the tokens of a request are due."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from random import Random

from replayer.simulated.counters import Counts, State


@dataclass(slots=True)
class Pace:
    """When the next step of a request is due, and how many tokens it brings."""

    state: State
    rng: Random
    due: float = 0.0

    def start(self) -> None:
        self.due = time.monotonic()

    def step(self, left: int, counts: Counts) -> int:
        """Tokens of the next step; the clock moves by its duration."""
        spec = self.state.spec
        if spec.draft_tokens == 0:
            tokens = min(left, spec.chunk_tokens)
            self.due += tokens * self._seconds(1.0)
            return tokens
        band = int((time.time() - self.state.started) / spec.band_seconds) % len(spec.acceptance)
        mean = spec.draft_tokens * spec.acceptance[band]
        accepted = int(mean) + (self.rng.random() < mean - int(mean))
        tokens = min(left, 1 + accepted)
        self.due += self._seconds(1 + spec.draft_tokens * spec.acceptance[0])
        self.state.step(spec.draft_tokens, tokens - 1)
        counts.steps += 1
        counts.drafted += spec.draft_tokens
        counts.accepted += tokens - 1
        return tokens

    def _seconds(self, tokens: float) -> float:
        """How long so many tokens take: at the request's own speed, or at its share of the engine's."""
        spec = self.state.spec
        alone = tokens / spec.tok_s if spec.tok_s else 0.0
        return max(alone, tokens * self.state.running / spec.total_tok_s) if spec.total_tok_s else alone

    async def wait(self) -> None:
        delay = self.due - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)
