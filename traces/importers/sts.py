"""The hub's Session Trace Simple Format: a header that names the harness, then one message a line.

Each assistant message is a turn whose context is all before it (boundaries derived). Projection P: roles, texts, calls
with their exact argument text, ids of answered calls, models and times. The format has no error flag and no usage.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from replayer.traces.chat import Message, function_call, split
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder, Prompt
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_str, as_text, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times
from replayer.wire.types import JsonObject


class Sts(Importer):
    format = "sts"
    fidelity = Fidelity(text="recorded", arguments="recorded", boundaries="derived")
    experimental = True

    def matches(self, probe: Probe) -> bool:
        first = as_dict(next(iter(probe.head), None))
        return first.get("type") == "session" and isinstance(first.get("harness"), str)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        """A file holds one session; several files put together hold several."""
        starts = [key for key, record in probe.located() if as_dict(record).get("type") == "session"]
        for key, following in zip(starts, [*starts[1:], None], strict=True):
            yield _session(probe, key, following)


def _session(probe: Probe, start: int, end: int | None) -> Session:
    header = as_dict(probe.record_at(start))

    def write(builder: Builder) -> None:
        builder.describe(agent=opt_str(header.get("harness")), title=opt_str(header.get("name")))
        builder.remember(session_id=opt_str(header.get("id")))
        builder.warn("the format holds no tool definitions, no usage and no error flags of results")
        entries = [e for key, e in probe.located() if key > start and (end is None or key < end)]
        _write(builder, entries)

    name = as_str(header.get("id")) if start or end is not None else ""
    return Session(write, name=name, key=name, title=opt_str(header.get("name")))


def _write(builder: Builder, entries: list[object]) -> None:
    context = array("i")
    clock: float | None = None
    for entry in map(as_dict, entries):
        recorded = as_dict(entry.get("message"))
        if entry.get("type") != "message" or not recorded:
            builder.opaque(entry)
            continue
        message = _message(recorded)
        items = [builder.add_model_item(item) for item in split(message)[0]]
        at = epoch(recorded.get("timestamp"))
        if message["role"] == "assistant":
            times = Times(started=clock, ended=at) if at is not None else None
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            model = opt_str(recorded.get("model"))
            builder.turn(Prompt(context), items, model=model, times=times, finish_reason=finish)
        if at is not None:
            builder.fidelity(timing="derived")
            clock = at
        context.extend(items)


def _message(recorded: JsonObject) -> Message:
    """In OpenAI's form; the format writes its keys in camel case."""
    content = recorded.get("content")
    message: Message = {"role": as_str(recorded.get("role"), "user"), "content": content if content else None}
    calls = recorded.get("toolCalls", recorded.get("tool_calls"))
    if found := dicts(calls):
        message["tool_calls"] = [_call(call) for call in found]
    elif content is not None:
        message["content"] = content if isinstance(content, str | list) else as_text(content)
    for key in ("reasoning", "reasoning_content"):
        if reasoning := opt_str(recorded.get(key)):
            message["reasoning_content"] = reasoning
    if message["role"] == "tool":
        message["tool_call_id"] = as_str(recorded.get("toolCallId", recorded.get("tool_call_id")))
    return message


def _call(call: JsonObject) -> JsonObject:
    function = as_dict(call.get("function")) or call
    name, arguments = as_str(function.get("name")), as_text(function.get("arguments", {}))
    return function_call(as_str(call.get("id")), name, arguments)
