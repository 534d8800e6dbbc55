"""Whole conversations without request boundaries: lists of chat messages, ShareGPT, vLLM multi-turn, tau-bench.

Projection P: every message; each assistant message is taken as one LLM call whose context is all that stands before
it (boundaries derived). Rewards, scores and the like are kept in the header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from replayer.traces.chat import Message, function_call, split, tool_schemas
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.chat_log import is_request
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, as_text, dicts, opt_str, parsed
from replayer.traces.schema import Fidelity
from replayer.wire.types import Json, JsonObject

Read = Callable[[object], list[Message]]
"""The messages of a record."""
_FROM = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function_response": "tool",
    "observation": "tool",
    "function_call": "assistant",
}
_LISTS = ("messages", "traj", "conversation", "conversations")
_FIDELITY = Fidelity(text="recorded", arguments="recorded", boundaries="derived")


class ShareGpt(Importer):
    format = "sharegpt"
    fidelity = _FIDELITY
    experimental = True

    def matches(self, probe: Probe) -> bool:
        return any(map(_share_gpt, _records(probe)[:16]))

    def sessions(self, probe: Probe) -> Iterator[Session]:
        return _sessions(probe, _share_gpt)


class Messages(Importer):
    format = "messages"
    fidelity = _FIDELITY
    experimental = True

    def matches(self, probe: Probe) -> bool:
        records = _records(probe)
        return any(map(_transcript, records[:16])) or is_request({"messages": records})

    def sessions(self, probe: Probe) -> Iterator[Session]:
        if is_request({"messages": (messages := _records(probe))}):
            return iter([Session(lambda builder: write_transcript(builder, messages))])
        return _sessions(probe, _transcript)


def _records(probe: Probe) -> list[Json]:
    document = probe.document
    return document if isinstance(document, list) else probe.head


def _sessions(probe: Probe, read: Read) -> Iterator[Session]:
    skipped = 0
    for number, (offset, record) in enumerate(probe.located(), start=1):
        if messages := read(record):
            own = as_dict(record).get("id", as_dict(record).get("task_id"))
            name = as_text(own) if isinstance(own, str | int) else str(number)
            first = next((as_text(m.get("content")) for m in messages if m.get("role") == "user"), "")
            yield Session(partial(_write, probe, offset, read), name=name, title=first[:80] or None)
        else:
            skipped += 1
    if skipped:
        probe.warn(f"records that hold no conversation, and are left out: {skipped}")


def _write(probe: Probe, offset: int, read: Read, builder: Builder) -> None:
    record = as_dict(probe.record_at(offset))
    builder.remember(**{key: record.get(key) for key in ("task_id", "trial", "reward", "source", "model")})
    write_transcript(builder, read(record), parsed(record.get("tools")), record.get("model"))


def write_transcript(
    builder: Builder, messages: list[Message], tools: object = None, model: object = None
) -> None:
    """Every assistant message becomes a turn."""
    tool_set = builder.tools(tool_schemas(tools))
    sent: list[tuple[tuple[int, ...], str]] = []
    for message in messages:
        items, form = split(message)
        ids = tuple(builder.add(item) for item in items)
        if message.get("role") == "assistant":
            name = model if isinstance(model, str) else None
            builder.chat_turn(sent, ids, tool_set=tool_set, model=name)
        sent = [*sent, (ids, form)]


def _share_gpt(record: object) -> list[Message]:
    turns = dicts(as_dict(record).get("conversations"))
    if not turns or not all("from" in turn and "value" in turn for turn in turns):
        return []
    system = opt_str(as_dict(record).get("system"))
    found: list[Message] = [{"role": "system", "content": system}] if system else []
    calls = 0
    for turn in turns:
        role = _FROM.get(as_str(turn["from"]).lower(), "user")
        text = as_text(turn["value"])
        call = _call(text, f"call_{calls + 1}") if turn["from"] == "function_call" else None
        if call is not None:
            calls += 1
            found.append({"role": role, "content": None, "tool_calls": [call]})
        elif role == "tool" and calls:
            found.append({"role": role, "tool_call_id": f"call_{calls}", "content": text})
        else:
            found.append({"role": role, "content": text})
    return found


def _call(text: str, call_id: str) -> JsonObject | None:
    """A `function_call` turn holds {"name", "arguments"} as JSON; ShareGPT gives calls no ids."""
    value = as_dict(parsed(text))
    name, arguments = opt_str(value.get("name")), value.get("arguments", value.get("parameters"))
    if name is None or arguments is None:
        return None
    return function_call(call_id, name, as_text(arguments))


def _transcript(record: object) -> list[Message]:
    """The messages of one conversation that ends or goes on with the assistant; [] where it is none."""
    fields = as_dict(record)
    messages = next((fields[k] for k in _LISTS if isinstance(fields.get(k), list)), None)
    messages = parsed(fields.get("messages")) if messages is None else messages
    if not is_request({"messages": messages}):
        return []
    return list(messages) if any(m.get("role") == "assistant" for m in as_list(messages)) else []
