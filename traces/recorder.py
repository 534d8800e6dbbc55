"""A recording reverse proxy: bytes pass unchanged both ways, and what passed becomes traces.

One connection to the server per connection of the client, opened again where the server has closed it between two
requests. Of a request only the request line's path and the Host line
are rewritten; a response passes byte for byte, before anything looks at it. Headers are never recorded.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from replayer.errors import TraceError
from replayer.traces.passing import Observed, Passed
from replayer.traces.recorder_guard import refusal
from replayer.traces.recorder_server import ServerSide, hold_reading
from replayer.traces.request_framing import Head, read_head
from replayer.traces.upstream import Upstream
from replayer.wire.limits import mib
from replayer.wire.types import FaultKind

_HEAD_LIMIT = 1 << 17
_HELD_LIMIT = 1 << 20
"""Bytes that a client may send ahead of the answer to its last request before it is read no further."""
_RESENT_LIMIT = 64 << 20
"""Bytes of a request that are kept until its answer begins, to send them again."""
_IDLE_SECONDS = 30.0
"""How long a client's connection outlives the server's. A request that is on its way when it ends is lost, so this is
long beside a busy machine's pauses."""
_LINGER_SECONDS = 10
_REQUEST_LIMIT = 128 << 20
"""Bytes of a request that is to be recorded."""


OnPassed = Callable[[Passed], None]


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds, whatever a client waits for: to connect, to the end of an answer's headers, for a whole exchange."""

    connect: float = 10.0
    first_byte: float = 600.0
    total: float = 3600.0


