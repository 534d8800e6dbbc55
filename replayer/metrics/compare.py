"""Is a difference between two lanes real? Paired by turn where prompts were the same, else by session.

A session is one recorded trace: its turns, and its repeats, are one cluster.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import NormalDist

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.catalogue import ALL, METRICS, PRIMARY, QUANTILES, Count, Metric, Quantile
from replayer.metrics.compare_times import compare_quantiles
from replayer.metrics.conclusions import decide
from replayer.metrics.pair import AGAIN, SEQUENTIAL, Pair, ended, figures, head, is_aa
from replayer.metrics.stats import (
    MIN_SESSIONS,
    Interval,
    clustered_difference,
    difference,
    sample_size,
    score_test,
    sequential,
    sign_flip,
    student_t,
)
from replayer.metrics.sweep import comparable

__all__ = ["ALL", "METRICS", "PRIMARY", "QUANTILES", "compare"]

Turns = dict[tuple[str, int, int], TurnFacts]
"""Turns by (trace, repeat, turn)."""
Counts = dict[tuple[str, int, int], Count]
_POWER = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)


def compare(
    view: RunView,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    pairs: Iterable[tuple[LaneView, LaneView]] | None = None,
) -> list[Pair]:
    """Every pair of lanes (or the given ones) on every metric, ordered by metric.

    All of them are one family (`conclusions.decide`).
    """
    lanes = list(lane_pairs(view.lanes) if pairs is None else pairs)
    compared = [
        result
        for name in metrics
        for a, b in lanes
        if (result := _compare(view, a, b, ALL[name])) is not None
    ]
    return decide(compared, view.plan.get("stop_when_decided") or PRIMARY)


def _compare(view: RunView, a: LaneView, b: LaneView, metric: Metric | Quantile) -> Pair | None:
    stops = view.plan.get("stop_when_decided")
    if isinstance(metric, Quantile):
        return compare_quantiles(a, b, metric, ended(a, b) if stops else None)
    paired = view.mode == "recorded"
    if stops:
        return compare_sequentially(a, b, metric, paired=paired)
    return compare_turns(a.name, by_key(a), b.name, by_key(b), metric, paired=paired)


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


def by_key(lane: LaneView) -> Turns:
    return {
        (attempt.trace, attempt.repeat, number): turn
        for attempt in lane.attempts
        for number, turn in attempt.turns.items()
    }


def compare_turns(a: str, left: Turns, b: str, right: Turns, metric: Metric, *, paired: bool) -> Pair | None:
    """b minus a on one metric; None where one of them says nothing about it."""
    counts_a, counts_b = _common(left, right, metric, paired=paired)
    sessions = sorted({key[0] for key in counts_a} & {key[0] for key in counts_b})
    if not sessions:
        return None
    values = _mean(counts_a.values()), _mean(counts_b.values())
    result = head(a, b, metric, values, len(sessions), min(len(counts_a), len(counts_b)))
    if metric.name == PRIMARY and paired:
        result["flips"] = sum(counts_a[key] != counts_b[key] for key in counts_a) / len(counts_a)
    if len(sessions) < MIN_SESSIONS:
        return result | _these_sessions_only(metric, counts_a, counts_b, len(sessions))
    return result | _over_sessions(metric, counts_a, counts_b, sessions, paired=paired)


def _common(left: Turns, right: Turns, metric: Metric, *, paired: bool) -> tuple[Counts, Counts]:
    a, b = _counts(left, metric), _counts(right, metric)
    if not (paired and metric.per_turn):
        return a, b
    return {key: a[key] for key in a if key in b}, {key: b[key] for key in b if key in a}


def _counts(turns: Turns, metric: Metric) -> Counts:
    found = ((key, metric.of(turn)) for key, turn in turns.items())
    return {key: count for key, count in found if count is not None}


def _mean(counts: Iterable[Count]) -> float:
    pairs = list(counts)
    return math.fsum(top for top, _ in pairs) / math.fsum(bottom for _, bottom in pairs)


def _over_sessions(
    metric: Metric, counts_a: Counts, counts_b: Counts, sessions: Sequence[str], *, paired: bool
) -> Pair:
    if paired and metric.per_turn:
        sums: dict[str, float] = defaultdict(float)
        sizes: dict[str, int] = defaultdict(int)
        for key in counts_a:
            sums[key[0]] += counts_b[key][0] - counts_a[key][0]
            sizes[key[0]] += 1
        moved, weights = [sums[name] for name in sessions], [sizes[name] for name in sessions]
        method = "paired turns, sign-flip by session, cluster-robust interval"
    else:
        moved = session_differences(counts_a, counts_b, sessions)
        weights = [1] * len(moved)
        method = "session means, sign-flip, t interval"
    interval = clustered_difference(moved, weights)
    if (
        metric.rate and interval.low == interval.high
    ):  # the same on every session: not known to the last digit
        interval, method = _newcombe(counts_a, counts_b), f"{method} (no variation: unpaired interval)"
    p = sign_flip(moved)
    return figures(interval, p, p, method) | _sessions_needed(interval, len(sessions))


def session_differences(counts_a: Counts, counts_b: Counts, sessions: Iterable[str]) -> list[float]:
    """Mean of b minus mean of a in each session."""
    groups: list[dict[str, list[Count]]] = []
    for counts in (counts_a, counts_b):
        found: dict[str, list[Count]] = defaultdict(list)
        for key, count in counts.items():
            found[key[0]].append(count)
        groups.append(found)
    return [_mean(groups[1][name]) - _mean(groups[0][name]) for name in sessions]


def _sessions_needed(interval: Interval, sessions: int) -> Pair:
    """For 80 % power at the difference and the spread between sessions that were seen."""
    if not interval.value:
        return {}
    error = (interval.high - interval.low) / 2 / student_t(0.975, sessions - 1)
    needed = math.ceil(sessions * (_POWER * error / interval.value) ** 2)
    return {"needed": needed, "needed_unit": "such sessions"} if needed > sessions else {}


def _these_sessions_only(metric: Metric, counts_a: Counts, counts_b: Counts, sessions: int) -> Pair:
    """Too few sessions to speak of others: an unpaired interval and no p value. Times are never decided so: those of one
    session go up and down together."""
    method = f"unpaired, these sessions only: {sessions} of at least {MIN_SESSIONS} needed for a test"
    if not metric.rate:
        means = [[top for top, _ in counts.values()] for counts in (counts_a, counts_b)]
        return figures(_welch(*means), None, None, method)
    ka, na, kb, nb = _totals(counts_a, counts_b)
    needed = sample_size(ka / na, kb / nb)
    more = {"needed": needed, "needed_unit": f"{metric.counted} per engine"}
    return figures(difference(ka, na, kb, nb), None, score_test(ka, na, kb, nb), method) | more


def _totals(counts_a: Counts, counts_b: Counts) -> tuple[int, int, int, int]:
    ka, na = (round(math.fsum(column)) for column in zip(*counts_a.values(), strict=True))
    kb, nb = (round(math.fsum(column)) for column in zip(*counts_b.values(), strict=True))
    return ka, na, kb, nb


def _newcombe(counts_a: Counts, counts_b: Counts) -> Interval:
    return difference(*_totals(counts_a, counts_b))


def _welch(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Difference of means with Welch's interval (1947)."""
    gap = math.fsum(b) / len(b) - math.fsum(a) / len(a)
    va, vb = _variance_of_mean(a), _variance_of_mean(b)
    if va + vb == 0:
        return Interval(gap, gap, gap)
    freedom = (va + vb) ** 2 / (va**2 / max(len(a) - 1, 1) + vb**2 / max(len(b) - 1, 1))
    reach = student_t(0.975, freedom) * math.sqrt(va + vb)
    return Interval(gap, gap - reach, gap + reach)


