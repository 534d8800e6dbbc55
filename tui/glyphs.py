"""One sign per outcome of a turn; shape and colour both tell, so that colour is never the only sign."""

from __future__ import annotations

from typing import NamedTuple

from replayer.journal.turns import TurnFacts


class Glyph(NamedTuple):
    sign: str
    style: str
    words: str
    brief: str = ""

    @property
    def short(self) -> str:
        return self.brief or self.words


USABLE = Glyph("●", "$success", "usable")
UNUSABLE = Glyph("✗", "$error", "not usable", "unusable")
COLLAPSED = Glyph("≋", "$error bold", "collapsed")
FAILED = Glyph("!", "$error reverse", "engine error", "error")
CUT = Glyph("✂", "$warning", "cut by the token budget", "cut")
TOOL_FAILED = Glyph("◐", "$warning", "usable, a tool failed", "tool failed")
STREAMING = Glyph("▸", "$accent bold", "streaming")
UNJUDGED = Glyph("○", "$foreground-muted", "not judged")
PENDING = Glyph("·", "$foreground-muted", "not yet sent")
LOST = Glyph("↯", "$warning", "prefix lost")
"""Stands beside an outcome: part of the prompt was computed again."""
ALL = (USABLE, TOOL_FAILED, UNUSABLE, CUT, COLLAPSED, FAILED, LOST, STREAMING, UNJUDGED, PENDING)


def of(turn: TurnFacts | None) -> Glyph:
    """The worst that can be said of a turn."""
    if turn is None:
        return PENDING
    if turn.total_ns is None:
        return STREAMING
    if turn.error is not None:
        return FAILED
    if turn.collapse is not None or "collapsed" in turn.faults:
        return COLLAPSED
    if turn.usable is None:
        return UNJUDGED
    if not turn.usable:
        return CUT if set(turn.fatal) == {"truncated"} else UNUSABLE
    failed = any(outcome not in ("ok", "recorded", "not_executable_here") for outcome in turn.tool_outcomes)
    return TOOL_FAILED if failed else USABLE
