"""Cycles in which only numbers or quoted words change: "24. Check the process. 25. Check the process. …".

The tracker of exact cycles runs over whole lines without their digits and without what stands in quotes. In prose that
is a loop with a counter. In code and data it is what tables, logs and generated code look like as well (a growing
chain of `elif`, one test case after another), so there it is a suspicion, and a collapse only when the recorded reply
of the same turn shows that nothing of the kind was wanted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from replayer.signals.repetition.cycles import CycleTracker, Run

DROP_DIGITS = str.maketrans(dict.fromkeys("0123456789"))
DOUBLE = re.compile(r'"[^"\n]{1,80}"')
SINGLE = re.compile(r"'(?<!\w')[^'\n]{1,80}'")
LINE = 512
"""A line without an end is taken in pieces of about this many characters."""

COUNTER = (6, 500)
CUT_COUNTER = (4, 250)
"""The same where the token limit cut the text in the middle of it."""
MOST_DIGITS = 0.14
"""Digits per other character of a counter; a table of numbers has more."""
STRUCTURE = (30, 1500)
"""(copies, characters without digits and quotes) at least. Sound units of prose stay under 6 copies in 500."""


class Template(NamedTuple):
    """A run in characters of the text (its period averaged), what repeats, and whether that is prose."""

    run: Run
    unit: str
    prose: bool


class TemplateSignal:
    """Fed with blocks of text; offsets are mapped back to the text with its digits and quotes."""

    def __init__(self) -> None:
        self._tracker = CycleTracker(window=4096, probe=32)
        self._rest = ""
        self._end = 0
        self._bare_end = 0
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._run = (-1, 0)
        self._start = 0

    def push(self, block: str, last: bool = False, by_limit: bool = False) -> Template | None:
        text = self._rest + block
        cut = text.rfind("\n") + 1
        if last or len(text) - cut > LINE:
            cut = len(text)
        self._rest = text[cut:]
        bare = template_of(text[:cut])
        if not bare:
            return None
        self._end += cut
        self._bare_end += len(bare)
        self._marks.append((self._bare_end, self._end))
        if len(self._marks) > 96:
            del self._marks[:32]
        run = self._tracker.push(bare)
        copies, length = CUT_COUNTER if by_limit else COUNTER
        if run is None or run.copies < copies or run.end - run.start < length:
            return None
        return self._judge(run)

    def _judge(self, run: Run) -> Template | None:
        unit = self._tracker.tail(run.period)
        prose = _is_prose(unit)
        length = run.end - run.start
        if not prose and (run.copies < STRUCTURE[0] or length < STRUCTURE[1] or not _is_code(unit)):
            return None
        if (run.start, run.period) != self._run:
            self._run = (run.start, run.period)
            self._start = self._original(run.start)
        digits = self._end - self._start - length
        if digits <= 0 or (prose and digits > MOST_DIGITS * length):
            return None
        period = round((self._end - self._start) * run.period / length)
        return Template(Run(self._start, self._end, period), unit, prose)

    def _original(self, bare: int) -> int:
        for bare_end, end in reversed(self._marks):
            if bare_end <= bare:
                return min(self._end, end + bare - bare_end)
        return self._marks[0][1]


def template_of(text: str) -> str:
    """Text without digits and without what stands in quotes."""
    text = text.translate(DROP_DIGITS)
    if '"' in text:
        text = DOUBLE.sub('""', text)
    return SINGLE.sub("''", text) if "'" in text else text


def _is_prose(unit: str) -> bool:
    """Words, blanks and light punctuation, nothing quoted; Markdown's marks are free."""
    size = len(unit)
    letters = sum(map(str.isalpha, unit))
    blanks = unit.count(" ") + unit.count("\n")
    markdown = sum(map(unit.count, "`*#"))
    symbols = size - letters - blanks - markdown
    quoted = '""' in unit or "''" in unit
    return (
        size >= 12
        and not quoted
        and blanks >= 0.13 * size
        and letters >= 0.5 * size
        and symbols <= 0.1 * size
    )


def _is_code(unit: str) -> bool:
    return len(unit) >= 16 and sum(map(str.isalpha, unit)) >= 0.25 * len(unit)