def _variance_of_mean(values: Sequence[float]) -> float:
    n = len(values)
    if n < 2:
        return 0.0
    mean = math.fsum(values) / n
    return math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n


def compare_sequentially(a: LaneView, b: LaneView, metric: Metric, *, paired: bool) -> Pair | None:
    """Valid wherever the run stopped: signs of session differences in the order in which sessions ended.

    Only the first repeat of a session counts: what came later may depend on it.
    """
    left, right = ({key: turn for key, turn in by_key(lane).items() if key[1] == 0} for lane in (a, b))
    counts_a, counts_b = _common(left, right, metric, paired=paired)
    ends = ended(a, b)
    known = {key[0] for key in counts_a} & {key[0] for key in counts_b} & ends.keys()
    sessions = sorted(known, key=lambda name: (ends[name], name))
    if not sessions:
        return None
    p, interval = sequential(session_differences(counts_a, counts_b, sessions))
    if metric.rate:
        interval = Interval(interval.value, max(interval.low, -1.0), min(interval.high, 1.0))
    values = _mean(counts_a.values()), _mean(counts_b.values())
    result = head(a.name, b.name, metric, values, len(sessions), min(len(counts_a), len(counts_b)))
    return result | {"sequential": True} | figures(interval, p, p, SEQUENTIAL)
