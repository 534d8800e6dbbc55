"""Shortens the history of a request while its fault stays: delta debugging against the live engine.

Zeller and Hildebrandt's ddmin (2002) over whole exchanges: an assistant message goes with the results of its calls, so
that every shortened history is one that an engine accepts. The system message and the last exchange stay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson

from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector
from replayer.signals.repetition.finding import Finding
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.traces.wire_forms import LIST_OF
from replayer.wire.client import WireClient
from replayer.wire.types import Delta, JsonObject, Request, Wire

Messages = list[JsonObject]
Shows = Callable[[Messages], Awaitable[bool]]
"""Whether the fault shows with these messages; raises OutOfBudget."""


class OutOfBudget(Exception):
    """All requests are spent."""


@dataclass(slots=True)
class Probe:
    """Sends variants of a request; `left` is how many more may be sent, `tries` how many one variant gets."""

    client: WireClient
    body: JsonObject
    wanted: frozenset[str]
    left: int
    tries: int = 2
    sent: int = 0
    wire: Wire = "chat"

    async def shows(self, messages: Messages) -> bool:
        for _ in range(self.tries):
            if self.left <= 0:
                raise OutOfBudget
            self.left, self.sent = self.left - 1, self.sent + 1
            if self.wanted & await self._faults(self.body | {LIST_OF[self.wire]: messages}):
                return True
        return False

    async def _faults(self, body: JsonObject) -> frozenset[str]:
        facts = read_request(body)
        request = Request([orjson.dumps(body)], stream=bool(body.get("stream")), wire=self.wire)
        detector = RepetitionDetector(Expected(facts.prompt_contains))
        collapsed: list[Finding] = []

        def watch(delta: Delta) -> bool:
            collapsed.extend(found for found in detector.observe(delta) if found.level == "collapsed")
            return bool(collapsed)

        reply = await self.client.chat(request, watch)
        collapsed += [found for found in detector.end(reply) if found.level == "collapsed"]
        unit = repr(collapsed[0].unit) if collapsed else None
        verdict = judge(Case(reply, Validator(facts.tools), facts, collapsed=unit))
        return frozenset(fault.klass for fault in verdict.faults if fault.fatal)


def exchanges(messages: Messages) -> tuple[Messages, list[Messages], Messages]:
    """(head that stays, removable exchanges, tail that stays). Tool results belong to the message before them."""
    groups: list[Messages] = []
    for message in messages:
        if groups and _goes_with(groups[-1][-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    first = next(
        (n for n, group in enumerate(groups) if group[0].get("role") not in ("system", "developer")), 0
    )
    head = [message for group in groups[:first] for message in group]
    return head, groups[first:-1], groups[-1] if len(groups) > first else []


def _goes_with(before: JsonObject, message: JsonObject) -> bool:
    """Whether a message cannot stand without the one before it: results, and on Responses the pieces of one reply."""
    kind, content = str(message.get("type")), message.get("content")
    if message.get("role") == "tool" or kind.endswith("_output"):
        return True
    if kind.endswith("_call"):
        return str(before.get("type")).endswith("_call") or before.get("type") == "reasoning"
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


async def shrink(messages: Messages, shows: Shows) -> Messages:
    """The shortest history found before the budget ended. `messages` are known to show the fault."""
    head, middle, tail = exchanges(messages)

    def whole(groups: Sequence[Messages]) -> Messages:
        return [*head, *(message for group in groups for message in group), *tail]

    parts = 1
    try:
        while middle:
            size = -(-len(middle) // parts)
            for low in range(0, len(middle), size):
                kept = middle[:low] + middle[low + size :]
                if await shows(whole(kept)):
                    middle, parts = kept, max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    break
                parts = min(len(middle), parts * 2)
    except OutOfBudget:
        pass
    return whole(middle)
