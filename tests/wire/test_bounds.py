"""What a server can make a reply keep beside its text: ids of calls, the words of faults and of notes."""

from typing import Any

import orjson
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


def block(kind: str, **fields: object) -> bytes:
    stated = {"type": kind, **fields}
    return event({"type": "content_block_start", "index": 0, "content_block": stated})


def item(kind: str, **fields: object) -> bytes:
    return event(
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": kind, "id": "i", **fields}}
    )


def of(wire: Wire, kind: str, **fields: object) -> bytes:
    if wire == "messages":
        return event({"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}})
    return event({"type": kind, "item_id": "i", "output_index": 0, **fields})


@pytest.mark.parametrize(
    ("wire", "pieces", "limit"),
    [
        (
            "messages",
            [block("thinking", thinking=""), *[of("messages", "signature_delta", signature=LONG)] * 3],
            "a signature is longer than 1 MiB",
        ),
        ("responses", [item("message"), *[of("responses", "response.refusal.delta", delta=LONG)] * 3], "the refusal is longer than 1 MiB"),
        (
            "chat",
            [delta(role="assistant", tool_calls=[{"index": 0, "function": {"name": f"{n}{LONG[:40_000]}"}}]) for n in range(2)],
            "the name of a call is longer than 64 KiB",
        ),
    ],
)  # fmt: skip
def test_what_grows_by_the_piece_is_bounded(wire: Wire, pieces: list[bytes], limit: str) -> None:
    fault = assemble(pieces, wire=wire).fault
    assert fault is not None and (fault.kind, fault.message) == ("too_large", limit)


TIMES = 5_000
"""Events that each took a millisecond and more when they were compared with all that had come, or quoted it."""


def test_what_was_sent_once_is_not_quoted_for_every_delta() -> None:
    later = delta(tool_calls=[{"index": 0, "id": "b", "function": {"arguments": "x"}}])
    reply = assemble([opening("chat", 0, LONG * 2), *[later] * TIMES], wire="chat")
    assert [note.code for note in reply.notes].count("changed_id") == 1
    assert reply.tool_calls[0].arguments == "{}" + "x" * TIMES
    ended = event({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "s" * 1_000_000}]})
    reply = assemble([ended, *[delta(content="a")] * TIMES, DONE], wire="chat")
    assert len(reply.finish_reason or "") == 1 << 16 and len(reply.content) == TIMES + 1
    assert "delta_after_finish" in [note.code for note in reply.notes]


def test_a_text_that_is_said_again_is_compared_at_its_own_cost() -> None:
    whole = "words and " * 100_000
    said = [
        of("responses", "response.output_text.delta", delta=whole + "end"),
        *[of("responses", "response.output_text.done", text="nd")] * 9,
    ]
    reply = assemble([item("message"), *said], wire="responses")
    assert "final_differs" not in [note.code for note in reply.notes]
    pieces = [of("responses", "response.output_text.delta", delta=text) for text in (whole, "", "e", "nd")]
    reply = assemble(
        [item("message"), *pieces, of("responses", "response.output_text.done", text=" end")],
        wire="responses",
    )
    assert "final_differs" not in [note.code for note in reply.notes]
    reply = assemble(
        [item("message"), *pieces, of("responses", "response.output_text.done", text="the end")],
        wire="responses",
    )
    assert "final_differs" in [note.code for note in reply.notes]


def test_a_name_that_comes_again_begins_a_call_where_the_one_before_is_whole() -> None:
    again = delta(tool_calls=[{"index": 0, "id": "d", "function": {"name": "read_file", "arguments": "{}"}}])
    assert len(assemble([opening("chat", 0, "c"), again, finish(), DONE]).tool_calls) == 2


def test_usage_with_ever_new_names_is_bounded() -> None:
    nested: object = 1
    for _ in range(150):
        nested = {"a": nested}
    events = (
        event({"type": "message_delta", "delta": {}, "usage": {f"k{number}": nested}})
        for number in range(1500)
    )
    fault = assemble(events, wire="messages").fault
    assert fault is not None and fault.kind == "too_large"


@pytest.mark.parametrize("levels", [150, 900])
def test_whatever_is_nested_can_be_written_again(levels: int) -> None:
    nested = b'{"a":' * levels + b"1" + b"}" * levels
    usage = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":' + nested + b"}\n\n"
    call = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":'
    unknown = b'data: {"type":"odd","x":' + nested + b"}\n\n"
    for wire, body in (("chat", usage), ("chat", call + nested + b"}}]}}]}\n\n"), ("responses", unknown)):
        reply = assemble([body, finish(), DONE], wire=wire)  # type: ignore[arg-type]
        assert ("bad_event" in [note.code for note in reply.notes]) == (levels > 200)
        orjson.dumps([reply.usage, reply.extra, [call.arguments for call in reply.tool_calls]])
    spoken = {"type": "input_json_delta", "partial_json": nested.decode()}
    reply = assemble(
        [opening("messages", 0, "c"), event({"type": "content_block_delta", "index": 0, "delta": spoken})],
        wire="messages",
    )
    assert reply.tool_calls[0].arguments == nested.decode()
    orjson.dumps(reply.output)
