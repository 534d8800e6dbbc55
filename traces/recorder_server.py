"""The recording proxy's connection to the server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, cast

import httptools

from replayer.wire.limits import LIMITS, mib

if TYPE_CHECKING:
    from replayer.traces.recorder import Client


class ServerSide(asyncio.Protocol):
    """The server's side: passes every byte on at once, then looks at it."""

    _transport: asyncio.Transport

    def __init__(self, client: Client) -> None:
        self._client = client
        self._blind = False
        self._headers: list[tuple[bytes, bytes]] = []
        self.keeps_alive = False
        """It has answered, and did not say that it would close."""
        self._at = 0
        self._framing = 0
        """Bytes since the last one of a body: a parser keeps headers until they are whole."""
        self._parser = httptools.HttpResponseParser(self)

    def expect(self) -> None:
        """Another request goes out. What followed an answer to HEAD is not a body: the parser begins anew."""
        if self._blind:
            self._blind = False
            self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        at = time.monotonic_ns()
        self._client.from_server(data)
        self._at = at
        if self._blind:
            return
        self._framing += len(data)
        if self._framing > LIMITS.framing + len(data) or len(self._headers) > LIMITS.headers:
            self._client.ended(f"headers and framing of more than {mib(LIMITS.framing)}", "too_large")
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._blind = True
        except httptools.HttpParserError:
            self._blind = True
            self._client.blind()

    def connection_lost(self, error: Exception | None) -> None:
        exchange = self._client.exchange
        # A body without length ends with the connection; anything else that ends so is broken off.
        whole = exchange is not None and exchange.status >= 200 and not exchange.has_length
        answered = "early" if exchange is not None and exchange.status else "before it answered"
        reason = None if whole and error is None else f"the server closed the connection {answered}"
        self._client.server_lost(reason)

    def pause_writing(self) -> None:
        self._client.hold(True)

    def resume_writing(self) -> None:
        self._client.hold(False)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def hold(self, held: bool) -> None:
        hold_reading(self._transport, held)

    def close(self) -> None:
        """The client has left: nothing that is still to be sent is wanted any more."""
        self._transport.abort()

    # What the parser of responses calls.
    def on_message_begin(self) -> None:
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        exchange, status = self._client.exchange, self._parser.get_status_code()
        if exchange is None or (status < 200 and status != 101):
            return
        exchange.answered(status, self._headers, self._at)
        if status == 101 or (exchange.method == "CONNECT" and status < 300):
            self._blind = True
            self._client.ended()
            self._client.blind()
        elif exchange.method == "HEAD":
            self._blind = True
            self._client.ended()

    def on_body(self, data: bytes) -> None:
        exchange, self._framing = self._client.exchange, 0
        if exchange is not None:
            exchange.received(data, self._at)

    def on_message_complete(self) -> None:
        exchange = self._client.exchange
        if exchange is not None and exchange.status >= 200:
            self._framing = 0
            self.keeps_alive = exchange.has_length and self._parser.should_keep_alive()
            self._client.ended()


def hold_reading(transport: asyncio.Transport, held: bool) -> None:
    if not transport.is_closing():
        with contextlib.suppress(RuntimeError):  # already so, which some loops take for a mistake
            (transport.pause_reading if held else transport.resume_reading)()
