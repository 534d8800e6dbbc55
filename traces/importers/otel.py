"""OpenTelemetry GenAI spans: OTLP JSON (document or lines) and flat span lists, in the conventions of several years.

Every chat span is one request, its messages on the span, in its events, or in log records that name it; spans are put
together by session or trace id (see exchanges.py). Projection P: messages, reply, tools, parameters, usage and times of
chat spans; lengths alone where no content was captured (otel_lengths.py). Other spans are dropped and counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from replayer.errors import TraceError
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.exchange import Exchange
from replayer.traces.importers.exchanges import conversations
from replayer.traces.importers.otel_lengths import Call, lengths
from replayer.traces.importers.otel_messages import (
    Event,
    from_events,
    messages_of,
    numbered,
    numbered_tools,
    system_of,
    text_reply,
)
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.tracelab import BLOCK, MOST_TOKENS
from replayer.traces.importers.values import (
    as_dict,
    as_int,
    as_list,
    as_str,
    dicts,
    epoch,
    opt_str,
    parsed,
)
from replayer.traces.schema import Fidelity, Times, TokenShape, Usage
from replayer.wire.types import JsonObject

_PARAMS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed")
_SESSION_KEYS = ("gen_ai.conversation.id", "session.id", "exgentic.session.id", "langfuse.session.id")
_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_SPAN_KEYS = frozenset({"span_id", "spanId", "traceId", "trace_id", "context"})
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time")
_FINISH_KEYS = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "gen_ai.completion.0.finish_reason",
    "llm.finish_reason",
)
_NO_CALL = ("invoke_agent", "create_agent", "invoke_workflow", "execute_tool", "embeddings", "retrieval")
"""Operations whose tokens, where they have any, are those of the calls below them."""
Span = JsonObject


class OTel(Importer):
    format = "otel"
    fidelity = Fidelity(text="recorded", arguments="recorded", timing="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        head = probe.head[:16]
        keys = (key for record in head for span in _spans(record) for key in as_dict(span["attributes"]))
        return any(key.startswith(("gen_ai.", "llm.")) for key in keys) or any(map(_logged, head))

    def sessions(self, probe: Probe) -> Iterator[Session]:
        spans: list[Span] = []
        logged: list[Span] = []
        for _, record in probe.located():
            spans += _spans(record)
            logged += _logged(record)
        spans = _joined(spans, logged)
        exchanges = [found for span in spans if (found := _exchange(span))]
        calls = [] if exchanges else _calls(spans)
        if spans and not exchanges and not calls:
            raise TraceError(
                f"{probe.path}: none of its {len(spans)} spans holds messages or counts of tokens"
            )
        if left_out := len(spans) - len(exchanges) - len(calls):
            kind = "with counts of tokens" if calls else "with messages"
            words = f"spans that are not chat requests {kind}, and are left out: {left_out}"
        sessions = conversations(exchanges) if exchanges else lengths(calls)
        yield from _warned(sessions, words) if left_out else sessions


def _warned(sessions: Iterator[Session], words: str) -> Iterator[Session]:
    """A word on the whole file is said once: with its first session."""
    for first in islice(sessions, 1):

        def write(builder: Builder, first: Session = first) -> None:
            builder.warn(words)
            first.write(builder)

        yield replace(first, write=write)
    yield from sessions


def _spans(record: object) -> list[Span]:
    """Spans with their attributes as a flat dictionary."""
    fields = as_dict(record)
    fields = as_dict(fields.get("trace")) or fields
    resources = next((fields[key] for key in _RESOURCES if key in fields), None)
    if resources is not None:
        scopes = (next((one[key] for key in _SCOPES if key in one), None) for one in dicts(resources))
        found = [span for some in scopes for scope in dicts(some) for span in dicts(scope.get("spans"))]
    elif isinstance(fields.get("spans"), list):
        found = dicts(fields["spans"])
    elif isinstance(record, list):
        return [span for entry in record for span in _spans(entry)]
    else:
        alone = "attributes" in fields and _SPAN_KEYS & fields.keys() and not _logged(fields)
        found = [fields] if alone else []
    return [{**span, "attributes": _attributes(span.get("attributes"))} for span in found]


def _logged(record: object) -> list[Span]:
    """Log records of GenAI events (OTLP or as the SDK prints them), each as a span that has this event only."""
    fields = as_dict(record)
    entries = [fields] if "body" in fields else []
    if "resourceLogs" in fields:
        scopes = (scope for one in dicts(fields["resourceLogs"]) for scope in dicts(one.get("scopeLogs")))
        entries = [entry for scope in scopes for entry in dicts(scope.get("logRecords"))]
    return [span for entry in entries if (span := _one_logged(entry))]


def _one_logged(entry: JsonObject) -> Span | None:
    attributes = _attributes(entry.get("attributes"))
    name = as_str(entry.get("eventName") or entry.get("event_name") or attributes.get("event.name"))
    if not name.startswith("gen_ai."):
        return None
    body = parsed(_value(entry.get("body")))
    at = entry.get("timeUnixNano") or entry.get("observedTimeUnixNano")
    at = at or entry.get("timestamp") or entry.get("observed_timestamp")
    event = {"name": name, "attributes": {**attributes, **as_dict(body)}}
    ids = {"traceId": _trace(entry), "spanId": entry.get("spanId") or entry.get("span_id")}
    return {**ids, "attributes": {}, "events": [event], "start_time": at, "end_time": at}


def _joined(spans: list[Span], logged: list[Span]) -> list[Span]:
    """The events of log records on the span that they name; on a span of their own where the file lacks it."""
    by_id = {_span_id(span): span for span in spans}
    for log in logged:
        known = by_id.get(_span_id(log))
        if known is None:
            by_id[_span_id(log)] = log
            spans.append(log)
        else:
            known["events"] = [*dicts(known.get("events")), *log["events"]]
            if "start_time" in known and known["attributes"] == {}:
                known["end_time"] = log["end_time"]
    return spans


def _span_id(span: Span) -> str:
    own = as_dict(span.get("context"))
    return as_str(span.get("spanId") or span.get("span_id") or own.get("span_id")) or str(id(span))


def _attributes(value: object) -> JsonObject:
    if isinstance(value, dict):
        return value
    return {as_str(entry.get("key")): _value(entry.get("value")) for entry in dicts(value)}


def _value(value: object) -> object:
    """A value of OTLP's `AnyValue`."""
    fields = as_dict(value)
    for key, inner in fields.items():
        kind = key.replace("_value", "Value")
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return inner
        if kind == "intValue":
            return as_int(inner)
        if kind == "arrayValue":
            return [_value(part) for part in as_list(as_dict(inner).get("values"))]
        if kind == "kvlistValue":
            return _attributes(as_dict(inner).get("values"))
    return value


