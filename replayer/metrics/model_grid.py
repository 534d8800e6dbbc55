"""Models by engines, over one run or several: the same figures for each, and which engine is ahead beyond noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.view import LaneView
from replayer.metrics.sweep import engine, setting

METRICS = ("ttft_ms", "decode_tok_s", "usable_turn_rate")


def model_grid(
    lanes: Sequence[LaneView], figures: Sequence[dict[str, Any]], comparisons: Iterable[dict[str, Any]]
) -> dict[str, Any] | None:
    """One row per model and setting, one cell per engine; None for a single model."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for lane, found in zip(lanes, figures, strict=True):
        words = ", ".join(f"{axis}={value}" for axis, value in setting(lane).items())
        row = rows.setdefault((lane.model or "unknown", words), {"cells": {}})
        name = engine(lane)
        row["cells"][lane.name if name in row["cells"] else name] = _cell(found)
    if len({model for model, _ in rows}) < 2:
        return None
    pairs = list(comparisons)
    return {
        "engines": list(dict.fromkeys(name for row in rows.values() for name in row["cells"])),
        "rows": [
            {"model": model, "setting": words, **row, "ahead": _ahead(row["cells"], pairs)}
            for (model, words), row in rows.items()
        ],
    }


def _cell(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "lane": figures["lane"],
        "ttft_ms": figures["ttft_ms"]["p50"],
        "tpot_ms": figures["load"]["tpot_ms"]["p50"],
        "decode_tok_s": figures["decode_tok_s"]["value"],
        "output_tok_s": figures["load"]["output_tok_s"],
        "goodput": (figures["load"]["goodput"] or {}).get("requests_per_s"),
        "usable_turn_rate": figures["usable_turn_rate"]["value"],
    }


def _ahead(cells: dict[str, dict[str, Any]], pairs: Sequence[dict[str, Any]]) -> dict[str, str | None]:
    """By metric, the engine that is better than every other one of the row; None where none is beyond noise."""
    names = {cell["lane"]: name for name, cell in cells.items()}
    wins: dict[str, dict[str, int]] = {metric: dict.fromkeys(cells, 0) for metric in METRICS}
    for pair in pairs:
        winner = _winner(pair)
        if pair["metric"] in wins and pair["a"] in names and pair["b"] in names and winner is not None:
            wins[pair["metric"]][names[winner]] += 1
    return {
        metric: next((name for name, won in counts.items() if won and won == len(cells) - 1), None)
        for metric, counts in wins.items()
    }


def _winner(pair: dict[str, Any]) -> str | None:
    if not pair["decided"]:
        return None
    return str(pair["b"] if (pair["difference"] > 0) == (pair["better"] == "higher") else pair["a"])
