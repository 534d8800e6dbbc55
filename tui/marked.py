"""An answer beside the recorded one: what is only here underlined, what is only in the recording struck out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from replayer.tui.text import Span

HERE = "underline bold $accent"
THERE = "strike $foreground-muted"
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS = 800
"""Longer pieces are compared by lines only: comparing words costs the product of both lengths."""
_ALIKE = 0.35
"""Lines less alike than that are shown whole, old and new, not as crumbs of both."""


def marked(recorded: str, said: str) -> list[Span]:
    """`said` with what differs from `recorded`, by line, and within lines that are alike by word."""
    old, new = recorded.splitlines(keepends=True), said.splitlines(keepends=True)
    spans: list[Span] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            spans.append(("".join(new[c:d]), ""))
        else:
            spans += _replaced("".join(old[a:b]), "".join(new[c:d]))
    return spans


def differences(spans: Sequence[Span]) -> int:
    """Words that are only on one side."""
    return sum(len(text.split()) for text, style in spans if style)


def _replaced(old: str, new: str) -> Iterator[Span]:
    left, right = _WORD.findall(old), _WORD.findall(new)
    if not (left and right) or max(len(left), len(right)) > _MOST_WORDS:
        yield from _lines(old, new)
        return
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _ALIKE:
        yield from _lines(old, new)
        return
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield "".join(right[c:d]), ""
        else:
            yield from _whole("".join(left[a:b]), "".join(right[c:d]))


def _lines(old: str, new: str) -> Iterator[Span]:
    """What the recording ends with, without a line end, does not run into what is said here."""
    yield from _whole(f"{old}\n" if new and old and not old.endswith("\n") else old, new)


def _whole(old: str, new: str) -> Iterator[Span]:
    if old:
        yield old, THERE
    if new:
        yield new, HERE


def changed_middle(before: str, after: str) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Both texts in three parts: what they begin with alike, what differs, what they end with alike."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return (
        (before[:start], before[start : len(before) - end], before[len(before) - end :]),
        (after[:start], after[start : len(after) - end], after[len(after) - end :]),
    )
