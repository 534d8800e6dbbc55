"""Is a difference between two lanes real? Paired by step where prompts were the same, else by session.

A session is one recorded trace: its steps, and its repeats, are one cluster.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from replayer.stats import (
    MIN_SESSIONS,
    Interval,
    clustered_difference,
    difference,
    holm,
    sample_size,
    sign_flip,
    student_t,
)
from replayer.steps import StepFacts
from replayer.view import LaneView, RunView

Count = tuple[float, float]
"""What one step adds to a metric: (numerator, denominator)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure per step. `rate` metrics count events, the others average a measurement."""

    name: str
    words: str
    better: Literal["higher", "lower"]
    unit: str
    rate: bool
    of: Callable[[StepFacts], Count | None]
    """None where the step says nothing about it."""

    def format(self, value: float) -> str:
        return f"{value * 100:+.1f} points" if self.rate else f"{value:+.3g} {self.unit}"


def _usable(step: StepFacts) -> Count | None:
    return None if step.usable is None else (float(step.usable), 1)


def _invalid_calls(step: StepFacts) -> Count | None:
    return None if step.usable is None or not step.calls else (step.invalid_calls, step.calls)


def _failed_calls(step: StepFacts) -> Count | None:
    ran = [outcome for outcome in step.tool_outcomes if outcome not in ("recorded", "not_executable_here")]
    return (sum(outcome != "ok" for outcome in ran), len(ran)) if ran else None


def _collapsed(step: StepFacts) -> Count | None:
    return None if step.total_ns is None else (float(step.collapse is not None), 1)


def _errors(step: StepFacts) -> Count | None:
    return None if step.total_ns is None else (float(step.error is not None), 1)


def _cached(step: StepFacts) -> Count | None:
    if step.cached_tokens is None or not step.prompt_tokens:
        return None
    return step.cached_tokens / step.prompt_tokens, 1


def _ttft(step: StepFacts) -> Count | None:
    return None if step.ttft_ns is None else (step.ttft_ns / 1e6, 1)


def _decode(step: StepFacts) -> Count | None:
    return None if step.decode_tok_s is None else (step.decode_tok_s, 1)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("usable_turn_rate", "usable turns", "higher", "", True, _usable),
        Metric("invalid_call_rate", "invalid tool calls", "lower", "", True, _invalid_calls),
        Metric("failed_call_rate", "failed executions", "lower", "", True, _failed_calls),
        Metric("collapsed_rate", "collapsed steps", "lower", "", True, _collapsed),
        Metric("error_rate", "engine errors", "lower", "", True, _errors),
        Metric("prefix_hit_rate", "reported prefix-cache hits", "higher", "of the prompt", False, _cached),
        Metric("ttft_ms", "time to first token", "lower", "ms", False, _ttft),
        Metric("decode_tok_s", "decode speed", "higher", "tok/s", False, _decode),
    )
}
PRIMARY = "usable_turn_rate"
_PER_STEP = {
    "usable_turn_rate",
    "collapsed_rate",
    "error_rate",
    "prefix_hit_rate",
    "ttft_ms",
    "decode_tok_s",
}
"""Metrics with one value per step, which pair step by step; the others pair by session."""

Steps = dict[tuple[str, int, int], StepFacts]
"""Steps by (trace, repeat, step)."""


def compare(
    view: RunView, *, baseline: str | None = None, metrics: Sequence[str] = tuple(METRICS)
) -> list[dict[str, Any]]:
    """Every pair of lanes (or each lane against `baseline`) on every metric; p values Holm-adjusted per metric."""
    results = []
    for name in metrics:
        pairs = [
            result
            for a, b in lane_pairs(view.lanes, baseline)
            if (result := compare_lanes(a, b, METRICS[name], paired=view.mode == "recorded")) is not None
        ]
        results += _adjusted(pairs)
    return results


def lane_pairs(lanes: Sequence[LaneView], baseline: str | None) -> Iterator[tuple[LaneView, LaneView]]:
    if baseline is None:
        yield from combinations(lanes, 2)
        return
    base = next(lane for lane in lanes if lane.name == baseline)
    yield from ((base, lane) for lane in lanes if lane.name != baseline)


def compare_lanes(a: LaneView, b: LaneView, metric: Metric, *, paired: bool) -> dict[str, Any] | None:
    """b minus a on one metric; None where one of them says nothing about it."""
    return compare_steps(a.name, by_key(a), b.name, by_key(b), metric, paired=paired)


def by_key(lane: LaneView) -> Steps:
    return {
        (attempt.trace, attempt.repeat, number): step
        for attempt in lane.attempts
        for number, step in attempt.steps.items()
    }


def compare_steps(
    a: str, left: Steps, b: str, right: Steps, metric: Metric, *, paired: bool
) -> dict[str, Any] | None:
    counts_a, counts_b = _counts(left, metric), _counts(right, metric)
    if paired and metric.name in _PER_STEP:
        common = counts_a.keys() & counts_b.keys()
        counts_a = {key: counts_a[key] for key in counts_a if key in common}
        counts_b = {key: counts_b[key] for key in counts_b if key in common}
    sessions = sorted({key[0] for key in counts_a} & {key[0] for key in counts_b})
    if not sessions:
        return None
    result = {
        "a": a,
        "b": b,
        "metric": metric.name,
        "better": metric.better,
        "n_steps": min(len(counts_a), len(counts_b)),
        "n_sessions": len(sessions),
        "value_a": _mean(counts_a.values()),
        "value_b": _mean(counts_b.values()),
    }
    if len(sessions) < MIN_SESSIONS:
        return result | _these_sessions_only(metric, counts_a, counts_b, b, len(sessions))
    return result | _over_sessions(metric, counts_a, counts_b, sessions, b, paired=paired)


def _counts(steps: Steps, metric: Metric) -> dict[tuple[str, int, int], Count]:
    found = ((key, metric.of(step)) for key, step in steps.items())
    return {key: count for key, count in found if count is not None}


def _mean(counts: Any) -> float:
    pairs = list(counts)
    return math.fsum(top for top, _ in pairs) / math.fsum(bottom for _, bottom in pairs)


def _over_sessions(
    metric: Metric,
    counts_a: dict[tuple[str, int, int], Count],
    counts_b: dict[tuple[str, int, int], Count],
    sessions: Sequence[str],
    b: str,
    *,
    paired: bool,
) -> dict[str, Any]:
    if paired and metric.name in _PER_STEP:
        sums: dict[str, float] = defaultdict(float)
        sizes: dict[str, int] = defaultdict(int)
        for key in counts_a:
            sums[key[0]] += counts_b[key][0] - counts_a[key][0]
            sizes[key[0]] += 1
        moved = [sums[name] for name in sessions]
        interval = clustered_difference(moved, [sizes[name] for name in sessions])
        method = "paired steps, sign-flip by session, cluster-robust interval"
    else:
        moved = [_session_mean(counts_b, name) - _session_mean(counts_a, name) for name in sessions]
        interval = _t_interval(moved)
        method = "session means, sign-flip, t interval"
    p = sign_flip(moved)
    return {
        "difference": interval.value,
        "low": interval.low,
        "high": interval.high,
        "p_value": p,
        "method": method,
        "conclusion": _sentence(metric, interval, b, decided=p < 0.05, sessions=len(sessions)),
    }


def _session_mean(counts: dict[tuple[str, int, int], Count], session: str) -> float:
    return _mean(count for key, count in counts.items() if key[0] == session)


def _t_interval(values: Sequence[float]) -> Interval:
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    reach = student_t(0.975, n - 1) * deviation
    return Interval(mean, mean - reach, mean + reach)


def _these_sessions_only(
    metric: Metric,
    counts_a: dict[tuple[str, int, int], Count],
    counts_b: dict[tuple[str, int, int], Count],
    b: str,
    sessions: int,
) -> dict[str, Any]:
    """Too few sessions to speak of others: an unpaired interval and no p value."""
    interval, needed = _unpaired(metric, list(counts_a.values()), list(counts_b.values()))
    return {
        "difference": interval.value,
        "low": interval.low,
        "high": interval.high,
        "p_value": None,
        "method": f"unpaired, these sessions only: {sessions} of at least {MIN_SESSIONS} needed for a test",
        "needed": needed,
        "conclusion": _sentence(
            metric,
            interval,
            b,
            decided=interval.low > 0 or interval.high < 0,
            sessions=sessions,
            needed=needed,
        ),
    }


def _unpaired(metric: Metric, a: list[Count], b: list[Count]) -> tuple[Interval, int | None]:
    if metric.rate:
        ka, na = (round(math.fsum(column)) for column in zip(*a, strict=True))
        kb, nb = (round(math.fsum(column)) for column in zip(*b, strict=True))
        return difference(ka, na, kb, nb), sample_size(ka / na, kb / nb)
    return _welch([top for top, _ in a], [top for top, _ in b]), None


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


def _adjusted(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Holm over the pairs of one metric; a difference that does not survive is no longer called one."""
    tested = {f"{pair['a']}/{pair['b']}": pair["p_value"] for pair in pairs if pair["p_value"] is not None}
    adjusted = holm(tested)
    for pair in pairs:
        p = adjusted.get(f"{pair['a']}/{pair['b']}")
        if p is None:
            continue
        pair["p_value_adjusted"] = p
        if pair["p_value"] < 0.05 <= p:
            pair["conclusion"] = f"no evidence of a difference once {len(tested)} pairs are looked at"
    return pairs


def _sentence(
    metric: Metric,
    interval: Interval,
    b: str,
    *,
    decided: bool,
    sessions: int,
    needed: int | None = None,
) -> str:
    seen = (
        f"{metric.format(interval.value)} for {b} "
        f"[{metric.format(interval.low)}, {metric.format(interval.high)}]"
    )
    scope = "" if sessions >= MIN_SESSIONS else ", these sessions only"
    if not decided:
        more = f"; you would need about {needed:,} per engine if they were independent" if needed else ""
        return f"no evidence of a difference in {metric.words}: {seen}{scope}{more}"
    good = (interval.value > 0) == (metric.better == "higher")
    return f"{b} is {'better' if good else 'worse'} in {metric.words}: {seen}{scope}"
