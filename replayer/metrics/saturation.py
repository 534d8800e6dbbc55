"""Where more requests at once bring no more tokens: the saturation point of a throughput ramp.

Two figures. The *saturation level* is the lowest level tested whose throughput is within 5 % of the ramp's best. The
*knee* is where the two asymptotes of the throughput curve meet, N* = X_max / X_1: more than N* requests must queue
(Denning and Buzen 1978; Lazowska et al., Quantitative System Performance, 1984, chapter 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from replayer.journal.view import LaneView
from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import Ramp
from replayer.metrics.sweep import curves

SLACK = 0.05
"""How far under the best throughput a level may be to count as reaching it."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """Of one ramp. `saturated` is False where the highest level was still the first to reach the best."""

    levels: int
    peak: float
    """Best throughput, in the unit of the points."""
    peak_at: float
    level: float
    saturated: bool
    knee: float | None
    """None where the ramp does not begin at one request."""


def saturation(points: Sequence[tuple[float, float]]) -> Saturation | None:
    """Of (requests at once, throughput) in ascending order; None for fewer than two points, or without throughput."""
    if len(points) < 2:
        return None
    peak_at, peak = max(points, key=lambda point: point[1])
    if peak <= 0:
        return None
    level = next(at for at, throughput in points if throughput >= (1 - SLACK) * peak)
    first_at, first = points[0]
    knee = peak / first if first_at == 1 and first > 0 else None
    return Saturation(len(points), peak, peak_at, level, level < points[-1][0], knee)


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
