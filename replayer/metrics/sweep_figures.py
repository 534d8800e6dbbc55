"""The figures over several lanes of a run: ramps, crossovers, repeats, rankings, models by engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from replayer.journal.view import LaneView, RunView
from replayer.metrics.crossover import crossover
from replayer.metrics.model_grid import model_grid
from replayer.metrics.ranking import ranking
from replayer.metrics.saturation import saturation
from replayer.metrics.sweep import curves
from replayer.metrics.variance import variance


def sweep_figures(
    view: RunView, figures: Sequence[dict[str, Any]], comparisons: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Keys of the document of `report --json`; empty or None where a run has nothing of the kind."""
    return {
        "saturation": _ramps(view, figures),
        "crossovers": _crossovers(view.lanes),
        "variance": [found for lane in view.lanes if (found := variance(lane)) is not None],
        "ranking": ranking(view.lanes, figures, comparisons),
        "models": model_grid(view.lanes, figures, comparisons),
    }


def _ramps(view: RunView, figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    throughput = {lane["lane"]: lane["load"]["output_tok_s"] for lane in figures}
    ramps = []
    for name, points in curves(view.lanes, "concurrency").items():
        known = [(at, throughput[lane.name]) for at, lane in points if throughput[lane.name] is not None]
        found = saturation(known)
        if found is not None:
            ramps.append({"ramp": name, "points": known, **asdict(found)})
    return ramps


def _crossovers(lanes: Sequence[LaneView]) -> list[dict[str, Any]]:
    pairs = combinations(curves(lanes, "max_tokens").items(), 2)
    found = (crossover(a, left, b, right) for (a, left), (b, right) in pairs)
    return [pair for pair in found if pair is not None]
