"""The official SDKs' accumulators against ours, over every sound captured stream; and mutilated streams."""

from __future__ import annotations

import json
from typing import Any

from anthropic import AsyncAnthropic
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI

from replayer.wire.reply import assemble
from tests.traces.proxies import answering
from tests.wire.captured import Captured, all_bases, load

STREAMS = [capture for capture in map(load, all_bases()) if capture.streamed and capture.status == 200]


def sound(wire: str) -> list[Captured]:
    """Streams that break nothing of their protocol."""
    ours = [(c, assemble(c.body, wire=c.wire)) for c in STREAMS if c.wire == wire]
    broken = {"blocks_overlap", "final_differs", "no_deltas"}
    return [
        capture
        for capture, reply in ours
        if reply.fault is None and not broken & {note.code for note in reply.notes}
    ]


def served(capture: Captured) -> Any:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
    return answering(lambda _: head % len(capture.body) + capture.body)


async def test_anthropic_accumulates_the_same_messages() -> None:
    captures = sound("messages")
    assert len(captures) > 12
    async with AsyncAnthropic(base_url="http://127.0.0.1", api_key="x", max_retries=0) as client:
        for capture in captures:
            async with served(capture) as url:
                await _same_message(capture, client.with_options(base_url=url.removesuffix("/v1")))


async def _same_message(capture: Captured, client: AsyncAnthropic) -> None:
    reply = assemble(capture.body, wire="messages")
    asked: Any = [{"role": "user", "content": "x"}]
    async with client.messages.stream(model="m", max_tokens=9, messages=asked) as stream:
        message = await stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    thinking = "".join(block.thinking for block in message.content if block.type == "thinking")
    calls = [(b.id, b.name, b.input) for b in message.content if b.type == "tool_use"]
    said = (reply.content, reply.reasoning, reply.finish_reason)
    assert said == (text, thinking, message.stop_reason), capture.name
    ours = [(b["id"], b["name"], b["input"]) for b in reply.output if b["type"] == "tool_use"]
    whole = all(_is_json(call.arguments) for call in reply.tool_calls)
    assert ours == calls if whole else [name for _, name, _ in ours] == [name for _, name, _ in calls]
    assert message.usage.output_tokens == (reply.usage or {}).get("completion_tokens")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


async def test_openai_accumulates_the_same_responses() -> None:
    """Not those of llama.cpp: it sends no `output_index`, which this client needs."""
    captures = [capture for capture in sound("responses") if b"sequence_number" in capture.body]
    assert len(captures) > 3
    async with AsyncOpenAI(base_url="http://127.0.0.1", api_key="x", max_retries=0) as client:
        for capture in captures:
            async with served(capture) as url:
                await _same_response(capture, client.with_options(base_url=url))


async def _same_response(capture: Captured, client: AsyncOpenAI) -> None:
    reply = assemble(capture.body, wire="responses")
    async with client.responses.stream(model="m", input="x") as stream:
        response = await stream.get_final_response()
    calls = [(i.name, i.arguments) for i in response.output if i.type == "function_call"]
    ours = (reply.content, [(c.name, c.arguments) for c in reply.tool_calls])
    assert ours == (response.output_text, calls), capture.name


CHUNKS = [chunk for capture in STREAMS for chunk in capture.body.split(b"\n\n")[:40] if len(chunk) < 2000]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(CHUNKS), max_size=12),
    st.sampled_from(["chat", "messages", "responses", None]),
    st.data(),
)
def test_any_events_in_any_order_are_read_the_same_in_any_pieces(
    chunks: list[bytes], wire: Any, data: st.DataObject
) -> None:
    body = b"\n\n".join([*chunks, b""])
    if chunks and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(body) - 1))
        body = body[:place] + data.draw(st.binary(max_size=3)) + body[place + 1 :]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=8)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert assemble(pieces, wire=wire) == assemble(body, wire=wire)
