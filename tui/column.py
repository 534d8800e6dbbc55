"""One lane: who it is, how far it is, what it says now, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, MouseMove
from textual.message import Message

from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.documents import LaneFigures
from replayer.tui.better import Better
from replayer.tui.cards import talk_lines
from replayer.tui.head import banner, clipped, collapses, head, health, is_newest, strip_start
from replayer.tui.lane_replies import Talk, newest_attempt
from replayer.tui.messages import OpenTurn
from replayer.tui.rows import ROWS, Arrangement, Cell, Row
from replayer.tui.settings_view import Settings, settings_lines
from replayer.tui.source import Frame
from replayer.tui.text import DASH, Quiet, Span, content, fit, plot, safe, wrapped

LABEL_WIDTH = 18
_SHORT_LABEL = 9
_WIDE = 44
"""Cells from which on rows have their long labels."""
_MARK = 2
"""Cells for the mark of the better lane."""
LEAST_CONTENT = 10
"""Cells below which there is nothing to be read."""


_QUIET = "$foreground-muted"


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What a column shows of one frame, before it is known how many lines each part gets."""

    lane: LaneView
    frame: Frame
    settings: list[list[Span]]
    cells: dict[Row, Cell]
    wanted: dict[Row, int]
    """Lines that each row would fill."""
    collapses: list[tuple[Attempt, TurnFacts]]
    width: int


