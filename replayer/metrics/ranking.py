"""Which settings are best, where two things matter: usable turns first, then speed. Ties are said to be ties.

A lane is *better* than another only where their comparison shows a difference beyond noise. Its rank is one more than
the number of lanes that are better, so that lanes no one can tell apart share a rank. It is on the *Pareto front* when
no lane is better in one of the two figures without being worse in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from replayer.metrics.documents import LaneFigures
from replayer.metrics.order import FIRST, SECOND, Better, beats, decided, dominates
from replayer.metrics.run_documents import Pair, Ranked, Ranking
from replayer.metrics.sweep import LOAD_AXES, setting
from replayer.plan.lane_text import lane_spec, lane_toml

if TYPE_CHECKING:
    from replayer.journal.view import LaneView

"""(lane, other lane, metric) -> the first is better beyond noise."""


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
