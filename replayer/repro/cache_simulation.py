"""Requests of a measured run through a cache that it did not have: a closed loop of the run's own sessions.

Each request follows the one that it followed in the run, after the same pause. The pool is the simulated engine's: it waits
while what the running ones need leaves no room, computes what the cache lacks at the run's own pace, and decodes as long as it
did; blocks that no running request needs are evicted least recently used first, and when none is left the youngest gives way.

Sessions that push each other out make a run that is never twice the same: which session comes a millisecond earlier decides
what is evicted. So each cache is simulated several times, with times drawn anew around those of the run.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from random import Random
from statistics import fmean, median

from replayer.simulated.kv_pool import Pool, Seat
from replayer.simulated.spec import SimulatedSpec

WIDTH = 4
"""Bytes of a token."""
UNLIMITED = 1 << 40
_PARTS = 8
"""Pieces in which a reply takes room."""
_DRAWS = 25
"""Simulations of each cache; with `_MOST_TOKENS` in all, so that long runs end, and seven at least."""
_MOST_TOKENS = 400_000_000
_FITS = 12
"""Halvings of the pace until the run's own cache answers as quickly as it did."""
WITHIN = 0.02
"""Of the reuse that is planned."""
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
    """The middle of the draws. `low` and `high` are the least and the most of them. `known`: a run is said to lie within WITHIN of
    `reuse`; else only what the draws gave is shown. Sessions that push each other out are known only where every draw gives the
    same: of equal runs one in twenty lay eleven points from the others, which 25 draws show or do not."""

    variant: Variant
    reuse: float
    low: float
    high: float
    evicted_tokens: int
    """As the engine counts."""
    evicted_share: float
    """Of the prompts: what an unlimited pool of the same kind would have reused on top."""
    known: bool = True

    def after(self, doubts: bool) -> Planned:
        """`doubts`: the run's times are not those that another run will have, so that nothing may hang on them."""
        spread = max(self.high - self.reuse, self.reuse - self.low)
        hangs_on_times = doubts or self.evicted_share > WITHIN
        return replace(self, known=spread <= (0.0 if hangs_on_times else WITHIN))


@dataclass(slots=True, eq=False)
class _Running:
    """A request in the simulation: its replica, its place in the pool, and how much of its reply is decoded."""

    number: int
    pool: Pool
    seat: Seat
    sent: int
    decoded: int = 0
    counted: bool = False


