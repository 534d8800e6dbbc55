"""Code, arguments and drawings that say a few lines or flags again and again, in any order.

What `sayings` asks of sentences is asked here of whole lines, of which sound code repeats more. So hardly a different
one may stand among very many, and lines of one word, which fill tables, do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from replayer.signals.repetition.scripts import is_without_blanks

FEW = 5
"""Different lines, or flags, at most;"""
TIMES = 4
"""how often each must come on average, and at least"""
LINES, CHARACTERS = 24, 1000
"""lines of so many characters together (without indents)."""
FLAGS, FLAG = 400, re.compile(r"--?[A-Za-z]\S{3,}")
"""Characters of flags of a shell at least, which stand on one line."""
RULES, RULED = 48, re.compile(r"([^\w\s])([^\w\s])\2{2,}\1?")
"""Rulers at least, one below the other."""
SOME = 14
"""Lines from which on a text is judged by lines."""
WORD = re.compile(r"[^\W\d_]{2,}")
LETTER, DIGIT = re.compile(r"[^\W\d]"), re.compile(r"\d")
"""A line of digits without a letter says when or the how manieth: the next line says what."""
LOOKED_AT = 4096
"""Characters of the newest text that hold all of these."""


class Pool(NamedTuple):
    """`size` characters at the end of the text are a few pieces again and again."""

    size: int
    share: float


def pool_of(text: str) -> Pool | None:
    """The few lines or flags that the end of `text` consists of; its last line may be a piece of one."""
    lines = text.split("\n")
    if len(lines) > SOME:
        return _lines(lines[1:-1])
    return _pieces(filter(None, reversed(text.split(" ")[1:-1])), FLAGS, TIMES * FEW, FLAG)


def _lines(lines: list[str]) -> Pool | None:
    older = filter(None, map(str.strip, reversed(lines)))
    newest = next(older, "")
    if newest and not any(map(str.isalnum, newest)):
        return _pieces(chain((newest,), older), 0, RULES, RULED)
    if newest and not any(map(LETTER.search, lines)):
        return None
    return _pieces(chain((newest,), older), CHARACTERS, LINES)


def _is_worded(line: str) -> bool:
    """Two words, or one beside a blank, or some letters of a script without blanks."""
    words = WORD.findall(line)
    return len(words) > 1 or (len(words) > 0 and (" " in line or is_without_blanks(line)))


def _pieces(
    newest_first: Iterable[str], characters: int, least: int, form: re.Pattern[str] | None = None
) -> Pool | None:
    """The newest pieces, as long as few of them differ; each must have the form, else words. Numbers are passed over."""
    different = set[str]()
    size = count = passed = 0
    for piece in newest_first:
        if form is None and not LETTER.search(piece) and DIGIT.search(piece):
            passed += len(piece) + 1
            continue
        count += 1
        if piece not in different:
            if not (form.fullmatch(piece) if form else _is_worded(piece)):
                break
            if len(different) == FEW:
                break
            different.add(piece)
        size += len(piece) + 1
        if size >= characters and count >= max(least, TIMES * len(different)):
            return Pool(size + passed, 1 - len(different) / count)
    return None
