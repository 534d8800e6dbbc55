"""The streaming client: one per lane instance, for every engine."""

from __future__ import annotations

import asyncio
import random
import re
import ssl
import time
from collections.abc import Callable
from dataclasses import replace

import replayer
from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.wire.connection import Broken, Connection, Overdue
from replayer.wire.credentials import secrets_of
from replayer.wire.dial import dial, environment_proxy, is_lasting, read_url, tls_context, why
from replayer.wire.faults import Classify, default_fault
from replayer.wire.limits import Timeouts, TooLarge
from replayer.wire.remote import Receiver
from replayer.wire.reply import ReplyReader
from replayer.wire.types import PATHS, OnDelta, OnDeltas, Reply, Request, Wire, WireFault, each

_RETRIED = frozenset({429, 502, 503, 504, 529})
"""Statuses of a gateway or an engine that has not begun."""
_BREAKS = re.compile("[\r\n\0]")
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 10.0
_MOST_CONNECTIONS = 4096


@dataclass(slots=True)
class _Exchange:
    """One `chat` as far as it has come, so that a time-out anywhere can still say what was received."""

    reader: ReplyReader
    asked: int
    """When it began: nanoseconds of the monotonic clock."""
    retries: int = 0
    final: bool = False
    """Trying again is pointless."""
    connection: Connection | None = None
    """The one that the last attempt went over."""
    connect_until: float | None = None
    """Time of the loop when connecting must have succeeded, in whichever attempt."""

    def reply(self, broken: WireFault | None = None, ended: int | None = None) -> Reply:
        ended = ended or time.monotonic_ns()
        reply = self.reader.reply(ended=ended, retries=self.retries, broken=broken)
        return replace(
            reply, timing=replace(reply.timing, late_ns=self.connection.late_ns if self.connection else None)
        )


