"""What a test imports: the samples, whole sources, and the contexts of a trace as short texts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson

from replayer.errors import TraceError
from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.schema import AnyItem
from replayer.traces.summary import Summary
from tests.traces import samples as made

with tempfile.TemporaryDirectory() as _scratch:
    SAMPLES = made.samples(Path(_scratch))


def outcomes_of(sample: made.Sample, folder: Path) -> list[Summary | TraceError]:
    path = folder / sample.file
    path.write_bytes(sample.data)
    return list(convert(path, folder / "out"))


def trace_of(folder: Path, file: str, data: Any) -> Trace:
    """The one trace that a source gives; `data` are its bytes, or a value to be written as JSON."""
    path = folder / file
    path.write_bytes(data if isinstance(data, bytes) else orjson.dumps(data))
    [summary] = list(convert(path, folder / "out"))
    assert isinstance(summary, Summary), summary
    return Trace.open(summary.trace)


def _brief(item: AnyItem) -> str:
    if item.kind in ("tool_call", "tool_result"):
        return f"{item.kind[5:]} {item.call_id}"
    text = item.content if item.kind == "user" else getattr(item, "text", "opaque")
    return f"{item.kind} {text if isinstance(text, str) else 'parts'}"


def contexts(trace: Trace) -> list[list[str]]:
    """The items that each turn was sent."""
    return [[_brief(trace.item(i)) for i in trace.context(turn.id)] for turn in trace.turns]
