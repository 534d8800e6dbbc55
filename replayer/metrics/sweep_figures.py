"""The figures over several lanes of a run: throughput ramps, and where the faster lane changes with the length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations

from replayer.journal.view import LaneView
from replayer.metrics.crossover import crossover
from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import Crossover, Ramp
from replayer.metrics.saturation import saturation
from replayer.metrics.sweep import curves


def ramps(lanes: Sequence[LaneView], figures: Sequence[LaneFigures]) -> list[Ramp]:
    throughput = {lane.lane: lane.load.output_tok_s for lane in figures}
    found = []
    for name, points in curves(lanes, "concurrency").items():
        known = [
            (at, value, lane.name) for at, lane in points if (value := throughput[lane.name]) is not None
        ]
        curve = [(at, value) for at, value, _ in known]
        saturated = saturation(curve)
        if saturated is not None:
            names = [name for *_, name in known]
            found.append(Ramp(ramp=name, points=curve, lanes=names, **asdict(saturated)))
    return found


def crossovers(lanes: Sequence[LaneView]) -> list[Crossover]:
    pairs = combinations(curves(lanes, "max_tokens").items(), 2)
    found = (crossover(a, left, b, right) for (a, left), (b, right) in pairs)
    return [pair for pair in found if pair is not None]
