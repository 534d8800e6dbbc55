"""The simulated engine's HTTP side: a small server on asyncio and httptools. A body is dropped once it is parsed."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Awaitable, Callable

import httptools

Handler = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request and the ways to answer it."""

    def __init__(self, connection: Connection, method: str, path: str, headers: dict[str, str]) -> None:
        self._connection = connection
        self.method = method
        self.path = path
        self.headers = headers
        self.body = bytearray()
        self.started = False
        self.received = 0.0
        """When the whole request was here, seconds of the monotonic clock."""

    def send(
        self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        """A whole answer."""
        fields = {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}
        self._connection.write(self._head(status, fields) + body)

    def start_stream(self) -> None:
        fields = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        self._connection.write(self._head(200, fields))

    def write(self, data: bytes) -> None:
        if data:  # an empty chunk would end the stream
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))

    def finish_stream(self) -> None:
        self._connection.write(b"0\r\n\r\n")

    async def drain(self) -> None:
        await self._connection.drain()

    def raw(self, data: bytes) -> None:
        """Captured bytes, head included."""
        self.started = True
        self._connection.write(data)

    def abort(self) -> None:
        self._connection.abort()

    def _head(self, status: int, fields: dict[str, str]) -> bytes:
        self.started = True
        phrase = http.client.responses.get(status, "Unknown")
        fields = {"server": self._connection.name, **fields}
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in fields.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Connection(asyncio.Protocol):
    """One client connection; requests are answered one after another."""

    def __init__(self, handler: Handler, name: str, open_connections: set[Connection]) -> None:
        self._handler = handler
        self._open = open_connections
        self.name = name
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: list[Exchange] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self._writable.set()
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()

    def on_message_begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._url = b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        method = self._parser.get_method().decode("latin-1")
        self._exchange = Exchange(self, method, self._url.decode("latin-1"), self._headers)
        if self._headers.get("expect", "").lower() == "100-continue":
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        assert self._exchange is not None
        self._exchange.body += body

    def on_message_complete(self) -> None:
        assert self._exchange is not None
        self._exchange.received = time.monotonic()
        self._waiting.append(self._exchange)
        self._exchange = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        while self._waiting and not self._transport.is_closing():
            exchange = self._waiting.pop(0)
            await self._handler(exchange)
            if exchange.headers.get("connection", "").lower() == "close":
                self._transport.close()
        self._task = None

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        await self._writable.wait()

    def abort(self) -> None:
        self._transport.abort()


async def listen(handler: Handler, host: str, port: int, name: str) -> tuple[int, Callable[[], None]]:
    """Start serving: the port in use, and what ends it, with every connection that is still open."""
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(handler, name, connections), host, port, backlog=4096
    )

    def close() -> None:
        server.close()
        for connection in tuple(connections):
            connection.abort()

    return server.sockets[0].getsockname()[1], close