class WireClient:
    """Sends requests of any wire over kept-alive connections and gives back what came, with exact times.

    `base_url` ends before `/chat/completions`, `/messages` and `/responses`. `proxy` overrules HTTP(S)_PROXY,
    ALL_PROXY and NO_PROXY; the environment's proxies are never used for this very machine. `receiver` reads the sockets in a process of its own, and the
    kernel stamps what it reads; without one, the loop's own transports serve and the client stamps.
    Raises PlanError for an address that makes no sense.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        retries: int = 2,
        verify: ssl.SSLContext | bool = True,
        proxy: str | None = None,
        classify: Classify = default_fault,
        receiver: Receiver | None = None,
    ) -> None:
        self._origin, parts = read_url(base_url, "base URL")
        self._secrets = secrets_of(api_key, parts)
        proxy = proxy or environment_proxy(self._origin)
        self._proxy = read_url(proxy, "proxy")[0] if proxy else None
        secure = "https" in (self._origin.scheme, self._proxy.scheme if self._proxy else "")
        self._tls = tls_context(verify) if secure else None
        self._receiver = receiver
        self._timeouts, self._retries, self._classify = timeouts, retries, classify
        self._slots = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._idle: list[Connection] = []
        query = f"?{parts.query}" if parts.query else ""
        self._heads = {
            wire: self._fixed_head(parts.path.rstrip("/") + path + query, api_key, wire)
            for wire, path in PATHS.items()
        }

    async def chat(
        self, request: Request, on_delta: OnDelta | None = None, *, on_deltas: OnDeltas | None = None
    ) -> Reply:
        """Send one request. Whatever the engine or the network does is in `Reply.fault`; nothing is raised for it.

        `on_delta` gets every piece, `on_deltas` what came together, joined; where it returns True the connection is closed at once
        and the reply is what had come. Cancelling closes it likewise. Attempts are repeated only where the engine
        cannot have generated anything, and counted in `timing.retries`.
        """

        def reader() -> ReplyReader:
            return ReplyReader(
                stream=request.stream,
                on_deltas=on_deltas if on_delta is None else each(on_delta),
                classify=self._classify,
                wire=request.wire,
                joins=on_delta is None,
            )

        exchange = _Exchange(reader(), time.monotonic_ns())
        async with self._slots:
            return self._without_secrets(await self._chat(request, reader, exchange))

    def _without_secrets(self, reply: Reply) -> Reply:
        """Some gateways repeat in their refusal the key that they were sent."""
        if reply.fault is None:
            return reply
        message, body = reply.fault.message, reply.fault.body
        for secret in self._secrets:
            message, body = message.replace(secret, "…"), body and body.replace(secret, "…")
        return replace(reply, fault=replace(reply.fault, message=message, body=body))

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    async def _chat(self, request: Request, reader: Callable[[], ReplyReader], exchange: _Exchange) -> Reply:
        head = self._request_head(request)
        failures = 0
        fresh = False
        while True:
            reply = await self._attempt(head, request, exchange, fresh)
            if reply is None:  # the server closed an idle connection just as we used it
                fresh = True
            elif not self._worth_another(exchange, reply) or failures >= self._retries:
                return reply
            else:
                failures += 1
                pause = _pause(failures, exchange.reader.retry_after)
                if self._timeouts.total and _seconds_since(exchange.asked) + pause > self._timeouts.total:
                    return reply
                await asyncio.sleep(pause)
            exchange.retries += 1
            exchange.reader = reader()

    async def _attempt(self, head: bytes, request: Request, exchange: _Exchange, fresh: bool) -> Reply | None:
        """None where a kept-alive connection turned out to be closed."""
        exchange.connection = None
        try:
            connection = await self._connection(exchange, fresh)
        except OSError as error:
            exchange.final = is_lasting(error) or (isinstance(error, TimeoutError) and error.errno is None)
            return exchange.reply(self._unreachable(error))
        old = connection.used
        exchange.connection, exchange.connect_until = connection, None
        try:
            ended = await connection.exchange(
                head, request.body, exchange.reader, self._timeouts, exchange.asked
            )
        except Broken as error:
            if old and not error.answered:
                return None
            return exchange.reply(WireFault("stream_broken", str(error), exchange.reader.status or None))
        except Overdue as error:
            return exchange.reply(WireFault("timeout", str(error), exchange.reader.status or None))
        except TooLarge as error:
            exchange.final = True
            return exchange.reply(WireFault("too_large", str(error), exchange.reader.status or None))
        if connection.reusable:
            self._idle.append(connection)
        return exchange.reply(ended=ended)

    async def _connection(self, exchange: _Exchange, fresh: bool) -> Connection:
        while self._idle and not fresh:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
        if exchange.connect_until is None and self._timeouts.connect is not None:
            exchange.connect_until = asyncio.get_running_loop().time() + self._timeouts.connect
        async with asyncio.timeout_at(exchange.connect_until):
            return await dial(self._origin, self._proxy, self._tls, self._receiver)

    def _unreachable(self, error: OSError) -> WireFault:
        where = self._origin.name + (f" through {self._proxy.name}" if self._proxy else "")
        if isinstance(error, TimeoutError) and error.errno is None:  # ours, not that of the system
            return WireFault("unreachable", f"no connection to {where} within {self._timeouts.connect:g} s")
        return WireFault("unreachable", f"cannot connect to {where}: {why(error)}")

    def _worth_another(self, exchange: _Exchange, reply: Reply) -> bool:
        fault = reply.fault
        if fault is None or exchange.final:
            return False
        if reply.timing.headers is None:
            return fault.kind == "unreachable"
        return fault.status in _RETRIED and fault.kind != "context_too_long" and not reply.timing.arrivals

    def _fixed_head(self, target: str, api_key: str | None, wire: Wire) -> bytes:
        origin, proxy = self._origin, self._proxy
        if proxy is not None and origin.scheme == "http":
            target = origin.name + target
        headers = {
            "Host": origin.authority,
            "User-Agent": f"replayer/{replayer.__version__}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        }
        if api_key or origin.credentials:
            headers["Authorization"] = f"Bearer {api_key}" if api_key else str(origin.credentials)
        if api_key and wire == "messages":
            headers["x-api-key"] = api_key
        if proxy is not None and proxy.credentials and origin.scheme == "http":
            headers["Proxy-Authorization"] = proxy.credentials
        return f"POST {target} HTTP/1.1\r\n".encode("latin-1") + _lines(headers)

    def _request_head(self, request: Request) -> bytes:
        accept = "text/event-stream" if request.stream else "application/json"
        headers = {"Accept": accept, "Content-Length": str(request.content_length), **request.headers}
        return self._heads[request.wire] + _lines(headers) + b"\r\n"


def _lines(headers: dict[str, str]) -> bytes:
    for name, value in headers.items():
        if _BREAKS.search(name) or _BREAKS.search(value):
            raise PlanError(f"the header {name!r} holds a line break: remove it from the key or the plan")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("utf-8")


def _seconds_since(then: int) -> float:
    return (time.monotonic_ns() - then) / 1e9


def _pause(failures: int, retry_after: float | None) -> float:
    longest = min(_FIRST_PAUSE_S * 2.0 ** (failures - 1), _LONGEST_PAUSE_S)
    return min(retry_after, _LONGEST_PAUSE_S) if retry_after is not None else longest * random.uniform(0.5, 1)
