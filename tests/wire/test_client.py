"""The client against a scripted server over real sockets."""

import asyncio
import gc
import time
from typing import Any

import pytest

from replayer.errors import PlanError
from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.types import Delta, Reply, Request
from tests.wire.serving import (
    DONE,
    Answer,
    Received,
    chat,
    chunk,
    delta,
    plain,
    serving,
    serving_raw,
    stream_head,
)

BODY = [b'{"model":"m",', b'"stream":true}']


async def ask(answer: Answer, *, stream: bool = True, **options: Any) -> Reply:
    async with serving(answer) as server:
        client = WireClient(server.url, **options)
        try:
            return await client.chat(Request(BODY, stream=stream))
        finally:
            await client.aclose()


async def ordinary(request: Received) -> None:
    await request.send_chunks(*chat())


async def test_a_stream_becomes_a_reply() -> None:
    reply = await ask(ordinary)
    assert (reply.content, reply.finish_reason, reply.done, reply.fault) == (
        "Hello there",
        "stop",
        True,
        None,
    )
    assert reply.usage == {"prompt_tokens": 3, "completion_tokens": 2}
    timing = reply.timing
    assert timing.headers is not None and timing.first_token is not None and timing.retries == 0
    assert timing.sent <= timing.headers <= timing.first_token <= timing.ended
    assert len(timing.arrivals) == 2 and timing.first_token == timing.sent + timing.arrivals[0]


async def test_the_request_is_what_was_asked_for() -> None:
    async with serving(ordinary) as server:
        client = WireClient(server.url + "/?api-version=3", api_key="secret")
        await client.chat(Request(BODY, headers={"X-Session-Id": "7"}))
        await client.aclose()
    (request,) = server.requests
    assert (request.method, request.target) == ("POST", "/v1/chat/completions?api-version=3")
    assert request.body == b"".join(BODY)
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["x-session-id"] == "7"
    assert request.headers["content-length"] == str(len(request.body))
    assert "transfer-encoding" not in request.headers


async def test_deltas_are_handed_over_as_they_arrive() -> None:
    go_on = asyncio.Event()
    seen: list[Delta] = []

    async def answer(request: Received) -> None:
        await request.send(
            stream_head(), chunk(delta(role="assistant", content="")), chunk(delta(content="a"))
        )
        await go_on.wait()
        await request.send(*map(chunk, [delta(content="b"), DONE]), b"0\r\n\r\n")

    def on_delta(piece: Delta) -> None:
        seen.append(piece)
        go_on.set()

    async with serving(answer) as server:
        client = WireClient(server.url)
        before = time.monotonic_ns()
        reply = await client.chat(Request(BODY), on_delta)
        await client.aclose()
    assert [(d.channel, d.text) for d in seen] == [("content", "a"), ("content", "b")]
    assert before < seen[0].at < seen[1].at and reply.timing.first_token == seen[0].at


async def test_a_stop_ends_the_stream_and_keeps_the_text() -> None:
    async def answer(request: Received) -> None:
        await request.send(stream_head(), chunk(delta(content="one")))
        await request.send(chunk(delta(content=" two")))
        await asyncio.sleep(60)

    async with serving(answer) as server:
        client = WireClient(server.url)
        reply = await client.chat(Request(BODY), lambda piece: piece.text == " two")
        await client.aclose()
    assert (reply.content, reply.stopped_by_us, reply.done, reply.fault) == ("one two", True, False, None)


async def test_an_error_of_the_caller_reaches_the_caller() -> None:
    def on_delta(piece: Delta) -> None:
        raise ValueError("a signal is broken")

    async with serving(ordinary) as server:
        client = WireClient(server.url)
        with pytest.raises(ValueError, match="a signal is broken"):
            await client.chat(Request(BODY), on_delta)
        await client.aclose()


@pytest.mark.parametrize("how", ["cancel", "stop", "total", "idle"])
async def test_whatever_ends_a_stream_closes_its_connection(how: str) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + chunk(delta(content="a")))
        await reader.read()  # until the client is gone

    async with serving_raw(connected) as server:
        if how == "cancel":
            arrived = asyncio.Event()
            client = WireClient(server.url)
            task = asyncio.create_task(client.chat(Request([b"{}"]), lambda piece: arrived.set()))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            reply = await cut_short(server.url, how)
            assert (reply.fault.kind if reply.fault else None) == (None if how == "stop" else "timeout")
        await server.closed.wait()


