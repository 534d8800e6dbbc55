"""From which answer length on is the other lane the faster one?

A whole answer takes TTFT + (n - 1) x TPOT: the lane that starts sooner wins the short ones, the one that decodes faster
the long ones. A length counts for a lane only where the difference is beyond noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.catalogue import Metric
from replayer.metrics.compare import by_key, compare_turns
from replayer.metrics.stats import holm

ALPHA = 0.05


def _e2e(turn: TurnFacts) -> tuple[float, float] | None:
    if turn.error is not None or turn.stopped or turn.total_ns is None:
        return None
    return turn.total_ns / 1e6, 1


E2E = Metric("e2e_ms", "time of a whole answer", "lower", _e2e, unit="ms", rate=False)
Curve = Sequence[tuple[float, LaneView]]


def crossover(a: str, left: Curve, b: str, right: Curve) -> dict[str, Any] | None:
    """Two lanes over the lengths that both were asked for; None where they share fewer than two."""
    other = dict(right)
    compared = [
        {"length": length, **found}
        for length, lane in left
        if length in other
        and (found := compare_turns(a, by_key(lane), b, by_key(other[length]), E2E, paired=True)) is not None
    ]
    if len(compared) < 2:
        return None
    winners = _winners(compared)
    levels = [
        {
            key: level[key]
            for key in ("length", "value_a", "value_b", "difference", "low", "high", "n_sessions")
        }
        | {"faster": winner}
        for level, winner in zip(compared, winners, strict=True)
    ]
    crossings = find(levels)
    return {
        "a": a,
        "b": b,
        "levels": levels,
        "crossovers": crossings,
        "conclusion": _sentence(a, b, levels, crossings),
    }


def _winners(compared: Sequence[dict[str, Any]]) -> list[str | None]:
    """The faster lane of each length, by p values adjusted over the lengths (Holm); too few sessions decide nothing."""
    tested = {str(n): level["chance"] for n, level in enumerate(compared) if level["chance"] is not None}
    adjusted = holm(tested)
    return [
        (level["b"] if level["difference"] < 0 else level["a"]) if adjusted.get(str(n), 1.0) < ALPHA else None
        for n, level in enumerate(compared)
    ]


def find(levels: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the faster lane changes between two lengths that are decided; undecided ones lie in between.

    `estimate` is where the straight line through both differences is zero: the difference is linear in the length.
    """
    decided = [level for level in levels if level["faster"] is not None]
    return [
        {
            "from": before["faster"],
            "to": after["faster"],
            "after": before["length"],
            "by": after["length"],
            "estimate": _zero(before, after),
        }
        for before, after in pairwise(decided)
        if before["faster"] != after["faster"]
    ]


def _zero(before: dict[str, Any], after: dict[str, Any]) -> float:
    start, end = abs(before["difference"]), abs(after["difference"])
    return float(before["length"] + (after["length"] - before["length"]) * start / (start + end))


def _sentence(a: str, b: str, levels: Sequence[dict[str, Any]], crossings: Sequence[dict[str, Any]]) -> str:
    if crossings:
        told = (
            f"{c['to']} is faster than {c['from']} from about {c['estimate']:,.0f} tokens on "
            f"(between {c['after']:,.0f} and {c['by']:,.0f})"
            for c in crossings
        )
        return "; ".join(told)
    winners = {level["faster"] for level in levels} - {None}
    if not winners:
        return f"no length at which {a} and {b} differ beyond noise"
    where = [f"{level['length']:,.0f}" for level in levels if level["faster"]]
    return f"no crossover: {winners.pop()} is faster at {', '.join(where)} tokens, and nowhere slower beyond noise"
