"""GitHub Copilot CLI session events.

Each `assistant.message` of an API call is a turn; its context is the system message, user messages as they were sent
(`transformedContent`) and results in completion order. Projection P: texts, reasoning with its opaque form, calls
(argument text re-serialised), results as the model got them. Hooks, permissions and turn marks are dropped; other
events are opaque. Tool definitions are not in the source.
"""

from __future__ import annotations

from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.conversation import Conversation
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_str, as_text, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times, Usage
from replayer.wire.types import JsonObject

_MARKS = (
    "hook.",
    "permission.",
    "assistant.turn_",
    "tool.execution_start",
    "session.permissions",
    "tool.user_",
)


class Copilot(Importer):
    format = "copilot-cli"
    fidelity = Fidelity(text="recorded", arguments="derived", timing="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        known = ("session.", "hook.", "user.message", "assistant.", "system.message", "tool.execution")
        head = [r for r in probe.head if isinstance(r, dict)]
        return any(
            as_str(record.get("type")).startswith(known) and isinstance(record.get("data"), dict)
            for record in head
        )

    def write(self, builder: Builder, probe: Probe) -> None:
        _Reader(builder).read(probe)


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.system: list[int] = []
        self.line = Conversation(builder)
        self.call_key: str | None = None
        self.facts: JsonObject = {}
        self.clock: float | None = None

    def read(self, probe: Probe) -> None:
        self.builder.describe(agent="copilot-cli")
        for _, record in probe.records():
            event = as_dict(record)
            self._event(as_str(event.get("type")), as_dict(event.get("data")), event)
        self._close()
        self.builder.warn("Copilot records no tool definitions and, per call, output tokens only")

    def _event(self, kind: str, data: JsonObject, event: JsonObject) -> None:
        at = epoch(event.get("timestamp"))
        if kind == "session.start":
            self._start(data)
        elif kind == "system.message":
            self._close()
            item = self.builder.system(as_str(data.get("content")))
            self.system.append(item)
            self.line.said(item)
        elif kind == "user.message":
            self._close()
            text = as_str(data.get("transformedContent")) or as_str(data.get("content"))
            self.line.said(self.builder.user(text))
            self.clock = at
        elif kind == "assistant.message":
            self._said(data, at)
        elif kind == "tool.execution_complete":
            self._result(data, at)
        elif kind.endswith("compaction_complete"):
            self._compacted(data)
        elif not kind.startswith(_MARKS):
            self.builder.opaque(event)

    def _start(self, data: JsonObject) -> None:
        place = as_dict(data.get("context"))
        self.builder.source(version=opt_str(data.get("copilotVersion")))
        self.builder.remember(
            session_id=opt_str(data.get("sessionId")), model=opt_str(data.get("selectedModel"))
        )
        root = {"path": place.get("cwd"), "commit": place.get("headCommit"), "branch": place.get("branch")}
        self.builder.describe(workspace={"roots": [{**root, "remote": place.get("repository")}]})

    def _said(self, data: JsonObject, at: float | None) -> None:
        key = as_str(data.get("apiCallId")) or as_str(data.get("messageId"))
        if key != self.call_key or not key:
            self._close()
            self.call_key = key
        builder = self.builder
        if data.get("reasoningText") or data.get("reasoningOpaque"):
            opaque = data.get("reasoningOpaque")
            self.line.produced.append(
                builder.reasoning(as_str(data.get("reasoningText")), {"opaque": opaque} if opaque else None)
            )
        if text := as_str(data.get("content")):
            self.line.produced.append(builder.assistant(text))
        calls = dicts(data.get("toolRequests"))
        for call in calls:
            call_id, name = as_str(call.get("toolCallId")), as_str(call.get("name"))
            self.line.produced.append(builder.call(call_id, name, as_text(call.get("arguments", {}))))
        tokens = as_int(data.get("outputTokens"))
        self.facts = {
            "model": opt_str(data.get("model")),
            "usage": Usage(completion_tokens=tokens) if tokens else None,
            "times": Times(started=self.clock, ended=at) if at else None,
            "finish_reason": "tool_calls" if calls else "stop",
        }

    def _result(self, data: JsonObject, at: float | None) -> None:
        call_id = as_str(data.get("toolCallId"))
        failed = data.get("success") is False
        found = (
            as_dict(data.get("error")).get("message")
            if failed
            else as_dict(data.get("result")).get("content")
        )
        text = as_text(found if found is not None else data.get("error") or data.get("result"))
        self.line.said(self.builder.answer(call_id, text, is_error=failed, ended=at))
        self.clock = at

    def _compacted(self, data: JsonObject) -> None:
        self._close()
        summary = as_str(data.get("summaryContent")) or as_str(data.get("summary"))
        self.line.restart([*self.system, self.builder.compaction(summary)])
        self.builder.warn("after a compaction the context is rebuilt from system message and summary")

    def _close(self) -> None:
        self.line.close(**self.facts)
        self.call_key = None