class Simulation:
    """The requests of a run through any cache. `scale`: tokens of ours for one of the engine's. `ends`: after the time of the
    run's last request no further one is sent, as in a load with a duration; else every request is."""

    def __init__(self, requests: Sequence[Request], scale: float, backoff: bool, *, ends: bool) -> None:
        self.requests, self._scale, self._backoff = requests, scale, backoff
        self.end = max(one.sent for one in requests) if ends else None
        self.after, self.begin = _chains(requests)
        self._base, self._token_ns = _pace(requests, scale)
        self.pace, self.noise = 1.0, _noise(requests)
        self._best: dict[Variant, float] = {}
        tokens = sum(one.tokens for one in requests)
        self._draws = max(7, min(_DRAWS, _MOST_TOKENS // max(1, tokens)))

    def calibrate(self, own: Variant) -> None:
        """Scale the time that prompts take to compute so that the run's own cache answers as quickly as it did: a measured time
        to a first token holds the wait for others, too, which the simulation adds by itself."""
        wanted = fmean(one.ended - one.sent for one in self.requests)
        low, high = 1 / 16, 4.0
        for _ in range(_FITS):
            self.pace = math.sqrt(low * high)
            took = fmean(_Loop(self, own, seed).run().seconds for seed in range(3))
            low, high = (low, self.pace) if took > wanted else (self.pace, high)

    def __call__(self, variant: Variant) -> Planned:
        drawn = [_Loop(self, variant, seed).run() for seed in range(self._draws)]
        unlimited = replace(variant, pool_tokens=None)
        if unlimited not in self._best:
            self._best[unlimited] = _Loop(self, unlimited, 0).run().reuse
        shares = [one.reuse for one in drawn]
        evicted = round(median(one.evicted for one in drawn) / self._scale)
        lost = max(0.0, self._best[unlimited] - median(shares))
        return Planned(variant, median(shares), min(shares), max(shares), evicted, lost)

    def pools(self, variant: Variant) -> list[Pool]:
        size = UNLIMITED if variant.pool_tokens is None else round(variant.pool_tokens * self._scale)
        spec = SimulatedSpec(block_size=variant.block_size, pool_tokens=size, spec_backoff=self._backoff)
        return [Pool(spec) for _ in range(variant.replicas)]

    def computing(self, tokens: int) -> float:
        """Nanoseconds."""
        return self.pace * (self._base + tokens * self._token_ns)


@dataclass(frozen=True, slots=True)
class _Draw:
    """What one simulation gave: shares of the prompts, tokens of ours, and the mean nanoseconds of a request."""

    reuse: float
    evicted: int
    seconds: float


class _Loop:
    """One simulation: what is due, in order."""

    def __init__(self, of: Simulation, variant: Variant, seed: int) -> None:
        self._of, self._variant, self._random = of, variant, Random(seed)
        self._speeds = {
            kind: self._random.lognormvariate(0.0, of.noise) for kind in ("compute", "decode", "pause")
        }
        """Another run's machine is not as quick in all as this one's was."""
        self._pools = of.pools(variant)
        self._homes: dict[str, int] = {}
        self._turns, self._order = count(), count()
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._waiting: list[_Running] = []
        self._hits = self._asked = 0
        self._took: list[int] = []

    def run(self) -> _Draw:
        for number, at in self._of.begin:
            self._at(at, partial(self._send, number))
        while self._due:
            at, _, do = heapq.heappop(self._due)
            do(at)
            self._admitted(at)
        evicted = sum(pool.cache.evicted for pool in self._pools)
        return _Draw(self._hits / (self._asked or 1), evicted, fmean(self._took or [0]))

    def _varied(self, kind: str, ns: float) -> int:
        return round(ns * self._speeds[kind] * self._random.lognormvariate(0.0, self._of.noise))

    def _at(self, at: int, do: Callable[[int], None]) -> None:
        heapq.heappush(self._due, (at, next(self._order), do))

    def _send(self, number: int, at: int) -> None:
        if self._of.end is not None and at > self._of.end:
            return
        one = self._of.requests[number]
        home = (
            self._homes.setdefault(one.session, len(self._homes))
            if self._variant.affinity
            else next(self._turns)
        )
        pool = self._pools[home % len(self._pools)]
        running = _Running(number, pool, Seat(one.text, one.scope, True), at)
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
            self._at(
                at + self._varied("compute", self._of.computing(lacking)), partial(self._computed, running)
            )

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
        self._at(
            at + self._varied("decode", (one.ended - one.first) * size / whole),
            partial(self._decode, running),
        )

    def _done(self, running: _Running, at: int) -> None:
        self._took.append(at - running.sent)
        running.pool.keep(running.seat, self._of.requests[running.number].reply[:-WIDTH])
        for number, pause in self._of.after.get(running.number, ()):
            self._at(at + self._varied("pause", pause), partial(self._send, number))


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


def _noise(requests: Sequence[Request]) -> float:
    """How much times vary that nothing makes wait: the spread of the time of a reply's token, as a logarithm, by the middle half."""
    logs = sorted(
        math.log((one.ended - one.first) / (len(one.reply) // WIDTH))
        for one in requests
        if len(one.reply) >= 16 * WIDTH and one.ended > one.first
    )
    if len(logs) < 8:
        return 0.2
    return min(0.5, max(0.02, (logs[len(logs) * 3 // 4] - logs[len(logs) // 4]) / 1.349))
