"""What servers behind gateways send: compression, keep-alive races, redirects, odd framing."""

import asyncio
import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard

from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.types import Request
from tests.wire.asking import ask, is_ordinary, ordinary
from tests.wire.serving import (
    Received,
    chat,
    chunk,
    plain,
    serving,
    serving_raw,
    stream_head,
)


async def test_what_follows_the_end_of_a_reply_does_not_spoil_it() -> None:
    """Comments beyond every limit, or bytes that are not gzip, in the same packet as `[DONE]`."""

    async def comments(request: Received) -> None:
        await request.send(stream_head() + chunk(b"".join(chat()) + b": x\n\n" * 40_000))

    async def junk(request: Received) -> None:
        packed = gzip.compress(b"".join(chat())) + b"not gzip" * 100
        await request.send(plain(packed, headers="Content-Encoding: gzip\r\n"))

    for answer in (comments, junk):
        async with serving(answer) as server:
            reply = await ask(server.url)
        assert (reply.content, reply.done, reply.fault) == ("Hello there", True, None), answer


# Compressed bodies


def deflate_raw(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    ("deflate", zlib.compress),
    ("deflate", deflate_raw),
    ("zstd", zstandard.compress),
    ("identity", bytes),
]


@pytest.mark.parametrize(("name", "encode"), ENCODINGS)
@pytest.mark.parametrize("size", [1, 50, 100_000])
async def test_compressed_bodies(name: str, encode: Callable[[bytes], bytes], size: int) -> None:
    packed = encode(b"".join(chat()))
    pieces = [packed[i : i + size] for i in range(0, len(packed), size)]

    async def answer(request: Received) -> None:
        await request.send_chunks(*pieces, headers=f"Content-Encoding: {name}\r\n")

    async with serving(answer) as server:
        assert is_ordinary(await ask(server.url))
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_deltas_of_a_compressed_stream_arrive_one_by_one() -> None:
    arrived = asyncio.Event()

    async def answer(request: Received) -> None:
        packer = zlib.compressobj(wbits=31)
        await request.send(stream_head("Content-Encoding: gzip\r\n"))
        for event in chat():
            arrived.clear()
            await request.send(chunk(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)))
            if b'"content":"' in event and b'"content":""' not in event:
                await arrived.wait()  # the next one is not sent before this one was seen
        await request.send(chunk(packer.flush()), b"0\r\n\r\n")

    async with serving(answer) as server:
        client = WireClient(server.url)
        reply = await client.chat(Request([b"{}"]), lambda piece: arrived.set())
        await client.aclose()
    assert is_ordinary(reply) and len(set(reply.timing.arrivals)) == 2


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("lzma", b"x", "content encoding 'lzma', which is not one of"),
        ("gzip", b"no gzip", "cannot be read"),
        ("br", b"no brotli", "cannot be read"),
    ],
)
async def test_bodies_that_cannot_be_unpacked(name: str, body: bytes, message: str) -> None:
    async with serving(lambda r: r.send_chunks(body, headers=f"Content-Encoding: {name}\r\n")) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "stream_broken" and message in reply.fault.message


# Keep-alive


async def test_connections_are_kept() -> None:
    async with serving(ordinary) as server:
        await ask(server.url, times=3)
    assert [request.connection for request in server.requests] == [1, 1, 1]


async def test_connections_are_not_kept_where_the_server_says_so() -> None:
    async def answer(request: Received) -> None:
        await request.send_chunks(*chat(), headers="Connection: close\r\n")

    async with serving(answer) as server:
        assert is_ordinary(await ask(server.url, times=2))
    assert [request.connection for request in server.requests] == [1, 2]


async def test_a_server_that_closes_an_idle_connection_between_requests() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n")

    async with serving_raw(connected) as server:
        client = WireClient(server.url, retries=0)
        assert is_ordinary(await client.chat(Request([b"{}"])))
        while any(connection.reusable for connection in client._idle):
            await asyncio.sleep(0)  # until the client has seen it
        reply = await client.chat(Request([b"{}"]))
        await client.aclose()
    assert is_ordinary(reply) and reply.timing.retries == 0


