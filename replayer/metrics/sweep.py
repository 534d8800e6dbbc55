"""Lanes that one matrix made: which belong together, which may be compared, and where a ramp of them saturates.

Two figures. The *saturation level* is the lowest level tested whose throughput is within 5 % of the ramp's best. The
*knee* is where the two asymptotes of the throughput curve meet, N* = X_max / X_1: more than N* requests must queue
(Denning and Buzen 1978; Lazowska et al., Quantitative System Performance, 1984, chapter 5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import Ramp
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.journal.view import LaneView


LOAD_AXES = ("concurrency", "max_tokens")
"""Axes that set how much is asked of a lane. Lanes that differ there did different work: they form a curve, and are
not compared with each other."""


def setting(lane: LaneView) -> JsonObject:
    return lane.plan.get("setting") or {}


def engine(lane: LaneView) -> str:
    """The lane before any matrix, as the plan names it."""
    return str(lane.plan.get("base") or lane.plan.get("name") or lane.name)


def comparable(a: LaneView, b: LaneView) -> bool:
    """Whether both were asked for the same work."""
    return all(setting(a).get(axis) == setting(b).get(axis) for axis in LOAD_AXES)


def curves(lanes: Sequence[LaneView], axis: str) -> dict[str, list[tuple[float, LaneView]]]:
    """Lanes that differ in one axis only, by what they are called without it, in the axis's order; two points at least."""
    found: dict[str, list[tuple[float, LaneView]]] = {}
    for lane in lanes:
        value = setting(lane).get(axis)
        if isinstance(value, int | float):
            rest = re.sub(re.escape(f"+{axis}={value}") + r"(?=\+|$|\.again)", "", lane.name)
            found.setdefault(rest, []).append((float(value), lane))
    return {
        name: sorted(points, key=lambda point: point[0]) for name, points in found.items() if len(points) > 1
    }


SLACK = 0.05
"""How far under the best throughput a level may be to count as reaching it."""


def saturation(
    points: Sequence[tuple[float, float]], ramp: str = "", lanes: Sequence[str] = ()
) -> Ramp | None:
    """Of (requests at once, throughput) in ascending order; None for fewer than two points, or without throughput."""
    if len(points) < 2:
        return None
    peak_at, peak = max(points, key=lambda point: point[1])
    if peak <= 0:
        return None
    level = next(at for at, throughput in points if throughput >= (1 - SLACK) * peak)
    (first_at, first), (last, _) = points[0], points[-1]
    knee = peak / first if first_at == 1 and first > 0 else None
    return Ramp(ramp, list(points), len(points), peak, peak_at, level, level < last, knee, list(lanes))


def ramps(lanes: Sequence[LaneView], figures: Sequence[LaneFigures]) -> list[Ramp]:
    throughput = {lane.lane: lane.load.output_tok_s for lane in figures}
    found = []
    for name, points in curves(lanes, "concurrency").items():
        known = [
            (at, value, lane.name) for at, lane in points if (value := throughput[lane.name]) is not None
        ]
        found.append(saturation([(at, value) for at, value, _ in known], name, [name for *_, name in known]))
    return [ramp for ramp in found if ramp is not None]
