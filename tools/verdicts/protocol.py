"""What the assembly of a reply noticed, and the ids of its calls, as faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

import orjson

from replayer.tools.verdicts.verdict import Fault
from replayer.wire.types import ProtocolNote, Reply

_INDEX_NOTES = frozenset({"missing_index", "index_out_of_order", "repeated_index"})
_SEEN_ELSEWHERE = frozenset({"missing_id", "duplicate_id", "missing_name"})
_HARMLESS = frozenset({"content_parts", "item_id_changed", "no_deltas", "unknown_event", "usage_zero"})
_UNREADABLE = frozenset({"delta_without_block", "late_start", "repeated_start", "call_not_streamed"})
"""Clients give up here: Anthropic's throws, OpenAI's never sees the call."""
_COSTS_A_CALL = frozenset({"item_not_done", "repeated_block"})
"""Harmless to text; a client that acts on finished items, or that finds blocks by their index, loses the call."""


def note_faults(reply: Reply, *, broken: bool) -> Iterator[Fault]:
    """Breaches of the protocol. `broken`: some call's arguments are no JSON, so that an index mix-up has cost one."""
    for note in reply.notes:
        if note.code in _SEEN_ELSEWHERE or note.code in _HARMLESS:
            continue
        if note.code in _INDEX_NOTES:
            yield Fault("bad_call_index", "parser", note.message, broken, note.call_index)
        elif note.code == "changed_id":
            yield Fault("bad_call_id", "parser", note.message, False, note.call_index)
        else:
            yield Fault(
                "protocol", "engine", f"{note.code}: {note.message}", _call_lost(note), note.call_index
            )


def _call_lost(note: ProtocolNote) -> bool:
    if note.code in _UNREADABLE or (note.code in _COSTS_A_CALL and note.call_index is not None):
        return True
    return note.code == "bad_field" and ("tool_calls" in note.message or "`function`" in note.message)


def id_faults(reply: Reply, seen_call_ids: Container[str]) -> Iterator[Fault]:
    """Ids that are missing, shared by two calls, or used before. Results find their call by the id, so that two calls
    of one reply without different ids cannot be told apart."""
    if any(note.code == "legacy_function_call" for note in reply.notes):
        return  # that form has no ids
    count = Counter(call.id or "" for call in reply.tool_calls)
    for index, call in enumerate(reply.tool_calls):
        shared = count[call.id or ""] > 1
        if not call.id:
            yield Fault("bad_call_id", "parser", "the call has no id", shared, index)
        elif shared:
            yield Fault("bad_call_id", "parser", f"two calls have the id {call.id!r}", True, index)
        elif call.id in seen_call_ids:
            yield Fault(
                "bad_call_id", "parser", f"the id {call.id!r} was used in an earlier turn", False, index
            )


def lost_on_the_way(reply: Reply, index: int, arguments: str) -> bool:
    """Whether the reply itself shows that the arguments of a call did not arrive as the model wrote them.

    Evidence: the arguments of two calls in one; text that is JSON once its first delta stands before it again; and
    no text at all where the call was closed properly.
    """
    codes = {note.code for note in reply.notes if note.call_index == index}
    if codes & {"merged_arguments", "no_arguments"}:
        return True
    return reply.wire != "chat" and reply.streamed and any(_is_object(start + arguments) for start in _STARTS)


_STARTS = ("{", '{"')
"""What the first delta of a call's arguments usually is."""


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
