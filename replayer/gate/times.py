"""Times and speeds against a baseline: the run is the cluster.

Between two runs the machine, its clocks and its neighbours move every time of a run together, and no number of turns averages
that out. So a baseline holds one value for each of several runs, and a later run is worse only where it lies outside what
those runs and the lane's own second run in the same job (A/A) leave room for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import Metric
from replayer.metrics.decide import amount
from replayer.metrics.run_documents import Pair
from replayer.metrics.samples import by_key, pooled, sample
from replayer.metrics.stats import student_cdf, student_t

LEAST_RUNS = 3
"""Of fewer, the spread is known so badly that it would decide next to nothing."""


def value(lane: LaneView, metric: Metric) -> float | None:
    return pooled(metric, sample(metric, by_key(lane), lane.attempts))


def compared(
    metric: Metric, before: Sequence[float], lane: LaneView, again: LaneView | None, *, of: int, level: float
) -> Pair | None:
    """This run's value against those of the baseline's runs, one of `of` comparisons that share the error `level`.

    A new draw from the runs of the baseline: Student's t of (value - mean) / (s * sqrt(1 + 1/k)) on k - 1 degrees of
    freedom. What the lane differs from itself in this job is not a difference.
    """
    own, second = value(lane, metric), value(again, metric) if again else None
    if own is None or metric.better is None:
        return None
    now = own if second is None else (own + second) / 2
    mean = fmean(before) if before else now
    pair = Pair(
        a="baseline", b=lane.name, metric=metric.key, better=metric.better, aa=False, sequential=False,
        n_turns=len(by_key(lane)), n_sessions=len({a.trace for a in lane.attempts}), value_a=mean, value_b=now,
        difference=now - mean, low=None, high=None, p_value=None, between_runs=True,
        method=f"not tested: the baseline has {len(before)} of at least {LEAST_RUNS} runs",
        conclusion=f"{lane.name}, {metric.words}: not tested, the baseline has {len(before)} of at least {LEAST_RUNS} runs",
    )  # fmt: skip
    if len(before) < LEAST_RUNS:
        return pair
    floor = abs(own - second) if second is not None else 0.0
    return _tested(pair, metric, stdev(before), len(before), floor, of, level)


def _tested(
    pair: Pair, metric: Metric, spread: float, runs: int, floor: float, of: int, level: float
) -> Pair:
    error = max(spread, metric.least, 1e-9 * abs(pair.value_a), 1e-12) * math.sqrt(1 + 1 / runs)
    p = 2 * (1 - student_cdf(abs(pair.difference) / error, runs - 1))
    adjusted = min(1.0, p * of)
    reach = student_t(0.975, runs - 1) * error
    found = _replaced(pair, p, adjusted, reach, runs)
    beyond = abs(pair.difference) > max(floor, metric.least)
    return _said(found, metric, decided=adjusted < level and beyond)


def _replaced(pair: Pair, p: float, adjusted: float, reach: float, runs: int) -> Pair:
    method = f"a run against {runs} runs of the baseline: Student's t, the run as the cluster, beyond the A/A difference"
    low, high = pair.difference - reach, pair.difference + reach
    return replace(pair, p_value=p, p_value_adjusted=adjusted, low=low, high=high, method=method)


def _said(pair: Pair, metric: Metric, *, decided: bool) -> Pair:
    better = (pair.difference > 0) == (pair.better == "higher")
    words = f"{pair.b} is {'better' if better else 'worse'} than the baseline in {metric.words}"
    if not decided:
        words = f"{pair.b}, {metric.words}: within what runs of the same engine differ"
    return replace(pair, decided=decided, conclusion=f"{words}: {amount(pair)}")
