"""GitHub Copilot CLI session events.

Each `assistant.message` of an API call is a turn; its context is the system message, user messages as they were sent
(`transformedContent`) and results in completion order. Projection P: texts, reasoning with its opaque form, calls
(argument text re-serialised), results as the model got them. Hooks, permissions and turn marks are dropped; other
events are opaque. Tool definitions are not in the source.
"""

from __future__ import annotations

from replayer.traces.importers.base import RecordLog
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


class Copilot(RecordLog):
    format = agent = "copilot-cli"
    lacks = "Copilot records no tool definitions and, per call, output tokens only"
    fidelity = Fidelity(text="recorded", arguments="derived", timing="recorded", boundaries="recorded")

    def __init__(self) -> None:
        self.system: list[int] = []
        self.call_key: str | None = None
        self.facts: JsonObject = {}

    def matches(self, probe: Probe) -> bool:
        known = ("session.", "hook.", "user.message", "assistant.", "system.message", "tool.execution")
        head = map(as_dict, probe.head)
        return any(as_str(r.get("type")).startswith(known) and isinstance(r.get("data"), dict) for r in head)

    def record(self, event: JsonObject, number: int) -> None:
        kind, data, at = as_str(event.get("type")), as_dict(event.get("data")), epoch(event.get("timestamp"))
        if kind == "session.start":
            self._start(data)
        elif kind == "system.message":
            self.end()
            item = self.builder.system(as_str(data.get("content")))
            self.system.append(item)
            self.line.said(item)
        elif kind == "user.message":
            self.end()
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
            self.end()
            self.call_key = key
        builder = self.builder
        opaque = data.get("reasoningOpaque")
        if data.get("reasoningText") or opaque:
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
        place, key = ("error", "message") if failed else ("result", "content")
        found = as_dict(data.get(place)).get(key)
        text = as_text(found if found is not None else data.get("error") or data.get("result"))
        self.line.said(self.builder.answer(call_id, text, is_error=failed, ended=at))
        self.clock = at

    def _compacted(self, data: JsonObject) -> None:
        self.end()
        summary = as_str(data.get("summaryContent")) or as_str(data.get("summary"))
        self.line.restart([*self.system, self.builder.compaction(summary)])
        self.builder.warn("after a compaction the context is rebuilt from system message and summary")

    def end(self) -> None:
        self.line.close(**self.facts)
        self.call_key = None
