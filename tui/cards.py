"""Replies as lines: text folded, reasoning dimmed, tool calls as cards that tell name, arguments, verdict, result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len

from replayer.tools.verdicts.strict_json import so_far
from replayer.tui import calls, glyphs
from replayer.tui.lane_replies import Talk
from replayer.tui.replies import Card, Shown
from replayer.tui.text import Span, fit, safe, size_words, tail
from replayer.wire.types import JsonObject

Line = list[Span]

_SIGNS = {
    "streaming": ("▸", "$accent", "streaming"),
    "unjudged": ("○", "$foreground-muted", "not judged"),
    "valid": ("✔", "$success", "valid"),
    "faulty": ("✘", "$error", "faulty"),
}
_TROUBLE = {"engine_error": "!", "collapsed": "≋", "truncated": "✂"}
AGAINST = {
    "same": "as recorded",
    "equivalent": "as recorded but for times and ids",
    "different": "differs from the recording",
}
_BODY_LINES = 4
"""Lines of the argument that streams now."""
_LONG = 80
"""Characters of an argument that has lines of its own while it streams."""
_UNFOLDED_LINES = 12
_REMEMBERED = 128
"""Calls whose lines are kept: telling one may cost a diff, and cards are painted four times a second."""


def talk_lines(talk: Talk, width: int, height: int, *, unfolded: bool) -> list[Line]:
    """The last `height` lines of a session; the first line always names the turn that is cut there."""
    lines: list[Line] = []
    for shown in reversed(talk.shown):
        room = height - len(lines)
        if room < 2:
            break
        body = _reply(shown, width, room - 1, unfolded=unfolded)
        lines[:0] = [_rule(talk, shown, width), *body]
    return lines


def _rule(talk: Talk, shown: Shown, width: int) -> Line:
    """A line across with the turn's number and its outcome, in a sign and in words."""
    attempt = talk.attempt
    again = f" #{attempt.repeat + 1}" if attempt.repeat else ""
    glyph = glyphs.STREAMING if shown.streaming else glyphs.of(attempt.turns.get(shown.turn))
    name = safe(f"turn {shown.turn + 1} · {attempt.trace}{again}")
    room = width - 6 - len(glyph.words)
    name = name if cell_len(name) <= room else f"turn {shown.turn + 1}"
    rest = max(0, width - cell_len(name) - len(glyph.words) - 7)
    return [
        ("── ", "$foreground-muted"),
        (f"{name} ", "bold"),
        (f"{glyph.sign} {glyph.words} ", glyph.style),
        ("─" * rest, "$foreground-muted"),
    ]


def _reply(shown: Shown, width: int, height: int, *, unfolded: bool) -> list[Line]:
    lines: list[Line] = [
        [(line, "$warning" if klass == "truncated" else "$error")]
        for klass, message in shown.trouble
        for line in tail(f"{_TROUBLE.get(klass, '✘')} {klass}: {message[:600]}", width, 4)
    ]
    for block in reversed(shown.blocks):
        if len(lines) >= height:
            break
        if isinstance(block, Card):
            lines[:0] = card_lines(block, width, unfolded=unfolded)
        else:
            style = "italic $foreground-muted" if block.channel == "reasoning" else ""
            lines[:0] = [[(line, style)] for line in tail(block.text.strip("\n"), width, height)]
    if not lines:
        said = "waiting for the first token …" if shown.streaming else "the reply is empty"
        lines = [[(said, "$foreground-muted")]]
    return lines[-height:]


def card_lines(card: Card, width: int, *, unfolded: bool) -> list[Line]:
    """A card: who was called with what, the verdict, and the result; folded to one line each, or in full."""
    sign, style, word = _SIGNS[card.state]
    word = card.faults[0][0] if card.faults else word
    summary, body = (_growing if card.state == "streaming" else _finished)(card.arguments)
    lines = [_head(sign, card.name or "…", summary, word, style, width)]
    if card.state == "streaming":
        lines += _body(body[-_BODY_LINES:], style, width)[-_BODY_LINES:]
    elif unfolded:
        lines += _body(body, style, width)[:_UNFOLDED_LINES]
    for klass, message in card.faults:
        text = message if klass == word else f"{klass}: {message}"
        lines += [_inside(line, style, style, width) for line in tail(f"✘ {text[:400]}", width - 4, 3)]
    if card.ran is not None:
        lines += _result(card.ran, style, width, unfolded=unfolded)
    return lines


@lru_cache(_REMEMBERED)
def _finished(raw: str) -> tuple[str, tuple[str, ...]]:
    """The arguments in one line, and in as many as they need."""
    value = calls.parsed(raw)
    value = so_far(raw) if value is None else value
    return calls.summary(value, raw), tuple(calls.body(value)) if isinstance(value, dict) else (raw,)


def _growing(raw: str) -> tuple[str, tuple[str, ...]]:
    """What has come so far; lines of their own only where one does not do."""
    value = so_far(raw)
    body = tuple(calls.body(value)) if isinstance(value, dict) else ()
    long = len(body) > 2 or any(len(line) > _LONG for line in body)
    return calls.summary(value, raw), body if long else ()


def _body(lines: Sequence[str], bar: str, width: int) -> list[Line]:
    """Lines of arguments, those of diffs in their colours."""
    return [
        [
            ("▌", bar),
            (fit(f" {part}", width - 1), f"{calls.line_style(line) or '$foreground-muted'} on $panel"),
        ]
        for line in lines
        for part in tail(line[: width * _BODY_LINES], width - 2, _BODY_LINES)
    ]


def _head(sign: str, name: str, summary: str, word: str, style: str, width: int) -> Line:
    room = max(4, width - cell_len(word) - 5)
    named = fit(name, min(cell_len(safe(name)), room))
    return [
        ("▌", style),
        (f" {sign} ", f"{style} on $panel"),
        (named, "bold on $panel"),
        (fit(f" {summary}", room - cell_len(named)), "$foreground-muted on $panel"),
        (f" {word}", f"{style} on $panel"),
    ]


def _inside(line: str, bar: str, style: str, width: int) -> Line:
    return [("▌", bar), (fit(f"   {line}", width - 1), f"{style} on $panel")]


def _result(ran: JsonObject, bar: str, width: int, *, unfolded: bool) -> list[Line]:
    """One line with outcome and size; unfolded, the end of the output below it."""
    sign, style, words = outcome_words(ran["outcome"], ran.get("exit_code"))
    against, output = AGAINST.get(ran.get("against_recorded") or "", ""), ran.get("output", "")
    line = f"└ {sign} {words} · {size_words(output)}{against and f' · {against}'}"
    lines = [_inside(line, bar, style, width)]
    if unfolded:
        body = tail(output.strip("\n"), width - 8, _UNFOLDED_LINES)
        lines += [_inside(f"  │ {text}", bar, "$foreground-muted", width) for text in body]
    return lines


def outcome_words(outcome: str, exit_code: int | None) -> tuple[str, str, str]:
    """Sign, style and words for what came of a call that was executed."""
    code = "" if exit_code is None else f" · exit {exit_code}"
    if outcome == "recorded":
        return "↺", "$foreground-muted", "recorded result"
    if outcome == "not_executable_here":
        return "○", "$foreground-muted", "cannot be executed here"
    if outcome == "ok":
        return "✔", "$success", f"ran{code}"
    words = "tool failed" if outcome in ("exit_code", "tool_error") else outcome.replace("_", " ")
    return "◐", "$warning", f"{words}{code}"
