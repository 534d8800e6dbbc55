"""OpenCode sessions: its database (`opencode.db`, since 1.x) and what `opencode export` writes.

A turn is one step of an assistant message (`step-start` to `step-finish`), or the message where it has no steps.
Projection P: texts, reasoning, calls (argument text re-serialised: the store holds the value), results and errors,
images, compactions, subagents (sessions with a parent) as threads. Drops the screen's twins (snapshots, patches,
titles). System prompt and tools are not in the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.conversation import Conversation
from replayer.traces.importers.pieces import of_parts, usage_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.sqlite import columns, rows
from replayer.traces.importers.values import as_dict, as_str, as_text, dicts, epoch, loads, opt_str
from replayer.traces.schema import Content, Fidelity, Thread, Times
from replayer.wire.types import JsonObject

_FINISH = {"tool-calls": "tool_calls"}
_SUMMARISE = "What did we do so far?"
_SUBTASK = "The following tool was executed by the user"
_INTERRUPTED = "[Tool execution was interrupted]"
_FIDELITY = Fidelity(
    text="recorded", arguments="derived", timing="recorded", usage="recorded", boundaries="recorded"
)
Row = JsonObject
Message = tuple[JsonObject, list[JsonObject]]
"""What is known of a message, and its parts."""


class OpenCodeStore(Importer):
    format = "opencode-db"
    fidelity = _FIDELITY
    experimental = True

    def matches(self, probe: Probe) -> bool:
        tables = (columns(probe, table) for table in ("message", "part"))
        return probe.shape == "sqlite" and all({"session_id", "data"} <= {*names} for names in tables)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        """Sessions without a parent, newest first, each with those that it started."""
        found = rows(probe, "SELECT * FROM session ORDER BY time_created DESC")
        known = {row["id"] for row in found}
        for row in found:
            if row.get("parent_id") not in known:
                yield _stored(probe, row, found)


class OpenCodeExport(Importer):
    format = "opencode"
    fidelity = _FIDELITY
    experimental = True

    def matches(self, probe: Probe) -> bool:
        document = as_dict(probe.document)
        messages = dicts(document.get("messages"))
        return "info" in document and all(isinstance(m.get("parts"), list) and "info" in m for m in messages)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        document = as_dict(probe.document)
        info = as_dict(document.get("info"))
        messages = [(as_dict(m["info"]), dicts(m["parts"])) for m in dicts(document.get("messages"))]

        def write(builder: Builder) -> None:
            writer = _Writer(builder, "main")
            _describe(builder, info, opt_str(info.get("directory")))
            writer.write(messages)
            if writer.children:
                builder.warn(f"subagents, whose sessions are exported apart: {len(writer.children)}")

        yield Session(write, title=opt_str(info.get("title")))


def _stored(probe: Probe, top: Row, sessions: list[Row]) -> Session:
    def write(builder: Builder) -> None:
        _describe(builder, top, opt_str(top.get("directory")))
        waiting: list[tuple[Row, str, str | None]] = [(top, "main", None)]
        starters: dict[str, int] = {}
        while waiting:
            row, name, parent = waiting.pop()
            if parent is not None:
                call = starters.get(row["id"])
                title = opt_str(row.get("title"))
                builder.thread(Thread(id=name, parent=parent, parent_call=call, title=title))
            writer = _Writer(builder, name)
            writer.write(_messages(probe, row["id"]))
            starters |= writer.children
            children = [child for child in sessions if child.get("parent_id") == row["id"]]
            waiting += [(child, f"sub-{child['id'][-8:]}", name) for child in reversed(children)]

    return Session(write, name=top["id"][-8:], key=top["id"], title=opt_str(top.get("title")))


def _messages(probe: Probe, session: str) -> list[Message]:
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    parts: dict[str, list[JsonObject]] = {}
    for row in rows(probe, "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", session):
        parts.setdefault(row["message_id"], []).append(as_dict(loads(row["data"])))
    told = rows(probe, query, session)
    return [({**as_dict(loads(row["data"])), "id": row["id"]}, parts.get(row["id"], [])) for row in told]


def _describe(builder: Builder, info: JsonObject, directory: str | None) -> None:
    builder.describe(agent="opencode", title=opt_str(info.get("title")))
    builder.source(version=opt_str(info.get("version")))
    builder.describe(workspace={"roots": [{"path": directory}]} if directory else None)
    builder.remember(session_id=opt_str(info.get("id")))
    builder.warn("OpenCode records neither system prompt nor tool definitions")


class _Writer:
    def __init__(self, builder: Builder, thread: str) -> None:
        self.builder = builder
        self.line = Conversation(builder, thread)
        self.children: dict[str, int] = {}
        """Calls that started a session, by its id."""
        self.places: dict[str, int] = {}
        """Where in the context each message begins."""
        self.asked: tuple[int, str | None] | None = None
        """The request for a summary that is open: where it stands, and the message from which on all is kept."""

    def write(self, messages: list[Message]) -> None:
        for info, parts in messages:
            self.places[as_str(info.get("id"))] = len(self.line.context)
            if info.get("role") == "assistant":
                self._assistant(info, parts)
            else:
                self._user(parts)

    def _user(self, parts: list[JsonObject]) -> None:
        compaction = next((part for part in parts if part.get("type") == "compaction"), None)
        if compaction is not None:
            self.asked = len(self.line.context), opt_str(compaction.get("tail_start_id"))
        content = _content(parts)
        if content:
            self.line.said(self.builder.user(content))

    def _assistant(self, info: JsonObject, parts: list[JsonObject]) -> None:
        whole = not any(part.get("type") == "step-finish" for part in parts)
        times = as_dict(info.get("time"))
        started = epoch(times.get("created"))
        turns = 0
        for part in parts:
            if part.get("type") == "step-finish":
                ended = _ended(parts, part)
                turns += self._close(_facts(info, part.get("tokens"), part.get("reason"), started, ended))
                started = None
            else:
                self._part(part)
        tokens = info.get("tokens") if whole else None
        turns += self._close(_facts(info, tokens, info.get("finish"), started, times.get("completed")))
        if not turns:
            self.builder.opaque(info)
            self.builder.warn(
                "replies that hold nothing, because the request failed, are not counted as turns"
            )
        elif info.get("summary") is True and self.asked is not None:
            self._compacted()

    def _close(self, facts: JsonObject) -> bool:
        said = bool(self.line.produced)
        self.line.close(**{**facts, "finish_reason": facts["finish_reason"] or self.line.ending})
        return said

    def _compacted(self) -> None:
        """The summary and the request for it stand for what was before, but for a tail that is kept."""
        assert self.asked is not None
        (place, first_kept), self.asked = self.asked, None
        context = self.line.context
        kept = context[self.places.get(first_kept or "", place) : place]
        self.line.restart([*context[place:], *kept])

    def _part(self, part: JsonObject) -> None:
        kind, builder = part.get("type"), self.builder
        if kind == "text":
            self.line.produced.append(builder.assistant(as_str(part.get("text"))))
        elif kind == "reasoning":
            opaque = as_dict(part.get("metadata")) or None
            self.line.produced.append(builder.reasoning(as_str(part.get("text")), opaque))
        elif kind == "tool":
            self._tool(as_str(part.get("callID")), as_str(part.get("tool")), as_dict(part.get("state")))

    def _tool(self, call_id: str, name: str, state: JsonObject) -> None:
        call = self.builder.call(call_id, name, as_text(state.get("input", {})))
        self.line.produced.append(call)
        metadata, times = as_dict(state.get("metadata")), as_dict(state.get("time"))
        if child := opt_str(metadata.get("sessionId")) or opt_str(metadata.get("sessionID")):
            self.children[child] = call
        if times.get("compacted"):
            self.builder.warn("results that were cleared from later prompts are shown whole in all of them")
        failed = state.get("status") != "completed"
        output = state.get("error", _INTERRUPTED) if failed else state.get("output")
        spent: JsonObject = {"started": epoch(times.get("start")), "ended": epoch(times.get("end"))}
        self.line.said(self.builder.answer(call_id, as_text(output), is_error=failed, **spent))


def _content(parts: list[JsonObject]) -> Content:
    """What the model gets of a user's message."""
    found: list[JsonObject] = []
    for part in parts:
        kind = part.get("type")
        if kind == "text" and not part.get("ignored") and part.get("text"):
            found.append({"type": "text", "text": as_str(part["text"])})
        elif kind == "file" and part.get("mime") not in ("text/plain", "application/x-directory"):
            found.append({"type": "image_url", "image_url": {"url": as_str(part.get("url"))}})
        elif kind in ("compaction", "subtask"):
            found.append({"type": "text", "text": _SUMMARISE if kind == "compaction" else _SUBTASK})
    return of_parts(found)


def _ended(parts: list[JsonObject], last: JsonObject) -> object:
    """The end of the last part before a step's end that bears a time; a tool runs after the reply it came in."""
    found: list[object] = []
    for part in parts[: parts.index(last)]:
        if part.get("type") in ("text", "reasoning"):
            found.append(as_dict(part.get("time")).get("end"))
        elif part.get("type") == "tool":
            found.append(as_dict(as_dict(part.get("state")).get("time")).get("start"))
    return max((time for time in found if isinstance(time, int | float)), default=None)


def _facts(
    info: JsonObject, tokens: object, reason: object, started: float | None, ended: object
) -> JsonObject:
    end = epoch(ended)
    reason = as_str(reason)
    raw = as_dict(tokens)
    flat = {**raw, **{f"cache_{key}": value for key, value in as_dict(raw.get("cache")).items()}}
    usage = usage_of(flat, fresh="input", output="output", read="cache_read", written="cache_write")
    return {
        "model": opt_str(info.get("modelID")) or opt_str(as_dict(info.get("model")).get("modelID")),
        "usage": replace(usage, raw=raw) if usage else None,
        "times": Times(started=started, ended=end) if started is not None or end is not None else None,
        "finish_reason": _FINISH.get(reason, reason or None),
    }
