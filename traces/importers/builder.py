"""What an importer writes into: items, turns with their full contexts, warnings."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from sys import intern
from typing import Any, Literal

from replayer.text import shared_start
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
    Usage,
)
from replayer.traces.tally import Tally, content_size
from replayer.traces.writer import TraceWriter
from replayer.wire.types import JsonObject

SPAWNING = frozenset({"spawn_agent", "subagent", "Task", "Agent", "task", "agent"})
"""Tools that start a subagent in the agents whose recordings are imported."""


Sent = tuple[tuple[int, ...], str]
Aspect = Literal["system", "tools", "usage"]


class Prompt:
    """What a turn is sent: `lead`, the first `length` items of a list that only ever grows, then `loose` ones.

    A turn whose prompt grew from the thread's last one costs what is new in it, not what it holds.
    """

    __slots__ = ("items", "lead", "length", "loose")

    def __init__(self, items: array[int], loose: Sequence[int] = (), lead: Sequence[int] = ()) -> None:
        self.items, self.length = items, len(items)
        self.loose, self.lead = tuple(loose), tuple(lead)

    def behind(self, length: int) -> tuple[int, ...]:
        """What stands behind the first `length` items that grow."""
        return (*self.items[length : self.length], *self.loose)

    def whole(self) -> tuple[int, ...]:
        return self.lead + self.behind(0)


class Builder:
    """One trace being imported. Methods that add an item return its id; equal items get the same id."""

    def __init__(self, writer: TraceWriter) -> None:
        self.writer = writer
        self.warnings: list[str] = []
        self.tally = Tally()
        self._sent: dict[str, tuple[int, tuple[Sent, ...]]] = {}
        self._last: dict[str, tuple[int, Prompt, tuple[int, ...]]] = {}
        self._items_of_calls = array("i")
        """By the number of the call's id in the tally; -1 where a result came and no call."""
        self._names_of_calls: list[str] = []
        self._threads: set[str] = set()
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

    def _holds(self, aspect: Aspect) -> None:
        """What has been written was recorded, where the format alone does not promise it."""
        recorded: Provenance = "recorded"
        if getattr(self.header.fidelity, aspect) == "absent":
            self.fidelity(**{aspect: recorded})

    def _usage(self, facts: JsonObject) -> Usage | None:
        usage: Usage | None = facts.get("usage")
        if usage is not None:
            self._holds("usage")
        return usage

    def remember(self, **facts: object) -> None:
        """Adds to the header's `meta` what is known, leaving out None."""
        known = {key: value for key, value in facts.items() if value is not None}
        self.describe(meta={**self.header.meta, **known})

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def add(self, item: AnyItem) -> int:
        if item.kind == "system":
            self._holds("system")
        number = self.writer.add_item(item)
        self.tally.item(number, item)
        return number

    def _text(self, kind: str, text: str) -> int:
        return self._sized(kind, len(text), {"text": text})

    def _sized(self, kind: str, size: int, fields: JsonObject) -> int:
        """`add` without building the item first: its fields as its line holds them (most of an import's time)."""
        number = self.writer.add_fields(kind, fields)
        self.tally.text(number, size)
        return number

    def system(self, text: str) -> int:
        self._holds("system")
        return self._text("system", text)

    def user(self, content: Content, own: object = None) -> int:
        return self._sized("user", content_size(content), {**_given(own=own), "content": content})

    def assistant(self, text: str, own: object = None) -> int:
        return self._sized("assistant", len(text), {**_given(own=own), "text": text})

    def reasoning(self, text: str, opaque: object = None) -> int:
        fields = {"text": text} if opaque is None else {"text": text, "opaque": opaque}
        return self._sized("reasoning", len(text), fields)

    def compaction(self, text: str) -> int:
        return self._text("compaction", text)

    def opaque(self, record: object) -> int:
        try:
            return self._sized("opaque", 0, {"record": record})
        except RecordError:  # nested too deeply to be written as a value
            return self._sized("opaque", 0, {"record": {"json": compact(record)}})

    def call(
        self, call_id: str, name: str, arguments: object, *, freeform: bool = False, own: object = None
    ) -> int:
        """`arguments` as text is kept exactly; any other value is written as compact JSON."""
        text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
        fields = {**_given(own=own), "call_id": call_id, "name": name, "arguments": text}
        if freeform:
            fields["freeform"] = True
        number = self.writer.add_fields("tool_call", fields)
        self.tally.call(number, call_id, len(name) + len(text))
        call = self.tally.calls.add(call_id)
        self._items_of_calls.extend([-1] * (call + 1 - len(self._items_of_calls)))
        self._names_of_calls.extend([""] * (call + 1 - len(self._names_of_calls)))
        self._items_of_calls[call], self._names_of_calls[call] = number, intern(name)
        return number

    def add_model_item(self, item: AnyItem) -> int:
        """Adds an item that a reply was split into; a call is remembered like those of `call`."""
        if isinstance(item, ToolCallItem):
            return self.call(item.call_id, item.name, item.arguments, freeform=item.freeform)
        return self.add(item)

    def result(
        self,
        call_id: str,
        content: Content | object,
        *,
        is_error: bool = False,
        name: str | None = None,
        own: object = None,
    ) -> int:
        value: Content = content if isinstance(content, str | tuple) else as_text(content)
        item = self.call_item(call_id)
        if item is not None:
            name = name or self._names_of_calls[self.tally.calls.find(call_id)]
            if name in SPAWNING:
                self._spawned.append((item, as_text(value)))
        fields: JsonObject = {**_given(own=own), "call_id": call_id, "content": value, **_given(name=name)}
        if is_error:
            fields["is_error"] = True
        number = self.writer.add_fields("tool_result", fields)
        self.tally.result(number, call_id, content_size(value), is_error)
        return number

    def call_number(self, call_id: str) -> int:
        """A small number for the id of a call or result that was added."""
        return self.tally.calls.find(call_id)

    def call_item(self, call_id: str) -> int | None:
        """The item of a call by the id that the client gave it."""
        call = self.tally.calls.find(call_id)
        item = self._items_of_calls[call] if 0 <= call < len(self._items_of_calls) else -1
        return item if item >= 0 else None

    def answer(
        self,
        call_id: str,
        content: Content | object,
        *,
        is_error: bool = False,
        name: str | None = None,
        own: object = None,
        **facts: object,
    ) -> int:
        """The result of a call that the agent ran; `facts` of how it ran are noted where the call is known."""
        item = self.result(call_id, content, is_error=is_error, name=name, own=own)
        call = self.call_item(call_id)
        if call is not None:
            self.tool_run(call, item, **facts)
        return item

    def is_call(self, item: int) -> bool:
        return self.tally.is_call(item)

    def call_whose_result_holds(self, text: str) -> int | None:
        """The call that started a subagent, found by the subagent's id in its result."""
        return next((call for call, result in self._spawned if text in result), None)

    def tools(self, definitions: Sequence[ToolSchema], wire: object = None) -> str | None:
        """Stores a tool set; None when there are no tools."""
        if not (definitions or wire):
            return None
        self._holds("tools")
        return self.writer.add_tool_set(ToolSet(id="", tools=tuple(definitions), wire=wire))

    def tool_run(self, call: int, result: int | None, **facts: Any) -> None:
        self.writer.add_tool_run(ToolRun(call=call, result=result, **facts))

    def thread(self, thread: Thread) -> None:
        if thread.id not in self._threads:
            self._threads.add(thread.id)
            self.tally.thread(thread)
            self.writer.add_thread(thread)

    def turn(
        self, context: Sequence[int] | Prompt, produced: Sequence[int], *, thread: str = "main", **facts: Any
    ) -> int:
        """One LLM call with all that it was sent; stored as a step from the thread's last.

        `facts` are the other fields of Turn: tool_set, model, params, usage, times, finish_reason, tokens.
        """
        prompt = context if isinstance(context, Prompt) else Prompt(array("i", context))
        step, dropped = self._step(thread, prompt)
        number = self.writer.add_turn(context=step, produced=produced, thread=thread, **facts)
        self._last[thread] = number, prompt, tuple(produced)
        self.tally.turn(thread, step.append, produced, self._usage(facts), facts.get("tokens"), dropped)
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
        same = shared_start(before, tuple(messages))
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
        self.tally.turn(thread, context, produced, self._usage(facts), facts.get("tokens"))
        return number

    def _step(self, thread: str, prompt: Prompt) -> tuple[Context, Sequence[int] | None]:
        """The prompt as a change of the thread's last turn, and what of that turn is not sent again."""
        if thread not in self._last:
            return Context(append=tuple(prompt.whole())), None
        base, last, produced = self._last[thread]
        if prompt.items is last.items and prompt.lead == last.lead:
            agreed = len(last.lead) + last.length
            before, after = (*last.loose, *produced), prompt.behind(last.length)
        else:
            agreed, before, after = 0, (*last.whole(), *produced), prompt.whole()
        same = shared_start(before, after)
        if agreed + same == 0:
            return Context(append=tuple(after)), None
        return Context(base=base, keep=agreed + same, append=tuple(after[same:])), before[same:]


def _given(**fields: object) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}
