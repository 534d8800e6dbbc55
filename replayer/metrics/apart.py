"""What sets two lanes apart besides what they are: another run, or another time of the same run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replayer.metrics.run_documents import Pair

if TYPE_CHECKING:
    from replayer.journal.view import LaneView

WHY_NOT = (
    "between two runs the run itself varies: run both with --aa",
    "one lane ran after the other, and what changed meanwhile is in it: run with --aa",
)
"""Why a difference in times is not tested; the second where both lanes are of one run."""


def apart(pair: Pair, a: LaneView, b: LaneView) -> Pair:
    """With what lies between the two besides what they are."""
    runs = a.run != b.run
    return replace(pair, between_runs=runs, one_after_other=not runs and not pair.aa and gap(a, b) > 0)


def _span(lane: LaneView) -> tuple[int, int]:
    attempts = lane.attempts
    ends = max((one.ended or one.started for one in attempts), default=0)
    return min((one.started for one in attempts), default=0), ends


def gap(a: LaneView, b: LaneView) -> int:
    """Nanoseconds between the middles of two lanes, the sessions of one of which all began after those of the other had
    ended; else 0."""
    (start, end), (other_start, other_end) = _span(a), _span(b)
    after = end <= other_start or other_end <= start
    return abs(start + end - other_start - other_end) // 2 if after else 0
