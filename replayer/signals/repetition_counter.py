"""Cycles in which only numbers change: "24. Check the process. 25. Check the process. …".

The same tracker as for exact cycles runs over the text without its digits. Tables, logs and generated code count as
well, so only units of prose are a collapse; others are suspect at most.
"""

from __future__ import annotations

from replayer.signals.repetition_cycles import CycleTracker, Run

DROP_DIGITS = str.maketrans(dict.fromkeys("0123456789"))
COPIES = 6
LENGTH = 500


class CounterSignal:
    """Fed with blocks; offsets of its runs are mapped back to the text with digits."""

    def __init__(self) -> None:
        self._tracker = CycleTracker(window=4096, probe=32)
        self._end = 0
        self._bare_end = 0
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._run = (-1, 0)
        self._found: tuple[Run, str] | None = None

    def push(self, block: str) -> tuple[Run, str] | None:
        """Return the run (in characters of the text, its period averaged) and its unit once it is a collapse."""
        bare = block.translate(DROP_DIGITS)
        self._end += len(block)
        self._bare_end += len(bare)
        self._marks.append((self._bare_end, self._end))
        if len(self._marks) > 96:
            del self._marks[:32]
        run = self._tracker.push(bare) if bare else None
        if run is None or run.copies < COPIES or run.end - run.start < LENGTH:
            return None
        return self._state(run)

    def _state(self, run: Run) -> tuple[Run, str] | None:
        unit = self._tracker.tail(run.period)
        if not _is_prose_unit(unit):
            return None
        if (run.start, run.period) != self._run:
            self._run = (run.start, run.period)
            self._start = self._original(run.start)
        bare_length = run.end - run.start
        period = round((self._end - self._start) * run.period / bare_length)
        if self._end - self._start <= bare_length:
            return None
        return Run(self._start, self._end, period), unit

    def _original(self, bare: int) -> int:
        for bare_end, end in reversed(self._marks):
            if bare_end <= bare:
                return min(self._end, end + bare - bare_end)
        return self._marks[0][1]


def _is_prose_unit(unit: str) -> bool:
    """Words, blanks and light punctuation; measured on the tuning part: sound units of this kind stay under 6 copies."""
    size = len(unit)
    letters = sum(map(str.isalpha, unit))
    blanks = sum(map(str.isspace, unit))
    markdown = sum(map(unit.count, "`*#"))
    symbols = size - letters - blanks - markdown
    return size >= 12 and blanks >= 0.13 * size and letters >= 0.5 * size and symbols <= 0.1 * size
