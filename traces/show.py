"""A trace as people read it. What a model or a tool wrote is never markup and never reaches the terminal raw."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    OpaqueItem,
    ToolCallItem,
    ToolResultItem,
    Turn,
)

_FOLDED_LINES = 12
_STYLES = {
    "system": "dim",
    "user": "bold cyan",
    "assistant": "",
    "reasoning": "italic dim",
    "tool_call": "yellow",
    "tool_result": "green",
    "compaction": "magenta",
    "opaque": "dim",
}
_UNSAFE = {code: None for code in (*range(9), *range(11, 32), *range(127, 160))}


def show(trace: Trace, *, brief: bool, full: bool, thread: str | None = None) -> None:
    """Prints a trace to stdout, in colour on a terminal."""
    console = Console(highlight=False, soft_wrap=True)
    header = trace.header
    console.print(Text(f"{clean(header.title or header.trace_id)}", style="bold"))
    console.print(
        Text(f"{header.source.format} · {len(trace.turns)} turns · {trace.item_count} items", style="dim")
    )
    seen: set[int] = set()
    for turn in trace.turns:
        if thread is not None and turn.thread != thread:
            continue
        if brief:
            console.print(Text(brief_line(trace, turn)))
            continue
        for line in _turn(trace, turn, seen, full):
            console.print(line)


def brief_line(trace: Trace, turn: Turn) -> str:
    """Number, thread, size of the context, usage and what the turn produced, in one line."""
    produced = [trace.item(number) for number in turn.produced]
    calls = [clean(item.name) for item in produced if isinstance(item, ToolCallItem)]
    said = next((clean(item.text) for item in produced if item.kind == "assistant"), "")
    tokens = turn.usage.prompt_tokens if turn.usage else None
    prompt = f"{tokens:,} tok" if tokens is not None else f"{len(trace.context(turn.id))} items"
    what = " ".join(f"[{name}]" for name in calls) or said.replace("\n", " ")[:80]
    return f"{turn.id:>4}  {turn.thread[:12]:<12} {prompt:>14}  {what}"


def clean(text: str) -> str:
    """Without control characters, so that no recorded text drives the reader's terminal."""
    return text.translate(_UNSAFE)


def _turn(trace: Trace, turn: Turn, seen: set[int], full: bool) -> Iterator[Text]:
    yield Text(f"── turn {turn.id} · {turn.thread} ".ljust(78, "─"), style="dim")
    for number in (*trace.context(turn.id), *turn.produced):
        if number not in seen:
            seen.add(number)
            item = trace.item(number)
            if not isinstance(item, OpaqueItem):
                yield Text(f"{item.kind}: {_fold(_body(item), full)}", style=_style(item))


def _style(item: AnyItem) -> str:
    if isinstance(item, ToolResultItem) and item.is_error:
        return "red"
    return _STYLES[item.kind]


def _body(item: AnyItem) -> str:
    if isinstance(item, ToolCallItem):
        return clean(f"{item.name} {item.arguments}")
    if isinstance(item, OpaqueItem):
        return ""
    content = item.content if item.kind in ("user", "tool_result") else item.text  # type: ignore[union-attr]
    if isinstance(content, str):
        return clean(content)
    return clean("\n".join(str(part.get("text", f"<{part.get('type')}>")) for part in content))


def _fold(text: str, full: bool) -> str:
    lines = text.splitlines()
    if full or len(lines) <= _FOLDED_LINES:
        return text
    return "\n".join(lines[:_FOLDED_LINES]) + f"\n… {len(lines) - _FOLDED_LINES} more lines"
