"""What a trace holds, counted: the line that `import` and `trace check` print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from replayer.errors import TraceError
from replayer.traces.reader import Trace, records
from replayer.traces.records import content_hash, loads
from replayer.traces.schema import AnyItem, Header, Item, OpaqueItem, ToolCallItem
from replayer.traces.secrets import found_in
from replayer.traces.storage import open_source
from replayer.traces.tally import Tally


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

    @property
    def counts(self) -> str:
        return (
            f"{self.threads} threads, {self.turns} turns, {self.tool_calls} tool calls ({self.failed_results} failed), "
            f"largest prompt about {self.max_prompt_tokens_estimate:,} tokens"
        )


def summarise(trace: Trace, source: str | None = None, warnings: tuple[str, ...] = ()) -> Summary:
    """Counts a trace. `source` names the file it was imported from."""
    return summary_of(trace.header, trace.path, _tally(trace), source, (*warnings, *_state(trace)))


def summary_of(
    header: Header, path: Path, tally: Tally, source: str | None = None, warnings: tuple[str, ...] = ()
) -> Summary:
    """From a tally that was kept while the trace was written."""
    return Summary(
        source=source or header.source.format,
        format=header.source.format,
        trace=str(path),
        threads=tally.threads,
        turns=tally.turns,
        tool_calls=tally.tool_calls,
        failed_results=tally.failed_results,
        max_prompt_tokens_estimate=tally.largest_prompt,
        fidelity=asdict(header.fidelity),
        warnings=(*warnings, *tally.unpaired()),
    )


def _tally(trace: Trace) -> Tally:
    tally = Tally()
    for item in trace.items():
        tally.item(item.id, item)
    for thread in trace.threads:
        tally.thread(thread)
    ends: dict[str, tuple[int, int]] = {}
    """Of each thread its last turn, and how many items that was sent and said."""
    for turn in trace.turns:
        context, goes_on = turn.context, ends.get(turn.thread) == (turn.context.base, turn.context.keep)
        added = context.append if goes_on else trace.context(turn.id)
        tally.turn(turn.thread, added, turn.produced, turn.usage, turn.tokens, () if goes_on else None)
        size = (context.keep if goes_on else 0) + len(added) + len(turn.produced)
        ends[turn.thread] = turn.id, size
    return tally


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
    """Kinds of secrets that a trace seems to hold, each with the first place that does."""
    seen: dict[str, str] = {}
    for place, text in _texts(trace):
        for name in found_in(text):
            seen.setdefault(name, place)
    for name, place in seen.items():
        yield f"{place} holds what looks like a secret ({name}): look before you share this file"


def _texts(trace: Trace) -> Iterator[tuple[str, str]]:
    """Everything that came from outside, with the name of its place."""
    yield "the header", _json([trace.header.title, trace.header.workspace, trace.header.meta])
    for item in trace.items():
        yield f"item {item.id}", _text(item)
    for tools in trace.tool_sets.values():
        yield f"tool set {tools.id}", _json(tools)
    for turn in trace.turns:
        if turn.params:
            yield f"turn {turn.id}", _json(turn.params)


def _text(item: AnyItem) -> str:
    if isinstance(item, ToolCallItem):
        return f"{item.name} {item.arguments}"
    fields = ("record",) if isinstance(item, OpaqueItem) else ("text", "content")
    content = next(filter(None, (getattr(item, field, None) for field in fields)), "")
    return content if isinstance(content, str) else _json(content)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _check_hashes(path: Path) -> None:
    with closing(open_source(path)) as source:
        lines = (line for _, line in source.lines() if line and not line.isspace())
        for (number, record), line in zip(records(path), lines, strict=False):
            if isinstance(record, Item):
                stated = loads(line).get("hash")
                if stated is not None and stated != content_hash(record):
                    raise TraceError(f"{path}: line {number}: the item is not what its hash says (damaged)")


def _state(trace: Trace) -> list[str]:
    if trace.torn:
        return ["the last line was cut and is left out"]
    if not trace.complete:
        return ["no end record: the file was cut, or it is still being recorded"]
    return []
