"""Models by engines, over one run or several: the same figures for each, and which engine is ahead beyond noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from replayer.metrics.catalogue import METRICS, PRIMARY
from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import GridRow, ModelGrid, Pair
from replayer.metrics.sweep import engine, setting
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.journal.view import LaneView

SHOWN = {
    "ttft_ms": "ttft_ms.p50",
    "tpot_ms": "tpot_ms.p50",
    "decode_tok_s": "decode_tok_s",
    "output_tok_s": "output_tok_s",
    "goodput": "goodput",
    "usable_turn_rate": PRIMARY,
}
"""Keys of `report --json`, and the figures of the catalogue that they hold."""
_AHEAD = ("ttft_ms", "decode_tok_s", "usable_turn_rate")


def model_grid(
    lanes: Sequence[LaneView], figures: Sequence[LaneFigures], comparisons: Iterable[Pair]
) -> ModelGrid | None:
    """One row per model and setting, one column per engine; None for a single model."""
    rows: dict[tuple[str, str], dict[str, JsonObject]] = {}
    for lane, found in zip(lanes, figures, strict=True):
        words = ", ".join(f"{axis}={value}" for axis, value in setting(lane).items())
        row = rows.setdefault((lane.model or "unknown", words), {})
        name = engine(lane)
        shown = {key: METRICS[figure].read(found) for key, figure in SHOWN.items()}
        row[lane.name if name in row else name] = {"lane": found.lane, **shown}
    if len({model for model, _ in rows}) < 2:
        return None
    pairs = list(comparisons)
    return ModelGrid(
        engines=list(dict.fromkeys(name for row in rows.values() for name in row)),
        rows=[GridRow(model, words, row, _ahead(row, pairs)) for (model, words), row in rows.items()],
    )


def _ahead(row: dict[str, JsonObject], pairs: Sequence[Pair]) -> dict[str, str | None]:
    """By metric, the engine that is better than every other one of the row; None where none is beyond noise."""
    names = {found["lane"]: name for name, found in row.items()}
    wins: dict[str, dict[str, int]] = {SHOWN[key]: dict.fromkeys(row, 0) for key in _AHEAD}
    for pair in pairs:
        if pair.metric in wins and pair.a in names and pair.b in names and pair.winner is not None:
            wins[pair.metric][names[pair.winner]] += 1
    return {
        key: next((name for name, won in wins[SHOWN[key]].items() if won and won == len(row) - 1), None)
        for key in _AHEAD
    }
