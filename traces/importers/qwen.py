"""Qwen Code chats: JSON lines of Gemini contents.

Each `assistant` line is a turn. Projection P: texts, thoughts, calls (argument text re-serialised), results, usage,
times; after a `chat_compression` the context is the compressed history. Telemetry and other system lines are opaque.
System prompt and tools are not in the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.gemini_contents import Open, given, said
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times, Usage
from replayer.wire.types import JsonObject


class QwenCode:
    format: ClassVar[str] = "qwen-code"
    fidelity: ClassVar[Fidelity] = Fidelity(
        text="recorded", arguments="derived", timing="derived", usage="recorded", boundaries="recorded"
    )
    experimental: ClassVar[bool] = True

    def matches(self, probe: Probe) -> bool:
        return any(_is_line(as_dict(record)) for record in probe.head)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        yield Session(lambda builder: _Reader(builder).read(probe))


def _is_line(record: JsonObject) -> bool:
    parts = as_dict(record.get("message")).get("parts")
    return isinstance(parts, list) and {"uuid", "sessionId"} <= record.keys()


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.context: list[int] = []
        self.open: Open = []
        self.clock: float | None = None

    def read(self, probe: Probe) -> None:
        self.builder.describe(agent="qwen-code")
        self.builder.warn(
            "Qwen Code records neither system prompt nor tool definitions nor the context that opens a session"
        )
        for _, record in probe.records():
            self._line(as_dict(record))

    def _line(self, record: JsonObject) -> None:
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
            usage=_usage(record.get("usageMetadata")),
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


def _usage(value: object) -> Usage | None:
    raw = as_dict(value)
    if not raw:
        return None
    return Usage(
        prompt_tokens=as_int(raw.get("promptTokenCount")),
        cached_tokens=as_int(raw.get("cachedContentTokenCount")),
        completion_tokens=as_int(raw.get("candidatesTokenCount")),
        reasoning_tokens=as_int(raw.get("thoughtsTokenCount")),
        raw=raw,
    )
