"""Lanes that one matrix made: which belong together, and which may be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
            found.setdefault(_without(lane.name, axis, value), []).append((float(value), lane))
    return {
        name: sorted(points, key=lambda point: point[0]) for name, points in found.items() if len(points) > 1
    }


def _without(name: str, axis: str, value: float) -> str:
    return re.sub(re.escape(f"+{axis}={value}") + r"(?=\+|$|\.again)", "", name)