async def cut_short(url: str, how: str) -> Reply:
    """Ended after the first delta. On a machine too busy to bring that in time, the limit is doubled."""
    seconds = 0.2
    while True:
        limits = {"total": Timeouts(total=seconds), "idle": Timeouts(idle=seconds)}
        client = WireClient(url, timeouts=limits.get(how, Timeouts()))
        reply = await client.chat(Request([b"{}"]), lambda piece: how == "stop")
        if reply.content == "a":
            return reply
        seconds *= 2


async def test_a_reply_that_is_not_streamed() -> None:
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    reply = await ask(lambda request: request.send(plain(body)), stream=False)
    assert (reply.content, reply.done, reply.streamed, reply.fault) == ("hi", True, False, None)
    assert reply.timing.first_token is None and reply.timing.arrivals == ()


async def test_an_engine_that_does_not_stream_though_asked_to() -> None:
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    reply = await ask(lambda request: request.send(plain(body)))
    assert reply.content == "hi" and not reply.streamed and reply.notes[0].code == "other_mode"


async def test_a_stream_where_none_was_asked_for() -> None:
    reply = await ask(ordinary, stream=False)
    assert reply.content == "Hello there" and reply.streamed and reply.notes[0].code == "other_mode"


async def test_content_types_are_not_trusted() -> None:
    for kind in ("application/json", "text/html", "x"):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        reply = await ask(lambda request, head=head: request.send(head, *map(chunk, chat()), b"0\r\n\r\n"))
        assert reply.content == "Hello there" and reply.notes == ()
    error = plain(b'{"error":{"message":"no"}}', headers="Content-Type: text/event-stream\r\n")
    reply = await ask(lambda request: request.send(error))
    assert reply.fault is not None and (reply.fault.kind, reply.fault.message) == ("server_error", "no")


async def test_a_large_request_is_sent_whole_from_its_pieces() -> None:
    history = memoryview(bytes(range(256)) * 4000)
    pieces = [b"[", history, b",", history[1000:2000], *[b"x"] * 5000, b"]"]
    async with serving(ordinary) as server:
        client = WireClient(server.url)
        reply = await client.chat(Request(pieces))
        await client.aclose()
    assert server.requests[0].body == b"".join(pieces)
    assert reply.fault is None


async def test_an_answer_before_the_request_is_read() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(plain(b'{"error":{"message":"too large"}}', "413 Payload Too Large"))
        while await reader.read(65536):
            pass

    async with serving_raw(connected) as server:
        client = WireClient(server.url)
        reply = await client.chat(Request([b"x" * (64 << 20)]))
        await client.aclose()
    assert reply.fault is not None and (reply.fault.kind, reply.fault.message) == (
        "context_too_long",
        "too large",
    )


async def test_replies_do_not_wait_for_the_garbage_collector() -> None:
    """It is put off while a run goes on (`replayer.wire.loop`)."""
    async with serving(ordinary) as server:
        client = WireClient(server.url)
        await client.chat(Request(BODY))
        gc.collect()
        gc.disable()
        try:
            for _ in range(50):
                await client.chat(Request(BODY), lambda piece: False)
            assert gc.collect() < 50
        finally:
            gc.enable()
            await client.aclose()


@pytest.mark.parametrize("key", ["a\nb", "a\r\nX-Evil: 1"])
def test_a_key_with_a_line_break_is_refused(key: str) -> None:
    with pytest.raises(PlanError, match="Authorization"):
        WireClient("http://localhost/v1", api_key=key)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8000", "must look like http://host:port"),
        ("http://", "must look like"),
        ("http://host:port/v1", "cannot be read"),
        ("ftp://host/v1", "must look like"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(url: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        WireClient(url)


async def test_a_refusal_in_the_middle_of_the_upload_is_read() -> None:
    """The server answers after the head and closes with most of the request unread: the kernel resets then."""
    page = b'{"error":{"message":"too large","code":413}}'

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(plain(page, "413 Payload Too Large"))
        await writer.drain()

    async with serving_raw(connected) as server:
        client = WireClient(server.url, retries=0)
        reply = await client.chat(Request([b"x" * 1_000_000] * 30))
        await client.aclose()
    assert reply.fault is not None and reply.fault.status == 413