class Head(Quiet):
    """Who the lane is; a click on the sign of a turn opens it."""

    def __init__(self) -> None:
        super().__init__(classes="head")
        self.strip: tuple[int, tuple[str, int] | None, int] = (-1, None, 0)
        """The line of signs, trace and repeat that it is of, and its first turn."""

    def on_click(self, event: Click) -> None:
        line, session, first = self.strip
        if event.y == line and session is not None:
            self.post_message(OpenTurn((*session, first + event.x)))


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

    class Sized(Message):
        """It has another size, and what it shows is to be fitted to it."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LaneColumn.Sized)

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
        self._head = Head()
        self._banner = Quiet(classes="banner")
        self._stream = Quiet(classes="stream")
        self._rows = Figures()
        self.reasons: list[tuple[str, str]] = []
        self.talk: Talk | None = None
        self._drawn: Drawn | None = None

    def on_resize(self) -> None:
        self.post_message(self.Sized())

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._banner
        yield self._stream
        yield self._rows

    def draw(self, lane: LaneView, frame: Frame, differing: Settings) -> Drawn:
        """The frame's content for this lane; `differing` are the settings in which the lanes are not all alike."""
        width = self.content_size.width
        if self._drawn is not None and self._drawn.frame is frame and self._drawn.width == width:
            return self._drawn
        figures = frame.figures.get(lane.name)
        room = width - self._label_width(width)
        cells = {row: row.cell(lane, figures, room - _MARK) for row in ROWS} if figures is not None else {}
        wanted = {row: wrapped(cell.text, room - _MARK).count("\n") + 1 for row, cell in cells.items()}
        settings = settings_lines(differing, width)
        self._drawn = Drawn(lane, frame, settings, cells, wanted, collapses(lane), width)
        return self._drawn

    def show(self, drawn: Drawn, arranged: Arrangement, *, running: bool, unfolded: bool) -> None:
        """`running`: whether the run goes on."""
        lane, frame, width = drawn.lane, drawn.frame, self.content_size.width
        self.talk = frame.talks.get(lane.name)
        self.set_class(arranged.tight, "tight")
        attempt = self.talk.attempt if self.talk is not None else newest_attempt(lane)
        settings = clipped(drawn.settings, arranged.settings, width)
        self._head.paint(head(lane, settings, attempt, width, running=running))
        self._head.tooltip = Content("\n").join(content(*line) for line in drawn.settings)
        session = None if attempt is None else (attempt.trace, attempt.repeat)
        self._head.strip = 2 + arranged.settings, session, strip_start(attempt, width) if attempt else 0
        self._alarm(drawn)
        self._title(frame.figures.get(lane.name), width)
        if drawn.cells:
            self._rows.paint(self._figures(drawn.cells, arranged, frame.best, width))
        won = [better for better in frame.best.values() if better.lane == lane.name]
        self.border_subtitle = content(_stream_words(self.talk) or ("▲ better, beyond noise" if won else ""))
        said = [[("nothing has been asked yet", _QUIET)]]
        if self.talk is not None:
            said = talk_lines(self.talk, width, self._stream.size.height, unfolded=unfolded)
        self._stream.paint(Content("\n").join(content(*line) for line in said))

    @staticmethod
    def _label_width(width: int) -> int:
        return LABEL_WIDTH if width >= _WIDE else _SHORT_LABEL

    def _title(self, found: LaneFigures | None, width: int) -> None:
        name = fit(self.lane, min(width - 2, cell_len(safe(self.lane)))).rstrip()
        phrase = health(found, width - cell_len(name) - 4, alarm=self.has_class("alarm"))
        spans: list[Span | str] = [(name, "bold")]
        if phrase is not None:
            spans += [("  ", ""), phrase]
        self.border_title = content(*spans)

    def _alarm(self, drawn: Drawn) -> None:
        """The banner, loud while the collapse is the newest thing that happened."""
        found = drawn.collapses
        self.set_class(bool(found), "collapsed")
        self.set_class(bool(found) and is_newest(drawn.lane, found[-1][1]), "alarm")
        if found:
            self._banner.paint(banner(found, drawn.width - 3))

    def _figures(
        self, cells: Mapping[Row, Cell], arranged: Arrangement, best: dict[str, Better], width: int
    ) -> Content:
        lines: list[list[Span]] = []
        self.reasons, self._rows.hints = [], []
        for row, height in arranged.rows:
            cell = cells[row]
            better = best.get(row.compared) if row.compared is not None else None
            won = better if better is not None and better.lane == self.lane else None
            if row.title and arranged.titled:
                lines.append(_rule(row.title, width))
                self._rows.hints.append("")
            lines += self._row(row, cell, height, won, width)
            self._rows.hints += [cell.reason or (won.words if won else "") or cell.more] * height
            if cell.reason:
                self.reasons.append((row.label, cell.reason))
        return Content("\n").join(content(*line) for line in lines)

    def _row(self, row: Row, cell: Cell, height: int, won: Better | None, width: int) -> list[list[Span]]:
        """Exactly `height` lines: the label, the value, and the mark of the better lane."""
        label_width = self._label_width(width)
        room = width - label_width
        label = fit(row.label if width >= _WIDE else row.short, label_width)
        mark = " ▲" if won else ""
        lines = _lines(cell, height, room - _MARK)
        first = len(lines) - 1 if cell.values else 0
        shown: list[list[Span]] = []
        for n, line in enumerate(lines):
            shown.append([(label if n == first else " " * label_width, _QUIET), (line, cell.style)])
        shown[first].append((mark, "$success bold"))
        if cell.text == DASH and cell.brief and len(cell.brief) + 3 <= room:
            shown[0].append((f"  {cell.brief}", _QUIET))
        return [*shown, *([] for _ in range(height - len(shown)))]


def _lines(cell: Cell, height: int, width: int) -> list[str]:
    """The value in at most `height` lines, none wider than there is room."""
    if cell.values:
        return plot(cell.values, width, height, cell.top, lowest=cell.lowest)
    lines = wrapped(cell.text, width).split("\n")
    if len(lines) > height:
        lines = [*lines[: height - 1], " ".join(lines[height - 1 :])]
    return [fit(line, min(cell_len(safe(line)), width)) for line in lines]


def _rule(title: str, width: int) -> list[Span]:
    """The name of a group of rows, in a line across."""
    return [
        ("── ", "$panel-lighten-2"),
        (title, "bold $foreground-muted"),
        (" " + "─" * (width - len(title) - 4), "$panel-lighten-2"),
    ]


def _stream_words(talk: Talk | None) -> str:
    """Which of several streams the column shows."""
    if talk is None or (len(talk.streams) < 2 and not talk.pinned):
        return ""
    number = talk.streams.index(talk.attempt.session) + 1 if talk.attempt.session in talk.streams else 0
    which = f"stream {number} of {len(talk.streams)}" if number else "a session that has ended"
    return f"{which} · {'pinned' if talk.pinned else 'the newest'}"
