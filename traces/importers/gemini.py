"""Gemini CLI chats: one JSON document, or (from 0.40) JSON lines with `$set` patches; also what `/chat save` wrote.

Each `gemini` message is a turn with its calls and their results. Projection P: texts, thoughts (subject and
description), calls (argument text re-serialised), the text that was returned to the model, failure by status.
Display twins are dropped; info, warning and error messages are opaque. System prompt and tools are not in the source.
"""

from __future__ import annotations

from collections.abc import Iterator

from replayer.errors import TraceError
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.gemini_contents import contents_of, describe, write_contents
from replayer.traces.importers.pieces import content_of, counts_of, text_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_list, as_str, as_text, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times, Usage
from replayer.wire.types import JsonObject


class Gemini(Importer):
    format = "gemini-cli"
    fidelity = Fidelity(
        text="recorded", arguments="derived", timing="recorded", usage="recorded", boundaries="recorded"
    )

    def matches(self, probe: Probe) -> bool:
        if contents_of(probe.document) or _is_prompt_log(probe):
            return True
        document = as_dict(probe.document)
        first = document or as_dict(next(iter(probe.head), None))
        if "sessionId" not in first or "projectHash" not in first:
            return False
        return probe.shape == "jsonl" or not document or isinstance(document.get("messages"), list)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        if _is_prompt_log(probe):
            raise TraceError(
                f"{probe.path}: holds typed prompts only (logs.json); the sessions are in chats/session-*"
            )
        if contents := contents_of(probe.document):
            yield Session(lambda builder: write_contents(builder, contents))
            return
        document = as_dict(probe.document)
        if "messages" not in document:
            document = _patched(probe)
        yield Session(lambda builder: _Reader(builder).read(document))


def _is_prompt_log(probe: Probe) -> bool:
    entries = dicts(probe.document)
    return bool(entries) and all({"sessionId", "messageId", "message"} <= entry.keys() for entry in entries)


def _patched(probe: Probe) -> JsonObject:
    """The document that a header, message lines and `$set` patches amount to; a repeated id is a newer version."""
    document: JsonObject = {}
    messages: JsonObject = {}
    for number, record in probe.records():
        fields = as_dict(record)
        if "$set" in fields:
            patch = as_dict(fields["$set"])
            document.update({key: value for key, value in patch.items() if key != "messages"})
            if isinstance(patch.get("messages"), list):
                messages = {as_str(m.get("id")) or str(n): m for n, m in enumerate(dicts(patch["messages"]))}
        elif "projectHash" in fields:
            document.update(fields)
        else:
            messages[as_str(fields.get("id")) or str(number)] = fields
    return {**document, "messages": list(messages.values())}


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.context: list[int] = []
        self.clock: float | None = None

    def read(self, document: JsonObject) -> None:
        describe(self.builder)
        self.builder.remember(session_id=opt_str(document.get("sessionId")))
        for message in dicts(document.get("messages")):
            kind = message.get("type")
            if kind == "user":
                self.context.append(self.builder.user(content_of(message.get("content"))))
                self.clock = epoch(message.get("timestamp"))
            elif kind in ("gemini", "model", "assistant"):
                self._turn(message)
            else:
                self.builder.opaque(message)

    def _turn(self, message: JsonObject) -> None:
        builder = self.builder
        produced = [builder.reasoning(_thought(thought)) for thought in dicts(message.get("thoughts"))]
        if text := text_of(content_of(message.get("content"))):
            produced.append(builder.assistant(text))
        calls = dicts(message.get("toolCalls"))
        for call in calls:
            name = as_str(call.get("name"))
            produced.append(builder.call(as_str(call.get("id")), name, as_text(call.get("args", {}))))
        ended = epoch(message.get("timestamp"))
        builder.turn(
            self.context,
            produced,
            model=opt_str(message.get("model")),
            usage=_usage(message.get("tokens")),
            times=Times(started=self.clock, ended=ended) if ended else None,
            finish_reason="tool_calls" if calls else "stop",
        )
        self.context = [*self.context, *produced, *(self._result(call) for call in calls if "result" in call)]
        self.clock = ended

    def _result(self, call: JsonObject) -> int:
        call_id = as_str(call.get("id"))
        failed, ended = call.get("status") != "success", epoch(call.get("timestamp"))
        return self.builder.answer(call_id, _answer(call.get("result")), is_error=failed, ended=ended)


def _thought(thought: JsonObject) -> str:
    subject, text = as_str(thought.get("subject")), as_str(thought.get("description"))
    return f"**{subject}**\n{text}" if subject else text


def _answer(result: object) -> str:
    """What went back to the model: the function response's output or error, else the value as JSON."""
    texts = []
    for part in as_list(result) if isinstance(result, list) else [result]:
        response = as_dict(as_dict(part).get("functionResponse")).get("response")
        value = as_dict(response).get("output", as_dict(response).get("error", response))
        if response is None:
            value = as_dict(part).get("text", part)
        texts.append(as_text(value))
    return "\n".join(texts)


def _usage(tokens: object) -> Usage | None:
    """Gemini's input includes what was cached; a record of zeros says that nothing was counted."""
    raw = as_dict(tokens)
    return counts_of(raw, "input", "cached", "output", "thoughts") if as_int(raw.get("input")) else None
