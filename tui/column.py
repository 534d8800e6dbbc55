"""One lane: who it is, how far it is, what it says now, and its figures."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import MouseMove

from replayer.tui.better import Better
from replayer.tui.cards import talk_lines
from replayer.tui.head import LINES, banner, collapses, head, health, is_newest, settings_words
from replayer.tui.lane_replies import Talk, newest_attempt
from replayer.tui.quiet import Quiet
from replayer.tui.rows import ROWS, Row
from replayer.tui.source import Frame
from replayer.tui.text import Span, content, fit, safe
from replayer.view import LaneView

LABEL_WIDTH = 18
_SHORT_LABEL = 9
_WIDE = 44
"""Cells from which on rows have their long labels."""
_STREAM_LINES = 4
"""What the streaming text keeps for itself on a low screen."""
_LOW = 34
LEAST_CONTENT = 10
"""Cells below which there is nothing to be read."""


class Figures(Quiet):
    """The rows; a dash or a mark under the mouse explains itself."""

    def __init__(self) -> None:
        super().__init__(classes="rows")
        self.hints: list[str] = []
        """What to say of each line; empty for nothing."""

    def on_mouse_move(self, event: MouseMove) -> None:
        hint = self.hints[event.y] if 0 <= event.y < len(self.hints) else ""
        self.tooltip = content(hint) if hint else None


class LaneColumn(Vertical, can_focus=True):
    """A column of the main screen; `show` paints one frame into it."""

    DEFAULT_CSS = """
    LaneColumn {
        height: 1fr;
        border: round $panel-lighten-2; border-title-color: $text; border-title-style: bold;
        border-subtitle-color: $text-muted;
        padding: 0 1;
    }
    LaneColumn:focus { border: round $accent; }
    LaneColumn.alarm { border: round $error; }
    LaneColumn > Static { height: auto; width: 100%; }
    LaneColumn > .stream { height: 1fr; min-height: 1; margin: 1 0; }
    LaneColumn.tight > .stream { margin: 0; }
    LaneColumn > .banner { color: $error; padding: 0 1; display: none; border-left: outer $error; }
    LaneColumn.collapsed > .banner { display: block; margin: 1 0 0 0; }
    LaneColumn.tight > .banner { margin: 0; }
    LaneColumn.alarm > .banner { background: $error; color: $background; }
    """

    def __init__(self, lane: str) -> None:
        super().__init__()
        self.lane = lane
        self._head = Quiet(classes="head")
        self._banner = Quiet(classes="banner")
        self._stream = Quiet(classes="stream")
        self._rows = Figures()
        self.reasons: list[tuple[str, str]] = []
        self.talk: Talk | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._banner
        yield self._stream
        yield self._rows

    def show(self, lane: LaneView, frame: Frame, differing: dict[str, Any], *, unfolded: bool) -> None:
        """`differing` are the settings in which the lanes are not all alike."""
        width = self.content_size.width
        self.talk = frame.talks.get(lane.name)
        self.set_class(self.container_size.height < _LOW, "tight")
        attempt = self.talk.attempt if self.talk is not None else newest_attempt(lane)
        self._head.paint(head(lane, differing, attempt, width))
        self._head.tooltip = content(settings_words(differing)) if differing else None
        lines = self._alarm(lane, width)
        self._title(lane, width)
        figures = frame.figures.get(lane.name)
        if figures is not None:
            rows = fitting(self.content_size.height - LINES - _STREAM_LINES - lines)
            self._rows.paint(self._figures(lane, figures, rows, frame.best, width))
        won = [better for better in frame.best.values() if better.lane == lane.name]
        self.border_subtitle = content(_stream_words(self.talk) or mark_words(won))
        self._stream.paint(self._said(width, self._stream.size.height, unfolded=unfolded))

    def _title(self, lane: LaneView, width: int) -> None:
        name = fit(lane.name, min(width - 2, cell_len(safe(lane.name)))).rstrip()
        phrase = health(lane, width - cell_len(name) - 4, alarm=self.has_class("alarm"))
        spans: list[Span | str] = [(name, "bold")]
        if phrase is not None:
            spans += [("  ", ""), phrase]
        self.border_title = content(*spans)

    def _alarm(self, lane: LaneView, width: int) -> int:
        """The banner, loud while the collapse is the newest thing that happened; lines that it takes."""
        found = collapses(lane)
        self.set_class(bool(found), "collapsed")
        self.set_class(bool(found) and is_newest(lane, found[-1][1]), "alarm")
        if not found:
            return 0
        self._banner.paint(banner(found, width - 3))
        return 3

    def _said(self, width: int, height: int, *, unfolded: bool) -> Content:
        if self.talk is None:
            return content(("nothing has been asked yet", "$foreground-muted"))
        lines = talk_lines(self.talk, width, height, unfolded=unfolded)
        return Content("\n").join(content(*line) for line in lines)

    def _figures(
        self,
        lane: LaneView,
        figures: dict[str, Any],
        rows: list[Row],
        best: dict[str, Better],
        width: int,
    ) -> Content:
        wide = width >= _WIDE
        label_width = LABEL_WIDTH if wide else _SHORT_LABEL
        spans: list[Span | str] = []
        self.reasons, self._rows.hints = [], []
        for row in rows:
            cell = row.cell(lane, figures, width - label_width - 2)
            better = best.get(row.metric) if row.metric is not None else None
            won = better if better is not None and better.lane == lane.name else None
            mark = " ▲" if won and won.sure else " △" if won else ""
            text = fit(cell.text, min(cell_len(safe(cell.text)), width - label_width - len(mark)))
            spans += [
                (fit(row.label if wide else row.short, label_width), "$foreground-muted"),
                (text, cell.style),
                (mark, "$success bold"),
                "\n",
            ]
            self._rows.hints.append(cell.reason or (won.words if won else "") or cell.more)
            if cell.reason:
                self.reasons.append((row.label, cell.reason))
        return content(*spans[:-1])


def fitting(height: int) -> list[Row]:
    """All rows, or where they do not fit those without curves, or the first of them; never fewer than four."""
    rows = list(ROWS) if len(ROWS) <= height else [row for row in ROWS if not row.curve]
    return rows[: max(4, height)]


def mark_words(won: Collection[Better]) -> str:
    """What the marks behind this lane's values mean."""
    words = {True: "▲ better, beyond noise", False: "△ better, in these sessions"}
    return " · ".join(words[sure] for sure in sorted({better.sure for better in won}, reverse=True))


def _stream_words(talk: Talk | None) -> str:
    """Which of several streams the column shows."""
    if talk is None or (len(talk.streams) < 2 and not talk.pinned):
        return ""
    number = talk.streams.index(talk.attempt.cell) + 1 if talk.attempt.cell in talk.streams else 0
    which = f"stream {number} of {len(talk.streams)}" if number else "a session that has ended"
    return f"{which} · {'pinned' if talk.pinned else 'the newest'}"
