"""Qwen Code chats: JSON lines of Gemini contents.

Each `assistant` line is a turn. Projection P: texts, thoughts, calls (argument text re-serialised), results, usage,
times; after a `chat_compression` the context is the compressed history. Telemetry and other system lines are opaque.
System prompt and tools are not in the source.
"""

from __future__ import annotations

from replayer.traces.importers.base import RecordLog
from replayer.traces.importers.gemini_contents import Open, given, said
from replayer.traces.importers.pieces import counts_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times
from replayer.wire.types import JsonObject

_COUNTS = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount")


class QwenCode(RecordLog):
    format = agent = "qwen-code"
    lacks = (
        "Qwen Code records neither system prompt nor tool definitions nor the context that opens a session"
    )
    fidelity = Fidelity(
        text="recorded", arguments="derived", timing="derived", usage="recorded", boundaries="recorded"
    )
    experimental = True

    def __init__(self) -> None:
        self.context: list[int] = []
        self.open: Open = []

    def matches(self, probe: Probe) -> bool:
        return any(
            isinstance(as_dict(record.get("message")).get("parts"), list)
            and {"uuid", "sessionId"} <= record.keys()
            for record in map(as_dict, probe.head)
        )

    def record(self, record: JsonObject, number: int) -> None:
        message = as_dict(record.get("message"))
        at = epoch(record.get("timestamp"))
        if record.get("type") == "assistant" and message:
            self._turn(record, message, at)
        elif message:
            self.context += given(self.builder, message, self.open)
            self.clock = at
            self._describe(record)
        else:
            self.builder.opaque(record)
            if record.get("subtype") == "chat_compression":
                self._compressed(as_dict(record.get("systemPayload")))

    def _turn(self, record: JsonObject, message: JsonObject, at: float | None) -> None:
        produced = said(self.builder, message, self.open)
        self.builder.turn(
            self.context,
            produced,
            model=opt_str(record.get("model")),
            usage=counts_of(record.get("usageMetadata"), *_COUNTS),
            times=Times(started=self.clock, ended=at) if at else None,
            finish_reason="tool_calls" if any(map(self.builder.is_call, produced)) else "stop",
        )
        self.context = [*self.context, *produced]

    def _compressed(self, payload: JsonObject) -> None:
        self.context = []
        for entry in dicts(payload.get("compressedHistory")):
            add = said if entry.get("role") == "model" else given
            self.context += add(self.builder, entry, self.open)

    def _describe(self, record: JsonObject) -> None:
        if self.builder.header.workspace is None:
            self.builder.source(version=opt_str(record.get("version")))
            root = {"path": record.get("cwd"), "branch": record.get("gitBranch")}
            self.builder.describe(workspace={"roots": [root]})
