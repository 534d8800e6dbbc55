"""Which items make up one message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    ReasoningItem,
    ToolCallItem,
    UserItem,
)

Outputs = Mapping[int, Sequence[tuple[int, ...]]]
"""What turns produced, by the id of the first item of each."""


def from_model(item: AnyItem) -> bool:
    return isinstance(item, AssistantItem | ReasoningItem | ToolCallItem)


def by_reply(items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
    """One message per recorded reply; every other item is a message of its own."""
    position = 0
    while position < len(items):
        end = _end_of_reply(items, position, outputs) if from_model(items[position]) else position + 1
        yield items[position:end]
        position = end


def by_role(items: Sequence[AnyItem]) -> Iterator[Sequence[AnyItem]]:
    """Neighbours of the assistant, and neighbours of the user, are one message each.

    A message that begins with a call has no place for text: the text behind it begins another.
    """
    position = 0
    while position < len(items):
        end = position + 1
        for same in (from_model, lambda item: isinstance(item, UserItem | CompactionItem)):
            while same(items[position]) and end < len(items) and same(items[end]):
                if isinstance(items[position], ToolCallItem) and not isinstance(items[end], ToolCallItem):
                    break
                end += 1
        yield items[position:end]
        position = end


def _end_of_reply(items: Sequence[AnyItem], begin: int, outputs: Outputs) -> int:
    end = begin
    while end < len(items) and from_model(items[end]):
        reply = _reply_at(items, end, outputs)
        if reply:
            return end if end > begin else end + reply
        end += 1
    return end


def _reply_at(items: Sequence[AnyItem], begin: int, outputs: Outputs) -> int:
    """Length of the longest recorded reply that starts here; 0 when there is none."""
    known = outputs.get(items[begin].id, ())
    here = (output for output in known if output == tuple(i.id for i in items[begin : begin + len(output)]))
    return max(map(len, here), default=0)