class Client(asyncio.Protocol):
    """The client's side: cuts requests, rewrites their heads, and owns the connection to the server.

    One exchange at a time: what a client sends ahead waits until the answer before it is whole.
    """

    _transport: asyncio.Transport

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._to = proxy.to
        self._loop = asyncio.get_running_loop()
        self._server: ServerSide | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: list[bytes] = []
        self._head = bytearray()
        self._ahead = bytearray()
        self._request: Observed | None = None
        """The request whose body is still passing."""
        self._blind = False
        self._refused = False
        self._sent = bytearray()
        """What of the current request went into a connection that had been used before."""
        self._closing: asyncio.TimerHandle | None = None
        self._last_request = False
        """The client wants its connection closed after the current request."""
        self._again = False
        """The current request may be sent once more: not a byte of an answer has come."""
        self.exchange: Observed | None = None
        """The request whose answer is not whole."""
        self._limit: asyncio.TimerHandle | None = None
        self._begun = False
        """Something of the answer has gone to the client, so that an answer of the proxy's own would garble it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._proxy.clients.add(self)

    def data_received(self, data: bytes) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        while data and not self._refused:
            if self._blind:
                self._send(data)
                return
            if self._request is not None:
                data = self._pass_body(self._request, data)
            elif self.exchange is not None or self._ahead:
                self._ahead += data
                if len(self._ahead) > _HELD_LIMIT:
                    self.hold(True)
                return
            else:
                data = self._pass_head(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._proxy.clients.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._server is not None:
            self._server.close()
        self.ended("the client closed the connection")

    def pause_writing(self) -> None:
        if self._server is not None:
            self._server.hold(True)

    def resume_writing(self) -> None:
        if self._server is not None:
            self._server.hold(False)

    def hold(self, held: bool) -> None:
        hold_reading(self._transport, held)

    def from_server(self, data: bytes) -> None:
        if self._again:
            self._again = False
            self._sent.clear()
        self._begun = True
        self._transport.write(data)

    def blind(self) -> None:
        """From here on only bytes pass: another protocol, or none that is known."""
        self._blind = True
        self._go_on()

    def ended(self, reason: str | None = None, kind: FaultKind = "stream_broken") -> None:
        """The exchange is over; with a reason, before its answer was whole."""
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if self._limit is not None:
            self._limit.cancel()
        if self._ahead:
            self._loop.call_soon(self._go_on)
        if exchange.is_recorded:
            self._proxy.on_passed(exchange.passed(reason, kind))

    def server_lost(self, reason: str | None) -> None:
        """The server closed. Between two requests that is its right, and a request that it had not begun to answer
        goes out again; otherwise what it had to say is said, so the client's connection ends as well."""
        last, self._server = self._server, None
        if self.exchange is None and last is not None and last.keeps_alive and not self._blind:
            idle = 0 if self._last_request else self._proxy.idle_seconds
            self._closing = self._loop.call_later(idle, self._transport.close)
            return
        if self._again and not self._refused:
            self._send_again()
            return
        if self.exchange is not None and reason is not None and not self._begun and not self._refused:
            self._refuse(502, f"the upstream {self._to.authority}: {reason}", "stream_broken")
            return
        self.ended(reason)
        if not self._refused:
            self._transport.close()

    def stop(self) -> None:
        """The recorder ends: what has come until now is all there is."""
        self.ended("the recorder was stopped")
        self._transport.abort()

    def _unanswered(self) -> None:
        waits = self._proxy.waits
        if self.exchange is not None and self.exchange.status and waits.first_byte < waits.total:
            self._limit = self._loop.call_later(waits.total - waits.first_byte, self._overdue)
            return
        seconds = min(waits.first_byte, waits.total)
        late = f"the upstream {self._to.authority} did not begin to answer within {seconds:g} s"
        self._overdue() if self._begun else self._refuse(504, late, "timeout")

    def _overdue(self) -> None:
        self.ended(f"the answer was not whole within {self._proxy.waits.total:g} s", "timeout")
        self._transport.abort()

    def _send_again(self) -> None:
        """The server had closed a kept-alive connection just as this request went into it."""
        sent, self._sent, self._again = bytes(self._sent), bytearray(), False
        if self.exchange is not None and self._request is None:
            self.exchange.sent()
        self._send(sent)

    def _pass_head(self, data: bytes) -> bytes:
        """Collects a head and sends it on; returns what is behind it."""
        self._head += data
        if not self._head.lstrip(b"\r\n")[:1].isalpha():  # line ends between requests are allowed; TLS is not
            if self._head.strip(b"\r\n"):
                self._refuse(400, "this is no HTTP request (the address begins with http://, not https://)")
            return b""
        end = self._head.find(b"\r\n\r\n", len(self._head) - len(self._head.lstrip(b"\r\n")))
        if end < 0:
            if len(self._head) > _HEAD_LIMIT:
                self._refuse(431, "the request's head is too long")
            return b""
        block, rest = bytes(self._head[: end + 4]).lstrip(b"\r\n"), bytes(self._head[end + 4 :])
        self._head.clear()
        try:
            head = read_head(block)
            reason = refusal(head.fields, self._proxy.host)
            if reason is None:
                self._begin(head, block)
            else:
                self._refuse(403, reason)
        except ValueError as error:
            self._refuse(400, str(error))
        return rest

    def _begin(self, head: Head, block: bytes) -> None:
        self._sent.clear()
        self._last_request = head.fields.get(b"connection", b"").lower() == b"close"
        self._again = self._server is not None and self._server.keeps_alive
        if self._server is not None:
            self._server.expect()
        target = self._to.target(head.target).encode("latin-1")
        line = b" ".join((head.method.encode(), target, head.version))
        host = b"Host: " + self._to.authority.encode("latin-1")
        fields = (host if field[:5].lower() == b"host:" else field for field in head.lines.split(b"\r\n"))
        self._send(b"\r\n".join((line, *fields)))
        self.exchange = self._request = exchange = Observed(head, block)
        self._begun = False
        waits = self._proxy.waits
        self._limit = self._loop.call_later(min(waits.first_byte, waits.total), self._unanswered)
        if exchange.body.done:
            self._whole(exchange)

    def _pass_body(self, request: Observed, data: bytes) -> bytes:
        try:
            taken = request.body.take(data)
        except ValueError as error:
            self._refuse(400, str(error))
            return b""
        if len(request.body.content) > _REQUEST_LIMIT:
            self._refuse(413, f"the request is larger than {mib(_REQUEST_LIMIT)}")
            return b""
        self._send(data if taken == len(data) else data[:taken])
        if request.body.done:
            self._whole(request)
        return data[taken:]

    def _whole(self, request: Observed) -> None:
        self._request = None
        request.sent()

    def _go_on(self) -> None:
        ahead, self._ahead = bytes(self._ahead), bytearray()
        if ahead:
            self.hold(False)
            self.data_received(ahead)

    def _send(self, data: bytes) -> None:
        if self._again:
            self._sent += data
            self._again = len(self._sent) <= _RESENT_LIMIT
        if self._server is not None:
            self._server.write(data)
            return
        self._waiting.append(data)
        if self._connecting is None:
            self._connecting = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        to = self._to
        name = to.host if to.tls else None
        try:
            async with asyncio.timeout(self._proxy.waits.connect):
                _, server = await self._loop.create_connection(
                    lambda: ServerSide(self), to.host, to.port, ssl=to.tls, server_hostname=name
                )
        except (OSError, TimeoutError) as error:
            late = f"no connection within {self._proxy.waits.connect:g} s"
            why = late if isinstance(error, TimeoutError) else _reason(error)
            self._refuse(502, f"the upstream {to.authority} cannot be reached ({why})", "unreachable")
            return
        finally:
            self._connecting = None
        self._server = server
        waiting, self._waiting = self._waiting, []
        server.write(b"".join(waiting))

    def _refuse(self, status: int, reason: str, kind: FaultKind = "bad_request") -> None:
        """An answer of the proxy's own, for a request that cannot go on."""
        if self.exchange is not None:
            self.exchange.status = status
        self._refused = True
        self._request = None
        self._waiting.clear()
        self.ended(reason, kind)
        words = reason.replace("\\", "/").replace('"', "'")
        body = f'{{"error":{{"message":"replayer record: {words}","type":"proxy"}}}}'.encode()
        head = f"HTTP/1.1 {status} Proxy\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        if self._server is not None:
            self._server.close()
        if self._transport.can_write_eof():
            # Closing at once while the client still sends would reset the connection and lose the answer.
            self._transport.write_eof()
            self._loop.call_later(_LINGER_SECONDS, self._transport.abort)
        else:
            self._transport.close()


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}; --ca-file names the certificate to trust"
    return error.strerror or str(error) or type(error).__name__


