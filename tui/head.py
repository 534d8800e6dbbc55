"""The top of a lane's column: who it is, how far it is, where it went wrong, and the alarm of a collapse."""

from __future__ import annotations

from typing import Any

import orjson
from rich.cells import cell_len
from textual.content import Content

from replayer.figures import wasted_tokens
from replayer.progress_bars import turns_done
from replayer.steps import Attempt, StepFacts
from replayer.tui import glyphs
from replayer.tui.lane_replies import newest_attempt
from replayer.tui.pace import duration_words, seconds_left
from replayer.tui.text import DASH, Span, bar, content, fit, safe
from replayer.view import LaneView

LINES = 4


def head(lane: LaneView, differing: dict[str, Any], attempt: Attempt | None, width: int) -> Content:
    """Four lines: engine, settings, progress, one sign per turn of the session that the column shows."""
    return content(
        (fit(f"{_engine(lane)} · {lane.model or DASH}", width), ""),
        "\n",
        (fit(settings_words(differing), width), "$foreground-muted"),
        "\n",
        *_progress(lane, width),
        "\n",
        *_strip(attempt, width),
    )


def _engine(lane: LaneView) -> str:
    """The kind, what a simulated or embedded one answers like, and the version."""
    like = lane.facts.get("kind")
    version = lane.facts.get("version")
    return " ".join(str(word) for word in (lane.kind, like if like != lane.kind else None, version) if word)


def settings_words(differing: dict[str, Any]) -> str:
    """`temperature 0.9 · top_p 0.95`; only what differs from the other lanes."""
    pairs = [f"{name.replace('_', ' ')} {_value(value)}" for name, value in differing.items()]
    return " · ".join(pairs) or "same settings as the others"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_value, value))
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _progress(lane: LaneView, width: int) -> list[Span]:
    done, total = turns_done(lane)
    share = done / total if total else 0.0
    count = f" {done}/{total or '?'} turns · {lane.cells_done}/{lane.cells_planned} sessions"
    left = time_left(lane)
    if left and len(count) + len(left) + 7 > width:
        count = f" {done}/{total or '?'} turns"
    room = max(4, width - len(count) - len(left))
    return [
        (bar(share, room), "$primary on $boost"),
        (count[: width - room], ""),
        (left[: width - room - len(count)], "$accent"),
    ]


def time_left(lane: LaneView) -> str:
    """Empty once every session is done; a dash while the pace is not known."""
    if lane.cells_planned and lane.cells_done >= lane.cells_planned:
        return ""
    left = seconds_left(lane)
    return f" · {DASH} left" if left is None else f" · {duration_words(left)} left"


def _strip(attempt: Attempt | None, width: int) -> list[Span]:
    """One sign per turn, so that the eye finds where it went wrong."""
    if attempt is None:
        return [(fit("waiting for its first session", width), "$foreground-muted")]
    last = max(attempt.steps, default=0)
    first = max(0, min(last - width + 2, attempt.planned - width))
    shown = range(first, min(first + width, max(attempt.planned, last + 1)))
    return [(glyph.sign, glyph.style) for glyph in (glyphs.of(attempt.steps.get(n)) for n in shown)]


def health(lane: LaneView, room: int, *, alarm: bool) -> Span | None:
    """The lane in one phrase, for its title: that it collapsed just now, or how many turns were not usable.

    None where there is no room for it, or nothing to say yet.
    """
    judged = [
        step.usable for attempt in lane.attempts for step in attempt.steps.values() if step.usable is not None
    ]
    bad = len(judged) - sum(judged)
    if alarm:
        return _phrase(room, "$error", "≋ collapsed just now", "≋ collapsed", "≋")
    if not judged:
        return None
    if bad:
        count = f"✗ {bad} of {len(judged)}"
        return _phrase(room, "$error", f"{count} turns not usable", f"{count} turns", count, f"✗ {bad}")
    count = f"● {'all ' if len(judged) > 1 else ''}{len(judged)} usable"
    return _phrase(room, "$success", count, "●")


def _phrase(room: int, style: str, *forms: str) -> Span | None:
    """The longest form that fits."""
    return next(((form, style) for form in forms if len(form) <= room), None)


def collapses(lane: LaneView) -> list[tuple[Attempt, StepFacts]]:
    """Collapsed steps in the order in which they began."""
    found = [
        (attempt, step)
        for attempt in lane.attempts
        for step in attempt.steps.values()
        if step.collapse is not None
    ]
    return sorted(found, key=lambda pair: pair[1].wall)


def is_newest(lane: LaneView, step: StepFacts) -> bool:
    """Whether the newest session goes on and nothing has been asked in it since: the alarm is still news."""
    newest = newest_attempt(lane)
    if newest is None or newest.ended is not None:
        return False
    return newest.steps.get(max(newest.steps, default=-1)) is step


def banner(found: list[tuple[Attempt, StepFacts]], width: int) -> Content:
    """Two lines: where it collapsed and what that cost; what it said again and again."""
    step = found[-1][1]
    collapse = step.collapse or {}
    turns = [
        f"{other.step + 1}{f' #{attempt.repeat + 1}' if attempt.repeat else ''}" for attempt, other in found
    ]
    others = turns[:-1]
    where = f"≋ COLLAPSED in turn {turns[-1]} · {wasted_tokens(step)} tokens wasted"
    before = f" · also in turn{'s' * (len(others) > 1)} {', '.join(others[-3:])}" if others else ""
    unit = safe(str(collapse.get("unit", ""))).replace("\n", "⏎")
    tail = " again and again"
    said = unit if cell_len(unit) <= width - len(tail) - 2 else unit[: max(4, width - len(tail) - 3)] + "…"
    line = where + before if len(where + before) <= width else where
    return content((fit(line, width), "bold"), "\n", (fit(f"“{said}”{tail}", width), "italic"))
