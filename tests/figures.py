"""A lane's figures with nothing in them, to be filled in by tests of how they are shown."""

from dataclasses import replace
from typing import Any

from replayer.journal.sealed import Attempts
from replayer.journal.view import LaneView
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import lane_figures


def empty_lane(name: str, kind: str = "sglang", **more: Any) -> LaneFigures:
    nothing = LaneView(name, kind, None, "", {}, {}, Attempts(), (), (), 0, 0, 0)
    return replace(lane_figures(nothing), **more)
