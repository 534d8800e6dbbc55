"""The messages of a turn as the client cut them, where the trace recorded that."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from replayer.lazy import Newest
from replayer.traces.schema import AnyItem, Context, OpaqueItem, Turn

if TYPE_CHECKING:
    from replayer.traces.reader import Trace

_KEPT = 512

Sent = tuple[tuple[int, ...], str]
"""Ids of a message's items, and its form."""

_ids = itemgetter(0)


class SentMessages:
    """Follows the chain of contexts; keeps the last few results, because turns are asked for in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: Newest[int, list[Sent] | None] = Newest(_KEPT)

    def of(self, turn: int) -> list[Sent] | None:
        """Every message of the turn; None where the cut is not known for all of it."""
        chain: list[Turn] = []
        number: int | None = turn
        while number is not None and number not in self._known:
            chain.append(self._trace.turns[number])
            number = chain[-1].context.base
        for current in reversed(chain):
            self._known[current.id] = _cut(current.context, self._known)
        return self._known[turn]


def _cut(context: Context, before: Mapping[int, list[Sent] | None]) -> list[Sent] | None:
    if context.append and not context.forms:
        return None
    wanted = context.keep if context.base is not None else 0
    kept = list(before[context.base] or ()) if context.base is not None else []
    size = sum(map(len, map(_ids, kept)))
    while kept and size > wanted:
        size -= len(kept.pop()[0])
    if size != wanted:
        return None
    position = 0
    for count, form in context.forms:
        kept.append((context.append[position : position + count], form))
        position += count
    return kept if position == len(context.append) else None


def sent_items(items: list[AnyItem]) -> list[AnyItem]:
    return [item for item in items if not isinstance(item, OpaqueItem)]
