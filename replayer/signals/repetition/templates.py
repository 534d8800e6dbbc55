"""Cycles in which only a slot changes: "24. Check the process. 25. Check the process. …".

The tracker of exact cycles runs over the text with its numbers, identifiers, times, and what stands in quotes or
backticks put away. Whether that is a loop depends on what the slots hold. A number that counts up says nothing new, nor
does a clock; line numbers, names and random ids may, so a loop with those must run much longer before it counts. A
counter with a bound ("3/15", "40 %") is somebody waiting, until it passes the bound. In code and data the same is what
tables, logs and generated code look like, so there it is a suspicion, and a collapse only when the recorded reply of
the same turn shows that nothing of the kind was wanted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from replayer.signals.repetition.cycles import CycleTracker, Run
from replayer.signals.repetition.masks import NUMBERS, SLOT, masked
from replayer.signals.repetition.prose import is_list
from replayer.signals.repetition.scripts import is_without_blanks, plain

FIELDS = re.compile(r"[A-Za-z],[A-Za-z]")
"""Rows of a table, its fields parted by commas."""
CLOCK = re.compile(r"\d{1,4}[-:/.]\d\d?[-:/.]\d\d?|\d\d?:\d\d")
EPOCH = 10
"""Digits of a number of seconds since 1970, at least."""
MEASURED = re.compile(r"\d+[.,]\d+%?")
BOUND = re.compile(rf"{SLOT}\s?(?:/|of|von|de|из|／)\s?{SLOT}|{SLOT}\s?%")
WIDE_COUNTS = 2.5
"""What a character of Chinese and its like counts for, of those above."""
LINE = 512
"""A line without an end is taken in pieces of about this many characters."""
VALUES = 1024
WAITING = 3
"""Blocks that are kept while nothing repeats."""

COUNTER, COUNTER_SENTENCE = (7, 420), (5, 300)
"""(copies, characters without slots) at least where the slots say nothing new,"""
CLOCKED, CLOCKED_SENTENCE = (20, 1000), (9, 600)
"""where a clock goes on,"""
NEWS, NEWS_SENTENCE = (40, 2000), (14, 900)
"""where something in them is new,"""
LISTED = (60, 3000)
"""and where that is a list or a log. Sound lists of one kind end before."""
MEASUREMENTS = (400, 20_000)
"""and where each line tells several things of its own, or two figures with fractions."""
RECORDS = (16, 100, True)
"""and in code and data, where a record says one sentence each time and only counters move."""
SAID = re.compile(r"(?:[^\W\d_][^\s\"]* ){3}[^\W\d_]|[^\x00-\x7f]{12}")
"""Four words or more, in quotes or between those that close and those that open."""
SENTENCE = re.compile(r"\w\w[.!?。！？।॥።။។]\W")
CUT = 0.4
"""Of these, where the token limit cut the text in the middle of it."""
STRUCTURE = (30, 1500)
"""For code and data. Sound units of prose stay under 6 copies in 500."""


class Template(NamedTuple):
    """A run in characters of the text (its period averaged), what repeats, and whether that is a loop by itself."""

    run: Run
    unit: str
    loops: bool


class TemplateSignal:
    """Fed with blocks of text; offsets are mapped back to the text with its slots."""

    def __init__(self) -> None:
        self._tracker = CycleTracker(window=4096, probe=32)
        self._rest = ""
        self._end = 0
        self._bare_end = 0
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._values: list[str] = []
        self._waiting: list[str] = []

    def wait(self, block: str) -> None:
        """Keep a block of text that repeats nothing: a template may have begun in it."""
        self._waiting.append(block)
        if len(self._waiting) > WAITING:
            skipped = len(self._rest) + len(self._waiting.pop(0))
            self._rest = ""
            self._end += skipped
            self._bare_end += skipped
            self._marks = [(self._bare_end, self._end)]
            self._tracker.skip(skipped)

    def push(self, block: str, last: bool = False, by_limit: bool = False) -> Template | None:
        if self._waiting:
            block = "".join(self._waiting) + block
            self._waiting = []
        text = self._rest + block
        cut = text.rfind("\n") + 1
        if len(text) - cut > LINE:
            cut = text.rfind(" ") + 1 or len(text)
            if text.count('"', 0, cut) % 2:  # what stands in quotes is put away as a whole
                cut = text.rfind('"', 0, cut) or cut
        if last:
            cut = len(text)
        self._rest = text[cut:]
        bare, values = masked(text[:cut])
        if not bare:
            return None
        self._values += values
        del self._values[:-VALUES]
        self._end += cut
        self._bare_end += len(bare)
        self._marks.append((self._bare_end, self._end))
        if len(self._marks) > 96:
            del self._marks[:32]
        run = self._tracker.push(bare)
        share = CUT if by_limit else 1.0
        if (
            run is None
            or run.copies < COUNTER_SENTENCE[0] * share
            or run.end - run.start < COUNTER_SENTENCE[1] * share / WIDE_COUNTS
        ):
            return None
        return self._judge(run, share)

    def _judge(self, run: Run, share: float) -> Template | None:
        unit = self._tracker.tail(run.period)
        slots, size = unit.count(SLOT), run.end - run.start
        if not slots:
            return None
        prose = _is_prose(unit)
        said = not prose and self._is_said_again(unit, slots, int(run.copies))
        copies, characters, certain = (
            self._needed(unit, slots, int(run.copies)) if prose else RECORDS if said else (*STRUCTURE, False)
        )
        if not certain:
            share = 1.0
        length = size * WIDE_COUNTS if is_without_blanks(unit) else size
        if (
            run.copies < copies * share
            or length < characters * share
            or not (prose or said or _is_code(unit))
        ):
            return None
        start = self._original(run.start)
        period = round((self._end - start) * run.period / size)
        return Template(Run(start, self._end, period), unit.replace(SLOT, "…"), prose or said)

    def _columns(self, slots: int, copies: int) -> list[list[str]]:
        values = self._values[-slots * min(copies, VALUES // slots) :]
        return [values[at::slots] for at in range(slots)]

    def _is_said_again(self, unit: str, slots: int, copies: int) -> bool:
        """Whether records hold the same sentence each time, and nothing but a counter moves."""
        if f'"{SLOT}"' not in unit:
            return False
        columns = self._columns(slots, copies)
        same = [column[-1] for column in columns if len(set(column)) == 1]
        moving = [column for column in columns if len(set(column)) > 1]
        counts = len(moving) == 1 and _counts(moving[0])
        return counts and any(map(SAID.search, (unit + unit, *same)))

    def _needed(self, unit: str, slots: int, copies: int) -> tuple[int, int, bool]:
        """By the least predictable slot; and whether less will do at the token limit: not where a list goes on."""
        columns = self._columns(slots, copies)
        values = self._values
        all_kinds = [_kind(column) for column in columns]
        news = all_kinds.count("news")
        if news > 2 or (news == 2 and any(map(MEASURED.fullmatch, values[-slots:]))):
            return (*MEASUREMENTS, False)
        kinds = set(all_kinds)
        sentence = SENTENCE.search(plain(unit + unit[:2]))
        if "news" in kinds:
            listed = is_list(unit * 4) or unit.count("\n") > 2 or "clock" in kinds
            one = news == 1 and "count" not in kinds
            return (*(LISTED if listed else NEWS_SENTENCE if sentence else NEWS), one)
        if "count" in kinds and BOUND.search(unit) and not _beyond(columns):
            return (*NEWS, False)
        if "clock" in kinds:
            return (*(CLOCKED_SENTENCE if sentence else CLOCKED), True)
        return (*(COUNTER_SENTENCE if sentence else COUNTER), True)

    def _original(self, bare: int) -> int:
        for bare_end, end in reversed(self._marks):
            if bare_end <= bare:
                return min(self._end, end + bare - bare_end)
        return self._marks[0][1]


def _kind(column: Sequence[str]) -> str:
    """`same`, `count` (up, by one step), `clock` (never back), or `news`."""
    if len(set(column)) == 1:
        return "same"
    if all(map(str.isdecimal, column)):
        steps = [int(later) - int(former) for former, later in pairwise(column)]
        usual = max(set(steps), key=steps.count)
        if usual > 0 and steps.count(usual) >= 0.8 * len(steps):
            return "count"
        return "clock" if len(column[0]) >= EPOCH and min(steps) >= 0 else "news"
    if all(map(CLOCK.search, column)):
        ups = sum(later >= former for former, later in pairwise(column))
        return "clock" if ups >= 0.9 * (len(column) - 1) else "news"
    return "news"


def _counts(column: Sequence[str]) -> bool:
    """Whether values are alike but for a number that counts up."""
    numbers = [NUMBERS.findall(value) for value in column]
    alike = len({NUMBERS.sub("", value) for value in column}) == 1 and len(numbers[0]) == 1
    return alike and _kind([number[0] for number in numbers]) == "count"


def _beyond(columns: Sequence[Sequence[str]]) -> bool:
    """Whether a counter has passed the bound that stands beside it, or both go on."""
    numbers = [[int(value) for value in column] for column in columns if all(map(str.isdecimal, column))]
    bounds = [column[-1] for column in numbers if column[0] == column[-1]] or [100]
    counts = [column[-1] for column in numbers if column[0] != column[-1]]
    return len(counts) > 1 or any(count > max(bounds) for count in counts)


def _is_prose(unit: str) -> bool:
    """Words, blanks and light punctuation, nothing quoted; Markdown's marks and the slots are free."""
    wide = is_without_blanks(unit)
    text = plain(unit).replace(SLOT, "")
    size = len(text)
    letters = sum(map(str.isalpha, text))
    blanks = text.count(" ") + text.count("\n")
    markdown = sum(map(text.count, "`*#,."))
    symbols = size - letters - blanks - markdown
    quoted = '""' in text or "''" in text or "/*" in text
    return (
        size >= 12
        and not quoted
        and not FIELDS.search(unit)
        and (wide or blanks >= 0.1 * size)
        and letters >= 0.5 * size
        and symbols <= 0.12 * size
        and "  " * 2 not in unit
    )


def _is_code(unit: str) -> bool:
    return len(unit) >= 16 and sum(map(str.isalpha, unit)) >= 0.25 * len(unit)
