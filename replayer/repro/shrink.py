"""Shortens the history of a request while its fault stays: delta debugging against the live engine.

Zeller and Hildebrandt's ddmin (2002) over whole exchanges: an assistant message goes with the results of its calls, so
that every shortened history is one that an engine accepts. The system message and the last exchange stay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from replayer.signals.base import Expected
from replayer.signals.repetition import Finding, RepetitionDetector
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.wire.client import WireClient
from replayer.wire.types import Delta, Request

Messages = list[dict[str, Any]]
Shows = Callable[[Messages], Awaitable[bool]]
"""Whether the fault shows with these messages; raises OutOfBudget."""


class OutOfBudget(Exception):
    """All requests are spent."""


@dataclass(slots=True)
class Probe:
    """Sends variants of a request; `left` is how many more may be sent, `tries` how many one variant gets."""

    client: WireClient
    body: dict[str, Any]
    wanted: frozenset[str]
    left: int
    tries: int = 2
    sent: int = 0

    async def shows(self, messages: Messages) -> bool:
        for _ in range(self.tries):
            if self.left <= 0:
                raise OutOfBudget
            self.left, self.sent = self.left - 1, self.sent + 1
            if self.wanted & await self._faults(self.body | {"messages": messages}):
                return True
        return False

    async def _faults(self, body: dict[str, Any]) -> frozenset[str]:
        request, facts = Request([orjson.dumps(body)], stream=bool(body.get("stream"))), read_request(body)
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
        if groups and message.get("role") == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    first = next(
        (n for n, group in enumerate(groups) if group[0].get("role") not in ("system", "developer")), 0
    )
    head = [message for group in groups[:first] for message in group]
    return head, groups[first:-1], groups[-1] if len(groups) > first else []


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
