"""How much a lane differs from itself: each figure once per repeat, with mean, spread and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replayer.journal.view import LaneView
from replayer.metrics.load_figures import load
from replayer.metrics.stats import student_t

METRICS = ("output_tok_s", "ttft_ms", "tpot_ms", "e2e_ms")
"""Throughput, and the median of each time."""


def variance(lane: LaneView) -> dict[str, Any] | None:
    """`metrics` by name; None with fewer than two repeats."""
    repeats = [_figures(lane, repeat) for repeat in sorted({attempt.repeat for attempt in lane.attempts})]
    if len(repeats) < 2:
        return None
    columns = {
        name: [value for figures in repeats if (value := figures[name]) is not None] for name in METRICS
    }
    metrics = {name: over_repeats(values) for name, values in columns.items() if len(values) > 1}
    return {"lane": lane.name, "repeats": len(repeats), "metrics": metrics}


def _figures(lane: LaneView, repeat: int) -> dict[str, float | None]:
    turns = [
        turn
        for attempt in lane.attempts
        if attempt.repeat == repeat
        for turn in attempt.turns.values()
        if turn.total_ns is not None
    ]
    figures = load(turns, 1, None)
    medians = {name: figures[name]["p50"] for name in METRICS if name != "output_tok_s"}
    return {"output_tok_s": figures["output_tok_s"], **medians}


def over_repeats(values: Sequence[float]) -> dict[str, float | None]:
    """Mean with Student's 95 % t interval on n - 1 degrees of freedom, and the coefficient of variation (standard
    deviation over mean). Needs two values at least."""
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    reach = student_t(0.975, n - 1) * deviation / math.sqrt(n)
    cv = deviation / mean if mean else None
    return {"n": n, "mean": mean, "sd": deviation, "cv": cv, "low": mean - reach, "high": mean + reach}
