"""One lane: who it is, how far it is, what it says now, and its figures."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from replayer.progress_bars import turns_done
from replayer.tui import glyphs
from replayer.tui.rows import ROWS, Row
from replayer.tui.source import Frame, Stream
from replayer.tui.text import DASH, Span, bar, content, fit, tail
from replayer.view import LaneView

LABEL_WIDTH = 18
_SHORT_LABEL = 9
_HEAD_LINES = 4
_STREAM_LINES = 4
"""What the streaming text keeps for itself on a low screen."""
_CHANNEL_STYLE = {
    "content": "",
    "reasoning": "dim italic",
    "tool_name": "bold $accent",
    "tool_arguments": "$accent",
}


class LaneColumn(Vertical):
    """A column of the main screen; `show` paints one frame into it."""

    DEFAULT_CSS = """
    LaneColumn {
        height: 1fr;
        border: round $panel-lighten-2; border-title-color: $text; border-title-style: bold;
        padding: 0 1;
    }
    LaneColumn:focus-within { border: round $accent; }
    LaneColumn.collapsed { border: round $error; }
    LaneColumn > Static { height: auto; width: 100%; }
    LaneColumn > .stream { height: 1fr; min-height: 1; margin: 1 0; }
    LaneColumn.tight > .stream { margin: 0; }
    LaneColumn > .banner { background: $error; color: $text; text-style: bold; padding: 0 1; display: none; }
    LaneColumn.collapsed > .banner { display: block; }
    """

    def __init__(self, lane: str) -> None:
        super().__init__()
        self.lane = lane
        self.border_title = content(lane)
        self._head = Static(markup=False, classes="head")
        self._banner = Static(markup=False, classes="banner")
        self._stream = Static(markup=False, classes="stream")
        self._rows = Static(markup=False, classes="rows")
        self.reasons: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._banner
        yield self._stream
        yield self._rows

    def show(self, lane: LaneView, frame: Frame, best: dict[str, str], differing: dict[str, Any]) -> None:
        """`best` names the better lane per metric, where the difference is more than noise."""
        width = self.content_size.width
        height = self.container_size.height
        if width < 10:
            return
        self.set_class(height < 34, "tight")
        collapse = _newest_collapse(lane)
        self.set_class(collapse is not None, "collapsed")
        self._head.update(_head(lane, differing, width))
        if collapse is not None:
            self._banner.update(_banner(collapse, width - 2))
        figures = frame.figures.get(lane.name)
        around = _HEAD_LINES + _STREAM_LINES + (2 if collapse is not None else 0)
        shown = ROWS[: max(4, self.content_size.height - around)]
        if figures is not None:
            self._rows.update(self._figures(lane, figures, shown, best, width))
        self._stream.update(_stream(frame.streams.get(lane.name), width, self._stream.size.height, lane))

    def _figures(
        self, lane: LaneView, figures: dict[str, Any], rows: tuple[Row, ...], best: dict[str, str], width: int
    ) -> Content:
        spans: list[Span | str] = []
        self.reasons = []
        label_width = LABEL_WIDTH if width >= 44 else _SHORT_LABEL
        for row in rows:
            label = row.label if width >= 44 else row.short
            cell = row.cell(lane, figures, width - label_width - 2)
            better = row.metric is not None and best.get(row.metric) == lane.name
            spans += [
                (fit(label, label_width), "$text-muted"),
                (fit(cell.text, width - label_width - 2), cell.style),
                (" ▲" if better else "  ", "$success bold"),
                "\n",
            ]
            if cell.reason:
                self.reasons.append((row.label, cell.reason))
        return content(*spans[:-1])


def _head(lane: LaneView, differing: dict[str, Any], width: int) -> Content:
    settings = (
        "  ".join(f"{name}={value}" for name, value in differing.items()) or "same settings as the others"
    )
    done, total = turns_done(lane)
    share = done / total if total else 0.0
    count = f" {done}/{total or '?'} turns · {lane.cells_done}/{lane.cells_planned} cells"
    room = max(4, width - len(count))
    return content(
        (fit(f"{lane.kind} · {lane.model or DASH}", width), ""),
        "\n",
        (fit(settings, width), "$text-muted"),
        "\n",
        (bar(share, room), "$primary"),
        (fit(count, width - room), "$text-muted"),
        "\n",
        *_strip(lane, width),
    )


def _strip(lane: LaneView, width: int) -> list[Span]:
    """One sign per turn of the newest session, so that the eye finds where it went wrong."""
    if not lane.attempts:
        return [(fit("waiting for its first session", width), "$text-muted")]
    newest = max(lane.attempts, key=lambda attempt: attempt.started)
    last = max(newest.steps, default=0)
    first = max(0, min(last - width + 2, newest.planned - width))
    shown = range(first, min(first + width, max(newest.planned, last + 1)))
    return [(glyph.sign, glyph.style) for glyph in (glyphs.of(newest.steps.get(n)) for n in shown)]


def _newest_collapse(lane: LaneView) -> dict[str, Any] | None:
    """The collapse of the step that is newest in its lane; an older one no longer needs a banner."""
    if not lane.attempts:
        return None
    newest = max(lane.attempts, key=lambda attempt: attempt.started)
    step = newest.steps.get(max(newest.steps, default=-1))
    return step.collapse if step is not None else None


def _banner(collapse: dict[str, Any], width: int) -> Content:
    unit = str(collapse.get("unit", ""))
    wasted = int(collapse.get("wasted_chars", 0)) // 4
    return content(
        fit(f"≋ COLLAPSE  {collapse.get('kind', '')}  about {wasted} tokens wasted", width),
        "\n",
        (fit(f"“{unit}” again and again", width), "italic"),
    )


def _stream(stream: Stream | None, width: int, height: int, lane: LaneView) -> Content:
    if stream is None or height < 1:
        return content(
            ("nothing is streaming", "$text-muted")
            if not lane.running
            else ("waiting for the first token …", "$text-muted")
        )
    spans: list[Span | str] = []
    room = height - 1
    for piece in reversed(stream.pieces):
        if room <= 0:
            break
        sign = "⚒ " if piece.channel == "tool_name" else ""
        lines = tail(sign + piece.text, width, room)
        room -= len(lines)
        spans[:0] = [("\n".join(lines), _CHANNEL_STYLE.get(piece.channel, "")), "\n"]
    return content((fit(f"{stream.cell} · turn {stream.step + 1}", width), "$text-muted"), "\n", *spans[:-1])
