"""OpenTelemetry GenAI spans: OTLP JSON (document or lines) and flat span lists, in the conventions of several years.

Every chat span is one request; spans are put together by session or trace id (see exchanges.py). Projection P:
messages, reply, tools, parameters, usage and times of chat spans. Other spans are dropped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from replayer.traces.chat import Message
from replayer.traces.importers.base import Session
from replayer.traces.importers.exchanges import Exchange, sessions
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.sorting import Sorter
from replayer.traces.importers.values import (
    as_dict,
    as_int,
    as_list,
    as_str,
    as_text,
    compact,
    dicts,
    epoch,
    opt_str,
    parsed,
)
from replayer.traces.schema import Fidelity, Times, Usage

_PARAMS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed")
_SESSION_KEYS = ("gen_ai.conversation.id", "session.id", "exgentic.session.id", "langfuse.session.id")
_NUMBERED = re.compile(
    r"^(?:gen_ai\.(prompt|completion)|llm\.(input|output)_messages)\.(\d+)\.(?:message\.)?(.+)$"
)
_CALL = re.compile(r"^tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(.+)$")
Span = dict[str, Any]


class OTel:
    format: ClassVar[str] = "otel"
    fidelity: ClassVar[Fidelity] = Fidelity(
        text="recorded", arguments="recorded", timing="recorded", boundaries="recorded"
    )
    experimental: ClassVar[bool] = False

    def matches(self, probe: Probe) -> bool:
        return any(_is_genai(span) for record in probe.head[:16] for span in _spans(record))

    def sessions(self, probe: Probe) -> Iterator[Session]:
        spans = [span for _, record in probe.located() for span in _spans(record)]
        exchanges = [found for span in spans if (found := _exchange(span))]
        if len(exchanges) < len(spans):
            probe.warn(
                f"{len(spans) - len(exchanges)} spans are no chat requests with messages and are left out"
            )
        exchanges.sort(key=lambda e: (e.times.started if e.times else None) or 0.0)
        sorter = Sorter()
        for number, exchange in enumerate(exchanges):
            sorter.add(number, exchange)
        yield from sessions(sorter, exchanges.__getitem__)


def _spans(record: Any) -> list[Span]:
    """Spans with their attributes as a flat dictionary."""
    fields = as_dict(record)
    if "resourceSpans" in fields:
        return [
            {**span, "attributes": _attributes(span.get("attributes"))}
            for resource in dicts(fields["resourceSpans"])
            for scope in dicts(resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans"))
            for span in dicts(scope.get("spans"))
        ]
    if isinstance(fields.get("spans"), list):
        return [
            {**span, "attributes": _attributes(span.get("attributes"))} for span in dicts(fields["spans"])
        ]
    if isinstance(record, list):
        return [span for entry in record for span in _spans(entry)]
    if "attributes" in fields and ({"span_id", "spanId", "traceId", "trace_id", "context"} & fields.keys()):
        return [{**fields, "attributes": _attributes(fields["attributes"])}]
    return []


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {as_str(entry.get("key")): _value(entry.get("value")) for entry in dicts(value)}


def _value(value: Any) -> Any:
    """A value of OTLP's `AnyValue`."""
    fields = as_dict(value)
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in fields:
            return fields[key]
    if "intValue" in fields:
        return as_int(fields["intValue"])
    if "arrayValue" in fields:
        return [_value(part) for part in as_list(as_dict(fields["arrayValue"]).get("values"))]
    if "kvlistValue" in fields:
        return _attributes(as_dict(fields["kvlistValue"]).get("values"))
    return value


def _is_genai(span: Span) -> bool:
    return any(key.startswith(("gen_ai.", "llm.")) for key in as_dict(span.get("attributes")))


def _exchange(span: Span) -> Exchange | None:
    attributes = as_dict(span.get("attributes"))
    prompt, replies = _numbered(attributes)
    messages = _messages(attributes.get("gen_ai.input.messages")) or prompt or _from_events(span)
    if not messages:
        return None
    system = _messages_of_system(attributes.get("gen_ai.system_instructions"))
    output = _messages(attributes.get("gen_ai.output.messages")) or replies or _text_reply(attributes)
    request: dict[str, Any] = {
        "model": attributes.get("gen_ai.request.model") or attributes.get("llm.model_name")
    }
    request["messages"] = [*system, *messages]
    tools = parsed(attributes.get("gen_ai.tool.definitions"))
    if isinstance(tools, list) and tools:
        request["tools"] = tools
    given = {name: attributes.get(f"gen_ai.request.{name}") for name in _PARAMS}
    request.update({name: value for name, value in given.items() if value is not None})
    return Exchange(
        request=request,
        reply=output[-1] if output else None,
        session=next((s for key in _SESSION_KEYS if (s := opt_str(attributes.get(key)))), None)
        or _trace(span),
        usage=_usage(attributes),
        times=_times(span),
        finish_reason=_finish(attributes),
        model=opt_str(attributes.get("gen_ai.response.model")),
    )


