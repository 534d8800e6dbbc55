"""Requests of a measured run through a cache that it did not have: a closed loop of the run's own sessions.

Each request follows the one that it followed in the run, after the same pause. The pool is the simulated engine's: it waits
while what the running ones need leaves no room, computes what the cache lacks at the run's own pace, and decodes as long as it
did; blocks that no running request needs are evicted least recently used first, and when none is left the youngest gives way.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from replayer.simulated.kv_pool import Pool, Seat
from replayer.simulated.spec import SimulatedSpec

WIDTH = 4
"""Bytes of a token."""
UNLIMITED = 1 << 40
_PARTS = 8
"""Pieces in which a reply takes room."""
_SOON = 1_000_000_000
"""Nanoseconds within which a session that starts after another has ended took its place."""


@dataclass(slots=True)
class Request:
    """One request of the run: its prompt and its reply in tokens, and when. Times on the journal's clock."""

    session: str
    scope: str
    prompt: list[bytes]
    sent: int
    counted: bool
    """Of a turn; what only filled the cache is in no figure."""
    first: int = 0
    ended: int = 0
    reply: bytes = b""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def tokens(self) -> int:
        return sum(map(len, self.prompt)) // WIDTH

    @property
    def text(self) -> bytes:
        """The prompt in one piece; its parts are shared with other prompts."""
        return b"".join(self.prompt)


@dataclass(frozen=True, slots=True)
class Variant:
    """A cache that is simulated. `pool_tokens` of each replica, as the engine counts; None has no limit."""

    pool_tokens: int | None
    block_size: int
    replicas: int = 1
    affinity: bool = True
    """Requests of a session go to one replica; else every request to the next one."""


@dataclass(frozen=True, slots=True)
class Planned:
    variant: Variant
    reuse: float
    evicted_tokens: int
    """As the engine counts."""
    evicted_share: float
    """Of the prompts: what an unlimited pool of the same kind would have reused on top."""


@dataclass(slots=True, eq=False)
class _Running:
    """A request in the simulation: its replica, its place in the pool, and how much of its reply is decoded."""

    number: int
    pool: Pool
    seat: Seat
    decoded: int = 0
    counted: bool = False


class Simulation:
    """The requests of a run through any cache. `scale`: tokens of ours for one of the engine's."""

    def __init__(self, requests: Sequence[Request], scale: float, backoff: bool) -> None:
        self.requests, self._scale, self._backoff = requests, scale, backoff
        self.end = max(one.ended for one in requests)
        self.after, self.begin = _chains(requests)
        self._base, self._token_ns = _pace(requests, scale)
        self._best: dict[Variant, tuple[int, int, int]] = {}

    def __call__(self, variant: Variant) -> Planned:
        hits, prompt, evicted = _Loop(self, variant).run()
        unlimited = replace(variant, pool_tokens=None)
        if unlimited not in self._best:
            self._best[unlimited] = _Loop(self, unlimited).run()
        free, whole, _ = self._best[unlimited]
        share, best = hits / (prompt or 1), free / (whole or 1)
        return Planned(variant, share, round(evicted / self._scale), max(0.0, best - share))

    def pools(self, variant: Variant) -> list[Pool]:
        size = UNLIMITED if variant.pool_tokens is None else round(variant.pool_tokens * self._scale)
        spec = SimulatedSpec(block_size=variant.block_size, pool_tokens=size, spec_backoff=self._backoff)
        return [Pool(spec) for _ in range(variant.replicas)]

    def computing(self, tokens: int) -> int:
        """Nanoseconds."""
        return round(self._base + tokens * self._token_ns)


