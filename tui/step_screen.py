"""One step, whole: what was asked, what the recording answered, what each lane answered, and what was wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from replayer.packing import gaps_us
from replayer.step_detail import LaneStep, StepDetail
from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem, ToolResultItem
from replayer.tui.keys import Keys
from replayer.tui.text import DASH, Span, content, fit, sparkline

_MESSAGE_CHARS = 4_000
_OUTPUT_CHARS = 2_000


class StepScreen(Screen[None]):
    """Escape leads back; `c` copies the request as a curl command."""

    BINDINGS: ClassVar = [
        Binding("escape", "app.pop_screen", "Back"),
        Binding("c", "copy", "Copy as curl"),
    ]

    DEFAULT_CSS = """
    StepScreen > #title { height: 1; padding: 0 1; background: $panel; }
    StepScreen > Horizontal { height: 1fr; }
    StepScreen VerticalScroll { width: 1fr; min-width: 34; border: round $panel-lighten-2; padding: 0 1; }
    StepScreen Static { height: auto; }
    """

    def __init__(self, detail: StepDetail, curl: str) -> None:
        super().__init__()
        self._detail = detail
        self._curl = curl

    def compose(self) -> ComposeResult:
        detail = self._detail
        yield Static(
            content(f"{detail.trace} · turn {detail.step + 1} · {len(detail.messages)} messages"), id="title"
        )
        with Horizontal():
            yield self._pane("request and recording", _asked(detail))
            for name, lane in detail.lanes.items():
                yield self._pane(name, _answered(lane, recorded_text(detail.recorded)))
        yield Keys()

    def _pane(self, title: str, text: Content) -> VerticalScroll:
        pane = VerticalScroll(Static(text))
        pane.border_title = content(title)
        return pane

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._curl)
        self.notify("the request is on the clipboard as a curl command", markup=False)


def _asked(detail: StepDetail) -> Content:
    spans: list[Span | str] = [("new since the turn before\n", "bold $primary")]
    for message in detail.new_messages:
        spans += [(f"{message.get('role', '?')}\n", "bold"), _message_text(message)[-_MESSAGE_CHARS:], "\n\n"]
    spans += [("recorded answer\n", "bold $primary"), recorded_text(detail.recorded)]
    return content(*spans)


def _message_text(message: dict[str, Any]) -> str:
    body = message.get("content")
    parts = [body if isinstance(body, str) else "" if body is None else str(body)]
    parts += [
        f"⚒ {call.get('function', {}).get('name')} {call.get('function', {}).get('arguments')}"
        for call in message.get("tool_calls") or ()
    ]
    return "\n".join(part for part in parts if part)


def recorded_text(items: Iterable[AnyItem]) -> str:
    """The recorded answer as one text: thoughts, words, calls."""
    lines = []
    for item in items:
        match item:
            case AssistantItem() | ReasoningItem():
                lines.append(item.text)
            case ToolCallItem():
                lines.append(f"⚒ {item.name} {item.arguments}")
            case ToolResultItem():
                pass
            case _:
                lines.append(f"({item.kind})")
    return "\n".join(lines)


def _answered(lane: LaneStep, recorded: str) -> Content:
    if lane.reply is None:
        return content(("still streaming", "$foreground-muted"))
    spans: list[Span | str] = [*_verdict(lane), *_reply(lane.reply, recorded), *_tools(lane)]
    return content(*spans, *_timing(lane.reply), *_prefix(lane))


def _verdict(lane: LaneStep) -> list[Span | str]:
    if lane.verdict is None:
        return [("not judged\n\n", "$foreground-muted")]
    usable = lane.verdict["usable"]
    spans: list[Span | str] = [
        ("● usable\n" if usable else "✗ not usable\n", "bold $success" if usable else "bold $error")
    ]
    for fault in lane.verdict["faults"]:
        where = f" at {fault['path']}" if fault.get("path") else ""
        sign = "✗" if fault["fatal"] else "△"
        spans += [
            (f"{sign} {fault['klass']}{where}", "$error" if fault["fatal"] else "$warning"),
            f" (blame: {fault['blame']})\n  {fault['message']}\n",
        ]
    for finding in lane.verdict.get("against_recording", ()):
        spans.append((f"≠ {finding['message']}\n", "$foreground-muted"))
    for alarm in lane.alarms:
        finding = alarm["finding"]
        what = "stopped" if alarm["stopped"] else "left running"
        if finding.get("level") != "collapsed":
            what = "only a suspicion"
        spans.append(
            (
                f"≋ {finding.get('kind')} from character {finding.get('onset')}, {what}: {finding.get('unit')!r}\n",
                "$error",
            )
        )
    return [*spans, "\n"]


def _reply(reply: dict[str, Any], recorded: str) -> list[Span | str]:
    spans: list[Span | str] = []
    if reply.get("reasoning"):
        spans += [(reply["reasoning"], "dim italic"), "\n\n"]
    said = "\n".join(
        [
            reply.get("content") or "",
            *(f"⚒ {call.get('name')} {call.get('arguments')}" for call in reply["tool_calls"]),
        ]
    ).strip()
    spans += _marked(recorded.strip(), said)
    fault = reply.get("fault")
    if fault:
        spans.append((f"\n! {fault['kind']}: {fault['message']}", "$error"))
    return [*spans, "\n\n", (f"finish: {reply.get('finish_reason') or DASH}\n", "$foreground-muted")]


def _marked(recorded: str, said: str) -> list[Span | str]:
    """The answer with what differs from the recording underlined, line by line."""
    matcher = difflib.SequenceMatcher(None, recorded.splitlines(), said.splitlines(), autojunk=False)
    lines = said.splitlines()
    spans: list[Span | str] = []
    for kind, _, _, begin, end in matcher.get_opcodes():
        text = "\n".join(lines[begin:end])
        if text:
            spans += [(text, "" if kind == "equal" else "underline"), "\n"]
    return spans


def _tools(lane: LaneStep) -> list[Span | str]:
    spans: list[Span | str] = []
    for run in lane.tool_runs:
        good = run["outcome"] in ("ok", "recorded")
        against = f" · {run['against_recorded']} to the recording" if run.get("against_recorded") else ""
        spans += [
            (
                f"{'✔' if good else '✗'} {run.get('name')}: {run['outcome']}{against}\n",
                "$success" if good else "$warning",
            ),
            (run.get("output", "")[-_OUTPUT_CHARS:] + "\n", "$foreground-muted"),
        ]
    return spans


def _timing(reply: dict[str, Any]) -> list[Span | str]:
    gaps = [gap / 1000 for gap in gaps_us(reply.get("arrivals", ""))]
    ttft = reply.get("ttft_ns")
    usage = {key: value for key, value in (reply.get("usage") or {}).items() if value is not None}
    counts = " · ".join(
        f"{name} {usage.get(f'{name}_tokens', DASH)}" for name in ("prompt", "cached", "completion")
    )
    first = DASH if ttft is None else f"{ttft / 1e6:.1f} ms"
    return [
        ("timing\n", "bold $primary"),
        f"first token {first} · whole {reply['total_ns'] / 1e6:.0f} ms · {len(gaps)} deltas\n",
        (fit(sparkline(_squeezed(gaps[1:], 40), 40), 40) + "\n", "$secondary"),
        f"tokens: {counts} ({reply.get('usage_source')})\n\n",
    ]


def _squeezed(values: Sequence[float], width: int) -> list[float | None]:
    """The largest value of each of `width` slices."""
    if len(values) <= width:
        return list(values)
    size = len(values) / width
    return [max(values[int(n * size) : int((n + 1) * size)], default=None) for n in range(width)]


def _prefix(lane: LaneStep) -> list[Span | str]:
    found = lane.finding("prefix_reuse")
    if found is None:
        return []
    spans: list[Span | str] = [("prefix cache\n", "bold $primary")]
    reported = "–" if found.get("reported_tokens") is None else f"{found['reported_tokens']:,}"
    spans.append(f"reported {reported} of {found.get('ideal_tokens', 0):,} possible tokens\n")
    if found.get("cause"):
        spans.append((f"{found['cause']}: {found.get('detail', '')}\n", "$warning"))
        spans.append(
            f"message {found.get('message_index')}, {found.get('path')}, offset {found.get('offset')}\n"
        )
        spans += [
            ("before ", "$foreground-muted"),
            f"{found.get('excerpt_before')}\n",
            ("after  ", "$foreground-muted"),
            f"{found.get('excerpt_after')}\n",
        ]
    return spans
