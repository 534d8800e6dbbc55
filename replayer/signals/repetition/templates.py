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
LISTED = (100, 5000)
"""and where that is a list, numbered or not, or a log. Sound lists of one kind end before."""
MEASUREMENTS = (400, 20_000)
"""and where each line tells several things of its own, or two figures with fractions."""
RECORDS = (16, 100, True)
"""and in code and data in which only counters move, where a record says one sentence each time,"""
COUNTED, LETTERS_COUNTED = (24, 1000, True), 86
"""and where it says none: as many copies more as a copy has letters less than the second, but for its last number; the
characters are those of the text. Of 24,967 sound texts one holds such a run: 245 keys in a header (64 are usual)."""
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
        if by_limit or len(text) - cut > LINE:
            cut = text.rfind(" ") + 1 or len(text)
            if text.count('"', 0, cut) % 2:  # what stands in quotes is put away as a whole
                cut = text.rfind('"', 0, cut) or cut
        elif last:
            cut = len(text)
        self._rest = text[cut:]
        bare, values = masked(text[:cut])
        if not (bare or by_limit):
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
        columns = self._columns(slots, int(run.copies))
        few = prose or run.copies < RECORDS[0] * share
        counted = None if few else _counted(unit, columns)
        copies, characters, certain = self._needed(unit, columns) if prose else counted or (*STRUCTURE, False)
        if not certain:
            share = 1.0
        start = self._original(run.start)
        length = self._end - start if counted else size * WIDE_COUNTS if is_without_blanks(unit) else size
        if (
            run.copies < copies * share
            or length < characters * share
            or not (prose or counted or _is_code(unit))
        ):
            return None
        period = round((self._end - start) * run.period / size)
        return Template(Run(start, self._end, period), unit.replace(SLOT, "…"), prose or counted is not None)

    def _columns(self, slots: int, copies: int) -> list[list[str]]:
        values = self._values[-slots * min(copies, VALUES // slots) :]
        return [values[at::slots] for at in range(slots)]

    def _needed(self, unit: str, columns: list[list[str]]) -> tuple[int, int, bool]:
        """By the least predictable slot; and whether less will do at the token limit: not where a list goes on."""
        slots = len(columns)
        values = self._values
        all_kinds = [_kind(column) for column in columns]
        news = all_kinds.count("news")
        if news > 2 or (news == 2 and any(map(MEASURED.fullmatch, values[-slots:]))):
            return (*MEASUREMENTS, False)
        kinds = set(all_kinds)
        sentence = SENTENCE.search(plain(unit + unit[:2]))
        if (bound := BOUND.search(unit)) and not _beyond(
            columns[unit.count(SLOT, 0, bound.start()) :], bound
        ):
            return (*MEASUREMENTS, False)
        if "news" in kinds:
            numbered = "count" in kinds or is_list(unit * 4)
            listed = numbered or unit.count("\n") > 2 or "clock" in kinds
            return (*(LISTED if listed else NEWS_SENTENCE if sentence else NEWS), news == 1 and not numbered)
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
        if _step(column) > 0:
            return "count"
        numbers = list(map(_number, column))
        return "clock" if len(column[0]) >= EPOCH and numbers == sorted(numbers) else "news"
    if all(map(CLOCK.search, column)):
        ups = sum(later >= former for former, later in pairwise(column))
        return "clock" if ups >= 0.9 * (len(column) - 1) else "news"
    return "news"


def _counted(unit: str, columns: Sequence[Sequence[str]]) -> tuple[int, int, bool] | None:
    """What code and data need in which nothing moves but counters; None where something else does, or where nothing but
    blanks stands between names: that is neither."""
    if not unit.replace(SLOT, "").strip():
        return None
    newest = [column[len(column) // 5 :] for column in columns]  # the first rows may have been sound
    moving = [column for column in newest if column and column.count(column[0]) < len(column)]
    if not moving or not all(newest) or not all(map(_counts, moving)):
        return None
    row = [column[-1] for column in newest]
    same = [value for value, column in zip(row, newest, strict=True) if column not in moving]
    if f'"{SLOT}"' in unit and any(map(SAID.search, (unit + unit, *same))):
        return RECORDS
    letters = sum(map(str.isalpha, unit + "".join(row)))
    return (max(COUNTED[0], LETTERS_COUNTED - letters), *COUNTED[1:]) if letters else None


def _counts(column: Sequence[str]) -> bool:
    """Whether values are alike but for numbers, of which each stays or goes on by one step."""
    if len({NUMBERS.sub("", value) for value in (column[0], column[-1])}) > 1:
        return False  # at a glance
    if len({NUMBERS.sub("", value) for value in column}) > 1:
        return False
    rows = zip(*map(NUMBERS.findall, column), strict=True)
    return all(len(set(row)) == 1 or _step(row, 0.95) for row in rows)


def _step(column: Sequence[str], share: float = 0.8) -> int:
    """The one that so many of the numbers go on by, or 0."""
    steps = [later - former for former, later in pairwise(map(_number, column))]
    usual = max(set(steps), key=steps.count)
    return usual if steps.count(usual) >= share * len(steps) else 0


def _number(digits: str) -> int:
    return int(digits[-18:])


def _beyond(columns: Sequence[Sequence[str]], bound: re.Match[str]) -> bool:
    """Whether the counter in the first column has passed the bound that stands beside it, or that goes on with it."""
    count, limit = columns[0], columns[1] if bound[0].count(SLOT) > 1 else ["100"]
    return all(map(str.isdecimal, (*count, *limit))) and (
        len(set(limit)) > 1 or _number(count[-1]) > _number(limit[-1])
    )


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
