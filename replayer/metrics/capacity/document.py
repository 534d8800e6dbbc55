"""The document of a capacity search: lanes with their levels, the answer in words, and where lanes cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from replayer.metrics.capacity.levels import Level, side
from replayer.metrics.capacity.limits import shown
from replayer.metrics.capacity.search import Agents, agents
from replayer.metrics.documents import Rate

EVICTION = 0.02
"""Reuse may fall so far under that of the first level before eviction is said to have set in."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Of the level that is the answer; None where nothing says it."""

    agents_per_gpu: float | None = None
    agents_per_kw: float | None = None
    joules_per_usable_turn: float | None = None
    per_usable_session: float | None = None
    """By the GPU's price for an hour; a session is as many usable turns as the traces have in the mean."""
    per_usable_session_by_tokens: float | None = None
    """By an API's prices, cached input apart."""


@dataclass(frozen=True, slots=True)
class LaneCapacity:
    lane: str
    agents: Agents | None
    within_limits: Agents | None
    """The same search by the limits alone, over the same levels: usable or not."""
    tiers: dict[str, Agents]
    levels: list[Level]
    eviction_from: int | None
    costs: Costs
    valid: bool
    reasons: list[str]
    words: str = ""


@dataclass(frozen=True, slots=True)
class LevelCrossing:
    """Between two numbers of sessions, which lane is ahead in a curve changes. `decided`: on both sides beyond the intervals."""

    curve: str
    a: str
    b: str
    at: float
    ahead_below: str
    ahead_above: str
    decided: bool


@dataclass(frozen=True, slots=True)
class Capacity:
    """The document of `capacity --json`."""

    limits: list[str]
    usable: float
    cap: int
    lanes: list[LaneCapacity]
    crossings: list[LevelCrossing]
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        return [lane.words for lane in self.lanes] + [_crossing_words(one) for one in self.crossings]


def within_limits(levels: Sequence[Level], usable: float, cap: int) -> Agents | None:
    """The answer of the same levels if only the limits counted."""
    return again({level.sessions: level.shares.within for level in levels}, usable, cap)


def again(shares: Mapping[int, Rate], threshold: float, cap: int) -> Agents | None:
    """The answer that other shares of the same levels give."""
    tried = {sessions: side(found, threshold) for sessions, found in shares.items()}
    return agents(tried, cap=cap) if tried else None


def eviction_from(levels: Sequence[Level]) -> int | None:
    """The smallest level at which the pool no longer held what was to be reused, by its own counters or by the reuse."""
    known = sorted(levels, key=lambda level: level.sessions)
    for level in known:
        lost = (level.evicted or 0.0) > EVICTION or bool(level.preempted)
        below = (
            level.reuse is not None and level.expected is not None and level.expected - level.reuse > EVICTION
        )
        if lost or (below and level.kv_peak is not None and level.kv_peak > 0.95):
            return level.sessions
    return None


def answer_words(lane: LaneCapacity, limits: Sequence[str], usable: float) -> str:
    found, kept = lane.agents, "; ".join(map(shown, limits))
    asked = f"at least {usable:.0%} of the turns are usable" + (
        f" and within the limits ({kept})" if kept else ""
    )
    if found is None:
        return f"{lane.lane}: no number is claimed: {'; '.join(lane.reasons) or 'no level was run'}."
    if found.capped:
        words = f"{lane.lane}: {found.value} or more usable agents: at {found.value} live sessions, the most that were tried (--cap), {asked}."
    elif not found.value:
        words = f"{lane.lane}: no usable agent: with one live session it does not hold that {asked}."
    else:
        words = f"{lane.lane}: {found.words} usable agents: with {found.value} live sessions {asked}."
    words += _how_sure(found)
    alone = lane.within_limits
    if alone is not None and alone.value and found.value is not None and alone.value > found.value:
        words += f" By the limits alone it would be {alone.words}: beyond {found.value}, turns stop being usable first."
    if lane.eviction_from is not None:
        words += f" From {lane.eviction_from} sessions on, the cache evicts what is still needed."
    return words


def _how_sure(found: Agents) -> str:
    """What lies behind the brackets; nothing where every level was decided."""
    if found.low == found.value and (found.capped or found.high == found.value):
        return ""
    holds = f"{found.low} sessions surely hold" if found.low else "no level surely holds"
    if found.capped:
        return f" {holds[0].upper()}{holds[1:]}."
    fails = "no level surely fails" if found.high is None else f"{found.high + 1} surely fail"
    return f" {holds[0].upper()}{holds[1:]}, {fails}; what lies between was not decided (finer: --resolution, longer: --duration)."


def _crossing_words(one: LevelCrossing) -> str:
    sure = "" if one.decided else ", not beyond the intervals"
    return f"{one.curve}: {one.ahead_below} is ahead below about {one.at:.0f} live sessions, {one.ahead_above} above{sure}."


def crossings(lanes: Sequence[LaneCapacity]) -> list[LevelCrossing]:
    """Where the curves of two lanes change places, over the numbers of sessions that both were tried at or between."""
    found: list[LevelCrossing] = []
    for a, b in combinations(lanes, 2):
        found += _crossings("usable turns within the limits", a, b, _good, higher=True)
        found += _crossings("TTFT p95", a, b, _ttft, higher=False)
    return found


Curve = list[tuple[int, float, float, float]]
"""(sessions, value, low, high) in order."""


def _good(lane: LaneCapacity) -> Curve:
    found = [(level.sessions, level.shares.good) for level in lane.levels]
    return sorted((n, good.value, good.low, good.high) for n, good in found if good.value is not None)


def _ttft(lane: LaneCapacity) -> Curve:
    found = [(level.sessions, level.ttft_ms["p95"]) for level in lane.levels]
    return sorted((n, p95, p95, p95) for n, p95 in found if p95 is not None)


def _crossings(
    curve: str, a: LaneCapacity, b: LaneCapacity, of: Callable[[LaneCapacity], Curve], *, higher: bool
) -> Iterator[LevelCrossing]:
    one, other = of(a), of(b)
    if len(one) < 2 or len(other) < 2:
        return
    low, high = max(one[0][0], other[0][0]), min(one[-1][0], other[-1][0])
    at = sorted({point[0] for point in (*one, *other) if low <= point[0] <= high})
    gaps = [(n, _read(one, n), _read(other, n)) for n in at]
    for (n, x, y), (m, v, w) in pairwise(gaps):
        before, after = x[0] - y[0], v[0] - w[0]
        if before * after >= 0:
            continue
        share = before / (before - after)
        place = math.exp(math.log(n) + share * (math.log(m) - math.log(n)))
        first = a.lane if (before > 0) == higher else b.lane
        second = b.lane if first == a.lane else a.lane
        sure = all(p[1] > q[2] or q[1] > p[2] for p, q in ((x, y), (v, w)))
        yield LevelCrossing(curve, a.lane, b.lane, place, first, second, sure and higher)


def _read(curve: Curve, n: int) -> tuple[float, float, float]:
    """The curve at n, straight between two levels on the logarithm of their sessions."""
    for (left, *a), (right, *b) in pairwise(curve):
        if left <= n <= right:
            share = (math.log(n) - math.log(left)) / (math.log(right) - math.log(left))
            value, low, high = (x + share * (y - x) for x, y in zip(a, b, strict=True))
            return value, low, high
    point = next(point for point in curve if point[0] == n)
    return point[1], point[2], point[3]
