"""What an importer writes into: items, turns with their full contexts, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from replayer.traces.importers.values import as_text, compact
from replayer.traces.records import RecordError, TokenTurns
from replayer.traces.schema import (
    AnyItem,
    Content,
    Context,
    Header,
    Provenance,
    Thread,
    ToolCallItem,
    ToolRun,
    ToolSchema,
    ToolSet,
)
from replayer.traces.tally import Tally, content_size
from replayer.traces.writer import TraceWriter

SPAWNING = frozenset({"spawn_agent", "subagent", "Task", "Agent", "task", "agent"})
"""Tools that start a subagent in the agents whose recordings are imported."""


Sent = tuple[tuple[int, ...], str]


class Builder:
    """One trace being imported. Methods that add an item return its id; equal items get the same id."""

    def __init__(self, writer: TraceWriter) -> None:
        self.writer = writer
        self.warnings: list[str] = []
        self.tally = Tally()
        self._sent: dict[str, tuple[int, tuple[Sent, ...]]] = {}
        self._last: dict[str, tuple[int, list[int], list[int]]] = {}
        self._names: dict[str, str] = {}
        self._calls: dict[str, int] = {}
        self._threads: set[str] = set()
        self._call_items: set[int] = set()
        self._spawned: list[tuple[int, str]] = []

    @property
    def header(self) -> Header:
        return self.writer.header

    def describe(self, **fields: Any) -> None:
        """Sets fields of the header (title, agent, workspace, meta …)."""
        self.writer.header = replace(self.writer.header, **fields)

    def source(self, **fields: Any) -> None:
        self.describe(source=replace(self.header.source, **fields))

    def fidelity(self, **aspects: Provenance) -> None:
        now = self.header.fidelity
        if any(getattr(now, aspect) != known for aspect, known in aspects.items()):
            self.describe(fidelity=replace(now, **aspects))

    def remember(self, **facts: Any) -> None:
        """Adds to the header's `meta` what is known, leaving out None."""
        known = {key: value for key, value in facts.items() if value is not None}
        self.describe(meta={**self.header.meta, **known})

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def add(self, item: AnyItem) -> int:
        number = self.writer.add_item(item)
        self.tally.item(number, item)
        return number

    def _text(self, kind: str, text: str) -> int:
        return self._sized(kind, len(text), {"text": text})

    def _sized(self, kind: str, size: int, fields: dict[str, Any]) -> int:
        """`add` without building the item first: its fields as its line holds them (most of an import's time)."""
        number = self.writer.add_fields(kind, fields)
        self.tally.text(number, size)
        return number

    def system(self, text: str) -> int:
        return self._text("system", text)

    def user(self, content: Content) -> int:
        return self._sized("user", content_size(content), {"content": content})

    def assistant(self, text: str) -> int:
        return self._text("assistant", text)

    def reasoning(self, text: str, opaque: Any = None) -> int:
        fields = {"text": text} if opaque is None else {"text": text, "opaque": opaque}
        return self._sized("reasoning", len(text), fields)

    def compaction(self, text: str) -> int:
        return self._text("compaction", text)

    def opaque(self, record: Any) -> int:
        try:
            return self._sized("opaque", 0, {"record": record})
        except RecordError:  # nested too deeply to be written as a value
            return self._sized("opaque", 0, {"record": {"json": compact(record)}})

    def call(self, call_id: str, name: str, arguments: Any, *, freeform: bool = False) -> int:
        """`arguments` as text is kept exactly; any other value is written as compact JSON."""
        text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
        fields: dict[str, Any] = {"call_id": call_id, "name": name, "arguments": text}
        if freeform:
            fields["freeform"] = True
        number = self.writer.add_fields("tool_call", fields)
        self.tally.call(number, call_id, len(name) + len(text))
        self._names[call_id] = name
        self._calls[call_id] = number
        self._call_items.add(number)
        return number

    def add_model_item(self, item: AnyItem) -> int:
        """Adds an item that a reply was split into; a call is remembered like those of `call`."""
        if isinstance(item, ToolCallItem):
            return self.call(item.call_id, item.name, item.arguments, freeform=item.freeform)
        return self.add(item)

    def result(
        self, call_id: str, content: Content | Any, *, is_error: bool = False, name: str | None = None
    ) -> int:
        value: Content = content if isinstance(content, str | tuple) else as_text(content)
        name = name or self._names.get(call_id)
        if name in SPAWNING and call_id in self._calls:
            self._spawned.append((self._calls[call_id], as_text(value)))
        fields: dict[str, Any] = {"call_id": call_id, "content": value}
        if name is not None:
            fields["name"] = name
        if is_error:
            fields["is_error"] = True
        number = self.writer.add_fields("tool_result", fields)
        self.tally.result(number, call_id, content_size(value), is_error)
        return number

    def call_item(self, call_id: str) -> int | None:
        """The item of a call by the id that the client gave it."""
        return self._calls.get(call_id)

    def is_call(self, item: int) -> bool:
        return item in self._call_items

    def call_whose_result_holds(self, text: str) -> int | None:
        """The call that started a subagent, found by the subagent's id in its result."""
        return next((call for call, result in self._spawned if text in result), None)

    def tools(self, definitions: Sequence[ToolSchema], wire: Any = None) -> str | None:
        """Stores a tool set; None when there are no tools."""
        return (
            self.writer.add_tool_set(ToolSet(id="", tools=tuple(definitions), wire=wire))
            if definitions or wire
            else None
        )

    def tool_run(self, call: int, result: int | None, **facts: Any) -> None:
        self.writer.add_tool_run(ToolRun(call=call, result=result, **facts))

    def thread(self, thread: Thread) -> None:
        if thread.id not in self._threads:
            self._threads.add(thread.id)
            self.tally.thread(thread)
            self.writer.add_thread(thread)

    def turn(
        self, context: Sequence[int], produced: Sequence[int], *, thread: str = "main", **facts: Any
    ) -> int:
        """One LLM call with the full list of items that it was sent; stored as a step from the thread's last.

        `facts` are those of TraceWriter.add_turn: tool_set, model, params, usage, times, finish_reason, tokens.
        """
        step = self._step(thread, list(context))
        number = self.writer.add_turn(context=step, produced=produced, thread=thread, **facts)
        self._last[thread] = (number, list(context), list(produced))
        self.tally.turn(thread, context, produced, facts.get("usage"), facts.get("tokens"))
        return number

    def token_turns(self, turns: TokenTurns) -> None:
        """LLM calls of which only lengths and block hashes are known."""
        self.tally.token_turns(turns)
        self.writer.add_token_turns(turns)

    def chat_turn(
        self, messages: Sequence[Sent], produced: Sequence[int], *, thread: str = "main", **facts: Any
    ) -> int:
        """One LLM call whose messages are known one by one: the item ids and the form of each."""
        base, before = self._sent.get(thread, (None, ()))
        same = _common(before, messages)
        rest = messages[same:]
        step = Context(
            base=base if same else None,
            keep=sum(len(ids) for ids, _ in messages[:same]),
            append=tuple(item for ids, _ in rest for item in ids),
            forms=tuple((len(ids), form) for ids, form in rest),
        )
        number = self.writer.add_turn(context=step, produced=produced, thread=thread, **facts)
        self._sent[thread] = (number, tuple(messages))
        context = [item for ids, _ in messages for item in ids]
        self.tally.turn(thread, context, produced, facts.get("usage"), facts.get("tokens"))
        return number

    def _step(self, thread: str, context: list[int]) -> Context:
        if thread not in self._last:
            return Context(append=tuple(context))
        base, sent, produced = self._last[thread]
        before = sent + produced
        keep = _common(before, context)
        if keep == 0:
            return Context(append=tuple(context))
        return Context(base=base, keep=keep, append=tuple(context[keep:]))


def _common(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Length of the common beginning."""
    if second[: len(first)] == first:
        return len(first)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
