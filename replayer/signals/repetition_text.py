"""The detector of one stream of text: gathers deltas, looks every 32 characters, states each level once."""

from __future__ import annotations

from replayer.signals.repetition_counter import CounterSignal
from replayer.signals.repetition_cycles import CycleTracker, Run
from replayer.signals.repetition_evidence import Evidence
from replayer.signals.repetition_finding import UNIT_CHARS, Finding, Kind, Level
from replayer.signals.repetition_rules import NEVER, Needed, needed, primitive
from replayer.signals.repetition_words import WordSignal

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
        length = run.end - run.start
        covered = self._tracker.tail(length + 64)
        text = covered[-length:]
        self._unit = primitive(text[: run.period])
        self._needed = needed(self._unit, covered[: -len(text)])


class TextDetector:
    """Watches one channel of one reply (or the arguments of one call)."""

    def __init__(self, channel: str, call_index: int = -1, evidence: Evidence | None = None) -> None:
        self.channel = channel
        self.call_index = call_index
        self.pending: list[str] = []
        self.size = 0
        self._evidence = evidence or Evidence()
        self._near = CycleSignal(window=640, probe=24)
        self._far = CycleSignal(window=16_384, probe=64)
        self._counter = CounterSignal()
        self._words = WordSignal()
        self._block: list[str] = []
        self._offset = 0
        self._level: Level | None = None
        self._deaf_until = 0

    def feed(self, text: str) -> list[Finding]:
        """Append a delta; return findings that fell with it."""
        self.pending.append(text)
        self.size += len(text)
        return self.advance() if self.size >= STEP else []

    def close(self) -> list[Finding]:
        """The stream has ended: look once at what is left."""
        rest = "".join(self.pending)
        self.pending, self.size = [], 0
        return self._step(rest, last=True) if self._level != "collapsed" else []

    def advance(self) -> list[Finding]:
        """Look at every whole step that has arrived. A stream that has collapsed is not looked at again."""
        text = "".join(self.pending)
        size = len(text)
        found: list[Finding] = []
        start = 0
        while self._level != "collapsed" and size - start >= STEP:
            found += self._step(text[start : start + STEP])
            start += STEP
        self.pending, self.size = [], 0
        if self._level != "collapsed" and start < size:
            self.pending, self.size = [text[start:]], size - start
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
            found += self._look_far(block, last)
        return found

    def _look_far(self, block: str, last: bool) -> list[Finding]:
        found: list[Finding] = []
        if block and (hit := self._far.push(block)):
            found += self._cycle(*hit)
        if block and (counted := self._counter.push(block)):
            run, unit = counted
            found += self._state("counter", "collapsed", run.start + run.period, run.period, unit, 1.0, 400)
        words = block.replace("\\n", " \n") if self.channel == "tool_arguments" else block
        if loop := self._words.push(words, last):
            unit = self._recent(200)
            found += self._state(loop.kind, "collapsed", loop.onset, None, unit, loop.share, 400)
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
        if self._level in (level, "collapsed"):
            return []
        note = None
        if level == "collapsed":
            if self._offset < self._deaf_until:
                return []
            note = self._evidence.asked_for(self._recent(copied), self.channel)
            if note:
                self._deaf_until = self._offset + copied
                level = "suspect"
                if self._level == "suspect":
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
