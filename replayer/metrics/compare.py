"""Is a difference between two lanes real? Over the turns of both where prompts were the same, else over whole sessions.

A session is one recorded trace: its turns, and its repeats, are one cluster. Between two runs, figures that move with the
machine have the run as their cluster: they are held against what a lane differs from itself within these runs (`--aa`), and
not tested where no run shows that. The same holds for the times of lanes that ran one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING

from replayer.journal.sealed import Attempts
from replayer.lazy import dataclass
from replayer.metrics.catalogue import COMPARED, DEFAULT, PRIMARY, Metric
from replayer.metrics.decide import ALPHA, PRIMARY_SHARE, WHY_NOT, apart, decide, gap, rounded
from replayer.metrics.resampling import quantile_differences, ratio_difference, sign_flip, swap
from replayer.metrics.run_documents import Pair
from replayer.metrics.samples import (
    Sample,
    Turns,
    by_key,
    by_session,
    by_turn,
    pooled,
    repeats,
    sample,
)
from replayer.metrics.stats import (
    MIN_SESSIONS,
    Interval,
    difference,
    sample_size,
    sequential,
    student_t,
    weighted_quantile,
    within_shares,
)
from replayer.metrics.sweep import comparable

if TYPE_CHECKING:
    from replayer.journal.view import LaneView, RunView

AGAIN = ".again"
"""Ends the name of the second lane of an A/A pair."""
SEQUENTIAL = "the run may stop early: signs of session differences, e value, valid at any stop"
TARGET_POINTS, TARGET_SHARE = 0.05, 0.1
"""The difference that a recommended number of sessions is to show: 5 points, or a tenth of a time or a speed."""
POWER = 0.8
LEAST_EXTRA = 3
"""A permutation test of few sessions is coarser than the normal distribution that the size is taken from."""


def is_aa(a: str, b: str) -> bool:
    return b == a + AGAIN


@dataclass(frozen=True, slots=True)
class Side:
    """One lane of a comparison."""

    lane: LaneView
    turns: Turns

    @classmethod
    def of(cls, lane: LaneView, *, whole: bool) -> Side:
        """`whole`: sessions that came to their end only, where they are compared as such."""
        kept = Attempts(attempt for attempt in lane.attempts if attempt.complete or not whole)
        lane = replace(lane, attempts=kept)
        return cls(lane, by_key(lane))


def family(*more: str) -> tuple[str, ...]:
    """What is compared together: the default, and what was asked for besides."""
    return tuple(dict.fromkeys((*DEFAULT, *more)))


def compare(
    view: RunView,
    *,
    metrics: Sequence[str] = DEFAULT,
    pairs: Iterable[tuple[LaneView, LaneView]] | None = None,
) -> list[Pair]:
    """Every pair of lanes (or the given ones) on every metric, ordered by metric.

    All of them are one family (`decide.decide`).
    """
    lanes = list(lane_pairs(view.lanes) if pairs is None else pairs)
    sides = {id(lane): Side.of(lane, whole=view.mode != "recorded") for pair in lanes for lane in pair}
    compared = [
        result
        for name in metrics
        for a, b in lanes
        if (result := _compare(view, sides[id(a)], sides[id(b)], COMPARED[name])) is not None
    ]
    return decide(_held_against_floors(compared, lanes), view.plan.get("stop_when_decided") or PRIMARY)


def _compare(view: RunView, a: Side, b: Side, metric: Metric) -> Pair | None:
    paired = view.mode == "recorded"
    if view.plan.get("stop_when_decided"):
        return compare_sequentially(a, b, metric, paired=paired)
    left = sample(metric, a.turns, a.lane.attempts)
    right = sample(metric, b.turns, b.lane.attempts)
    found = _compare_samples(a.lane.name, left, b.lane.name, right, metric, paired=paired)
    return found and apart(found, a.lane, b.lane)


def lane_pairs(lanes: Sequence[LaneView], baseline: str | None = None) -> Iterator[tuple[LaneView, LaneView]]:
    """Lanes that were asked for the same work. A lane's second run is compared with that lane alone: it is there to show
    how much a lane differs from itself."""
    names = [lane.name for lane in lanes]
    if baseline is not None:
        base = lanes[names.index(baseline)]
        yield from ((base, lane) for lane in lanes if lane is not base)
        return
    for a, b in combinations(lanes, 2):
        again = any(lane.name.removesuffix(AGAIN) in names and lane.name.endswith(AGAIN) for lane in (a, b))
        if comparable(a, b) and (not again or is_aa(a.name, b.name)):
            yield a, b


def compare_turns(a: str, left: Turns, b: str, right: Turns, metric: Metric, *, paired: bool) -> Pair | None:
    """b minus a on one metric; None where one of them says nothing about it. Not yet decided."""
    return _compare_samples(a, sample(metric, left), b, sample(metric, right), metric, paired=paired)


def _compare_samples(
    a: str, left: Sample, b: str, right: Sample, metric: Metric, *, paired: bool
) -> Pair | None:
    sessions = sorted(left.names() & right.names(), key=str)
    if not sessions:
        return None
    left, right = left.of(sessions), right.of(sessions)
    values = pooled(metric, left), pooled(metric, right)
    if paired and metric.counted != "tool calls" and left.sessions is None:
        left, right = _common(left, right)
        sessions = sorted(left.names(), key=str)
    if not sessions or values[0] is None or values[1] is None:
        return None
    turns = min(left.n_turns(), right.n_turns())
    pair = _head(a, b, metric, (values[0], values[1]), len(sessions), turns)
    if metric.key == PRIMARY and paired:
        flips = sum(left.values[key] != right.values[key] for key in left.values) / len(left.values)
        pair = replace(pair, flips=flips)
    if len(sessions) < MIN_SESSIONS:
        return _bounded(_within(pair, metric, left, right, paired=paired), metric)
    tested = _ratio_tested if metric.share is None else _quantile_tested
    return _bounded(tested(pair, metric, left, right), metric)


def _bounded(pair: Pair, metric: Metric) -> Pair:
    """Last, since what sizes a further run takes the spread from the whole interval."""
    if metric.unit != "points" or pair.low is None or pair.high is None:
        return pair
    low, high = within_shares(pair.low, pair.high)
    return replace(pair, low=low, high=high)


def _common(left: Sample, right: Sample) -> tuple[Sample, Sample]:
    both = left.values.keys() & right.values.keys()
    if len(both) == len(left.values) == len(right.values):
        return left, right
    return left.only(both), right.only(both)


def _head(a: str, b: str, metric: Metric, values: tuple[float, float], sessions: int, turns: int) -> Pair:
    assert metric.better is not None
    return Pair(
        a=a, b=b, metric=metric.key, better=metric.better, aa=is_aa(a, b), sequential=False, n_turns=turns,
        n_sessions=sessions, value_a=values[0], value_b=values[1], difference=values[1] - values[0], low=None,
        high=None, p_value=None, method="",
    )  # fmt: skip


def _filled(pair: Pair, value: float, interval: Interval | None, p: float | None, method: str) -> Pair:
    """An interval of no width is refused: it says that nothing varied, not that nothing can."""
    known = interval if interval is not None and interval.low < interval.high else None
    low, high = (known.low, known.high) if known else (None, None)
    return replace(pair, difference=value, low=low, high=high, p_value=p, method=method)


def _ratio_tested(pair: Pair, metric: Metric, left: Sample, right: Sample) -> Pair:
    a, b = left.ratios(by_session), right.ratios(by_session)
    names = sorted(a.keys() & b.keys(), key=str)
    parts_a, parts_b = [a[name] for name in names], [b[name] for name in names]
    interval = ratio_difference(parts_a, parts_b)
    method = "pooled over sessions: permutation by session, cluster-jackknife t interval"
    if interval is None and metric.is_rate:
        interval, method = _newcombe(metric, left, right), f"{method} (no variation: unpaired interval)"
    value = _difference(metric, left, right)
    return _with_needed(_filled(pair, value, interval, swap(parts_a, parts_b), method), metric)


def _quantile_tested(pair: Pair, metric: Metric, left: Sample, right: Sample) -> Pair:
    assert metric.share is not None
    a, b = left.times(by_session), right.times(by_session)
    names = sorted(a.keys() & b.keys(), key=str)
    (interval,) = quantile_differences(
        [a[name] for name in names], [b[name] for name in names], [metric.share]
    )
    moved = [_quantile(b[name], metric.share) - _quantile(a[name], metric.share) for name in names]
    method = "pooled quantiles: bootstrap by session; permutation of session quantiles"
    return _with_needed(
        _filled(pair, _difference(metric, left, right), interval, sign_flip(moved), method), metric
    )


def _quantile(counts: dict[float, int], share: float) -> float:
    return weighted_quantile(sorted(counts.items()), share) or 0.0


def _difference(metric: Metric, left: Sample, right: Sample) -> float:
    return (pooled(metric, right) or 0.0) - (pooled(metric, left) or 0.0)


def _within(pair: Pair, metric: Metric, left: Sample, right: Sample, *, paired: bool) -> Pair:
    """Too few sessions to speak of others: an interval within these sessions, over turns, and no test."""
    method = f"not tested: {pair.n_sessions} of at least {MIN_SESSIONS} sessions; interval within these sessions, over turns"
    value = _difference(metric, left, right)
    pair = replace(
        pair, scope="these sessions", needed=MIN_SESSIONS - pair.n_sessions, needed_unit="more sessions"
    )
    if metric.is_rate:
        return _more_events(
            _filled(pair, value, _newcombe(metric, left, right), None, method), metric, left, right
        )
    if metric.share is None:
        a, b = left.ratios(by_turn), right.ratios(by_turn)
        names = sorted(a.keys() & b.keys(), key=str) if paired else []
        parts = (
            ([a[n] for n in names], [b[n] for n in names]) if paired else (list(a.values()), list(b.values()))
        )
        return _filled(pair, value, ratio_difference(*parts, paired=paired), None, method)
    if left.sessions is not None:
        return _filled(
            pair, value, None, None, f"not tested: {pair.n_sessions} of at least {MIN_SESSIONS} sessions"
        )
    of_a, of_b = left.times(by_turn), right.times(by_turn)
    (interval,) = quantile_differences(list(of_a.values()), list(of_b.values()), [metric.share], paired=False)
    return _filled(pair, value, interval, None, method)


def _more_events(pair: Pair, metric: Metric, left: Sample, right: Sample) -> Pair:
    (ka, na), (kb, nb) = _totals(left), _totals(right)
    events = sample_size(ka / na, kb / nb)
    return (
        replace(pair, needed_for=f"about {rounded(events):,} {metric.counted} per engine") if events else pair
    )


def _totals(lane: Sample) -> tuple[int, int]:
    """Events counted once: repeats of a turn are averaged."""
    times = repeats(lane)
    top, bottom = lane.total()
    n = max(1, round(bottom / times))
    return min(n, round(top / times)), n


def _newcombe(metric: Metric, left: Sample, right: Sample) -> Interval:
    return difference(*_totals(left), *_totals(right))


def _with_needed(pair: Pair, metric: Metric) -> Pair:
    """How many sessions of this spread decide a difference worth having, four times of five."""
    points, sessions = metric.unit == "points", pair.n_sessions
    target = TARGET_POINTS if points else abs(pair.value_a) * TARGET_SHARE
    if pair.low is None or pair.high is None or not target:
        return pair
    alpha = ALPHA * (PRIMARY_SHARE if metric.key == PRIMARY else (1 - PRIMARY_SHARE) / (len(DEFAULT) - 1))
    error = (pair.high - pair.low) / 2 / student_t(0.975, sessions - 1)
    reach = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(POWER)
    variance = max(error**2 / _assured(sessions - 1), _least_variance(pair))
    needed = math.ceil(sessions * variance * (reach / target) ** 2) + LEAST_EXTRA
    words = "5 points" if points else f"{TARGET_SHARE:.0%}"
    return replace(pair, needed=needed, needed_unit="such sessions", needed_for=words)


def _least_variance(pair: Pair) -> float:
    """Of a difference of paired shares: what the turns that are usable on one lane only give if each stands for itself
    (McNemar 1947), at the upper end of that count, four times of five. Turns of a session that go together add to it: a
    few sessions that show less than this do so by luck, and would recommend too few."""
    if pair.flips is None:
        return 0.0
    more: float = NormalDist().inv_cdf(POWER) * math.sqrt(pair.flips * (1 - pair.flips) / pair.n_turns)
    return max(0.0, min(1.0, pair.flips + more) - pair.difference**2) / pair.n_turns


def _assured(freedom: int) -> float:
    """The share of a variance that a few sessions show at least, four times of five (chi-square by Wilson and Hilferty
    1931): a spread that looks small by luck would recommend too few."""
    part = 2 / (9 * freedom)
    z: float = NormalDist().inv_cdf(1 - POWER)
    return max(0.1, 1 - part + z * math.sqrt(part)) ** 3


def ended(a: LaneView, b: LaneView) -> dict[str, int]:
    """When the first repeat of each session had ended on both lanes."""
    ends = [
        {attempt.trace: attempt.ended for attempt in lane.attempts if not attempt.repeat and attempt.ended}
        for lane in (a, b)
    ]
    return {name: max(ends[0][name], ends[1][name]) for name in ends[0].keys() & ends[1].keys()}


def compare_sequentially(a: Side, b: Side, metric: Metric, *, paired: bool) -> Pair | None:
    """Valid wherever the run stopped: signs of session differences in the order in which sessions ended.

    Only the first repeat of a session counts: what came later may depend on it.
    """
    left, right = (
        sample(
            metric,
            {key: turn for key, turn in side.turns.items() if not key[1]},
            [attempt for attempt in side.lane.attempts if not attempt.repeat],
        )
        for side in (a, b)
    )
    if paired and metric.counted != "tool calls" and left.sessions is None:
        left, right = _common(left, right)
    ends = ended(a.lane, b.lane)
    sessions = sorted((left.names() & right.names()) & ends.keys(), key=lambda name: (ends[str(name)], name))
    if not sessions:
        return None
    moved = [_difference(metric, left.of([name]), right.of([name])) for name in sessions]
    p, interval = sequential(moved)
    left, right = left.of(sessions), right.of(sessions)
    values = pooled(metric, left) or 0.0, pooled(metric, right) or 0.0
    turns = min(left.n_turns(), right.n_turns())
    pair = _head(a.lane.name, b.lane.name, metric, values, len(sessions), turns)
    pair = apart(replace(pair, sequential=True), a.lane, b.lane)
    pair = _filled(pair, interval.value, None, p, SEQUENTIAL)
    return _bounded(replace(pair, low=interval.low, high=interval.high), metric)


def _held_against_floors(pairs: list[Pair], lanes: Sequence[tuple[LaneView, LaneView]]) -> list[Pair]:
    """Pairs of different runs, in figures that drift, and times of lanes that ran one after the other: tested only beyond
    what lanes differ from themselves there."""
    floors: dict[tuple[str, str, int], float | None] = {}
    every = {lane.name: lane for pair in lanes for lane in pair}
    found = []
    for pair in pairs:
        metric = COMPARED[pair.metric]
        timed = pair.one_after_other and metric.unit != "points"
        if not (metric.drifts and (pair.between_runs or timed)):
            found.append(pair)
            continue
        a, b = every[pair.a], every[pair.b]
        far = 0 if pair.between_runs else gap(a, b)
        for run in (a.run, b.run):
            if (run, metric.key, far) not in floors:
                of_run = [lane for lane in every.values() if lane.run == run]
                floors[run, metric.key, far] = _floor(of_run, metric, far)
        known = [floors[run, metric.key, far] for run in (a.run, b.run)]
        found.append(_against_floor(pair, None if None in known else max(floor or 0.0 for floor in known)))
    return found


def _floor(lanes: Sequence[LaneView], metric: Metric, far: int) -> float | None:
    """How far a lane of a run may lie from itself, at the far end of its interval; None without an A/A pair. Across a gap
    only a lane that ran twice with a gap between shows that; what changes steadily changes more over a longer one."""
    reaches = []
    for a, b in ((a, b) for a in lanes for b in lanes if is_aa(a.name, b.name)):
        own = gap(a, b)
        if far and not own:
            continue
        left, right = (sample(metric, by_key(lane), lane.attempts) for lane in (a, b))
        pair = _compare_samples(a.name, left, b.name, right, metric, paired=True)
        if pair is not None and pair.low is not None and pair.high is not None:
            longer = max(1.0, far / own) if far else 1.0
            reaches.append(longer * max(abs(pair.low), abs(pair.high)))
    return max(reaches, default=None)


def _against_floor(pair: Pair, floor: float | None) -> Pair:
    if floor is None:
        return replace(pair, p_value=None, method=f"not tested: {WHY_NOT[pair.one_after_other]}")
    method = (
        f"{pair.method}; only beyond {floor:.3g}, which a lane differs from itself within these runs (A/A)"
    )
    least = min((abs(end) for end in (pair.low, pair.high) if end is not None), default=abs(pair.difference))
    return replace(pair, p_value=pair.p_value if least > floor else None, method=method)
