"""One reply that makes the same tool call over and over."""

from __future__ import annotations

from replayer.signals.repetition_finding import UNIT_CHARS, Finding
from replayer.signals.repetition_text import TextDetector

SUSPECT_AFTER = 5
LOOP_AFTER = 8
LEAST = 8
"""Empty or nearly empty arguments are the same for good reasons."""


class RepeatedCalls:
    """Told of each call's arguments once the next call begins."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._count = 0
        self._wasted = 0

    def ended(self, call: TextDetector) -> list[Finding]:
        key = call.digest()
        if key[0] < LEAST:
            self._last, self._count, self._wasted = None, 0, 0
            return []
        if key != self._last:
            self._last, self._count, self._wasted = key, 1, 0
            return []
        self._count += 1
        self._wasted += key[0]
        if self._count not in (SUSPECT_AFTER, LOOP_AFTER):
            return []
        return [
            Finding(
                kind="calls",
                level="collapsed" if self._count == LOOP_AFTER else "suspect",
                channel="tool_arguments",
                call_index=call.call_index,
                onset=0,
                detected_at=key[0],
                period=None,
                unit=call.newest(UNIT_CHARS),
                wasted_chars=self._wasted,
                confidence=1.0,
                note=f"{self._count} calls in a row with the same arguments",
            )
        ]