async def test_a_server_that_closes_an_idle_connection_just_as_it_is_used() -> None:
    """The race itself: the second request on a connection is read, then the connection is closed unanswered."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n")
        await reader.readuntil(b"{}")

    async with serving_raw(connected) as server:
        client = WireClient(server.url, retries=0)
        first, second = [await client.chat(Request([b"{}"])) for _ in range(2)]
        await client.aclose()
    assert is_ordinary(first) and first.timing.retries == 0
    assert is_ordinary(second) and second.timing.retries == 1


async def test_a_new_connection_that_is_closed_unanswered_is_not_tried_again() -> None:
    """The engine may have begun: only where it cannot have is a request sent twice."""
    seen = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        seen.append(1)

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "stream_broken" and len(seen) == 1
    assert "before it answered" in reply.fault.message


# Redirects, statuses, odd framing


async def test_a_redirect_is_refused_in_a_sentence() -> None:
    async with serving(
        lambda r: r.send(plain(b"", "308 Permanent Redirect", "Location: https://a.example/v1\r\n"))
    ) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "unreachable" and len(server.requests) == 1
    assert reply.fault.message == (
        "the server redirects (status 308) to https://a.example/v1; "
        "redirects are not followed, give the final address as URL"
    )


@pytest.mark.parametrize("status", ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable"])
async def test_an_engine_that_has_not_begun_is_asked_again(status: str) -> None:
    async def answer(request: Received) -> None:
        if len(server.requests) < 3:
            await request.send(plain(b"busy", status, "Retry-After: 0\r\n"))
        else:
            await ordinary(request)

    async with serving(answer) as server:
        reply = await ask(server.url)
        assert is_ordinary(reply) and reply.timing.retries == 2
        del server.requests[:]
        reply = await ask(server.url, retries=1)
    assert reply.fault is not None and reply.timing.retries == 1 and reply.fault.message == "busy"
    assert reply.fault.kind == ("server_error" if status.startswith("502") else "overloaded")


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "500 Internal Server Error"])
async def test_other_errors_are_final(status: str) -> None:
    async with serving(lambda r: r.send(plain(b'{"error":"no"}', status))) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and (reply.fault.message, reply.fault.status) == ("no", int(status[:3]))
    assert len(server.requests) == 1 and reply.timing.first_token is None


async def test_an_interim_response_is_passed_over() -> None:
    async with serving(
        lambda r: r.send(b"HTTP/1.1 100 Continue\r\n\r\n", stream_head(), *map(chunk, chat()), b"0\r\n\r\n")
    ) as server:
        assert is_ordinary(await ask(server.url, times=2))


async def test_a_body_that_ends_with_the_connection() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(chat()))

    async with serving_raw(connected) as server:
        assert is_ordinary(await ask(server.url, times=2))


async def test_a_response_that_goes_on_after_done() -> None:
    async with serving(lambda r: r.send(stream_head(), *map(chunk, chat()))) as server:
        reply = await ask(server.url, timeouts=Timeouts(idle=300))
    assert is_ordinary(reply)
    assert reply.timing.ended - reply.timing.sent < 150e9  # the last byte, not when the patience ended


async def test_a_stream_that_breaks_off_keeps_its_text() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat()[:2])) + b"40\r\ndata: {")

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.content == "Hello" and not reply.done and reply.timing.retries == 0
    assert reply.fault is not None and reply.fault.kind == "stream_broken"
    assert reply.fault.message == "the server closed the connection in the middle of the answer"
    assert reply.notes == ()


@pytest.mark.parametrize(
    "body", [b"SSH-2.0-OpenSSH_9\r\n", b"<html>", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
async def test_a_server_that_speaks_no_http(body: bytes) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(body)

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.message.startswith("the answer is not HTTP")


async def test_text_before_broken_framing_is_kept() -> None:
    body = stream_head() + b"".join(map(chunk, chat()[:3])) + b"no chunk size\r\n"
    async with serving(lambda r: r.send(body)) as server:
        reply = await ask(server.url)
    assert reply.content == "Hello there"
    assert reply.fault is not None and reply.fault.message.startswith("the answer is not HTTP")


async def test_an_answer_that_comes_twice() -> None:
    answer = stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n"
    async with serving(lambda r: r.send(answer + answer)) as server:
        assert is_ordinary(await ask(server.url, times=3))


async def test_a_page_instead_of_an_engine() -> None:
    page = plain(b"<html>Sign in</html>", headers="Content-Type: text/html\r\n")
    async with serving(lambda r: r.send(page)) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "server_error"
    assert reply.fault.message == "the answer is not a chat completion: <html>Sign in</html>"
