"""What a trace holds, counted: the line that `import` and `trace check` print."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replayer.errors import TraceError
from replayer.traces.reader import Trace, records
from replayer.traces.records import content_hash, loads
from replayer.traces.schema import AnyItem, Item, ToolCallItem, ToolResultItem
from replayer.traces.secrets import found_in
from replayer.traces.storage import open_source

CHARS_PER_TOKEN = 4
"""Rule of thumb for English and code; an estimate, and called one wherever it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Keys are those of CLI.md's `import` line. `failed_results` counts results that carry the error flag."""

    source: str
    format: str
    trace: str
    threads: int
    turns: int
    tool_calls: int
    failed_results: int
    max_prompt_tokens_estimate: int
    fidelity: dict[str, str]
    warnings: tuple[str, ...] = ()


def summarise(trace: Trace, source: str | None = None, warnings: tuple[str, ...] = ()) -> Summary:
    """Counts a trace. `source` names the file it was imported from."""
    sizes = array("L")
    called: set[str] = set()
    answered: set[str] = set()
    failed: set[int] = set()
    for item in trace.items():
        sizes.append(text_size(item))
        if isinstance(item, ToolCallItem):
            called.add(item.call_id)
        elif isinstance(item, ToolResultItem):
            answered.add(item.call_id)
            if item.is_error:
                failed.add(item.id)
    return Summary(
        source=source or trace.header.source.format,
        format=trace.header.source.format,
        trace=str(trace.path),
        threads=_thread_count(trace),
        turns=len(trace.turns),
        tool_calls=_calls_made(trace),
        failed_results=_occurrences(trace, failed),
        max_prompt_tokens_estimate=_largest_prompt(trace, sizes),
        fidelity=asdict(trace.header.fidelity),
        warnings=(*warnings, *_state(trace), *_unpaired(called, answered)),
    )


def check(path: Path) -> Summary:
    """Reads every line, verifies hashes, references and contexts. Raises TraceError at the first damage."""
    _check_hashes(path)
    with Trace.open(path) as trace:
        for turn in trace.turns:
            for number in (*trace.context(turn.id), *turn.produced):
                if not 0 <= number < trace.item_count:
                    raise TraceError(
                        f"{path}: turn {turn.id} names item {number}, which the trace does not hold"
                    )
        return summarise(trace, warnings=tuple(_secrets(trace)))


def _secrets(trace: Trace) -> Iterator[str]:
    """Kinds of secrets that items seem to hold, each with the first item that does."""
    seen: dict[str, int] = {}
    for item in trace.items():
        for name in found_in(_text(item)):
            seen.setdefault(name, item.id)
    for name, number in seen.items():
        yield f"item {number} holds what looks like a secret ({name}): look before you share this file"


def _text(item: AnyItem) -> str:
    if isinstance(item, ToolCallItem):
        return item.arguments
    content = getattr(item, "text", None) or getattr(item, "content", None) or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def as_json(summary: Summary) -> dict[str, Any]:
    return asdict(summary)


def _check_hashes(path: Path) -> None:
    source = open_source(path)
    try:
        lines = (line for _, line in source.lines() if line and not line.isspace())
        for located, line in zip(records(path), lines, strict=False):
            if isinstance(located.record, Item):
                stated = loads(line).get("hash")
                if stated is not None and stated != content_hash(located.record):
                    raise TraceError(
                        f"{path}: line {located.line}: the item is not what its hash says (damaged)"
                    )
    finally:
        source.close()


def _thread_count(trace: Trace) -> int:
    names = {turn.thread for turn in trace.turns} | {thread.id for thread in trace.threads if thread.parent}
    return max(1, len(names))


def _calls_made(trace: Trace) -> int:
    """Calls in replies; equal calls (same id, same text) are one item, but were made more than once."""
    kinds: dict[int, bool] = {}
    count = 0
    for turn in trace.turns:
        for number in turn.produced:
            if number not in kinds:
                kinds[number] = isinstance(trace.item(number), ToolCallItem)
            count += kinds[number]
    return count


def _occurrences(trace: Trace, items: set[int]) -> int:
    """How often these items stand in the trace: equal ones are stored once, but may come again, or in two threads."""
    most: dict[tuple[str, int], int] = {}
    for turn in trace.turns if items else ():
        context = trace.context(turn.id)
        present = items.intersection(context)
        repeated = len(set(context)) < len(context)
        for number in present:
            key = (turn.thread, number)
            most[key] = max(most.get(key, 0), context.count(number) if repeated else 1)
    placed = {number for _, number in most}
    return sum(most.values()) + len(items - placed)


def _largest_prompt(trace: Trace, sizes: array[int]) -> int:
    largest = 0
    for turn in trace.turns:
        if turn.tokens is not None:
            tokens = turn.tokens.input_tokens
        elif turn.usage is not None and turn.usage.prompt_tokens is not None:
            tokens = turn.usage.prompt_tokens
        else:
            tokens = sum(sizes[number] for number in trace.context(turn.id)) // CHARS_PER_TOKEN
        largest = max(largest, tokens)
    return largest


def text_size(item: AnyItem) -> int:
    """Characters that an item puts into a prompt."""
    return sum(_lengths(item))


def _lengths(item: AnyItem) -> Iterator[int]:
    if isinstance(item, ToolCallItem):
        yield len(item.name) + len(item.arguments)
        return
    content = getattr(item, "text", None) or getattr(item, "content", None) or ""
    if isinstance(content, str):
        yield len(content)
    else:
        yield from (len(str(part.get("text", ""))) for part in content)


def _state(trace: Trace) -> list[str]:
    if trace.torn:
        return ["the last line was cut and is left out"]
    if not trace.complete:
        return ["no end record: the file was cut, or it is still being recorded"]
    return []


def _unpaired(called: set[str], answered: set[str]) -> list[str]:
    found = []
    if called - answered:
        found.append(f"{len(called - answered)} tool calls have no result")
    if answered - called:
        found.append(f"{len(answered - called)} tool results have no call")
    return found
