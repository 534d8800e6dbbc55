"""How long a lane still needs, from the pace of the turns that it has finished."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from replayer.journal.turns import Attempt
from replayer.journal.view import LaneView

NEWEST = 30
"""Finished turns that the pace is measured over: recent ones, since prompts grow."""


def seconds_for(turns: int, ends: Sequence[float]) -> float | None:
    """What so many `turns` still take, by when the newest ended, in seconds and any order. None before two have.

    Turns finish at the measured rate whatever the concurrency, so the rate is what is measured.
    """
    if len(ends) < 2:
        return None
    left = max(0, turns) * (max(ends) - min(ends)) / (len(ends) - 1)
    return left if math.isfinite(left) else None


def seconds_left(lane: LaneView) -> float | None:
    """None before two turns have finished, and where it is not known how many are planned, as in a load.

    After a resume only what has been asked since counts: the pause was not work.
    """
    done, planned = lane.turns_done, lane.turns_planned
    if lane.load is not None:
        return None
    turns = (turn for attempt in _latest(lane.attempts.recent()) for turn in attempt.turns.values())
    ended = (
        turn.wall + turn.total_ns / 1e9
        for turn in turns
        if turn.total_ns is not None and turn.wall >= lane.resumed_wall
    )
    return seconds_for(planned - done, heapq.nlargest(NEWEST, ended)) if planned else None


def _latest(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Those that run, and as many of the ended ones as can hold the newest turns: a long run has thousands."""
    ended = (attempt for attempt in attempts if attempt.ended is not None and attempt.finished)
    last = heapq.nlargest(NEWEST, ended, key=lambda attempt: attempt.ended or 0)
    return [attempt for attempt in attempts if attempt.ended is None] + last


def duration_words(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} min"
