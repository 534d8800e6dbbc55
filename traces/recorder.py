"""A recording reverse proxy: bytes pass unchanged both ways, and what passed becomes traces.

One connection to the server per connection of the client. Of a request only the request line's path and the Host line
are rewritten; a response passes byte for byte, before anything looks at it. Headers are never recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httptools

from replayer.errors import TraceError
from replayer.traces.credentials import in_head
from replayer.traces.recording import Passed
from replayer.wire.reply import ReplyReader
from replayer.wire.types import WireFault

_HEAD_LIMIT = 1 << 17
_KEPT_RAW = 64 << 20


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where requests go. `path` is what the URL has behind the host, e.g. `/v1`."""

    host: str
    port: int
    path: str
    tls: bool

    @property
    def authority(self) -> str:
        usual = 443 if self.tls else 80
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == usual else f"{name}:{self.port}"

    def target(self, path: str) -> str:
        """The path to ask for: a client that already has the prefix keeps it."""
        if not self.path or path == self.path or path.startswith(f"{self.path}/"):
            return path
        return self.path + path


def upstream(url: str) -> Upstream:
    """Raises TraceError for what is no http(s) URL."""
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TraceError(f"--upstream {url!r}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TraceError(f"--upstream {url!r}: a URL like http://127.0.0.1:8000 is needed")
    tls = parts.scheme == "https"
    return Upstream(parts.hostname, port or (443 if tls else 80), parts.path.rstrip("/"), tls)


@dataclass(slots=True)
class _Exchange:
    """One request on its way, and what is seen of the answer."""

    method: str
    path: str
    body: bytearray = field(default_factory=bytearray)
    raw: bytearray = field(default_factory=bytearray)
    reader: ReplyReader = field(default_factory=lambda: ReplyReader(stream=True))
    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    wall: float = 0.0
    credentials: tuple[bytes, ...] = ()


OnPassed = Callable[[Passed], None]


class _Client(asyncio.Protocol):
    """The client's side: cuts requests, rewrites their heads, and owns the connection to the server."""

    def __init__(self, to: Upstream, on_passed: OnPassed) -> None:
        self._to, self._on_passed = to, on_passed
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._server: _Server | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: list[bytes] = []
        self._head = bytearray()
        self._in_body = False
        self._parser: Any = None
        self.exchange: _Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._in_body:
            self._send(data)
            self._observe(data)
            return
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end >= 0:
            head, rest = bytes(self._head[: end + 4]), bytes(self._head[end + 4 :])
            self._head.clear()
            self._begin(head, rest)
        elif len(self._head) > _HEAD_LIMIT:
            self._refuse(431, "the request's head is too long")

    def connection_lost(self, error: Exception | None) -> None:
        if self._server is not None:
            self._server.close()
        if self._connecting is not None:
            self._connecting.cancel()
        self.ended("the client closed the connection")

    def pause_writing(self) -> None:
        if self._server is not None:
            self._server.hold(True)

    def resume_writing(self) -> None:
        if self._server is not None:
            self._server.hold(False)

    # What the parser of requests calls.
    def on_body(self, data: bytes) -> None:
        if self.exchange is not None:
            self.exchange.body += data

    def on_message_complete(self) -> None:
        self._in_body = False
        if self.exchange is not None:
            self.exchange.reader.sent(time.monotonic_ns())
            self.exchange.wall = time.time()

    def from_server(self, data: bytes) -> None:
        self._transport.write(data)

    def ended(self, reason: str | None = None) -> None:
        """The exchange is over; with a reason, before its answer was whole."""
        exchange, self.exchange = self.exchange, None
        if exchange is None or exchange.method != "POST":
            return
        broken = WireFault("stream_broken", reason) if reason else None
        at = time.monotonic_ns()
        reply = exchange.reader.reply(ended=at, broken=broken)
        self._on_passed(
            Passed(
                path=exchange.path,
                request=bytes(exchange.body),
                status=exchange.status,
                reply=reply,
                wall=exchange.wall or time.time(),
                raw=bytes(exchange.raw),
                credentials=exchange.credentials,
            )
        )

    def server_lost(self, reason: str | None) -> None:
        """The server closed: what it had to say is said, so the client's connection ends as well."""
        self._server = None
        if self.exchange is not None:
            self.ended(reason)
            self._transport.close()

    def _begin(self, head: bytes, rest: bytes) -> None:
        line, _, lines = head.partition(b"\r\n")
        parts = line.split(b" ")
        if len(parts) != 3:
            self._refuse(400, "no HTTP request")
            return
        method, path = parts[0].decode("latin-1"), parts[1].decode("latin-1")
        self.exchange = _Exchange(method, path.partition("?")[0])
        self._parser = httptools.HttpRequestParser(self)
        self._in_body = True
        target = self._to.target(path).encode("latin-1")
        self._send(b" ".join((parts[0], target, parts[2])) + b"\r\n" + self._with_host(lines) + rest)
        self.exchange.credentials = in_head(head)
        self._observe(head + rest)

    def _with_host(self, lines: bytes) -> bytes:
        host = b"Host: " + self._to.authority.encode("latin-1")
        kept = [host if line[:5].lower() == b"host:" else line for line in lines.split(b"\r\n")]
        return b"\r\n".join(kept)

    def _observe(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # From here on only bytes pass.
        except httptools.HttpParserError:
            self._refuse(400, "no HTTP request")

    def _send(self, data: bytes) -> None:
        if self._server is not None:
            self._server.write(data)
            return
        self._waiting.append(data)
        if self._connecting is None:
            self._connecting = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            _, server = await asyncio.wait_for(
                self._loop.create_connection(
                    lambda: _Server(self),
                    self._to.host,
                    self._to.port,
                    ssl=self._to.tls or None,
                    server_hostname=self._to.host if self._to.tls else None,
                ),
                timeout=30,
            )
        except (OSError, TimeoutError) as error:
            self._refuse(502, f"the upstream {self._to.authority} cannot be reached ({error or 'timeout'})")
            return
        finally:
            self._connecting = None
        self._server = server
        waiting, self._waiting = self._waiting, []
        server.write(b"".join(waiting))

    def _refuse(self, status: int, reason: str) -> None:
        """An answer of the proxy's own, for a request that cannot go on."""
        if self.exchange is not None:
            self.exchange.status = status
        self.ended(reason)
        body = (
            b'{"error":{"message":"replayer record: %s","type":"proxy"}}' % reason.replace('"', "'").encode()
        )
        head = f"HTTP/1.1 {status} Proxy\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        self._transport.close()


class _Server(asyncio.Protocol):
    """The server's side: passes every byte on at once, then looks at it."""

    def __init__(self, client: _Client) -> None:
        self._client = client
        self._transport: Any = None
        self._parser = httptools.HttpResponseParser(self)
        self._blind = False
        self._at = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        at = time.monotonic_ns()
        self._client.from_server(data)
        self._at = at
        if self._blind:
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._blind = True

    def connection_lost(self, error: Exception | None) -> None:
        exchange = self._client.exchange
        # A body without length ends with the connection; anything else that ends so is broken off.
        whole = exchange is not None and exchange.status and not _has_length(exchange.headers)
        self._client.server_lost(
            None if whole and error is None else "the server closed the connection early"
        )

    def pause_writing(self) -> None:
        self._client._transport.pause_reading()

    def resume_writing(self) -> None:
        self._client._transport.resume_reading()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def hold(self, held: bool) -> None:
        (self._transport.pause_reading if held else self._transport.resume_reading)()

    def close(self) -> None:
        self._transport.close()

    # What the parser of responses calls.
    def on_message_begin(self) -> None:
        if self._client.exchange is not None:
            self._client.exchange.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._client.exchange is not None:
            self._client.exchange.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        exchange = self._client.exchange
        if exchange is None:
            return
        exchange.status = self._parser.get_status_code()
        if exchange.status >= 200:
            exchange.reader.headers(exchange.status, exchange.headers, self._at)
        if exchange.method == "HEAD":
            self._blind = True
            self._client.ended()

    def on_body(self, data: bytes) -> None:
        exchange = self._client.exchange
        if exchange is not None:
            exchange.reader.body(data, self._at)
            if len(exchange.raw) < _KEPT_RAW and not exchange.path.endswith("/chat/completions"):
                exchange.raw += data

    def on_message_complete(self) -> None:
        exchange = self._client.exchange
        if exchange is not None and exchange.status >= 200:
            self._client.ended()


def _has_length(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in headers)


async def serve(to: Upstream, on_passed: OnPassed, host: str, port: int) -> asyncio.Server:
    """Starts the proxy. Raises TraceError when the port is taken."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(lambda: _Client(to, on_passed), host, port)
    except OSError as error:
        raise TraceError(f"--port {port}: {error.strerror or error}; choose another port") from None
