"""Zed threads before 0.3.0: versions 0.2.0 and 0.1.0, and the first form that carries no version.

Projection P: as for 0.3.0; argument text is re-serialised (these versions kept only the value). Creases are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, as_text, dicts, opt_str
from replayer.traces.importers.zed_thread import describe, result_content, usage_of
from replayer.traces.schema import Fidelity
from replayer.wire.types import JsonObject

FIDELITY = Fidelity(text="recorded", arguments="derived", usage="recorded", boundaries="derived")


class ZedLegacyThread(Importer):
    format = "zed-thread"
    fidelity = FIDELITY

    def matches(self, probe: Probe) -> bool:
        return is_legacy(probe.document)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        document = as_dict(probe.document)
        title = opt_str(document.get("summary"))
        yield Session(lambda builder: write_legacy(builder, document), title=title)


def is_legacy(document: object) -> bool:
    document = as_dict(document)
    messages = dicts(document.get("messages"))
    if "summary" not in document or "updated_at" not in document:
        return False
    return not messages or all("role" in m and ("segments" in m or "text" in m) for m in messages[:8])


def write_legacy(builder: Builder, document: JsonObject, thread: str = "main") -> None:
    if thread == "main":
        describe(builder, document, "summary")
        builder.source(version=opt_str(document.get("version")) or "unversioned")
        builder.fidelity(arguments="derived")
    messages = _results_beside_their_calls(dicts(document.get("messages")))
    model = opt_str(as_dict(document.get("model")).get("model"))
    usages = as_list(document.get("request_token_usage"))
    context: list[int] = []
    requests = 0
    for message in messages:
        if message.get("role") == "assistant":
            usage = usage_of(usages[requests]) if requests < len(usages) else None
            context = _assistant(builder, message, context, thread=thread, model=model, usage=usage)
            requests += 1
        elif text := _text(message):
            add = builder.system if message.get("role") == "system" else builder.user
            context.append(add(text))


def _results_beside_their_calls(messages: list[JsonObject]) -> list[JsonObject]:
    """Version 0.1.0 put results on the following user message; they belong to the assistant's."""
    arranged: list[JsonObject] = []
    for message in messages:
        results = dicts(message.get("tool_results"))
        if message.get("role") == "user" and results and arranged and arranged[-1].get("role") == "assistant":
            before = arranged[-1]
            arranged[-1] = {**before, "tool_results": dicts(before.get("tool_results")) + results}
            message = {**message, "tool_results": []}
        arranged.append(message)
    return arranged


def _text(message: JsonObject) -> str:
    segments = dicts(message.get("segments"))
    text = "".join(as_str(part.get("text")) for part in segments) if segments else as_str(message.get("text"))
    return text + as_str(message.get("context"))


def _assistant(builder: Builder, message: JsonObject, context: list[int], **turn: Any) -> list[int]:
    """Writes one turn; returns the context of the next."""
    said = [_segment(builder, part) for part in dicts(message.get("segments"))]
    if not said and (text := as_str(message.get("text"))):
        said = [builder.assistant(text)]
    results = {as_str(r.get("tool_use_id")): r for r in dicts(message.get("tool_results"))}
    produced, sent = list(said), list(said)
    for call in dicts(message.get("tool_uses")):
        call_id = as_str(call.get("id"))
        item = builder.call(call_id, as_str(call.get("name")), as_text(call.get("input", {})))
        produced.append(item)
        if call_id in results:
            sent.append(item)
    finish = "tool_calls" if message.get("tool_uses") else "stop"
    builder.turn(context, produced, finish_reason=finish, **turn)
    answers = [
        builder.result(call_id, result_content(r.get("content")), is_error=bool(r.get("is_error")))
        for call_id, r in results.items()
    ]
    return context + sent + answers


def _segment(builder: Builder, part: JsonObject) -> int:
    if part.get("type") == "thinking":
        signature = part.get("signature")
        return builder.reasoning(as_str(part.get("text")), {"signature": signature} if signature else None)
    if part.get("type") == "RedactedThinking":
        return builder.reasoning("", {"redacted": part.get("data")})
    return builder.assistant(as_str(part.get("text")))
