"""The detector of one stream of text: gathers deltas, looks every 32 characters, states each level once."""

from __future__ import annotations

from replayer.signals.repetition_cycles import CycleTracker, Run
from replayer.signals.repetition_evidence import Evidence
from replayer.signals.repetition_finding import UNIT_CHARS, Finding, Kind, Level
from replayer.signals.repetition_rules import NEVER, Needed, needed, primitive

STEP = 32
"""Verdicts fall at multiples of this many characters only, however the text was cut into deltas."""
FAR_EVERY = 8


class CycleSignal:
    """A tracker of cycles and what its present run still needs."""

    def __init__(self, window: int, probe: int) -> None:
        self._tracker = CycleTracker(window, probe)
        self._run = (-1, 0)
        self._unit = ""
        self._needed = Needed(NEVER, NEVER)

    def push(self, piece: str) -> tuple[Level, Run, str] | None:
        """Append text; return level, run (with its primitive period) and unit once a run is long enough."""
        run = self._tracker.push(piece)
        if run is None:
            return None
        if (run.start, run.period) != self._run:
            self._judge(run)
        length = run.end - run.start
        if length < self._needed.suspect:
            return None
        level: Level = "collapsed" if length >= self._needed.collapse else "suspect"
        return level, run._replace(period=len(self._unit)), self._unit

    def tail(self, size: int) -> str:
        return self._tracker.tail(size)

    def _judge(self, run: Run) -> None:
        self._run = (run.start, run.period)
        covered = self._tracker.tail(run.end - run.start + 64)
        text = covered[-(run.end - run.start) :]
        if len(text) < run.period:
            self._needed = Needed(NEVER, NEVER)
            return
        self._unit = primitive(text[: run.period])
        self._needed = needed(self._unit, covered[: -len(text)])


class TextDetector:
    """Watches one channel of one reply (or the arguments of one call)."""

    def __init__(self, channel: str, call_index: int = -1, evidence: Evidence | None = None) -> None:
        self.channel = channel
        self.call_index = call_index
        self._evidence = evidence or Evidence()
        self._near = CycleSignal(window=640, probe=24)
        self._far = CycleSignal(window=16_384, probe=64)
        self._block: list[str] = []
        self._pending: list[str] = []
        self._size = 0
        self._offset = 0
        self._level: Level | None = None
        self._deaf_until = 0

    def feed(self, text: str) -> list[Finding]:
        """Append a delta; return findings that fell with it."""
        self._pending.append(text)
        self._size += len(text)
        return self._advance() if self._size >= STEP else []

    def close(self) -> list[Finding]:
        """The stream has ended: look once at what is left."""
        rest = "".join(self._pending)
        self._pending, self._size = [], 0
        return self._step(rest, last=True) if self._level != "collapsed" else []

    def _advance(self) -> list[Finding]:
        text = "".join(self._pending)
        found: list[Finding] = []
        start = 0
        while self._level != "collapsed" and len(text) - start >= STEP:
            found += self._step(text[start : start + STEP])
            start += STEP
        rest = "" if self._level == "collapsed" else text[start:]
        self._pending, self._size = [rest] if rest else [], len(rest)
        return found

    def _step(self, piece: str, last: bool = False) -> list[Finding]:
        self._offset += len(piece)
        found: list[Finding] = []
        if piece and (hit := self._near.push(piece)):
            found += self._cycle(*hit)
        self._block.append(piece)
        if len(self._block) == FAR_EVERY or last:
            block = "".join(self._block)
            self._block = []
            if block and (hit := self._far.push(block)):
                found += self._cycle(*hit)
        return found

    def _cycle(self, level: Level, run: Run, unit: str) -> list[Finding]:
        kind: Kind = "character" if len(unit) == 1 else "cycle"
        return self._state(kind, level, run.start + run.period, run.period, unit, 1.0, run.end - run.start)

    def _state(
        self,
        kind: Kind,
        level: Level,
        onset: int,
        period: int | None,
        unit: str,
        confidence: float,
        copied: int,
    ) -> list[Finding]:
        """State a level the first time it is reached, unless the text was asked for."""
        if level == self._level or self._level == "collapsed":
            return []
        note = None
        if level == "collapsed":
            if self._offset < self._deaf_until:
                return []
            note = self._evidence.asked_for(self._recent(copied), self.channel)
            if note:
                self._deaf_until = self._offset + copied
                level = "suspect"
        if level == self._level:
            return []
        self._level = level
        return [
            Finding(
                kind=kind,
                level=level,
                channel=self.channel,
                call_index=self.call_index,
                onset=onset,
                detected_at=self._offset,
                period=period,
                unit=unit[:UNIT_CHARS],
                wasted_chars=max(0, self._offset - onset),
                confidence=round(confidence, 3),
                note=note,
            )
        ]

    def _recent(self, size: int) -> str:
        return (self._far.tail(8192) + "".join(self._block))[-size:]