def _exchange(span: Span) -> Exchange | None:
    events: list[Event] = []
    attributes = as_dict(span.get("attributes"))
    for event in dicts(span.get("events")):
        name, fields = as_str(event.get("name")), _attributes(event.get("attributes"))
        fields = {**fields, **as_dict(parsed(fields.get("gen_ai.event.content")))}
        events.append((name, fields))
        if name == "gen_ai.client.inference.operation.details":
            attributes = {**fields, **attributes}
    prompt, replies = numbered(attributes)
    from_log, answered, why = from_events(events)
    messages = messages_of(attributes.get("gen_ai.input.messages")) or prompt or from_log
    if not messages:
        return None
    output = messages_of(attributes.get("gen_ai.output.messages")) or replies or answered
    output = output or text_reply(attributes)
    model = attributes.get("gen_ai.request.model") or attributes.get("llm.model_name")
    request: JsonObject = {"model": model} if model else {}
    request["messages"] = [*system_of(attributes.get("gen_ai.system_instructions")), *messages]
    tools = parsed(attributes.get("gen_ai.tool.definitions")) or numbered_tools(attributes)
    if isinstance(tools, list) and tools:
        request["tools"] = tools
    given = {name: attributes.get(f"gen_ai.request.{name}") for name in _PARAMS}
    invoked = as_dict(parsed(attributes.get("llm.invocation_parameters")))
    given.update({name: invoked[name] for name in _PARAMS if name in invoked})
    request.update({name: value for name, value in given.items() if value is not None})
    return Exchange(
        request=request,
        reply=output[-1] if output else None,
        session=_session(attributes, span),
        usage=_usage(attributes),
        times=_times(span),
        finish_reason=_finish(attributes) or why,
        model=opt_str(attributes.get("gen_ai.response.model")),
        aspects={"arguments": "derived"} if _has_objects(attributes) else {},
    )


def _calls(spans: list[Span]) -> list[Call]:
    """LLM calls by their lengths, where no content was captured."""
    tools: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        if as_dict(span["attributes"]).get("gen_ai.operation.name") == "execute_tool":
            tools[as_str(span.get("parentSpanId") or span.get("parent_span_id"))].append(span)
    return [found for span in spans if (found := _call(span, tools[_span_id(span)]))]


def _call(span: Span, tools: list[Span]) -> Call | None:
    attributes = as_dict(span["attributes"])
    usage = _usage(attributes)
    if usage is None or usage.prompt_tokens is None or attributes.get("gen_ai.operation.name") in _NO_CALL:
        return None
    made = as_int(attributes.get("replayer.tool_calls"))
    model = opt_str(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model"))
    return Call(
        session=_session(attributes, span) or "unknown",
        facts={"model": model, "times": _times(span), "finish_reason": _finish(attributes)},
        usage=usage,
        tokens=TokenShape(
            input_tokens=min(usage.prompt_tokens, MOST_TOKENS),
            output_tokens=usage.completion_tokens or 0,
            block_size=BLOCK,
            tool_calls=len(tools) if made is None else made,
            failed_calls=sum("error.type" in as_dict(tool["attributes"]) for tool in tools),
        ),
    )


def _session(attributes: JsonObject, span: Span) -> str | None:
    return next((s for key in _SESSION_KEYS if (s := opt_str(attributes.get(key)))), None) or _trace(span)


def _has_objects(attributes: JsonObject) -> bool:
    """Whether arguments of calls stand in message parts as values, so that their text is unknown."""
    return any(
        part.get("type") == "tool_call" and not isinstance(part.get("arguments"), str)
        for key in ("gen_ai.input.messages", "gen_ai.output.messages")
        for message in dicts(parsed(attributes.get(key)))
        for part in dicts(message.get("parts"))
    )


def _trace(span: Span) -> str | None:
    own = as_dict(span.get("context"))
    return opt_str(span.get("traceId") or span.get("trace_id") or own.get("trace_id"))


def _times(span: Span) -> Times | None:
    started = epoch(next((span[key] for key in _STARTS if span.get(key)), None))
    ended = epoch(next((span[key] for key in _ENDS if span.get(key)), None))
    return Times(started=started, ended=ended) if started else None


def _finish(attributes: JsonObject) -> str | None:
    value = parsed(next((attributes[key] for key in _FINISH_KEYS if attributes.get(key)), None))
    return opt_str(value[0] if isinstance(value, list) and value else value)


def _usage(attributes: JsonObject) -> Usage | None:
    def first(*names: str) -> int | None:
        return next((n for name in names if (n := as_int(attributes.get(name))) is not None), None)

    prompt = first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    completion = first(
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
    )
    cached = first(
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    )
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion)
