"""One comparison of two lanes as plain data, the shape of `compare --json`."""

from __future__ import annotations

from typing import Any

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import Metric, Quantile
from replayer.metrics.stats import Interval

Pair = dict[str, Any]
AGAIN = ".again"
"""Ends the name of the second lane of an A/A pair."""
SEQUENTIAL = "the run may stop early: signs of session differences, e value, valid at any stop"


def ended(a: LaneView, b: LaneView) -> dict[str, int]:
    """When the first repeat of each session had ended on both lanes."""
    ends = [
        {attempt.trace: attempt.ended for attempt in lane.attempts if not attempt.repeat and attempt.ended}
        for lane in (a, b)
    ]
    return {name: max(ends[0][name], ends[1][name]) for name in ends[0].keys() & ends[1].keys()}


def is_aa(a: str, b: str) -> bool:
    return b == a + AGAIN


def head(
    a: str, b: str, metric: Metric | Quantile, values: tuple[float, float], sessions: int, turns: int
) -> Pair:
    """What was compared; `values` are those of a and b."""
    return {
        "a": a,
        "b": b,
        "metric": metric.name,
        "better": metric.better,
        "aa": is_aa(a, b),
        "sequential": False,
        "n_turns": turns,
        "n_sessions": sessions,
        "value_a": values[0],
        "value_b": values[1],
    }


def figures(interval: Interval, p: float | None, chance: float | None, method: str) -> Pair:
    """What came out. `chance`: the p that decides, also where too few sessions are there to state one."""
    return {
        "difference": interval.value,
        "low": interval.low,
        "high": interval.high,
        "p_value": p,
        "method": method,
        "chance": chance,
    }
