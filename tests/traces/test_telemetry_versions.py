"""Spans and logs of other conventions and stores, as sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert
from replayer.traces.schema import ToolCallItem
from tests.traces import samples as made
from tests.traces.imported import trace_of


def _span(attributes: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    context = {"trace_id": "0x1", "span_id": "0x2"}
    return {"name": "chat", "context": context, "attributes": attributes, "events": events}


def _event(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": f"gen_ai.{name}", "attributes": fields}


def _log(name: str, body: dict[str, Any]) -> dict[str, Any]:
    ids = {"trace_id": "0x1", "span_id": "0x2", "timestamp": "2026-11-21T10:00:00Z"}
    return {"body": body, "attributes": {}, "event_name": f"gen_ai.{name}", **ids}


_OPENINFERENCE = {
    "llm.model_name": "m",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "List it, please",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "ls",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"p":  1}',
    "llm.tools.0.tool.json_schema": orjson.dumps(made.TOOLS[0]).decode(),
    "llm.invocation_parameters": '{"model": "m", "temperature": 0.3}',
    "llm.finish_reason": "tool_calls",
}
_CALLS = orjson.dumps(made.CALLING["tool_calls"]).decode()
_TRACELOOP = {
    "gen_ai.request.model": "m",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "List it, please",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "ls",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"p":  1}',
    "llm.request.functions.0.name": "ls",
    "llm.request.functions.0.parameters": '{"type": "object"}',
    "gen_ai.request.temperature": 0.3,
}
_ONE_SIDE = {"gen_ai.request.temperature": 0.3, "gen_ai.tool.definitions": orjson.dumps(made.TOOLS).decode()}


@pytest.mark.parametrize(
    "records",
    [
        [_span(_OPENINFERENCE, [])],
        [_span(_TRACELOOP, [])],
        [
            _span(
                _ONE_SIDE,
                [
                    _event("system.message", content="Be brief."),
                    _event("user.message", content="List it, please"),
                    _event("choice", finish_reason="tool_calls", message=orjson.dumps(made.CALLING).decode()),
                ],
            )
        ],
        [
            _span(_ONE_SIDE, []),
            _log("system.message", {"content": "Be brief."}),
            _log("user.message", {"content": "List it, please"}),
            _log("choice", {"finish_reason": "tool_calls", "message": made.CALLING}),
        ],
    ],
    ids=["openinference", "traceloop", "span events", "log records"],
)
def test_telemetry_of_other_conventions(records: list[dict[str, Any]], tmp_path: Path) -> None:
    with trace_of(tmp_path, "spans.jsonl", made.jsonl(records)) as trace:
        [turn] = trace.turns
        history = RecordedHistory(trace)
        sent = [(m["role"], m["content"]) for m in history.messages(0)]
        texts = [c if isinstance(c, str) else c[0]["text"] for _, c in sent]
        assert texts == ["Be brief.", "List it, please"]
        [call] = [trace.item(item) for item in turn.produced]
        assert isinstance(call, ToolCallItem) and call.arguments == '{"p":  1}' and call.call_id == "c1"
        assert turn.params == {"temperature": 0.3} and turn.finish_reason == "tool_calls"
        assert history.tools(0)[0]["function"]["name"] == "ls"


def test_telemetry_without_messages_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_bytes(made.jsonl([_span({"gen_ai.request.model": "m"}, [])]))
    with pytest.raises(TraceError, match="none of its 1 spans holds messages"):
        list(convert(tmp_path / "spans.jsonl", tmp_path))


@pytest.mark.parametrize("name", ["resource_spans", "batches"])
def test_otlp_as_other_stores_write_it(name: str, tmp_path: Path) -> None:
    text = orjson.dumps({"trace": made.otlp()} if name == "batches" else made.otlp()).decode()
    text = text.replace("resourceSpans", name).replace("scopeSpans", "scope_spans")
    text = text.replace("stringValue", "string_value").replace("startTimeUnixNano", "start_time_unix_nano")
    with trace_of(tmp_path, "spans.json", text.encode()) as trace:
        assert [len(trace.context(turn.id)) for turn in trace.turns] == [2, 5]
        one, two = (turn.times for turn in trace.turns)
        assert one and two and one.started and two.started == one.started * 2
