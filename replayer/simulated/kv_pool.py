"""The KV pool that all requests of a simulated engine share: who is let in, what they hold, who must give way.

As in vLLM's scheduler: requests are let in first come, first served, while a slot is free and their uncached tokens
fit beside what the running ones hold; cached tokens that nobody holds are evicted for them, least recently used first.
When a running request grows and nothing is left to evict, the youngest gives its place up and is computed anew
(a preemption there, a retraction in SGLang).
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replayer.simulated.cache import Node, PrefixCache
from replayer.simulated.token_bytes import WIDTH

if TYPE_CHECKING:
    from replayer.simulated.spec import SimulatedSpec


@dataclass(slots=True, eq=False)
class Seat:
    """A request's place in the pool. `cached` are the prompt tokens found when it was last let in."""

    prompt: bytes
    salt: str
    reuse: bool
    node: Node | None = None
    cached: int = 0
    host: int = 0
    """Of the cached tokens, those that came back from host memory; `remote`: from a store of the network."""
    remote: int = 0
    computed: int = 0
    """Prompt tokens that no other request can share yet."""
    generated: int = 0
    reserved: int = 0
    lost: bool = False
    """It was made to give way."""
    admitted: asyncio.Event = field(default_factory=asyncio.Event)


class Pool:
    def __init__(self, spec: SimulatedSpec) -> None:
        self._spec = spec
        self._block = spec.block
        self.cache = PrefixCache(spec.block, spec.pool_tokens)
        self._host = PrefixCache(spec.block, spec.host_tokens)
        self._remote = PrefixCache(spec.block, spec.remote_tokens)
        self._running: list[Seat] = []
        self._queue: deque[Seat] = deque()
        self.preempted = 0
        self._prefill_free = 0.0

    def prefill_until(self, started: float, tokens: int) -> float:
        """When so many prompt tokens are computed: at the request's own speed, and after all that was queued before
        them where the engine has one speed for all."""
        spec = self._spec
        due = started + spec.ttft_ms / 1000 + (tokens / spec.prefill_tok_s if spec.prefill_tok_s else 0.0)
        if spec.total_prefill_tok_s:
            self._prefill_free = max(self._prefill_free, started) + tokens / spec.total_prefill_tok_s
        return max(due, self._prefill_free)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    async def enter(self, seat: Seat, *, first: bool = False) -> None:
        """Wait for a slot and for room; one that gave way goes to the head of the queue."""
        self.offer(seat, first=first)
        try:
            await seat.admitted.wait()
        except asyncio.CancelledError:
            self.leave(seat)
            raise

    def offer(self, seat: Seat, *, first: bool = False) -> None:
        """Into the queue; its `admitted` is set once it has its place."""
        (self._queue.appendleft if first else self._queue.append)(seat)
        seat.lost = False
        seat.admitted.clear()
        self._admit()

    def leave(self, seat: Seat) -> None:
        if seat in self._queue:
            self._queue.remove(seat)
        if seat in self._running:
            self._release(seat)
        self._admit()

    def share(self, seat: Seat) -> None:
        """The prompt is computed: other requests can reuse its whole blocks from now on."""
        self._reserve(seat, 0)
        place = self.cache.insert(seat.prompt, salt=seat.salt)
        self._store(seat.prompt, seat.salt)
        if seat.node is not None:
            self.cache.unpin(seat.node)
        attached = place.node.parent is not None or not place.node.edge
        seat.node = self.cache.pin(place.node) if attached else None
        seat.computed = len(place.rest) // WIDTH
        self._reserve(seat, seat.computed + seat.generated)

    def grow(self, seat: Seat, tokens: int) -> bool:
        """Room for generated tokens; False when the request had to give way."""
        seat.generated += tokens
        if not seat.lost:
            self._reserve(seat, seat.computed + seat.generated)
            while self.cache.over and len(self._running) > 1 and self._spec.pool_tokens:
                self.preempted += 1
                victim = self._running[-1]
                self._release(victim)
                victim.lost = True
                if victim is seat:
                    break
        return not seat.lost

    def keep(self, seat: Seat, generated: bytes) -> None:
        """The request is done: what it generated stays cached behind its prompt."""
        self._reserve(seat, 0)
        self.cache.insert(seat.prompt + generated, salt=seat.salt)
        self._store(seat.prompt + generated, seat.salt)
        self.leave(seat)

    def reset(self) -> bool:
        """Empty every tier; False while requests run."""
        return self.cache.clear() and self._host.clear() and self._remote.clear()

    def _admit(self) -> None:
        while self._queue and self._fits(self._queue[0]):
            seat = self._queue.popleft()
            self._running.append(seat)
            seat.admitted.set()

    def _fits(self, seat: Seat) -> bool:
        """Takes the place where it does. A request that is alone always gets in, however long."""
        if self._spec.slots is not None and len(self._running) >= self._spec.slots:
            return False
        node, found = self.cache.find(seat.prompt, salt=seat.salt, backoff=self._spec.spec_backoff)
        size = len(seat.prompt) // WIDTH
        cached = found if seat.reuse else 0
        self.cache.pin(node)
        short = self.cache.held + size - cached + seat.generated > self._spec.pool_tokens > 0
        if short and self._running:
            self.cache.unpin(node)
            return False
        seat.node, seat.cached = node, cached
        self._other_tiers(seat)
        seat.computed = size - cached
        self._reserve(seat, seat.computed + seat.generated)
        return True

    def _other_tiers(self, seat: Seat) -> None:
        """What the device lost and a slower tier still holds comes back from there."""
        if not seat.reuse:
            return
        host = self._host.match(seat.prompt, salt=seat.salt) if self._spec.host_tokens else 0
        seat.host = max(0, host - seat.cached)
        remote = self._remote.match(seat.prompt, salt=seat.salt) if self._spec.remote_tokens else 0
        seat.remote = max(0, remote - seat.cached - seat.host)
        seat.cached += seat.host + seat.remote

    def _store(self, tokens: bytes, salt: str) -> None:
        """Write through: every tier holds what was computed, as long as it has room."""
        for tier, size in ((self._host, self._spec.host_tokens), (self._remote, self._spec.remote_tokens)):
            if size:
                tier.insert(tokens, salt=salt)

    def _release(self, seat: Seat) -> None:
        self._running.remove(seat)
        self._reserve(seat, 0)
        if seat.node is not None:
            self.cache.unpin(seat.node)
            seat.node = None

    def _reserve(self, seat: Seat, computed: int) -> None:
        """Whole blocks, and never the last token, whose cache entry is not written yet."""
        wanted = max(0, computed - 1) // self._block * self._block
        self.cache.reserve(wanted - seat.reserved)
        seat.reserved = wanted
