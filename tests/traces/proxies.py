"""The recording proxy in front of servers that the tests script byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson

from replayer.traces.passing import Passed
from replayer.traces.recorder import serve
from replayer.traces.recording import Recording
from replayer.traces.upstream import upstream


@asynccontextmanager
async def proxy(
    url: str, recording: Recording, seen: list[bytes] | None = None, idle_seconds: float = 0.2
) -> AsyncIterator[str]:
    """A client that reads to the connection's end waits `idle_seconds` for it."""

    def take(passed: Passed) -> None:
        if seen is not None:
            seen.append(passed.request)
        recording.add(passed)

    proxy = await serve(upstream(url), take, "127.0.0.1", 0, idle_seconds)
    try:
        yield f"http://127.0.0.1:{proxy.port}/v1"
    finally:
        await proxy.close()
        recording.close()


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes]) -> AsyncIterator[str]:
    """A bare server that gives fixed bytes and closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(
            next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split(b":")[1]
        )
        writer.write(answer(head + await reader.readexactly(length)))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


def whole(body: bytes, head: bytes = b"") -> bytes:
    """A response of stated length; `head` are further header lines."""
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


def said(text: str) -> bytes:
    """A chat completion."""
    message = {"role": "assistant", "content": text}
    return orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def asking(text: str, path: str = "/v1/chat/completions", head: bytes = b"") -> bytes:
    """A request as it stands on the wire."""
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
    start = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n".encode()
    return start + head + b"\r\n" + body


Answer = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]
"""Answers one request (head and body); False ends the connection."""


@dataclass
class Scripted:
    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has closed its connection."""


@asynccontextmanager
async def scripted(answer: Answer) -> AsyncIterator[Scripted]:
    """A server that keeps connections and answers as asked."""
    state = Scripted()

    ended: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended[writer] = asyncio.Event()
        try:
            more = True
            while more:
                request = await _request(reader)
                state.requests.append(request)
                more = await answer(request, reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            state.gone.set()
        finally:
            writer.close()
            ended[writer].set()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield state
    finally:
        server.close()
        for writer, end in ended.items():
            writer.transport.abort()
            await end.wait()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
