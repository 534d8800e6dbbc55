"""The main screen: all lanes side by side."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalScroll
from textual.content import Content
from textual.widgets import Static

from replayer.journal.view import LaneView
from replayer.tui.column import LEAST_CONTENT, Drawn, LaneColumn
from replayer.tui.dialogs import TextDialog
from replayer.tui.keys import Keys
from replayer.tui.lane_replies import Talk
from replayer.tui.messages import PinStream
from replayer.tui.pages import Page
from replayer.tui.rows import ROWS, arrange
from replayer.tui.settings_view import differing_settings, settings_table
from replayer.tui.source import Frame
from replayer.tui.text import Span, content, fit, safe

_LEAST_WIDTH = 36


def next_stream(talk: Talk) -> str:
    """The stream that is shown, or the one after it where that is pinned already."""
    if not talk.pinned:
        return talk.attempt.session
    here = talk.streams.index(talk.attempt.session) if talk.attempt.session in talk.streams else -1
    return talk.streams[(here + 1) % len(talk.streams)]


class MainScreen(Page):
    """One column per lane."""

    BINDINGS: ClassVar = [
        Binding("left,h", "scroll(-1)", "lanes", show=False, priority=True),
        Binding("right,l", "scroll(1)", "lanes", show=False, priority=True),
        Binding("o", "unfold", "Outputs"),
        Binding("i", "settings", "Settings"),
        Binding("p", "pin", "Pin a stream", show=False),
        Binding("f", "follow", "Follow the newest stream", show=False),
        Binding("u", "why", "Unknown figures", show=False),
    ]

    DEFAULT_CSS = """
    MainScreen > #run { height: 1; background: $panel; color: $text; padding: 0 1; }
    MainScreen > #lanes { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._run = Static(id="run", markup=False)
        self._lanes = HorizontalScroll(id="lanes", can_focus=False)
        self._columns: dict[str, LaneColumn] = {}
        self._left = 0
        self._width = 0
        self._sized = 0
        self._unfolded = False
        self._frame: Frame | None = None

    def compose(self) -> ComposeResult:
        yield self._run
        yield self._lanes
        yield Keys()

    def show(self, frame: Frame) -> bool:
        """Whether every column was painted: new ones have no size yet, and wait for the next frame."""
        self._frame = frame
        lanes = [lane for view in frame.views for lane in view.lanes]
        self._ensure_columns(lanes)
        self._share_width(len(lanes))
        title = header(frame, self.size.width - 2, self._in_view(len(lanes)))
        self._run.update(title)
        differing = differing_settings(lanes)
        ready = {
            lane.name: self._columns[lane.name].draw(lane, frame, differing[lane.name])
            for lane in lanes
            if self._columns[lane.name].is_mounted
            and self._columns[lane.name].content_size.width >= LEAST_CONTENT
        }
        if ready:
            self._show_columns(ready)
        return len(ready) == len(lanes)

    def _show_columns(self, drawn: dict[str, Drawn]) -> None:
        """Every column with the same rows in the same lines."""
        wanted = {row: max(one.wanted.get(row, 1) for one in drawn.values()) for row in ROWS}
        arranged = arrange(
            self._columns[next(iter(drawn))].content_size.height,
            max(len(one.settings) for one in drawn.values()),
            wanted,
            alarm=any(one.collapses for one in drawn.values()),
        )
        for name, one in drawn.items():
            running = any(view.state == "running" and one.lane in view.lanes for view in one.frame.views)
            self._columns[name].show(one, arranged, running=running, unfolded=self._unfolded)

    def _ensure_columns(self, lanes: list[LaneView]) -> None:
        missing = [lane.name for lane in lanes if lane.name not in self._columns]
        for name in missing:
            self._columns[name] = LaneColumn(name)
        if missing:
            self._lanes.mount(*(self._columns[name] for name in missing))

    def _share_width(self, lanes: int) -> None:
        """As many whole columns as fit; the others are reached by scrolling."""
        visible = min(lanes, max(1, self.size.width // _LEAST_WIDTH))
        width = self.size.width // max(1, visible)
        if (width, lanes) != (self._width, self._sized):
            self._width, self._sized = width, lanes
            for column in self._columns.values():
                column.styles.width = width

    def _in_view(self, lanes: int) -> str:
        """Which lanes are in view, where not all are."""
        visible = self.size.width // max(1, self._width)
        first = round(self._lanes.scroll_x / max(1, self._width)) + 1
        return f"lanes {first}–{min(lanes, first + visible - 1)} of {lanes} ← →" if visible < lanes else ""

    def action_why(self) -> None:
        """Explain every dash of every column."""
        lanes: dict[tuple[str, str], list[str]] = {}
        for column in self._columns.values():
            for unknown in column.reasons:
                lanes.setdefault(unknown, []).append(column.lane)
        spans: list[Span | str] = [("figures that are unknown\n", "bold $primary")]
        for (row, reason), names in lanes.items():
            who = "every lane" if len(names) == len(self._columns) > 1 else ", ".join(names)
            spans += [(f"\n{row.strip()}", "bold"), (f"  {who}\n", "$foreground-muted")]
            spans.append(f"  {reason}\n")
        self.app.push_screen(TextDialog(content(*spans) if lanes else content("every figure is known")))

    def action_settings(self) -> None:
        """All settings of all lanes, and what their servers say."""
        lanes = [lane for view in self._frame.views for lane in view.lanes] if self._frame else []
        if lanes:
            self.app.push_screen(TextDialog(settings_table(lanes, self.size.width * 9 // 10 - 6)))

    def action_unfold(self) -> None:
        """Tool output in every column, folded or not."""
        self._unfolded = not self._unfolded
        self._repaint()

    def action_pin(self) -> None:
        """Keep the lane in focus (else the leftmost) to the stream that it shows; again: to the next one."""
        talk = self._talk()
        if talk is not None:
            self.post_message(PinStream(talk.attempt.lane, next_stream(talk)))

    def action_follow(self) -> None:
        talk = self._talk()
        if talk is not None:
            self.post_message(PinStream(talk.attempt.lane, None))

    def _talk(self) -> Talk | None:
        columns = list(self._columns.values())
        leftmost = min(len(columns) - 1, self._left // max(1, self._width))
        focused = (column for column in columns if column.has_focus)
        return next(focused, columns[leftmost]).talk if columns else None

    def action_scroll(self, by: int) -> None:
        self._left = max(0, min(self._lanes.max_scroll_x, round(self._lanes.scroll_x) + by * self._width))
        self._lanes.scroll_to(x=self._left, animate=False)
        self.call_after_refresh(self._repaint)

    def on_lane_column_sized(self) -> None:
        self._repaint()

    def _repaint(self) -> None:
        if self._frame is not None:
            self.show(self._frame)


_STATES = {
    "running": ("● running", "$success"),
    "finished": ("✔ finished", "$primary"),
    "broken": ("✗ finished", "$error"),
    "interrupted": ("‖ interrupted", "$warning"),
}


_LATE_NS = 2_000_000_000


def header(frame: Frame, width: int, lanes: str = "") -> Content:
    """The run in one line, from what is most urgent; figures of an earlier moment than the turns above them say so."""
    view = frame.view
    state, style = _STATES["broken" if view.state == "finished" and view.exit_code else view.state]
    rest = f"  {view.run} · {view.mode} history · tools {view.tools} · {clock(view.last_at)}"
    if frame.figures and view.last_at - frame.figures_at > _LATE_NS:
        rest += f", figures of {clock(frame.figures_at)}"
    notes = [f"{len(view.warnings)} warning{'s' * (len(view.warnings) > 1)}"] if view.warnings else []
    notes += [*view.reasons[:1], "4 tells all"] if view.reasons[1:] else view.reasons
    if frame.behind:
        notes = ["reading what was journalled", *notes]
    if view.stopped_early:
        notes = [view.stopped_early, *notes]
    if view.state == "interrupted":
        notes = [f"`replayer resume {view.run}` goes on", *notes]
    more = "".join(f" · {note}" for note in notes)
    room = max(1, width - cell_len(state) - len(lanes) - 1)
    said = fit(rest, min(room, cell_len(safe(rest))))
    note = fit(more, room - cell_len(said))
    return content((state, f"{style} bold"), said, (note, "$warning"), " ", (lanes, "$accent"))


def clock(at: int) -> str:
    """Nanoseconds of the run as `0:01:07`."""
    seconds = at // 1_000_000_000
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