class Proxy:
    """A proxy that listens, and the clients that are connected to it."""

    def __init__(self, to: Upstream, on_passed: OnPassed, idle_seconds: float, waits: Waits) -> None:
        self.to, self.waits = to, waits
        self.on_passed = on_passed
        self.idle_seconds = idle_seconds
        self.host = ""
        """Where it listens, as its user wrote it."""
        self.clients: set[Client] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def listen(self, host: str, port: int) -> None:
        """Raises TraceError when the address cannot be had."""
        if not 0 <= port <= 65535:
            raise TraceError(f"--port {port}: a port is a number from 0 to 65535")
        self.host, loop = host, asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: Client(self), host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise TraceError(f"--port {port}: the port is in use; choose another") from None
            raise TraceError(
                f"--host {host}: cannot be listened on ({error.strerror or error}); choose another address"
            ) from None

    async def close(self) -> None:
        """Takes no more clients; exchanges under way end here and are recorded as far as they came."""
        if self._server is not None:
            self._server.close()
        for client in tuple(self.clients):
            client.stop()
        while self.clients:
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # their connections to the server close as well


async def serve(
    to: Upstream,
    on_passed: OnPassed,
    host: str,
    port: int,
    idle_seconds: float = _IDLE_SECONDS,
    waits: Waits = Waits(),
) -> Proxy:
    """Starts the proxy; port 0 takes any that is free. Raises TraceError when the port is taken."""
    proxy = Proxy(to, on_passed, idle_seconds, waits)
    await proxy.listen(host, port)
    return proxy
