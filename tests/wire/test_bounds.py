"""What a server can make a reply keep beside its text: ids of calls, the words of faults and of notes."""

from typing import Any

import pytest

from replayer.wire.reply import assemble
from replayer.wire.types import Reply, Wire
from tests.wire.serving import DONE, delta, event, finish

LONG = "i" * 400_000


def opening(wire: Wire, number: int, call_id: str) -> bytes:
    """A call that begins."""
    if wire == "chat":
        function = {"name": "read_file", "arguments": "{}"}
        return delta(role="assistant", tool_calls=[{"index": number, "id": call_id, "function": function}])
    if wire == "messages":
        block: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": "read_file", "input": {}}
        return event({"type": "content_block_start", "index": number, "content_block": block})
    item = {
        "type": "function_call",
        "id": f"i{number}",
        "call_id": call_id,
        "name": "read_file",
        "arguments": "",
    }
    return event({"type": "response.output_item.added", "output_index": number, "item": item})


def with_ids(wire: Wire, *ids: str) -> Reply:
    return assemble([opening(wire, number, call_id) for number, call_id in enumerate(ids)], wire=wire)


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_ids_of_calls_are_bounded_together(wire: Wire) -> None:
    two = [f"{number}{LONG}" for number in range(2)]
    assert [call.id for call in with_ids(wire, *two).tool_calls] == two
    three = with_ids(wire, *two, "2" + LONG)
    assert three.fault is not None
    assert (three.fault.kind, three.fault.message) == ("too_large", "the ids of calls are longer than 1 MiB")
    assert sum(len(call.id or "") for call in three.tool_calls) < 1 << 20


def test_an_id_that_comes_with_every_delta_counts_once() -> None:
    reply = assemble([*[opening("chat", 0, LONG)] * 9, finish("tool_calls"), DONE])
    assert reply.fault is None and [call.id for call in reply.tool_calls] == [LONG]


def test_a_fault_keeps_as_many_words_as_anybody_reads() -> None:
    fault = assemble([event({"error": {"message": "no " * 900_000, "type": "x", "code": 5}})]).fault
    assert fault is not None and fault.message.startswith("no no no") and len(fault.message) == 4000


def test_a_note_quotes_no_more_than_anybody_reads() -> None:
    another = delta(tool_calls=[{"index": 0, "id": "b" + LONG}])
    reply = assemble([opening("chat", 0, "a" + LONG), another, finish(), DONE])
    assert max(len(note.message) for note in reply.notes) == 2000
