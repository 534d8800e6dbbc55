"""Pi sessions (`~/.pi/agent/sessions`), versions 1 to 3: JSON lines that form a tree, so that a user can branch off.

Each assistant message is a turn; its context is the path to it, from the last compaction on. Projection P: texts,
thinking with signatures, calls (argument text re-serialised: the file holds the value), results with error flag, what
the user ran himself, messages of extensions, summaries of compactions and of branches that were left; labels, changes
of model and other states of the screen are opaque. System prompt and tools are not in the source.
"""

from __future__ import annotations

from replayer.traces.importers.base import RecordLog
from replayer.traces.importers.conversation import Tree
from replayer.traces.importers.pieces import blocks_of, content_of, text_of, usage_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_str, as_text, epoch, opt_str
from replayer.traces.schema import Fidelity, Times
from replayer.wire.types import JsonObject

_COMPACTED = (
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\n{}\n</summary>"
)
_LEFT = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}\n</summary>"
)
_FINISH = {"toolUse": "tool_calls"}
_COUNTS = {"fresh": "input", "output": "output", "read": "cacheRead", "written": "cacheWrite"}
_BROKEN = ("error", "aborted")
"""Replies that ended so are never sent again."""


class Pi(RecordLog):
    format = agent = "pi"
    lacks = "Pi records neither system prompt nor tool definitions"
    fidelity = Fidelity(
        text="recorded", arguments="derived", timing="recorded", usage="recorded", boundaries="recorded"
    )
    experimental = True

    def __init__(self) -> None:
        self.tree = Tree()
        self.leaf: str | None = None
        self.model: str | None = None
        self.params: JsonObject = {}

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in probe.head]
        if not head or head[0].get("type") != "session" or "harness" in head[0]:
            return False
        return any(r.get("type") == "message" and "role" in as_dict(r.get("message")) for r in head)

    def record(self, entry: JsonObject, number: int) -> None:
        if entry.get("type") == "session":
            self._header(entry)
        else:
            self._entry(as_str(entry.get("id")) or f"line {number}", entry)

    def _header(self, header: JsonObject) -> None:
        self.builder.source(version=as_text(header.get("version")) or "1")
        self.builder.remember(
            session_id=opt_str(header.get("id")),
            branched_from=header.get("parentSession", header.get("branchedFrom")),
        )
        cwd = opt_str(header.get("cwd"))
        self.builder.describe(workspace={"roots": [{"path": cwd}]} if cwd else None)
        self.model = opt_str(header.get("modelId"))

    def _entry(self, key: str, entry: JsonObject) -> None:
        parent = opt_str(entry.get("parentId")) if "parentId" in entry else self.leaf
        if parent != self.leaf:
            self.line.restart(self.tree.items(parent))
        kind, message = entry.get("type"), as_dict(entry.get("message"))
        if kind == "message" and message.get("role") == "assistant":
            items = self._reply(message, entry)
        else:
            items = self._given(kind, message, entry)
            self.line.said(*items)
        self.tree.add(key, parent, items)
        self.leaf = key
        if kind == "compaction":
            self.tree.restart(key, opt_str(entry.get("firstKeptEntryId")))
            self.line.restart(self.tree.items(key))

    def _reply(self, message: JsonObject, entry: JsonObject) -> list[int]:
        """Writes a turn; returns what of it is sent again."""
        produced = self.line.produced = [self._block(block) for block in blocks_of(message.get("content"))]
        reason = as_str(message.get("stopReason"))
        if not produced:
            self.builder.opaque(entry)
            self.builder.warn(
                "replies that hold nothing, because the request failed, are not counted as turns"
            )
            return []
        self.line.close(
            forget=reason in _BROKEN,
            model=opt_str(message.get("model")) or self.model,
            params=self.params,
            usage=usage_of(as_dict(message.get("usage")), **_COUNTS),
            times=_times(message, entry),
            finish_reason=_FINISH.get(reason, reason or None),
        )
        return [] if reason in _BROKEN else produced

    def _block(self, block: JsonObject) -> int:
        kind = block.get("type")
        if kind == "text":
            return self.builder.assistant(as_str(block.get("text")))
        if kind == "thinking":
            signature = block.get("thinkingSignature")
            opaque = {"signature": signature} if signature else None
            return self.builder.reasoning(as_str(block.get("thinking")), opaque)
        if kind == "toolCall":
            name, arguments = as_str(block.get("name")), as_text(block.get("arguments", {}))
            return self.builder.call(as_str(block.get("id")), name, arguments)
        return self.builder.opaque(block)

    def _given(self, kind: object, message: JsonObject, entry: JsonObject) -> list[int]:
        """What an entry adds to the prompts behind it."""
        builder, role = self.builder, message.get("role")
        if kind == "message" and role == "toolResult":
            return [self._result(message)]
        if kind == "message" and role == "user":
            return [builder.user(content_of(message.get("content")))]
        if kind == "message" and role == "bashExecution" and not message.get("excludeFromContext"):
            return [builder.user(_ran(message))]
        if kind == "custom_message" or role in ("custom", "hookMessage"):
            return [builder.user(content_of((entry if kind == "custom_message" else message).get("content")))]
        if kind == "compaction":
            return [builder.compaction(_COMPACTED.format(as_str(entry.get("summary"))))]
        if kind == "branch_summary":
            return [builder.user(_LEFT.format(as_str(entry.get("summary"))))]
        if kind == "model_change":
            self.model = opt_str(entry.get("modelId")) or self.model
        elif kind == "thinking_level_change":
            self.params = {"reasoning_effort": entry.get("thinkingLevel")}
        elif kind == "session_info" and (title := opt_str(entry.get("name"))):
            builder.describe(title=title)
        builder.opaque(entry)
        return []

    def _result(self, message: JsonObject) -> int:
        return self.builder.answer(
            as_str(message.get("toolCallId")),
            content_of(message.get("content")),
            is_error=message.get("isError") is True,
            name=opt_str(message.get("toolName")),
            ended=epoch(message.get("timestamp")),
        )


def _ran(message: JsonObject) -> str:
    """A command of the user's own, as Pi writes it for the model."""
    output, code = text_of(content_of(message.get("output"))), as_int(message.get("exitCode"))
    text = f"Ran `{as_str(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled"):
        return text + "\n\n(command cancelled)"
    return text if not code else text + f"\n\nCommand exited with code {code}"


def _times(message: JsonObject, entry: JsonObject) -> Times | None:
    """The message bears the time at which its request was begun, its line that of the end."""
    started, ended = epoch(message.get("timestamp")), epoch(entry.get("timestamp"))
    if started is None and ended is None:
        return None
    return Times(started=started if started != ended else None, ended=ended or started)
