"""TLS on top of the receiver's transport: what was in a packet keeps the packet's stamp."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence

from replayer.wire.remote import Arrived, Received, StampingTransport

_READ = 256 << 10


class TlsTransport(StampingTransport):
    """For a connection a transport, for the transport `under` it a connection. Encrypts in this process, which no
    time depends on: the receiver stamps what goes out and what comes in."""

    def __init__(self, context: ssl.SSLContext, host: str, connection: Received) -> None:
        super().__init__()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._connection = connection
        self._under: StampingTransport | None = None
        self._agreed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self, under: StampingTransport) -> None:
        """Agree on keys. Raises ssl.SSLError, or OSError where the connection is lost."""
        self._under = under
        self._shake_hands()
        try:
            await self._agreed
        except BaseException:
            under.abort()
            raise

    # replayer.wire.remote.Received

    def sent(self, at: int) -> None:
        self._connection.sent(at)

    def receive(self, arrived: Sequence[Arrived]) -> None:
        for data, now, kernel, delay in arrived:
            self._incoming.write(data)
            if not self._agreed.done():
                self._shake_hands()
            if not self._agreed.done() or self._agreed.exception() is not None:
                continue
            try:
                whole = b"".join(self._plain())
            except ssl.SSLError as error:
                self._end(error)
                return
            self._flush()
            if whole:
                self._connection.receive([(whole, now, kernel, delay)])
            if self._incoming.eof:
                self._end(None)
                return

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._agreed.done():
            self._agreed.set_exception(
                error or ConnectionResetError("the server closed the connection during the TLS handshake")
            )
        else:
            self._connection.connection_lost(error)

    # asyncio.Transport

    @property
    def seen(self) -> int:
        return self._under.seen if self._under is not None else 0

    def gather(self) -> None:
        if self._under is not None:
            self._under.gather()

    def begin(self) -> None:
        if self._under is not None:
            self._under.begin()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closing():
            self._tls.write(data)
            self._flush()

    def abort(self) -> None:
        if self._under is not None:
            self._under.abort()

    def is_closing(self) -> bool:
        return self._under is None or self._under.is_closing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Those of the transport under this one hold."""

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._flush()  # sends the server the alert that says why
            self._agreed.set_exception(error)
        else:
            self._flush()
            self._agreed.set_result(None)

    def _plain(self) -> list[bytes]:
        found: list[bytes] = []
        while True:
            try:
                piece = self._tls.read(_READ)
            except ssl.SSLWantReadError:
                return found
            except ssl.SSLZeroReturnError:
                piece = b""
            if not piece:
                self._incoming.write_eof()
                return found
            found.append(piece)

    def _flush(self) -> None:
        if self._outgoing.pending and self._under is not None:
            self._under.write(self._outgoing.read())

    def _end(self, error: Exception | None) -> None:
        """The other side said goodbye, or made no sense."""
        self.abort()
        if error is not None:
            self._connection.connection_lost(error)
