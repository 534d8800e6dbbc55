"""A recorded turn as a reply that can be judged."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from replayer.run.tool_runs import as_called
from replayer.signals.call_loops import Called
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import request_facts
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    OpaqueItem,
    ReasoningItem,
    TokenShape,
    ToolCallItem,
    ToolResultItem,
    Turn,
    plain,
)
from replayer.traces.tally import text_size
from replayer.wire.types import Reply, Timing, ToolCall, WireFault

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "toolUse": "tool_calls",
    "max_tokens": "length",
    "pause_turn": "stop",
}
"""Other wires' finish reasons, by those of chat."""
_UNTIMED = Timing(sent=0, headers=None, first_token=None, ended=0)
_ARTEFACTS = frozenset({"finish_contradicts"})
"""Faults that a finish reason which the import derived would show."""


@dataclass(slots=True)
class RecordedTurn:
    """`results` are those of the turn's calls, by the position of the call; `judged`: the recording holds a reply."""

    reply: Reply
    items: tuple[AnyItem, ...]
    prompt_contains: Callable[[str], bool]
    prompt_chars: int
    judged: bool
    complete: bool
    """Nothing of the reply is left out here (a part that has no meaning for us)."""
    results: dict[int, ToolResultItem] = field(default_factory=dict)
    called: list[Called] = field(default_factory=list)


class RecordedTrace:
    """A trace's items, read once each, and what is looked up in them again and again."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.results: dict[str, ToolResultItem] = {}
        """By call id."""
        self.names: dict[str, None] = {}
        """Tools that were called."""
        self._sizes = array("Q")
        self._texts: dict[int, str] = {}
        for item in trace.items():
            self._sizes.append(text_size(item))
            if isinstance(item, ToolResultItem):
                self.results[item.call_id] = item
            elif isinstance(item, ToolCallItem):
                self.names[item.name] = None

    def size(self, context: Sequence[int]) -> int:
        """Characters of a prompt."""
        return sum(map(self._sizes.__getitem__, context))

    def holds(self, context: Sequence[int], text: str) -> bool:
        return any(text in self._text(number) for number in context)

    def _text(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = _said(self.trace.item(number))
        return self._texts[number]


def recorded_turn(recorded: RecordedTrace, turn: Turn) -> RecordedTurn:
    return _counted(turn, turn.tokens) if turn.tokens is not None else _spoken(recorded, turn)


def _counted(turn: Turn, shape: TokenShape) -> RecordedTurn:
    """A turn of lengths: as many calls as the source counts, of which nothing else is known."""
    calls = tuple(ToolCall(n, None, "not recorded", "") for n in range(shape.tool_calls))
    results = {
        n: ToolResultItem(id=0, call_id="", content="", is_error=n < shape.failed_calls)
        for n in range(shape.tool_calls)
    }
    reply = Reply(
        timing=_UNTIMED, tool_calls=calls, finish_reason=turn.finish_reason, done=True, streamed=False
    )
    return RecordedTurn(reply, (), lambda _: False, 0, False, False, results)


def _spoken(recorded: RecordedTrace, turn: Turn) -> RecordedTurn:
    trace, results = recorded.trace, recorded.results
    items = tuple(trace.item(number) for number in turn.produced)
    calls = [item for item in items if isinstance(item, ToolCallItem)]
    context = trace.context(turn.id)
    failed = turn.finish_reason == "error" and not items
    reply = Reply(
        timing=_UNTIMED,
        content="".join(item.text for item in items if isinstance(item, AssistantItem)),
        reasoning="".join(item.text for item in items if isinstance(item, ReasoningItem)),
        tool_calls=tuple(_call(number, call) for number, call in enumerate(calls)),
        finish_reason=_FINISH.get(turn.finish_reason or "", turn.finish_reason),
        done=True,
        fault=WireFault("server_error", "the recorded request failed") if failed else None,
        streamed=False,
    )
    answered = {n: results[call.call_id] for n, call in enumerate(calls) if call.call_id in results}
    return RecordedTurn(
        reply,
        items,
        partial(recorded.holds, context),
        recorded.size(context),
        bool(items) or failed,
        not any(isinstance(item, OpaqueItem) for item in items),
        answered,
        [as_called(call, answered.get(n)) for n, call in enumerate(calls)],
    )


def judge_recorded(
    known: RecordedTurn, validator: Validator, seen: Collection[str], turn: Turn, collapse: str | None
) -> Verdict:
    """The verdict on a recorded reply; what only the form of the recording would show is left out."""
    facts = request_facts(turn.params, seen_call_ids=seen, prompt_contains=known.prompt_contains)
    case = Case(known.reply, validator, facts, usage=turn.usage, collapsed=collapse)
    verdict = judge(case)
    faults = tuple(
        fault
        for fault in verdict.faults
        if fault.klass not in _ARTEFACTS and not (fault.klass == "empty_turn" and not known.complete)
    )
    return replace(verdict, faults=faults, usable=not any(fault.fatal for fault in faults))


def _call(number: int, call: ToolCallItem) -> ToolCall:
    """A source without ids has none to judge."""
    return ToolCall(
        number, call.call_id or f"call {call.id}", call.name, call.arguments, freeform=call.freeform
    )


def _said(item: AnyItem) -> str:
    if isinstance(item, ToolCallItem):
        return item.arguments
    content = getattr(item, "text", None) or getattr(item, "content", None) or ""
    return content if isinstance(content, str) else plain(content)
