"""The top of a lane's column: who it is, how far it is, where it went wrong, and the alarm of a collapse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.documents import LaneFigures
from replayer.metrics.turn_values import wasted_tokens
from replayer.tui import glyphs
from replayer.tui.lane_replies import newest_attempt
from replayer.tui.pace import duration_words, seconds_left
from replayer.tui.text import DASH, Span, content, fit, safe

_QUIET = "$foreground-muted"


def head(
    lane: LaneView,
    settings: Sequence[Sequence[Span]],
    attempt: Attempt | None,
    width: int,
    *,
    running: bool,
) -> Content:
    """Engine, settings, progress, then one sign per turn of the session that the column shows, and their legend."""
    spans: list[Span | str] = [(fit(f"{_engine(lane)} · {lane.model or DASH}", width), "")]
    for line in settings:
        spans += ["\n", *line]
    spans += ["\n", *_progress(lane, width, running=running), "\n", *_strip(attempt, width)]
    return content(*spans, "\n", *_legend(attempt, width))


def _engine(lane: LaneView) -> str:
    """The kind, what a simulated or embedded one answers like, and the version."""
    like = lane.facts.get("kind")
    version = lane.facts.get("version")
    return " ".join(str(word) for word in (lane.kind, like if like != lane.kind else None, version) if word)


def clipped(lines: Sequence[list[Span]], count: int, width: int) -> list[list[Span]]:
    """Exactly `count` lines of settings; `i` shows those that do not fit."""
    shown = [list(line) for line in lines[:count]] + [[] for _ in range(count - len(lines))]
    more = len(lines) > count
    return [_fitted(line, width, more=more and n == count - 1) for n, line in enumerate(shown)]


def _fitted(line: list[Span], width: int, *, more: bool) -> list[Span]:
    """As many whole names with their values as fit; the first is cut where even that does not."""
    note = " … i" if more else ""
    fitted: list[Span] = []
    used = 0
    for name, value in zip(line[::2], line[1::2], strict=False):
        size = cell_len(safe(name[0] + value[0]))
        if used + size > width - len(note):
            break
        fitted += [name, value]
        used += size
    if not fitted and line:
        note = ""
        fitted = [(fit("".join(text for text, _ in line), width), _QUIET)]
    return [*fitted, (note, "$accent")]


def _progress(lane: LaneView, width: int, *, running: bool) -> list[Span]:
    done, total = lane.turns_done, lane.turns_planned
    share = done / total if total else 0.0
    count = f" {done}/{total or '?'} turns · {lane.sessions_done}/{lane.sessions_planned} sessions"
    left = time_left(lane) if running else ""
    if left and len(count) + len(left) + 7 > width:
        count = f" {done}/{total or '?'} turns"
    room = max(4, width - len(count) - len(left))
    filled = round(room * min(1.0, share))
    return [
        ("━" * filled, "$primary"),
        ("─" * (room - filled), "$panel-lighten-2"),
        (count[: width - room], ""),
        (left[: width - room - len(count)], "$accent"),
    ]


def time_left(lane: LaneView) -> str:
    """Empty once every session is done; a dash while the pace is not known."""
    if lane.sessions_planned and lane.sessions_done >= lane.sessions_planned:
        return ""
    left = seconds_left(lane)
    return f" · {DASH} left" if left is None else f" · {duration_words(left)} left"


def strip_start(attempt: Attempt, width: int) -> int:
    """The first turn that the line of signs shows: where not all fit, it keeps to the newest."""
    last = max(attempt.turns, default=0)
    return max(0, min(last - width + 2, attempt.planned - width))


def _strip(attempt: Attempt | None, width: int) -> list[Span]:
    """One sign per turn, so that the eye finds where it went wrong."""
    if attempt is None:
        return [(fit("waiting for its first session", width), _QUIET)]
    first = strip_start(attempt, width)
    shown = range(first, min(first + width, max(attempt.planned, max(attempt.turns, default=0) + 1)))
    return [(glyph.sign, glyph.style) for glyph in (glyphs.of(attempt.turns.get(n)) for n in shown)]


def _legend(attempt: Attempt | None, width: int) -> list[Span]:
    """How often each sign occurs in the session, with its meaning as far as there is room."""
    counts = Counter(glyphs.of(turn) for turn in attempt.turns.values()) if attempt is not None else Counter()
    shown = [(glyph, counts[glyph]) for glyph in glyphs.ALL if counts[glyph]]
    obvious = glyphs.USABLE
    forms = (
        [(glyph, f" {n} {glyph.short}") for glyph, n in shown],
        [(glyph, f"{n} {glyph.short}") for glyph, n in shown],
        [(glyph, f"{n}" if glyph is obvious else f"{n} {glyph.short}") for glyph, n in shown],
        [(glyph, f"{n}") for glyph, n in shown],
    )
    for number, form in enumerate(forms):
        gap = " " if number else "  "
        if sum(len(words) + 1 + len(gap) for _, words in form) - len(gap) <= width:
            break
    return [span for glyph, words in form for span in ((glyph.sign, glyph.style), (words + gap, _QUIET))]


def health(found: LaneFigures | None, room: int, *, alarm: bool) -> Span | None:
    """The lane in one phrase, for its title, of the same moment as its figures: that it collapsed just now, or how many
    turns were not usable.

    None where there is no room for it, or nothing to say yet.
    """
    if alarm:
        return _phrase(room, "$error", "≋ collapsed just now", "≋ collapsed", "≋")
    rate = found.usable_turn_rate if found is not None else None
    if rate is None or rate.value is None:
        return None
    bad = rate.n - round(rate.value * rate.n)
    if bad:
        count = f"✗ {bad} of {rate.n}"
        return _phrase(room, "$error", f"{count} turns not usable", f"{count} turns", count, f"✗ {bad}")
    count = f"● {'all ' if rate.n > 1 else ''}{rate.n} usable"
    return _phrase(room, "$success", count, "●")


def _phrase(room: int, style: str, *forms: str) -> Span | None:
    """The longest form that fits."""
    return next(((form, style) for form in forms if len(form) <= room), None)


def collapses(lane: LaneView) -> list[tuple[Attempt, TurnFacts]]:
    """Collapsed turns in the order in which they began."""
    attempts = (attempt for attempt in lane.attempts.recent() if attempt.collapsed)
    found = [(attempt, attempt.turns[turn]) for attempt in attempts for turn in attempt.collapsed or ()]
    return sorted(found, key=lambda pair: pair[1].wall)


def is_newest(lane: LaneView, turn: TurnFacts) -> bool:
    """Whether the newest session goes on and nothing has been asked in it since: the alarm is still news."""
    newest = newest_attempt(lane)
    if newest is None or newest.ended is not None:
        return False
    return newest.turns.get(max(newest.turns, default=-1)) is turn


def banner(found: list[tuple[Attempt, TurnFacts]], width: int) -> Content:
    """Two lines: where it collapsed and what that cost; what it said again and again."""
    turn = found[-1][1]
    collapse = turn.collapse or {}
    numbers = [
        f"{other.turn + 1}{f' #{attempt.repeat + 1}' if attempt.repeat else ''}" for attempt, other in found
    ]
    others = numbers[:-1]
    where = f"≋ COLLAPSED in turn {numbers[-1]} · {wasted_tokens(turn)} tokens wasted"
    before = f" · also in turn{'s' * (len(others) > 1)} {', '.join(others[-3:])}" if others else ""
    short = f"≋ COLLAPSED turn {numbers[-1]} · {wasted_tokens(turn)} wasted"
    line = next((form for form in (where + before, where) if len(form) <= width), short)
    unit = safe(str(collapse.get("unit", ""))).replace("\n", "⏎")
    tail = " again and again"
    said = unit if cell_len(unit) <= width - len(tail) - 2 else unit[: max(4, width - len(tail) - 3)] + "…"
    return content((fit(line, width), "bold"), "\n", (fit(f"“{said}”{tail}", width), "italic"))
