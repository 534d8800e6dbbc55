"""A turn's prefix cache in words: of the prompt, what was reused, what was lost and why, what was new."""

from __future__ import annotations

from rich.cells import cell_len

from replayer.signals.prefix_reuse.causes import FIXES, PHRASES
from replayer.tui.marked import HERE, THERE, changed_middle
from replayer.tui.text import DASH, Span, safe, wrapped
from replayer.wire.types import JsonObject

Spans = list[Span | str]

_LABEL = 8
_BAR = 48
_QUIET = "$foreground-muted"
_TITLE = "bold $primary"
_REUSED, _LOST, _NEW = "█", "▒", "░"
_ENGINE = {
    "retokenisation",
    "block_granularity",
    "cache_off",
    "counter_broken",
    "unknown",
    "not_reported",
}
"""Causes of a loss that lies within what the engine could have reused."""


def prefix_text(found: JsonObject | None, width: int) -> tuple[Spans, bool]:
    """What was reused of the prompt, and whether anything was lost that need not have been."""
    if found is None:
        spans: Spans = [
            ("prefix cache\n", _TITLE),
            (f"{DASH} nothing was worked out for this turn\n\n", _QUIET),
        ]
        return spans, False
    lost, cause = found.get("lost_tokens") or 0, str(found.get("cause") or "")
    counts = _counts(found, lost, cause, width)
    if not lost:
        why = f"{wrapped(PHRASES.get(cause, cause), width)}\n" if cause else ""
        return [("prefix cache\n", _TITLE), *counts, (why, _QUIET), "\n"], False
    why = PHRASES.get(cause, cause)
    detail = f" ({found['detail']})" if found.get("detail") else ""
    known = cause != "unknown"
    spans = [
        (f"↯ PREFIX LOST: {cause.replace('_', ' ')}\n", "bold $warning" if known else _TITLE),
        *counts,
        *_labelled("why", f"{why}{detail}", width),
        *(line for fact in found.get("evidence", ()) for line in _labelled("evidence", fact, width)),
        *(_labelled("where", _place(found), width) if found.get("path") is not None else []),
        *_excerpts(found, width),
        *(_labelled("remedy", FIXES[cause], width) if cause in FIXES else []),
        "\n",
    ]
    return spans, True


def _counts(found: JsonObject, lost: int, cause: str, width: int) -> Spans:
    """The prompt as a bar in three parts, and what each of them is."""
    prompt, ideal = found.get("prompt_tokens") or 0, found.get("ideal_tokens") or 0
    reported = found.get("reported_tokens")
    reused = reported if reported is not None else max(0, ideal - (lost if cause in _ENGINE else 0))
    new = max(0, prompt - reused - lost)
    spans: Spans = [*_bar(prompt, reused, lost, min(width, _BAR))]
    spans += _labelled("prompt", f"{prompt:,} tokens", width)
    spans += _part(_REUSED, "$primary", "reused", _reused_words(reported, ideal, cause), width)
    if lost:
        spans += _part(_LOST, "$warning", "lost", f"{lost:,} {_lost_words(cause)}", width)
    guess = "" if reported is not None else ", if all that was possible was reused"
    words = f"{new:,} never sent before{guess}" if new else "nothing"
    return [*spans, *_part(_NEW, _QUIET, "new", words, width)]


def _part(sign: str, style: str, label: str, text: str, width: int) -> Spans:
    """A line of the bar's key."""
    (name, quiet), words = _labelled(f"  {label}", text, width)
    return [(sign, style), (name[1:], quiet), words]


def _bar(prompt: int, reused: int, lost: int, width: int) -> Spans:
    if not prompt:
        return []
    first = min(width, round(width * reused / prompt))
    second = min(width - first, max(1, round(width * lost / prompt)) if lost else 0)
    return [
        (_REUSED * first, "$primary"),
        (_LOST * second, "$warning"),
        (_NEW * (width - first - second), _QUIET),
        "\n",
    ]


def _reused_words(reported: int | None, ideal: int, cause: str) -> str:
    limit = "was possible" if cause in _ENGINE else "this prompt allowed"
    limit = "the engine still held" if cause == "eviction" else limit
    if reported is None:
        return f"{DASH} not reported; {ideal:,} tokens are all that {limit}"
    if reported >= ideal:
        return f"{reported:,}, all that {limit}" if ideal else f"{reported:,}: nothing of it was known before"
    return f"{reported:,} of the {ideal:,} that were possible"


def _lost_words(cause: str) -> str:
    """Lost against what: the three ideals differ."""
    if cause == "eviction":
        return "had been sent before, but were evicted since: computed again"
    if cause in _ENGINE:
        return "were possible, but the engine computed them again"
    return "would have been possible, had nothing before them changed"


def _labelled(label: str, text: str, width: int) -> tuple[Span, str]:
    """A line `label  text`, folded beside its label."""
    room = _LABEL + 2
    return (f"{label:<{room}}", _QUIET), f"{wrapped(text, width, ' ' * room)}\n"


def _place(found: JsonObject) -> str:
    offset = "" if found.get("offset") is None else f", from character {found['offset'] + 1} on"
    return f"{found['path'] or 'the start'}{offset}"


def _excerpts(found: JsonObject, width: int) -> Spans:
    """Both excerpts, one above the other, with what differs between them."""
    before, after = found.get("excerpt_before") or "", found.get("excerpt_after") or ""
    if not (before or after):
        return []
    spans: Spans = []
    for label, (start, middle, end), style in zip(
        ("before", "now"), changed_middle(before, after), (THERE, HERE), strict=True
    ):
        room = max(8, width - _LABEL - 2 - cell_len(safe(middle)) - 2)
        head, tail = start[-(room // 2) :], end[: room - room // 2]
        spans += [(f"{label:<{_LABEL + 2}}", _QUIET), _one_line(head)]
        spans += [(_one_line(middle) or "∅", style), _one_line(tail), "\n"]
    return spans


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎").replace("\t", " ")
