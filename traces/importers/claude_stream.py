"""Claude Code's headless output (`--output-format stream-json`): messages in order, subagents by the call that started them.

Projection P: as for session files; tool names (no schemas) and totals go into the header. Partial-message events of the
raw API stream are dropped, because whole messages follow them.
"""

from __future__ import annotations

from replayer.traces.importers.base import RecordLog
from replayer.traces.importers.pieces import anthropic_usage, assistant_block, content_of, own_result
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, dicts, opt_str
from replayer.traces.schema import Fidelity, Thread
from replayer.wire.types import JsonObject


class ClaudeStream(RecordLog):
    format = "claude-code-stream"
    agent = "claude-code"
    lacks = "the stream holds neither system prompt nor tool schemas; `--profile claude-code` fills both"
    fidelity = Fidelity(text="recorded", arguments="derived", usage="recorded", boundaries="recorded")
    experimental = True

    def __init__(self) -> None:
        self.contexts: dict[str, list[int]] = {}
        self.open: dict[str, tuple[str, list[int], JsonObject]] = {}

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in probe.head]
        return any(
            r.get("type") in ("assistant", "user")
            and "parentUuid" not in r
            and isinstance(r.get("message"), dict)
            and "session_id" in r
            for r in head
        )

    def end(self) -> None:
        for thread in list(self.open):
            self._close(thread)

    def record(self, record: JsonObject, number: int) -> None:
        kind, message = record.get("type"), as_dict(record.get("message"))
        thread = as_str(record.get("parent_tool_use_id")) or "main"
        if kind == "assistant" and message:
            self._said(thread, message)
        elif kind == "user" and message:
            self._close(thread)
            self.contexts.setdefault(thread, []).extend(self._given(message))
        elif kind == "system" and record.get("subtype") == "init":
            names = [name for name in as_list(record.get("tools")) if isinstance(name, str)]
            self.builder.remember(tool_names=names or None, model=opt_str(record.get("model")))
        elif kind == "result":
            self.builder.remember(
                result={k: record[k] for k in ("usage", "num_turns", "duration_ms") if k in record}
            )
        elif kind != "stream_event":
            self.builder.opaque(record)

    def _said(self, thread: str, message: JsonObject) -> None:
        key = as_str(message.get("id"))
        if thread not in self.open or self.open[thread][0] != key or not key:
            self._close(thread)
            self.open[thread] = (key, [], {})
        _, items, facts = self.open[thread]
        items += [assistant_block(self.builder, block) for block in dicts(message.get("content"))]
        facts.update({k: v for k, v in message.items() if v is not None and k != "content"})

    def _given(self, message: JsonObject) -> list[int]:
        content = message.get("content")
        if isinstance(content, str):
            return [self.builder.user(content)]
        items = []
        for block in dicts(content):
            if block.get("type") == "tool_result":
                failed = block.get("is_error") is True
                call_id = as_str(block.get("tool_use_id"))
                said, own = content_of(block.get("content")), own_result(block)
                items.append(self.builder.result(call_id, said, is_error=failed, own=own))
        rest = [block for block in dicts(content) if block.get("type") != "tool_result"]
        return [*items, self.builder.user(content_of(rest))] if rest else items

    def _close(self, thread: str) -> None:
        if thread not in self.open:
            return
        _, items, facts = self.open.pop(thread)
        context = self.contexts.setdefault(thread, [])
        if thread != "main":
            call = self.builder.call_item(thread)
            self.builder.thread(Thread(id=thread, parent="main", parent_call=call))
        self.builder.turn(
            context,
            items,
            thread=thread,
            model=opt_str(facts.get("model")),
            usage=anthropic_usage(facts.get("usage")),
            finish_reason=opt_str(facts.get("stop_reason")),
        )
        context += items
