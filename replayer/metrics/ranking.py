"""Lanes in order, and which settings are best, where two things matter: usable turns first, then speed. Ties are said to be ties.

A lane is *better* than another only where their comparison shows a difference beyond noise. Its rank is one more than
the number of lanes that are better, so that lanes no one can tell apart share a rank. It is on the *Pareto front* when
no lane is better in one of the two figures without being worse in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from replayer.metrics.catalogue import PRIMARY
from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import Pair, Ranked, Ranking, Standing
from replayer.metrics.sweep import LOAD_AXES, setting
from replayer.plan.lane_text import lane_spec, lane_toml

if TYPE_CHECKING:
    from replayer.journal.view import LaneView


def ranking(
    lanes: Sequence[LaneView], figures: Sequence[LaneFigures], comparisons: Iterable[Pair]
) -> Ranking | None:
    """The lanes of a sweep over settings, best first; None where no setting was varied."""
    varied = {axis for lane in lanes for axis in setting(lane)} - set(LOAD_AXES)
    if not varied or len(lanes) < 2:
        return None
    better = decided(pair for pair in comparisons if pair.metric in (FIRST, SECOND))
    names = [lane.name for lane in lanes]
    rows = [_row(lane, found, names, better) for lane, found in zip(lanes, figures, strict=True)]
    rows.sort(key=lambda row: (row.rank, -(row.usable.value or 0), -(row.decode_tok_s or 0)))
    first = [row.lane for row in rows if row.rank == 1]
    return Ranking(sorted(varied), rows, _sentence(first, rows))


def _row(lane: LaneView, figures: LaneFigures, names: Sequence[str], better: Better) -> Ranked:
    others = [name for name in names if name != lane.name]
    return Ranked(
        lane=lane.name,
        rank=1 + sum(beats(other, lane.name, better) for other in others),
        front=not any(dominates(other, lane.name, better) for other in others),
        setting=setting(lane),
        usable=figures.usable_turn_rate,
        decode_tok_s=figures.decode_tok_s.value,
        collapsed_turns=figures.repetition.collapsed_turns,
        invalid_calls=figures.tool_calls.invalid,
        tool_calls=figures.tool_calls.total,
        toml=lane_toml(lane.plan),
        spec=lane_spec(lane.plan),
    )


def _sentence(first: Sequence[str], rows: Sequence[Ranked]) -> str:
    if len(first) == len(rows):
        return "a tie: no lane is better than another beyond noise, in usable turns or in speed"
    if len(first) > 1:
        return f"a tie of {len(first)} of {len(rows)}: {', '.join(first)}"
    return f"{rows[0].lane} is the best: no lane is better beyond noise"


FIRST, SECOND = "usable_turn_rate", "decode_tok_s"

Better = dict[tuple[str, str, str], bool]
"""(lane, other lane, metric) -> the first is better beyond noise."""


def decided(comparisons: Iterable[Pair]) -> Better:
    """What the comparisons of a report show once all of them are counted as one family (`conclusions.decide`)."""
    better: Better = {}
    for pair in comparisons:
        better[(pair.b, pair.a, pair.metric)] = pair.winner == pair.b
        better[(pair.a, pair.b, pair.metric)] = pair.winner == pair.a
    return better


def beats(a: str, b: str, better: Better) -> bool:
    """More usable turns, or as many within noise and faster."""
    if better.get((a, b, FIRST)):
        return True
    return not better.get((b, a, FIRST)) and bool(better.get((a, b, SECOND)))


def dominates(a: str, b: str, better: Better) -> bool:
    """Better in one figure and not worse in the other."""
    return any(
        better.get((a, b, one)) and not better.get((b, a, other))
        for one, other in ((FIRST, SECOND), (SECOND, FIRST))
    )


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
