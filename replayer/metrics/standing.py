"""Lanes in order: by what is decided between them, with the effect against the first one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from replayer.metrics.catalogue import PRIMARY
from replayer.metrics.documents import LaneFigures
from replayer.metrics.order import SECOND, beats, decided
from replayer.metrics.run_documents import Pair, Standing


def standings(lanes: Sequence[LaneFigures], pairs: Iterable[Pair]) -> list[Standing]:
    """Best first; lanes that nobody can tell apart share a rank and keep their order. The effect is in the primary metric,
    or in the first one that is decided where that is not."""
    pairs = list(pairs)
    metric = effect_metric(pairs)
    better = decided(pairs)
    names = [lane.lane for lane in lanes]
    ranks = {name: 1 + sum(beats(other, name, better) for other in names if other != name) for name in names}
    ordered = sorted(lanes, key=lambda lane: ranks[lane.lane])
    return [
        _standing(lane, ranks[lane.lane], ordered[0].lane, [pair for pair in pairs if pair.metric == metric])
        for lane in ordered
    ]


def effect_metric(pairs: Sequence[Pair]) -> str:
    """Decided in the order of what matters: usable turns, decode speed, then as they were compared."""
    decided = dict.fromkeys(pair.metric for pair in pairs if pair.decided)
    return next((key for key in (PRIMARY, SECOND, *decided) if key in decided), PRIMARY)


def _standing(lane: LaneFigures, rank: int, first: str, pairs: Iterable[Pair]) -> Standing:
    rate = lane.usable_turn_rate
    found = Standing(lane.lane, rank, rate.value, rate.low, rate.high, rate.n)
    for pair in pairs:
        if (pair.a, pair.b) == (first, lane.lane):
            effect = pair.difference, pair.low, pair.high
        elif (pair.b, pair.a) == (first, lane.lane):
            effect = -pair.difference, _minus(pair.high), _minus(pair.low)
        else:
            continue
        difference, low, high = effect
        return replace(
            found,
            against=first,
            metric=pair.metric,
            difference=difference,
            difference_low=low,
            difference_high=high,
            decided=pair.decided,
        )
    return found


def _minus(value: float | None) -> float | None:
    return None if value is None else -value
