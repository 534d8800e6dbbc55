"""One turn, whole: what was asked, what the recording answered, what each lane answered, and what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalScroll, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from replayer.errors import ReplayerError
from replayer.journal.lane_turn import LaneTurn
from replayer.journal.turn_detail import TurnDetail, turn_detail
from replayer.journal.view import MISFITS, RunView
from replayer.repro.curl import curl
from replayer.repro.folder import find_case
from replayer.traces.answer_text import recorded_text
from replayer.traces.schema import ToolCallItem
from replayer.tui.calls import call_text, same_call, tinted
from replayer.tui.keys import Keys
from replayer.tui.lane_turn_view import (
    Spans,
    asked_of,
    change_words,
    cut,
    lane_text,
    recorded_results,
    request_text,
)
from replayer.tui.messages import Key, NextTurn, Save
from replayer.tui.pages import Sheet
from replayer.tui.source import Frame
from replayer.tui.text import Span, content, hanging, safe

_LEAST_PANE = 38
_CLIPBOARD = 60_000
"""Characters that terminals take for their clipboard (xterm ends at some 75,000 of base64)."""


class Pane(VerticalScroll):
    """A bordered part of the turn; `fill` makes its text for a width. `lane` is None for the recording."""

    def __init__(self, title: Content, fill: Callable[[int], Content], lane: str | None = None) -> None:
        self._text = Static(markup=False)
        super().__init__(self._text)
        self.border_title = title
        self.lane = lane
        self._fill = fill

    def on_resize(self) -> None:
        self.paint()

    def paint(self) -> None:
        self._text.update(self._fill(max(20, self.size.width - 2)))


class TurnScreen(Sheet):
    """Escape leads back; `c` copies the request of the lane in focus as a curl command."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("left", "turn(-1)", "Turn before", show=False, priority=True),
        Binding("right", "turn(1)", "Turn after", show=False, priority=True),
        Binding("n", "turn(1, True)", "Next fault"),
        Binding("N", "turn(-1, True)", "Fault before", show=False),
        Binding("o", "unfold", "Results"),
        Binding("c", "copy", "Copy as curl"),
    ]

    DEFAULT_CSS = """
    TurnScreen > #title { height: 1; padding: 0 1; background: $panel; }
    TurnScreen > #request {
        height: auto; max-height: 30%; border: round $panel-lighten-2; padding: 0 1;
        border-title-color: $text; border-title-style: bold;
    }
    TurnScreen > HorizontalScroll { height: 1fr; scrollbar-size-horizontal: 1; }
    TurnScreen HorizontalScroll > Pane {
        border: round $panel-lighten-2; padding: 0 1;
        border-title-color: $text; border-title-style: bold;
    }
    TurnScreen VerticalScroll { scrollbar-size-vertical: 1; }
    TurnScreen Pane:focus { border: round $accent; }
    TurnScreen Pane.bad { border: round $error; }
    TurnScreen Static { height: auto; }
    TurnScreen Pane > Static { padding: 0 1 0 0; }
    """

    def __init__(self, detail: TurnDetail, folders: Sequence[Path], frame: Frame) -> None:
        super().__init__()
        self.detail = detail
        self.at = (detail.trace, detail.repeat, detail.turn)
        self._folders, self._views = folders, frame.views
        self._turns = _planned(frame, self.at)
        self._note = _note(frame.view)
        self._unfolded = False
        self._lane_asked = next(iter(detail.lanes), None)

    def compose(self) -> ComposeResult:
        detail = self.detail
        yield Static(_title(detail, self._turns), id="title", markup=False)
        request = Pane(self._request_title(), self._asked)
        request.id = "request"
        yield request
        with HorizontalScroll(can_focus=False):
            yield Pane(content(("recorded answer", "bold")), self._recorded)
            for name, lane in detail.lanes.items():
                pane = Pane(content((name, "bold"), "  ", _outcome(lane)), partial(self._lane, lane), name)
                pane.set_class(_usable(lane) is False, "bad")
                yield pane
        yield Keys()

    def on_resize(self, event: Resize) -> None:
        """As many whole panes as fit; Tab scrolls to the others."""
        panes = 1 + len(self.detail.lanes)
        visible = min(panes, max(1, event.size.width // _LEAST_PANE))
        for pane in self.query(Pane):
            if pane.id is None:
                pane.styles.width = event.size.width // visible

    def on_descendant_focus(self) -> None:
        """Where each lane was sent its own request, the one of the lane in focus is shown."""
        here = self.focused
        if isinstance(here, Pane) and here.lane is not None and here.lane != self._lane_asked:
            self._lane_asked = here.lane
            request = self.query_one("#request", Pane)
            request.border_title = self._request_title()
            request.paint()

    def _request_title(self) -> Content:
        asked, own = asked_of(self.detail, self._lane_asked)
        whose = f" to {self._lane_asked}, its own history" if own else ""
        more = "  (tab: another lane's)" if own and len(self.detail.lanes) > 1 else ""
        change = change_words(asked, first=not self.detail.turn)
        return content((f"request{whose}", "bold"), f"  {change}", (more, "$foreground-muted"))

    def _asked(self, width: int) -> Content:
        asked, own = asked_of(self.detail, self._lane_asked)
        return content(*hanging(request_text(asked, "" if own else self._note), width))

    def _recorded(self, width: int) -> Content:
        said = cut(recorded_text(self.detail.recorded, call_text))
        if not said:
            return content(("the recording has no answer here", "$foreground-muted"))
        results = recorded_results(self.detail, width, unfolded=self._unfolded)
        return content(*hanging(tinted([(f"{said}\n", "")]), width), *results)

    def _lane(self, lane: LaneTurn, width: int) -> Content:
        results = {
            same_call(item.name, item.arguments): self.detail.results[item.call_id]
            for item in self.detail.recorded
            if isinstance(item, ToolCallItem) and item.call_id in self.detail.results
        }
        recorded = recorded_text(self.detail.recorded, call_text)
        return content(*lane_text(lane, recorded, results, width, unfolded=self._unfolded))

    def action_turn(self, by: int, faulty: bool = False) -> None:
        self.post_message(NextTurn(by, faulty=faulty))

    def action_unfold(self) -> None:
        self._unfolded = not self._unfolded
        for pane in self.query(Pane):
            pane.paint()

    def action_copy(self) -> None:
        lanes = [pane for pane in self.query(Pane) if pane.lane is not None]
        if lanes:
            self._copy(str(next((pane for pane in lanes if pane.has_focus), lanes[0]).lane))

    @work(exclusive=True, group="curl")
    async def _copy(self, shown: str) -> None:
        """The exact request, rebuilt as `replayer repro` does; what no clipboard holds goes to a file."""
        detail = self.detail
        folder, lane = self._place(shown)
        where = f"{detail.trace}/{detail.repeat + 1}/{detail.turn + 1}"
        try:
            case = await find_case(folder, where, lane)
        except (ReplayerError, OSError, *MISFITS) as error:
            self.notify(safe(str(error)), severity="warning", markup=False)
            return
        command = curl(case.lane.base_url, case.request, case.lane_plan.api_key_env)
        if len(command) <= _CLIPBOARD:
            self.app.copy_to_clipboard(command)
            self.notify(f"the request to {safe(lane)} is on the clipboard as a curl command", markup=False)
        else:
            self.post_message(Save(f"replayer-{detail.trace}-turn-{detail.turn + 1}-curl.sh", command + "\n"))

    def _place(self, lane: str) -> tuple[Path, str]:
        """The folder of a lane as shown, and its own name there."""
        for folder, view in zip(self._folders, self._views, strict=False):
            if any(one.name == lane for one in view.lanes):
                return folder, lane.removeprefix(f"{view.run}:")
        return self._folders[0], lane


def opened(folders: Sequence[Path], frame: Frame, key: Key) -> TurnScreen:
    """The turn in every run that has it, all lanes side by side. Raises ReplayerError where none has it."""
    found: list[TurnDetail] = []
    why = "this turn has not been sent yet"
    for folder, view in zip(folders, frame.views, strict=False):
        try:
            found.append(turn_detail(folder, view, *key))
        except ReplayerError as error:
            why = str(error)
        except OSError as error:
            why = f"{folder} cannot be read: {error.strerror}"
    if not found:
        raise ReplayerError(why)
    lanes = {name: lane for detail in found for name, lane in detail.lanes.items()}
    return TurnScreen(replace(found[0], lanes=lanes), folders, frame)


def _title(detail: TurnDetail, turns: int) -> Content:
    again = f" #{detail.repeat + 1}" if detail.repeat else ""
    bad = [name for name, lane in detail.lanes.items() if _usable(lane) is False]
    spans: Spans = [
        ("← ", "$foreground-muted"),
        (f"turn {detail.turn + 1} of {turns}", "bold"),
        (" →", "$foreground-muted"),
        f"  {detail.trace}{again}",
    ]
    if bad:
        spans.append((f"  ✗ not usable: {', '.join(bad)}", "$error"))
    lost = [n for n, lane in detail.lanes.items() if (lane.finding("prefix_reuse") or {}).get("lost_tokens")]
    if lost:
        spans.append((f"  ↯ prefix lost: {', '.join(lost)}", "$warning"))
    return content(*spans)


def _usable(lane: LaneTurn) -> bool | None:
    return None if lane.verdict is None else bool(lane.verdict["usable"])


def _outcome(lane: LaneTurn) -> Span:
    if lane.reply is None:
        return "▸ streaming", "$accent"
    match _usable(lane):
        case None:
            return "○ not judged", "$foreground-muted"
        case True:
            return "● usable", "$success"
        case _:
            classes = [fault["klass"] for fault in (lane.verdict or {})["faults"] if fault["fatal"]]
            return f"✗ {', '.join(dict.fromkeys(classes))}", "$error"


def _planned(frame: Frame, key: Key) -> int:
    """Turns of the session that a turn belongs to."""
    found = (lane.attempts.find(key[:2]) for view in frame.views for lane in view.lanes)
    return max((attempt.planned for attempt in found if attempt is not None), default=key[2] + 1)


def _note(view: RunView) -> str:
    """Where what the lanes were sent is not what the recording holds."""
    if view.mode == "live":
        return "live history: each lane was sent its own replies; this is the recorded request"
    rewritten = "as recorded: --transform rewrote it before it was sent, c copies what was sent"
    return rewritten if view.plan.get("transform") else ""
