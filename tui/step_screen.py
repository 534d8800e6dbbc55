"""One step, whole: what was asked, what the recording answered, what each lane answered, and what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalScroll, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from replayer.step_detail import LaneStep, StepDetail
from replayer.traces.schema import ToolCallItem
from replayer.tui.keys import Keys
from replayer.tui.lane_step_view import Spans, call_text, cut, lane_text, recorded_text
from replayer.tui.text import Span, content

_MESSAGE_CHARS = 4_000
_LEAST_PANE = 38


class CopyCurl(Message):
    """The user wants the request of a lane as a curl command."""

    def __init__(self, detail: StepDetail, lane: str) -> None:
        super().__init__()
        self.detail = detail
        self.lane = lane


class NextStep(Message):
    """The user wants the step `by` places on; with `faulty` the next one with a fault."""

    def __init__(self, by: int, *, faulty: bool = False) -> None:
        super().__init__()
        self.by = by
        self.faulty = faulty


class Pane(VerticalScroll):
    """A bordered part of the step; `fill` makes its text for a width. `lane` is None for the recording."""

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


class StepScreen(Screen[None]):
    """Escape leads back; `c` copies the request of the lane in focus as a curl command."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("left", "step(-1)", "Turn before", show=False, priority=True),
        Binding("right", "step(1)", "Turn after", show=False, priority=True),
        Binding("n", "fault(1)", "Fault"),
        Binding("N", "fault(-1)", "Fault before", show=False),
        Binding("o", "unfold", "Output", show=False),
        Binding("c", "copy", "Curl"),
    ]

    DEFAULT_CSS = """
    StepScreen > #title { height: 1; padding: 0 1; background: $panel; }
    StepScreen > #request {
        height: auto; max-height: 30%; border: round $panel-lighten-2; padding: 0 1;
        border-title-color: $text; border-title-style: bold;
    }
    StepScreen > HorizontalScroll { height: 1fr; scrollbar-size-horizontal: 1; }
    StepScreen HorizontalScroll > Pane {
        border: round $panel-lighten-2; padding: 0 1;
        border-title-color: $text; border-title-style: bold;
    }
    StepScreen VerticalScroll { scrollbar-size-vertical: 1; }
    StepScreen Pane:focus { border: round $accent; }
    StepScreen Pane.bad { border: round $error; }
    StepScreen Static { height: auto; }
    StepScreen Pane > Static { padding: 0 1 0 0; }
    """

    def __init__(self, detail: StepDetail, *, steps: int, note: str = "") -> None:
        """`steps` of the session in all; `note` says what the request shown is not."""
        super().__init__()
        self.detail = detail
        self._steps = steps
        self._note = note
        self._unfolded = False

    def compose(self) -> ComposeResult:
        detail = self.detail
        yield Static(_title(detail, self._steps), id="title", markup=False)
        request = Pane(content(("request", "bold"), f"  {_change(detail)}"), self._asked)
        request.id = "request"
        yield request
        with HorizontalScroll(can_focus=False):
            yield Pane(content("recorded answer"), self._recorded)
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

    def _asked(self, width: int) -> Content:
        return content(*_asked(self.detail, self._note))

    def _recorded(self, width: int) -> Content:
        said = cut(recorded_text(self.detail.recorded))
        return content(said) if said else content(("the recording has no answer here", "$foreground-muted"))

    def _lane(self, lane: LaneStep, width: int) -> Content:
        results = {
            call_text(item.name, item.arguments): self.detail.results[item.call_id]
            for item in self.detail.recorded
            if isinstance(item, ToolCallItem) and item.call_id in self.detail.results
        }
        recorded = recorded_text(self.detail.recorded)
        return content(*lane_text(lane, recorded, results, width, unfolded=self._unfolded))

    def action_step(self, by: int) -> None:
        self.post_message(NextStep(by))

    def action_fault(self, by: int) -> None:
        self.post_message(NextStep(by, faulty=True))

    def action_unfold(self) -> None:
        self._unfolded = not self._unfolded
        for pane in self.query(Pane):
            pane.paint()

    def action_copy(self) -> None:
        lanes = [pane for pane in self.query(Pane) if pane.lane is not None]
        chosen = next((pane for pane in lanes if pane.has_focus), lanes[0] if lanes else None)
        if chosen is not None and chosen.lane is not None:
            self.post_message(CopyCurl(self.detail, chosen.lane))


def _title(detail: StepDetail, steps: int) -> Content:
    again = f" #{detail.repeat + 1}" if detail.repeat else ""
    bad = [name for name, lane in detail.lanes.items() if _usable(lane) is False]
    spans: Spans = [
        ("← ", "$foreground-muted"),
        (f"turn {detail.step + 1} of {steps}", "bold"),
        (" →", "$foreground-muted"),
        f"  {detail.trace}{again}",
    ]
    if bad:
        spans.append((f"  ✗ not usable: {', '.join(bad)}", "$error"))
    lost = [name for name, lane in detail.lanes.items() if _lost(lane)]
    if lost:
        spans.append((f"  ↯ prefix lost: {', '.join(lost)}", "$warning"))
    return content(*spans)


def _change(detail: StepDetail) -> str:
    """What makes this request another one than that of the turn before."""
    new, all_ = len(detail.new_messages), len(detail.messages)
    if not detail.step:
        return f"the first: {all_} messages"
    words = f"{new} new of {all_} messages since the turn before"
    return f"{words}, {detail.dropped} rewritten or dropped" if detail.dropped else words


def _asked(detail: StepDetail, note: str) -> Spans:
    spans: list[Span | str] = [(f"{note}\n", "$warning")] if note else []
    for message in detail.new_messages:
        spans += [(f"{message.get('role', '?')}  ", "bold $primary"), _message_text(message), "\n"]
    return spans[:-1]


def _message_text(message: dict[str, Any]) -> str:
    body = message.get("content")
    parts = [body if isinstance(body, str) else "" if body is None else _parts_text(body)]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        parts.append(f"⚒ {function.get('name')} {function.get('arguments')}")
    text = "\n".join(part.strip("\n") for part in parts if part)
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]}\n… {len(text) - _MESSAGE_CHARS:,} characters left out …\n{text[-half:]}"


def _parts_text(parts: Sequence[Any]) -> str:
    """Text parts as text, other parts by their type."""
    told = (part if isinstance(part, dict) else {} for part in parts)
    return "\n".join(str(part.get("text") or f"({part.get('type', 'part')})") for part in told)


def _usable(lane: LaneStep) -> bool | None:
    return None if lane.verdict is None else bool(lane.verdict["usable"])


def _lost(lane: LaneStep) -> bool:
    return bool((lane.finding("prefix_reuse") or {}).get("lost_tokens"))


def _outcome(lane: LaneStep) -> Span:
    match _usable(lane):
        case None:
            return "○ not judged", "$foreground-muted"
        case True:
            return "● usable", "$success"
        case _:
            classes = [fault["klass"] for fault in (lane.verdict or {})["faults"] if fault["fatal"]]
            return f"✗ {', '.join(dict.fromkeys(classes))}", "$error"
