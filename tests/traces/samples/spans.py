"""OpenTelemetry GenAI spans and whole transcripts."""

from __future__ import annotations

from typing import Any

import orjson

from tests.traces.samples.logs import TOOLS


def otel_flat() -> dict[str, Any]:
    def span(number: int, messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.input.messages": orjson.dumps(messages).decode(),
            "gen_ai.output.text": text,
            "gen_ai.usage.prompt_tokens": 10 * number,
        }
        time = f"2026-02-25T10:00:0{number}.000000"
        return {
            "trace_id": "t",
            "span_id": str(number),
            "start_time": time,
            "end_time": time,
            "attributes": attributes,
        }

    ask = [{"role": "user", "content": "What is the capital?"}]
    more = [*ask, {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "And landmarks?"}]
    return {"trace_id": "t", "spans": [span(1, ask, "Paris."), span(2, more, "The tower.")]}


def otlp() -> dict[str, Any]:
    def attribute(key: str, value: Any) -> dict[str, Any]:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        return {"key": key, "value": {"stringValue": text}}

    call = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"p": 1}}
    answer = {"type": "tool_call_response", "id": "c1", "response": "a"}
    ask = [{"role": "user", "parts": [{"type": "text", "content": "List it, please"}]}]
    calling = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, call],
        "finish_reason": "tool_call",
    }
    done = {"role": "assistant", "parts": [{"type": "text", "content": "One."}], "finish_reason": "stop"}

    def span(number: int, messages: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, Any]:
        attributes = [
            attribute("gen_ai.system_instructions", [{"type": "text", "content": "Be brief."}]),
            attribute("gen_ai.input.messages", messages),
            attribute("gen_ai.output.messages", [reply]),
            attribute("gen_ai.tool.definitions", TOOLS),
            attribute("gen_ai.request.model", "m"),
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(10 * number)}},
        ]
        times = {"startTimeUnixNano": f"{number}000000000", "endTimeUnixNano": f"{number}500000000"}
        return {"traceId": "t", "spanId": str(number), "name": "chat m", "attributes": attributes, **times}

    tool = {
        "traceId": "t",
        "spanId": "9",
        "name": "execute_tool ls",
        "attributes": [attribute("gen_ai.tool.name", "ls")],
    }
    spans = [span(2, [*ask, calling, {"role": "tool", "parts": [answer]}], done), tool, span(1, ask, calling)]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def share_gpt() -> list[dict[str, Any]]:
    def turns(*values: str) -> list[dict[str, str]]:
        return [{"from": ("human", "gpt")[n % 2], "value": value} for n, value in enumerate(values)]

    return [
        {
            "id": "a",
            "conversations": [{"from": "system", "value": "Be brief."}, *turns("Hi", "Hello", "More", "Yes")],
        },
        {"id": "b", "conversations": turns("One", "Two")},
    ]