def _trace(span: Span) -> str | None:
    return opt_str(span.get("traceId") or span.get("trace_id"))


def _times(span: Span) -> Times | None:
    started = epoch(span.get("startTimeUnixNano") or span.get("start_time"))
    ended = epoch(span.get("endTimeUnixNano") or span.get("end_time"))
    return Times(started=started, ended=ended) if started else None


def _finish(attributes: dict[str, Any]) -> str | None:
    value = parsed(
        attributes.get("gen_ai.response.finish_reasons", attributes.get("gen_ai.response.finish_reason"))
    )
    return opt_str(value[0] if isinstance(value, list) and value else value)


def _usage(attributes: dict[str, Any]) -> Usage | None:
    def first(*names: str) -> int | None:
        return next((n for name in names if (n := as_int(attributes.get(name))) is not None), None)

    prompt = first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    completion = first(
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
    )
    cached = first("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion)


def _messages(value: Any) -> list[Message]:
    """Messages in OpenAI's form from JSON text or a list, of plain messages or of messages with parts."""
    found: list[Message] = []
    for message in dicts(parsed(value)):
        found += _with_parts(message) if "parts" in message else [message] if "role" in message else []
    return found


def _messages_of_system(value: Any) -> list[Message]:
    value = parsed(value)
    parts = dicts(value)
    text = "\n".join(as_str(part.get("content")) for part in parts) if parts else as_str(value)
    return [{"role": "system", "content": text}] if text else []


def _with_parts(message: dict[str, Any]) -> list[Message]:
    texts: list[str] = []
    result: Message = {"role": as_str(message.get("role"), "user"), "content": None}
    answers: list[Message] = []
    for part in dicts(message.get("parts")):
        kind = part.get("type")
        if kind == "reasoning":
            result["reasoning_content"] = result.get("reasoning_content", "") + as_str(part.get("content"))
        elif kind == "tool_call":
            result.setdefault("tool_calls", []).append(
                _call(part.get("id"), part.get("name"), part.get("arguments"))
            )
        elif kind == "tool_call_response":
            answer = part.get("response", part.get("result"))
            answers.append(
                {"role": "tool", "tool_call_id": as_str(part.get("id")), "content": as_text(answer)}
            )
        else:
            texts.append(as_str(part.get("content")) if kind == "text" else compact(part))
    if texts:
        result["content"] = "\n".join(texts)
    return answers if answers and not texts else [result, *answers]


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
    return {"id": as_str(call_id), "type": "function", "function": {"name": as_str(name), "arguments": text}}


def _numbered(attributes: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """OpenLLMetry's `gen_ai.prompt.N.content` and OpenInference's `llm.input_messages.N.message.content`."""
    found: dict[tuple[bool, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        if match := _NUMBERED.match(key):
            is_input = match.group(1) == "prompt" or match.group(2) == "input"
            found.setdefault((is_input, int(match.group(3)[:6])), {})[match.group(4)] = value
    messages = {key: _from_fields(fields) for key, fields in sorted(found.items())}
    return [m for (sent, _), m in messages.items() if sent], [
        m for (sent, _), m in messages.items() if not sent
    ]


def _from_fields(fields: dict[str, Any]) -> Message:
    message: Message = {"role": as_str(fields.get("role"), "user"), "content": fields.get("content")}
    calls: dict[int, dict[str, Any]] = {}
    for key, value in fields.items():
        if match := _CALL.match(key):
            calls.setdefault(int(match.group(1)[:6]), {})[match.group(2)] = value
    if calls:
        message["tool_calls"] = [
            _call(c.get("id"), c.get("name"), c.get("arguments")) for _, c in sorted(calls.items())
        ]
    if "tool_call_id" in fields:
        message["tool_call_id"] = fields["tool_call_id"]
    return message


def _from_events(span: Span) -> list[Message]:
    """The older convention: one span event per message."""
    found: list[Message] = []
    for event in dicts(span.get("events")):
        name = as_str(event.get("name"))
        attributes = _attributes(event.get("attributes"))
        if name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.split(".")[1]
            found.append(
                {
                    "role": role,
                    "content": as_text(attributes.get("content") or attributes.get("gen_ai.content")),
                }
            )
        elif name == "gen_ai.content.prompt":
            found += _messages(attributes.get("gen_ai.prompt"))
    return found


def _text_reply(attributes: dict[str, Any]) -> list[Message]:
    text = opt_str(attributes.get("gen_ai.output.text"))
    return [{"role": "assistant", "content": text}] if text else []
