"""One cell of the table of turns: the outcome in a sign and words, why the prefix was lost, and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from rich.cells import cell_len

from replayer.journal.turns import Attempt, TurnFacts
from replayer.metrics.shown import number
from replayer.metrics.turn_values import wasted_tokens
from replayer.tui import glyphs
from replayer.tui.text import DASH, Span, fit, safe

_FAULTY = (glyphs.UNUSABLE, glyphs.COLLAPSED, glyphs.FAILED, glyphs.CUT)
_WORDS = 22
"""Cells that the outcome keeps before a further figure gets any."""


class Figure(NamedTuple):
    title: str
    width: int
    of: Callable[[TurnFacts], str]


def _reused(turn: TurnFacts) -> str:
    if turn.cached_tokens is None or not turn.prompt_tokens:
        return DASH
    return f"{turn.cached_tokens / turn.prompt_tokens:.0%}"


_FIGURES = (
    Figure("TTFT", 10, lambda turn: DASH if turn.ttft_ns is None else f"{number(turn.ttft_ns / 1e6)} ms"),
    Figure("reused", 8, _reused),
    Figure("tok/s", 8, lambda turn: number(turn.decode_tok_s)),
)
"""In the order in which they get room."""


def figures_in(width: int) -> tuple[Figure, ...]:
    """As many as fit beside the outcome."""
    shown: tuple[Figure, ...] = _FIGURES[:1]
    for figure in _FIGURES[1:]:
        if sum(one.width for one in (*shown, figure)) + _WORDS <= width:
            shown = (*shown, figure)
    return shown


def title(name: str, width: int) -> str:
    heads = "".join(figure.title.rjust(figure.width) for figure in figures_in(width))
    return fit(name, width - len(heads)) + heads


def cell(turn: TurnFacts | None, lost: str, width: int, styled: Callable[[str], str]) -> list[Span]:
    """`lost` as `lost_words` has it; `styled` gives a style of the theme in colours that a table cell takes."""
    glyph = glyphs.of(turn)
    sign, quiet = (f"{glyph.sign} ", styled(glyph.style)), styled("$foreground-muted")
    if turn is None or turn.total_ns is None:
        return [sign, (fit(glyph.words, width - 2), quiet)]
    figures = figures_in(width)
    room = width - sum(figure.width for figure in figures) - 2
    words = safe(_said(turn, glyph, room))
    said = fit(words, min(room, cell_len(words)))
    rest = room - cell_len(said)
    return [
        sign,
        (said, "bold" if glyph in _FAULTY else ""),
        (fit(_shortened(lost, rest), rest), styled("$warning")),
        ("".join(figure.of(turn).rjust(figure.width) for figure in figures), quiet),
    ]


def group(attempt: Attempt | None, width: int, styled: Callable[[str], str]) -> list[Span]:
    """A session in one cell: how often each sign occurs in it."""
    turns = list(attempt.turns.values()) if attempt is not None else []
    counts = Counter(glyphs.of(turn) for turn in turns)
    counts[glyphs.LOST] = sum(map(bool, map(lost_cause, turns)))
    spans: list[Span] = []
    room = width
    for glyph in glyphs.ALL:
        words = f" {counts[glyph]}  "
        if counts[glyph] and len(words) < room:
            spans += [(glyph.sign, styled(glyph.style)), (words, "bold")]
            room -= 1 + len(words)
    return [*spans, (" " * room, "")]


def is_faulty(turn: TurnFacts | None) -> bool:
    return glyphs.of(turn) in _FAULTY


def _said(turn: TurnFacts, glyph: glyphs.Glyph, room: int) -> str:
    if turn.error is not None:
        return turn.error.replace("_", " ")
    if glyph is glyphs.COLLAPSED:
        wasted = f"collapsed · {wasted_tokens(turn)} tokens wasted"
        return wasted if len(wasted) <= room else "collapsed"
    return ", ".join(turn.faults) or (glyph.words if len(glyph.words) <= room else glyph.words.split(",")[0])


def lost_cause(turn: TurnFacts | None) -> str:
    """Why a part of the prompt was computed again; empty where nothing was lost."""
    if turn is None or not turn.prefix or not turn.prefix.get("lost_tokens"):
        return ""
    return str(turn.prefix.get("cause")).replace("_", " ")


def lost_words(turns: Mapping[int, TurnFacts], number: int, *, alone: bool) -> str:
    """A cause stands where it begins, with the turns that it goes on for; further down its sign stands for it.

    `alone`: rows are left out, so that each tells its own cause.
    """
    cause = lost_cause(turns.get(number))
    if not cause or alone:
        return cause
    if lost_cause(turns.get(number - 1)) == cause:
        return glyphs.LOST.sign
    last = next(n for n in count(number) if lost_cause(turns.get(n + 1)) != cause)
    return cause if last == number else f"{cause}, turns {number + 1}–{last + 1}"


def _shortened(lost: str, room: int) -> str:
    """As much of why the prefix was lost as there is room for."""
    if not lost:
        return ""
    cause = lost.partition(",")[0]
    forms = (f"  ↯ prefix lost: {lost}", f"  ↯ {lost}", f"  ↯ {cause}") if lost != "↯" else ()
    return next((form for form in (*forms, "  ↯", " ↯") if cell_len(form) <= room), "")
