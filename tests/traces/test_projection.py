"""Every format through every export and back: import(export(t)) = P(t), the projections of docs/traces.md."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.requests.history import RecordedHistory
from replayer.traces.chat import assistant_message
from replayer.traces.convert import convert
from replayer.traces.export import export
from replayer.traces.export_mooncake import to_mooncake
from replayer.traces.reader import Trace
from replayer.traces.requests import is_replayable
from replayer.traces.schema import AnyItem, ToolCallItem, Turn
from replayer.traces.summary import Summary
from tests.traces import samples as made

with tempfile.TemporaryDirectory() as _scratch:
    SAMPLES = made.samples(Path(_scratch))
View = list[Any]


def _usage(turn: Turn) -> list[int | None] | None:
    usage = turn.usage
    return [usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens] if usage else None


def _openai(traces: list[Trace]) -> View:
    """Each call by itself: messages as they are sent, reply, usage, end. How calls were grouped is not part of it."""
    found = []
    for trace in traces:
        for thread in {turn.thread for turn in trace.turns if is_replayable(turn)}:
            history = RecordedHistory(trace, thread=thread)
            for number in history.turns:
                turn = trace.turns[number]
                items = [trace.item(item) for item in turn.produced]
                reply = assistant_message(items) if items else None
                ended = turn.times.ended if turn.times else None
                # Usage and end are written beside a reply.
                beside = [_usage(turn), ended] if reply else []
                found.append([history.messages(number), reply, *beside])
    return sorted(found, key=orjson.dumps)


def _said(item: AnyItem) -> list[Any] | None:
    if isinstance(item, ToolCallItem):
        value = item.parsed if isinstance(item.parsed, dict) else {"_raw": item.arguments}
        return ["call", item.call_id, item.name, value]
    text = getattr(item, "text", None)
    return [item.kind, text] if text else None


def _joined(said: list[list[Any]]) -> list[list[Any]]:
    """A reply as ATIF has it: its thinking, its text, its calls."""
    texts = {
        kind: "".join(entry[1] for entry in said if entry[0] == kind) for kind in ("reasoning", "assistant")
    }
    calls = [entry for entry in said if entry[0] == "call"]
    return [*([kind, text] for kind, text in texts.items() if text), *calls]


def _atif(traces: list[Trace]) -> View:
    """Per thread the replies in order (calls by value) with their usage. What every prompt held is not part of it."""
    threads: dict[tuple[str, str], View] = {}
    for trace in traces:
        for turn in trace.turns:
            items = [said for number in turn.produced if (said := _said(trace.item(number)))]
            if items:
                threads.setdefault((str(trace.path), turn.thread), []).append([_joined(items), _usage(turn)])
    return sorted(threads.values(), key=orjson.dumps)


def _mooncake(traces: list[Trace]) -> View:
    """Lengths, times from the first call on, and which blocks are shared."""
    return [orjson.loads(line) for trace in traces for line in to_mooncake(trace, None)]


PROJECTIONS: dict[str, Callable[[list[Trace]], View]] = {
    "openai": _openai,
    "atif": _atif,
    "mooncake": _mooncake,
}


def _imported(path: Path, out: Path) -> list[Trace]:
    return [Trace.open(outcome.trace) for outcome in convert(path, out) if isinstance(outcome, Summary)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
@pytest.mark.parametrize("to", PROJECTIONS)
def test_import_of_an_export_is_the_projection(sample: made.Sample, to: str, tmp_path: Path) -> None:
    source = tmp_path / sample.file
    source.write_bytes(sample.data)
    for number, trace in enumerate(_imported(source, tmp_path / "first")):
        view = PROJECTIONS[to]([trace])
        exported = tmp_path / f"{number}-{to}"
        export(trace, to, exported)
        again = _imported(exported, tmp_path / f"again-{number}")
        assert PROJECTIONS[to](again) == view
        for opened in (trace, *again):
            opened.close()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_native_to_native_is_identical(sample: made.Sample, tmp_path: Path) -> None:
    source = tmp_path / sample.file
    source.write_bytes(sample.data)
    for trace in _imported(source, tmp_path / "first"):
        with trace:
            [again] = convert(trace.path, tmp_path / "again")
            assert isinstance(again, Summary)
            assert Path(again.trace).read_bytes() == trace.path.read_bytes()
            export(trace, "native", tmp_path / "exported")
            assert (tmp_path / "exported").read_bytes() == trace.path.read_bytes()
