"""The fast path gives what reading every event in full gives, whatever the events are."""

import random
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replayer.wire import assembly
from replayer.wire.assembly import Assembler
from replayer.wire.chat_reader import ChatReader
from replayer.wire.parts import Parts
from replayer.wire.reply import assemble
from replayer.wire.template import learn
from replayer.wire.types import Delta, Reply

COMMON = st.sampled_from(["a", "a", "a", " b", "{", "}", "{}"])
ODD = st.sampled_from(["", "\n", '"', "\\", '\\"', '"}', "é", "漢", "😀", "\x00", "data: x\n\n"]) | st.text(
    max_size=4
)
TEXTS = st.one_of(COMMON, COMMON, ODD)
MAYBE: dict[str, Any] = {
    "finish_reason": [None, None, None, None, "stop"],
    "token_ids": [None, None, None, [1]],
    "usage": [None, None, {"prompt_tokens": 1}, {"prompt_tokens": 2}],
    "model": ["m", "m", "n", '","content":"x'],
    "index": [0, 0, 0, 0, 1],
    "error": [None] * 4 + ["no"],
}


@st.composite
def chunks(draw: st.DrawFn) -> dict[str, Any]:
    pick = {name: draw(st.sampled_from(values)) for name, values in MAYBE.items()}
    kind = draw(st.sampled_from(["content", "reasoning", "both", "call", "named call", "none"]))
    if kind in ("call", "named call"):
        call: dict[str, Any] = {"index": draw(st.integers(0, 1)), "function": {"arguments": ""}}
        if kind == "named call":
            call["id"] = draw(st.sampled_from([None, "a", "b"]))
            call["function"]["name"] = draw(st.sampled_from(["f", "f", "g"]))
        delta: dict[str, Any] = {"tool_calls": [call]}
    elif kind == "both":
        delta = {
            name: draw(COMMON)
            for name in draw(st.permutations(["reasoning_content", "reasoning", "content"]))[:2]
        }
    else:
        delta = {} if kind == "none" else {draw(st.sampled_from([kind, "reasoning_content"])): ""}
    choice = {
        "index": pick["index"],
        "delta": delta,
        "finish_reason": pick["finish_reason"],
        "token_ids": pick["token_ids"],
    }
    return {
        "id": "x",
        "model": pick["model"],
        "choices": [choice],
        "usage": pick["usage"],
        "error": pick["error"],
    }


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A few kinds of chunk with other texts, over and over, as real streams are; sometimes not quite JSON."""
    events = []
    pool = draw(st.lists(chunks(), min_size=1, max_size=3))
    for _ in range(draw(st.integers(1, 8))):
        payload = draw(st.sampled_from(pool))
        delta = payload["choices"][0]["delta"]
        for text in draw(st.lists(TEXTS, min_size=1, max_size=4)):
            if "tool_calls" in delta:
                delta["tool_calls"][0]["function"]["arguments"] = text
            elif delta:
                delta[next(iter(delta))] = text
            data = orjson.dumps(payload)
            if draw(st.integers(0, 15)) == 0:
                data = data.replace(b":", draw(st.sampled_from([b": ", b" :", b"", b'":"'])), 1)
            events.append(draw(st.sampled_from([b"data: ", b"data: ", b"data:"])) + data)
    return b"\n\n".join([*events, b""])


def in_full(body: bytes) -> tuple[Reply, list[Delta]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "learn", lambda *_: None)
        return with_deltas(body)


def with_deltas(body: bytes) -> tuple[Reply, list[Delta]]:
    seen: list[Delta] = []
    return assemble(body, on_delta=seen.append), seen


FAILING = b"".join(
    b'data: {"choices":[{"delta":{"content":"%s"}}],"error":"no"}\n\n' % text for text in (b"a", b"b")
)


@settings(max_examples=200, deadline=None)
@given(streams())
@example(FAILING)
def test_the_fast_path_equals_the_slow_one(body: bytes) -> None:
    assert with_deltas(body) == in_full(body)


DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
ITEMS = {
    "response.output_text.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}


@st.composite
def message_events(draw: st.DrawFn) -> dict[str, Any]:
    """One event of a Messages stream, in any order."""
    index = draw(st.integers(0, 2))
    kind = draw(st.sampled_from(["start", "stop", "end", *["delta"] * 6]))
    if kind == "start":
        block = draw(
            st.sampled_from([{"type": "text", "text": ""}, {"type": "tool_use", "id": "c", "name": "f"}])
        )
        return {"type": "content_block_start", "index": index, "content_block": block}
    if kind == "delta":
        name = draw(st.sampled_from(sorted(DELTAS)))
        return {"type": "content_block_delta", "index": index, "delta": {"type": name, DELTAS[name]: "x"}}
    if kind == "end":
        return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}
    return {"type": "content_block_stop", "index": index}


@st.composite
def response_events(draw: st.DrawFn) -> dict[str, Any]:
    """One event of a Responses stream, in any order."""
    index = draw(st.integers(0, 2))
    named: dict[str, Any] = draw(st.sampled_from([{"output_index": index}, {"item_id": f"i{index}"}, {}]))
    if draw(st.booleans()):
        named = {"sequence_number": draw(st.integers(0, 12)), **named}
    kind = draw(st.sampled_from(["added", "done", *["delta"] * 6]))
    delta = draw(st.sampled_from(sorted(ITEMS)))
    if kind == "delta":
        return {"type": delta, "delta": "x", **named}
    item = {"type": ITEMS[delta], "id": f"i{index}", "call_id": "c", "name": "f", "arguments": ""}
    return {"type": f"response.output_item.{kind}", "item": item, **named}


@st.composite
def wire_streams(draw: st.DrawFn) -> bytes:
    """Events of either wire in any order, each several times with other texts, with and without `event: ` lines."""
    events = draw(st.sampled_from([message_events(), response_events()]))
    first = {"type": "message_start", "message": {"id": "m"}}
    blocks = [b"data: " + orjson.dumps(first)]
    for _ in range(draw(st.integers(1, 8))):
        payload = draw(events)
        for text in draw(st.lists(TEXTS, min_size=1, max_size=3)):
            if "sequence_number" in payload and draw(st.integers(0, 3)):
                payload["sequence_number"] += 1
            if isinstance(payload.get("delta"), str):
                payload["delta"] = text
            elif DELTAS.get(payload.get("delta", {}).get("type", "")):
                payload["delta"][DELTAS[payload["delta"]["type"]]] = text
            line = b"event: %s\n" % payload["type"].encode()
            blocks.append(draw(st.sampled_from([line, line, b""])) + b"data: " + orjson.dumps(payload))
    return b"\n\n".join([*blocks[draw(st.integers(0, 1)) :], b""])


@settings(max_examples=300, deadline=None)
@given(wire_streams())
def test_the_fast_path_equals_the_slow_one_on_the_other_wires(body: bytes) -> None:
    assert with_deltas(body) == in_full(body)


def test_a_name_in_every_delta_may_begin_another_call() -> None:
    """Whether it does depends on the arguments so far, so such deltas are always read in full."""
    texts = ['"', "a", "a", '"', '"b"', '"c"']
    function = {"name": "f", "arguments": ""}
    events = []
    for text in texts:
        function["arguments"] = text
        payload = {
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "tool_calls": [{"index": 0, "function": function}]},
                }
            ]
        }
        events.append(b"data: " + orjson.dumps(payload) + b"\n\n")
    assert [call.arguments for call in assemble(b"".join(events)).tool_calls] == ['"aa"', '"b"', '"c"']


def chunk(text: str, **delta: Any) -> bytes:
    return orjson.dumps(
        {"id": "x", "choices": [{"index": 0, "delta": {"content": text, **delta}}], "usage": None}
    )


def test_chunks_that_differ_in_their_text_alone_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(assembly, "read_json", lambda data: read.append(data) or (orjson.loads(data), []))
    body = b"".join(b"data: %s\n\n" % chunk(str(number)) for number in range(100))
    assert assemble(body).content == "".join(map(str, range(100)))
    assert len(read) == 1


@pytest.mark.parametrize("odd", ["", "\n\n", '"', "\\", "é", "x" * 5000, None])
@pytest.mark.parametrize("lines", [b"", b"event: message\n"])
def test_a_large_read_gives_what_its_events_give(odd: str | None, lines: bytes) -> None:
    """`None` stands for an event whose data has two lines."""
    events = [b"%bdata: %s\n\n" % (lines, chunk(str(number))) for number in range(400)]
    events[200] = b"%bdata: %s\n\n" % (
        lines,
        chunk("two").replace(b',"usage"', b'\ndata: ,"usage"') if odd is None else chunk(odd),
    )
    whole, apart = Assembler(), Assembler()
    together = [*whole.feed(events[0], 1), *whole.feed(b"".join(events[1:]), 1)]
    one_by_one = [delta for event in events for delta in apart.feed(event, 1)]
    assert together == one_by_one and whole.parts.arrivals == apart.parts.arrivals
    assert "".join(whole.parts.content) == "".join(apart.parts.content)


@pytest.mark.parametrize("odd", ["z", "", '"', "é", None])
@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_packets_read_at_once_keep_their_stamps(odd: str | None, joins: bool, seed: int) -> None:
    """Whatever the cuts: each event has the stamp of the packet that holds its last byte."""
    events = [b"data: %s\n\n" % chunk(f"{number} ") for number in range(300)]
    events[200] = b"data: [DONE]\n\n" if odd is None else b"data: %s\n\n" % chunk(odd)
    body, draw, packets, start = b"".join(events), random.Random(seed), [], 0
    while start < len(body):
        size = draw.choice([1, 7, len(events[0]), 3 * len(events[0]), 2000])
        packets.append((body[start : start + size], len(packets)))
        start += size
    once, apart = Assembler(joins=joins), Assembler(joins=joins)
    together = []
    for at in range(0, len(packets), 40):
        pieces, stamps = zip(*packets[at : at + 40], strict=True)
        together += once.feed_all(list(pieces), stamps)
    one_by_one = [delta for packet in packets for delta in apart.feed(*packet)]
    assert once.parts.arrivals == apart.parts.arrivals and once.done_at == apart.done_at
    assert "".join(once.parts.content) == "".join(apart.parts.content)
    assert sum(delta.pieces for delta in together) == sum(delta.pieces for delta in one_by_one)
    assert joins or together == one_by_one


def test_a_reply_that_comes_at_once_is_one_run_behind_its_first_event() -> None:
    events = [b"data: %s\n\n" % chunk(f"{number} ") for number in range(300)]
    assembler = Assembler(joins=True)
    first, others = assembler.feed_all([b"".join(events)], [7])
    assert (first.text, first.pieces, others.pieces) == ("0 ", 1, 299)
    assert first.text + others.text == "".join(f"{number} " for number in range(300))
    assert [*assembler.parts.arrivals] == [7] * 300


def test_learning_stops_where_it_never_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    monkeypatch.setattr(assembly, "learn", lambda *args: tries.append(1) or learn(*args))
    assembler = Assembler()
    for number in range(1000):
        payload = {"id": number, "choices": [{"index": 0, "delta": {"content": "a"}}]}
        assembler.feed(b"data: %s\n\n" % orjson.dumps(payload), number)
    assert len(tries) < 30 and "".join(assembler.parts.content) == "a" * 1000


@pytest.mark.parametrize("names", [{"reasoning": "a"}, {"content2": "a"}])
def test_the_text_is_found_though_it_stands_elsewhere_too(names: dict[str, str]) -> None:
    block = b"data: " + chunk("a", x='"content":"a"', **names)
    template = learn(block, 6, orjson.loads(block[6:]), Delta(0, "content", "a"), ChatReader(Parts()))
    assert template is not None and block[template.start : template.stop] == b'"a"'
    assert template.prefix.endswith(b'"delta":{"content":')
