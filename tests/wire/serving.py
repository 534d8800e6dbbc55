"""A scripted HTTP server over real sockets: each test says byte for byte what it answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

import orjson


@dataclass
class Received:
    """One request as it came, and where to answer."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            if self.writer.is_closing():  # uvloop raises RuntimeError where asyncio says nothing
                raise ConnectionResetError("the client is gone")
            self.writer.write(piece)
            await self.writer.drain()

    async def send_chunks(self, *pieces: bytes, headers: str = "", status: str = "200 OK") -> None:
        """A streamed answer, a chunk for each piece."""
        await self.send(stream_head(headers, status), *map(chunk, pieces), b"0\r\n\r\n")


Answer = Callable[[Received], Awaitable[None]]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    port: int
    scheme: str
    host: str
    requests: list[Received] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client is gone, or its connection was served."""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/v1"


def stream_head(headers: str = "", status: str = "200 OK") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
    ).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def plain(body: bytes, status: str = "200 OK", headers: str = "Content-Type: application/json\r\n") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def event(payload: object) -> bytes:
    return b"data: " + orjson.dumps(payload) + b"\n\n"


def delta(**fields: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


def finish(reason: str = "stop") -> bytes:
    return event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


DONE = b"data: [DONE]\n\n"


def chat(text: str = "Hello there") -> list[bytes]:
    """An ordinary stream, word by word."""
    words = [word if not number else " " + word for number, word in enumerate(text.split(" "))]
    usage = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": len(words)}})
    return [delta(role="assistant", content=""), *(delta(content=w) for w in words), finish(), usage, DONE]


@asynccontextmanager
async def serving(
    answer: Answer, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """A server that reads requests and has each answered."""
    numbers = count(1)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(numbers)
        while (request := await _read(reader, writer, number)) is not None:
            state.requests.append(request)
            await answer(request)

    async with serving_raw(connected, tls=tls, host=host) as state:
        yield state


@asynccontextmanager
async def serving_raw(
    connected: Connected, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """A server that leaves everything to `connected`; a connection is closed when that returns."""
    state = Server(0, "https" if tls else "http", host)
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await connected(reader, writer)
        state.closed.set()
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    server = await asyncio.start_server(run, host, 0, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.decode().split("\r\n")
    method, target, _ = line.split(" ")
    headers = {name.lower(): value for name, _, value in (text.partition(": ") for text in lines if text)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, number, writer)
