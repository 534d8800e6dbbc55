"""What the repetition signal states: one finding, as plain serialisable data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

Kind = Literal["character", "cycle", "counter", "vocabulary", "recycled", "structure", "calls", "turns"]
"""Closed set: one character over and over; an exact cycle; a cycle in which only numbers change; a handful of words
in any order; phrases recycled with edits or in any order; code or data growing by one template; one tool call again
and again in a reply; the same text turn after turn."""

Level = Literal["suspect", "collapsed"]
"""Only `collapsed` may stop a stream; `suspect` is shown, and is what sound files also do now and then."""

UNIT_CHARS = 400
AT_THE_LIMIT = "still running when the token limit cut the reply"


@dataclass(frozen=True, slots=True)
class Finding:
    """An alarm. Offsets count characters of the channel (of one tool call's arguments).

    `onset` is the first character of the second copy where copies are exact, the start of the degenerate part
    elsewhere; `detected_at` is how much had arrived when the alarm fell. `confidence` is the share of the part
    since onset that the loop explains: 1.0 for exact cycles.
    """

    kind: Kind
    level: Level
    channel: str
    call_index: int
    onset: int
    detected_at: int
    period: int | None
    unit: str
    wasted_chars: int
    confidence: float
    note: str | None = None
    """Why an alarm was lowered to `suspect`: the text stands in the prompt or in the recording. Or why a suspicion was
    raised: `AT_THE_LIMIT`, which proves nothing about the alarms before it."""

    @property
    def words(self) -> str:
        return f"{self.kind}: {self.unit!r}"

    def as_dict(self) -> JsonObject:
        return asdict(self)