class _Loop:
    """One simulation: what is due, in order."""

    def __init__(self, of: Simulation, variant: Variant) -> None:
        self._of, self._variant = of, variant
        self._pools = of.pools(variant)
        self._homes: dict[str, int] = {}
        self._turns, self._order = count(), count()
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._waiting: list[_Running] = []
        self._hits = self._asked = 0

    def run(self) -> tuple[int, int, int]:
        """Tokens of ours: found in a cache, asked for, evicted."""
        for number, at in self._of.begin:
            self._at(at, partial(self._send, number))
        while self._due:
            at, _, do = heapq.heappop(self._due)
            do(at)
            self._admitted(at)
        return self._hits, self._asked, sum(pool.cache.evicted for pool in self._pools)

    def _at(self, at: int, do: Callable[[int], None]) -> None:
        heapq.heappush(self._due, (at, next(self._order), do))

    def _send(self, number: int, at: int) -> None:
        if at > self._of.end:
            return
        one = self._of.requests[number]
        home = (
            self._homes.setdefault(one.session, len(self._homes))
            if self._variant.affinity
            else next(self._turns)
        )
        pool = self._pools[home % len(self._pools)]
        running = _Running(number, pool, Seat(one.text, one.scope, True))
        pool.offer(running.seat)
        self._waiting.append(running)

    def _admitted(self, at: int) -> None:
        for running in [one for one in self._waiting if one.seat.admitted.is_set()]:
            self._waiting.remove(running)
            one, seat = self._of.requests[running.number], running.seat
            if one.counted and not running.counted:
                running.counted = True
                self._hits, self._asked = self._hits + seat.cached, self._asked + one.tokens
            lacking = one.tokens - seat.cached + seat.generated
            self._at(at + self._of.computing(lacking), partial(self._computed, running))

    def _computed(self, running: _Running, at: int) -> None:
        if not running.seat.lost:
            running.pool.share(running.seat)
        self._decode(running, at)

    def _decode(self, running: _Running, at: int) -> None:
        """A part of the reply is there. Who had to give way waits at the head of the queue, and computes anew."""
        one = self._of.requests[running.number]
        whole = len(one.reply) // WIDTH
        left = whole - running.decoded
        if left <= 0:
            self._at(at + (0 if whole else one.ended - one.first), partial(self._done, running))
            return
        size = min(left, max(1, whole // _PARTS))
        if not running.pool.grow(running.seat, size):
            running.pool.offer(running.seat, first=True)
            self._waiting.append(running)
            return
        running.decoded += size
        self._at(at + round((one.ended - one.first) * size / whole), partial(self._decode, running))

    def _done(self, running: _Running, at: int) -> None:
        running.pool.keep(running.seat, self._of.requests[running.number].reply[:-WIDTH])
        for number, pause in self._of.after.get(running.number, ()):
            self._at(at + pause, partial(self._send, number))


Chains = dict[int, list[tuple[int, int]]]


def _chains(requests: Sequence[Request]) -> tuple[Chains, list[tuple[int, int]]]:
    """Which requests follow which, after what pause, and those that begin by themselves with their times."""
    after: Chains = {}
    begin: list[tuple[int, int]] = []
    by_session: dict[str, list[int]] = {}
    for number, one in enumerate(requests):
        by_session.setdefault(one.session, []).append(number)
    free = sorted((max(requests[n].ended for n in numbers), max(numbers)) for numbers in by_session.values())
    for numbers in by_session.values():
        for place, number in enumerate(numbers):
            sent = requests[number].sent
            before = [n for n in numbers[:place] if requests[n].ended <= sent]
            if before:
                last = max(before, key=lambda n: requests[n].ended)
                after.setdefault(last, []).append((number, sent - requests[last].ended))
                continue
            heir = None if place else next((x for x in free if 0 <= sent - x[0] <= _SOON), None)
            if heir is None:
                begin.append((number, sent))
            else:
                free.remove(heir)
                after.setdefault(heir[1], []).append((number, sent - heir[0]))
    return after, begin


def _pace(requests: Sequence[Request], scale: float) -> tuple[float, float]:
    """Nanoseconds to a first token without prefill, and for each token of ours that is computed: least squares, and of what is
    left the tenth percentile, of the requests that waited least."""
    known = [
        ((one.prompt_tokens - one.cached_tokens) * scale, float(one.first - one.sent))
        for one in requests
        if one.prompt_tokens is not None and one.cached_tokens is not None and one.first > one.sent
    ]
    if not known:
        return 0.0, 0.0
    n = len(known)
    x, y = sum(a for a, _ in known) / n, sum(b for _, b in known) / n
    spread = sum((a - x) ** 2 for a, _ in known)
    slope = max(0.0, sum((a - x) * (b - y) for a, b in known) / spread) if spread else 0.0
    rest = sorted(b - slope * a for a, b in known)
    return max(0.0, rest[len(rest) // 10]), slope
