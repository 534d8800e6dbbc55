"""How much a lane differs from itself: each figure once per repeat, with mean, spread and interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics import turn_values as of
from replayer.metrics.load_figures import answered_of, busy_seconds, output_speed, times
from replayer.metrics.run_documents import Spread, Variance
from replayer.metrics.stats import student_t

METRICS = ("output_tok_s", "ttft_ms.p50", "tpot_ms.p50", "e2e_ms.p50")
"""Of the catalogue."""


def variance(lane: LaneView) -> Variance | None:
    """None with fewer than two repeats, and for a load, in which they do not repeat the whole."""
    if lane.load is not None:
        return None
    turns: dict[int, list[TurnFacts]] = defaultdict(list)
    for attempt in lane.attempts:
        turns[attempt.repeat] += [turn for turn in attempt.turns.values() if turn.total_ns is not None]
    repeats = [_figures(turns[repeat]) for repeat in sorted(turns)]
    if len(repeats) < 2:
        return None
    columns = {
        name: [value for figures in repeats if (value := figures[name]) is not None] for name in METRICS
    }
    spreads = {
        name.partition(".")[0]: over_repeats(values) for name, values in columns.items() if len(values) > 1
    }
    return Variance(lane.name, len(repeats), spreads)


def _figures(turns: list[TurnFacts]) -> dict[str, float | None]:
    speed = output_speed(answered_of(turns), busy_seconds(turns))
    middles = (times(turns, time).p50 for time in (of.ttft_ms, of.tpot_ms, of.e2e_ms))
    return dict(zip(METRICS, (speed, *middles), strict=True))


def over_repeats(values: Sequence[float]) -> Spread:
    """Mean with Student's 95 % t interval on n - 1 degrees of freedom, and the coefficient of variation (standard
    deviation over mean). Needs two values at least."""
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    reach = student_t(0.975, n - 1) * deviation / math.sqrt(n)
    return Spread(n, mean, deviation, deviation / mean if mean else None, mean - reach, mean + reach)
