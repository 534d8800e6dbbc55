"""From which answer length on is the other lane the faster one?

A whole answer takes TTFT + (n - 1) x TPOT: the lane that starts sooner wins the short ones, the one that decodes faster
the long ones. A length counts for a lane only where the difference is beyond noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from replayer.metrics.catalogue import METRICS
from replayer.metrics.compare import compare_turns
from replayer.metrics.decide import ALPHA
from replayer.metrics.run_documents import Crossing, Crossover, Level, Pair
from replayer.metrics.samples import by_key
from replayer.metrics.stats import holm
from replayer.metrics.sweep import curves

if TYPE_CHECKING:
    from replayer.journal.view import LaneView

E2E = METRICS["e2e_ms.p50"]
Curve = Sequence[tuple[float, "LaneView"]]


def crossovers(lanes: Sequence[LaneView]) -> list[Crossover]:
    pairs = combinations(curves(lanes, "max_tokens").items(), 2)
    found = (crossover(a, left, b, right) for (a, left), (b, right) in pairs)
    return [pair for pair in found if pair is not None]


def crossover(a: str, left: Curve, b: str, right: Curve) -> Crossover | None:
    """Two lanes over the lengths that both were asked for; None where they share fewer than two."""
    other = dict(right)
    compared = [
        (length, found)
        for length, lane in left
        if length in other
        and (found := compare_turns(a, by_key(lane), b, by_key(other[length]), E2E, paired=True)) is not None
    ]
    if len(compared) < 2:
        return None
    winners = _winners([pair for _, pair in compared])
    levels = [
        Level(
            length, pair.value_a, pair.value_b, pair.difference, pair.low, pair.high, pair.n_sessions, winner
        )
        for (length, pair), winner in zip(compared, winners, strict=True)
    ]
    crossings = find(levels)
    return Crossover(a, b, levels, crossings, _sentence(a, b, levels, crossings))


def _winners(compared: Sequence[Pair]) -> list[str | None]:
    """The faster lane of each length, by p values adjusted over the lengths (Holm); too few sessions decide nothing."""
    adjusted = holm({str(n): pair.p_value for n, pair in enumerate(compared) if pair.p_value is not None})
    decided = [replace(pair, decided=adjusted.get(str(n), 1.0) < ALPHA) for n, pair in enumerate(compared)]
    return [pair.winner for pair in decided]


def find(levels: Sequence[Level]) -> list[Crossing]:
    """Where the faster lane changes between two lengths that are decided; undecided ones lie in between.

    `estimate` is where the straight line through both differences is zero: the difference is linear in the length.
    """
    decided = [level for level in levels if level.faster is not None]
    return [
        {
            "from": str(before.faster),
            "to": str(after.faster),
            "after": before.length,
            "by": after.length,
            "estimate": _zero(before, after),
        }
        for before, after in pairwise(decided)
        if before.faster != after.faster
    ]


def _zero(before: Level, after: Level) -> float:
    start, end = abs(before.difference), abs(after.difference)
    return before.length + (after.length - before.length) * start / (start + end)


def _sentence(a: str, b: str, levels: Sequence[Level], crossings: Sequence[Crossing]) -> str:
    if crossings:
        found = (
            f"{c['to']} is faster than {c['from']} from about {c['estimate']:,.0f} tokens on "
            f"(between {c['after']:,.0f} and {c['by']:,.0f})"
            for c in crossings
        )
        return "; ".join(found)
    winners = {level.faster for level in levels} - {None}
    if not winners:
        return f"no length at which {a} and {b} differ beyond noise"
    where = [f"{level.length:,.0f}" for level in levels if level.faster]
    return f"no crossover: {winners.pop()} is faster at {', '.join(where)} tokens, and nowhere slower beyond noise"
