"""One HTTP/1.1 connection: sends a request from pieces, stamps every packet of the answer as it arrives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import httptools

from replayer.wire.limits import LIMITS, Timeouts, TooLarge, mib
from replayer.wire.remote import Arrived, ReceiverLost, StampingTransport

Piece = bytes | memoryview
Headers = Sequence[tuple[bytes, bytes]]
"""Names in lower case."""

_SLICE = 128 << 10
"""Bytes given to the transport at once, so that a slow reader makes no copy of a large request in memory."""
_GRACE_NS = 500_000_000
"""How long a response may stay open after the sink has all it wants."""
_FOR_EVER = Timeouts(None, None, None, None, None)
_TICK, _LEAST_TICK = 0.5, 0.01
"""Seconds between two looks at the deadlines: at most, and at least."""


class Sink(Protocol):
    """Receiver of one response. `at` is the monotonic clock in nanoseconds when the bytes arrived."""

    def sent(self, at: int) -> None:
        """The first byte of the request goes out now."""

    @property
    def done(self) -> bool:
        """Nothing that may follow matters."""

    @property
    def done_at(self) -> int | None:
        """When it was; None before."""

    @property
    def progress(self) -> int | None:
        """When the last bytes that count arrived; None before any."""

    def headers(self, status: int, headers: Headers, at: int) -> None: ...

    def packets(self, packets: list[bytes], stamps: list[int], by_kernel: int) -> bool:
        """Bytes of the body as they came, and how many of the stamps the kernel made; True ends the exchange at once
        and closes the connection."""


class Broken(Exception):
    """The connection failed or spoke no HTTP. `answered` tells whether any byte of a response had come."""

    def __init__(self, message: str, answered: bool) -> None:
        super().__init__(message)
        self.answered = answered


class Overdue(Exception):
    """A deadline passed; the message names it."""


class Connection(asyncio.Protocol):
    """One request at a time; `reusable` says whether there may be another."""

    def __init__(self) -> None:
        self.reusable = False
        self.used = False
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._sink: Sink | None = None
        self._waiter: asyncio.Future[int] | None = None
        self._room: asyncio.Future[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._timeouts = _FOR_EVER
        self._tick = _TICK
        self._asked_at = self._begun_at = self._done_at = 0
        self._framing = self._after_done = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._pieces: list[bytes] = []
        self._end = 0
        """How many of them are the response's, once it is complete."""
        self._complete: bool = False
        self._at = 0
        self._begun = False
        self.late_ns: int | None = None
        """How late the bytes of this response were read at worst, where the kernel has stamped any."""
        self._parser: Any = None
        self._reset()

    async def exchange(
        self,
        head: bytes,
        body: Iterable[Piece],
        sink: Sink,
        timeouts: Timeouts = _FOR_EVER,
        asked: int | None = None,
    ) -> int:
        """Send a request and feed its response to `sink`; returns the stamp of the response's end.

        `asked` is when the whole exchange began, earlier attempts included.

        Raises Broken, Overdue, TooLarge, or what `sink` raises. Cancelling it closes the connection at once.
        """
        assert self._transport is not None and self._waiter is None
        self._reset()
        self.reusable = False
        self._sink = sink
        self._waiter = waiter = self._loop.create_future()
        self._timeouts = timeouts
        self._begun_at = time.monotonic_ns()
        self._asked_at = asked or self._begun_at
        self._tick = min(_TICK, self._timeouts.shortest / 2)
        self._watch = self._loop.call_later(self._tick, self._check)
        try:
            sent_all = await self._send(head, body)
            ended: int = await waiter
            self.reusable = self._keep_alive and sent_all and not self._transport.is_closing()
            return ended
        finally:
            if waiter.done() and not waiter.cancelled():
                waiter.exception()  # seen, also where a cancellation came at the same moment
            self.used = True
            self._watch.cancel()
            self._sink = self._waiter = None
            if not self.reusable:
                self.abort()

    def abort(self) -> None:
        """Close without a goodbye; what was not sent is dropped."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def attach(self, transport: asyncio.Transport) -> None:
        """Use another transport from now on (TLS within a tunnel)."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_SLICE)
        self.reusable = True

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.attach(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        self.receive([(data, time.monotonic_ns(), None, 0)])

    # replayer.wire.remote.Received

    def sent(self, at: int) -> None:
        """The first byte of the request goes out at `at`."""
        self._at = at
        if self._sink is not None:
            self._sink.sent(at)

    def receive(self, arrived: Sequence[Arrived]) -> None:
        """What came since the last time. A stamp before the last one, or from the future, is none: the wall clock was
        set just then."""
        sink, waiter, pieces = self._sink, self._waiter, self._pieces
        if sink is None or waiter is None or waiter.done():
            self.abort()  # nobody asked: a time-out page, or a server that has lost count
            return
        self._answered = True
        packets: list[bytes] = []
        stamps: list[int] = []
        by_kernel = size = taken = 0
        broken: Exception | None = None
        for data, now, kernel, delay in arrived:
            taken += 1
            size += len(data)
            if stamped := kernel is not None and self._at <= kernel <= now:
                self._at = at = kernel
                late = now - kernel if now - kernel > delay else delay
                if self.late_ns is None or late > self.late_ns:
                    self.late_ns = late
            else:
                self._at = at = now
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                self._keep_alive = False
                broken = Broken(f"the answer is not HTTP: {error}", answered=True)
            if self._complete:
                del pieces[self._end :]
            if self._headers or not pieces:
                broken = broken or self._excess(len(data))
            if pieces:
                self._framing = 0
                packets.append(pieces[0] if len(pieces) == 1 else b"".join(pieces))
                stamps.append(at)
                by_kernel += stamped
                pieces.clear()
            if self._complete or broken is not None:
                break
        self._deliver(sink, packets, stamps, by_kernel, size, broken)
        if taken < len(arrived):
            self.receive(arrived[taken:])

    def _deliver(
        self,
        sink: Sink,
        packets: list[bytes],
        stamps: list[int],
        by_kernel: int,
        size: int,
        broken: Exception | None,
    ) -> None:
        """`size` is what all came in, `broken` why nothing more can be read."""
        enough = False
        try:
            if packets:
                enough = sink.packets(packets, stamps, by_kernel)
        except Exception as error:  # noqa: BLE001 - the boundary to the caller's code, who gets it back
            self._fail(error)
            return
        if not enough and sink.done:
            enough = self._is_over(size, sink.done_at or self._at)
        if enough:
            self._keep_alive = False
        if enough or self._complete:
            self._finish(self._at)
        elif broken is not None:
            self._fail(broken)

    def _is_over(self, size: int, at: int) -> bool:
        """Whether too much came after the wire's own end."""
        if not self._done_at:
            self._done_at = at
            return False
        self._after_done += size
        return self._after_done > LIMITS.after_done

    def _excess(self, size: int) -> TooLarge | None:
        """Of headers, or of what is no part of the body; `size` bytes more have come."""
        self._framing += size
        if len(self._headers) > LIMITS.headers:
            self._headers = []
            return TooLarge(f"the answer has more than {LIMITS.headers} headers")
        if self._framing > LIMITS.framing and not self._pieces:
            return TooLarge(f"{mib(LIMITS.framing)} of headers and framing came without a byte of the answer")
        return None

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        self._keep_alive = False
        if isinstance(error, ReceiverLost):
            self._fail(error)
        elif self._headers_done and self._until_close and error is None:
            self._finish(time.monotonic_ns())
        where = "in the middle of the answer" if self._answered else "before it answered"
        message = (
            f"the connection broke {where}: {error}" if error else f"the server closed the connection {where}"
        )
        self._fail(Broken(message, self._answered))
        self._parser = None  # it refers to us: without this only the garbage collector could free both

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self._room = None

    # httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._complete:  # a second response: the server has lost count
            self._keep_alive = False
            return
        status = self._parser.get_status_code()
        headers = self._headers
        self._headers = []
        self._interim = status < 200
        if self._interim or self._sink is None:
            return
        names = {name for name, _ in headers}
        self._headers_done = True
        self._until_close = not names & {b"content-length", b"transfer-encoding"}
        self._keep_alive = self._parser.should_keep_alive()
        self._sink.headers(status, headers, self._at)

    def on_message_complete(self) -> None:
        if not self._interim and not self._complete:
            self._complete, self._end = True, len(self._pieces)

    # the rest

    def _reset(self) -> None:
        self._headers, self._pieces = [], []
        self.on_body = self._pieces.append
        self._parser = httptools.HttpResponseParser(self)
        self._at = 0
        self._begun = False
        self._done_at = self._framing = self._after_done = 0
        self.late_ns = None
        self._answered = self._headers_done = self._complete = False
        self._interim = self._until_close = self._keep_alive = False

    def _start(self) -> None:
        """The next write is the first of the request, stamped here; or it is gathered by the receiver until it is whole."""
        self._begun = True
        if isinstance(self._transport, StampingTransport):
            self._transport.gather()
        else:
            self.sent(time.monotonic_ns())

    async def _send(self, head: bytes, body: Iterable[Piece]) -> bool:
        """Returns whether all was sent; an answer or a loss of the connection ends it early."""
        transport, waiter = self._transport, self._waiter
        assert transport is not None and waiter is not None
        batches = _batches(head, body)
        batch: Piece | None = next(batches)
        following = next(batches, None)
        while batch is not None:
            if waiter.done() or transport.is_closing():
                return False
            if not self._begun:
                self._start()
            if following is None and isinstance(transport, StampingTransport):
                transport.begin()
            transport.write(batch)
            batch, following = following, next(batches, None)
            if self._room is not None:
                either: set[asyncio.Future[Any]] = {self._room, waiter}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return True

    def _finish(self, at: int) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(at)

    def _fail(self, error: Exception) -> None:
        self._keep_alive = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def _check(self) -> None:
        """At the next deadline, and about twice a second: far cheaper than a timer per packet."""
        now = self._transport.seen if isinstance(self._transport, StampingTransport) else time.monotonic_ns()
        at, missed = min(self._deadlines(), default=(now + _GRACE_NS, ""))
        if now <= at:
            until = max(min(self._tick, (at - now) / 1e9), _LEAST_TICK)
            self._watch = self._loop.call_later(until, self._check)
        elif self._done_at:
            self._keep_alive = False
            self._finish(self._done_at)
        else:
            self._fail(Overdue(missed))

    def _deadlines(self) -> Iterator[tuple[int, str]]:
        """When each is over, and the sentence about it. A reply that is whole can no longer be late."""
        if self._done_at:
            yield self._done_at + _GRACE_NS, ""
            return
        limits, progress = self._timeouts, self._sink.progress if self._sink is not None else None
        if not self._headers_done:
            limit, since, what = limits.first_byte, self._begun_at, "did not begin to answer within"
        elif progress is None:
            limit, since, what = limits.first_token, self._begun_at, "sent no token within"
        else:
            limit, since, what = limits.idle, progress, "sent nothing new for"
        if limit is not None:
            yield since + int(limit * 1e9), f"the engine {what} {limit:g} s"
        if (total := limits.total) is not None:
            yield self._asked_at + int(total * 1e9), f"the reply was not complete within {total:g} s"


def _batches(head: bytes, body: Iterable[Piece]) -> Iterator[Piece]:
    """Small pieces joined and large ones cut, to about one slice each; the body is never whole in memory."""
    held: list[Piece] = [head]
    size = len(head)
    for piece in body:
        if size + len(piece) > _SLICE:
            if held:
                yield b"".join(held)
            held, size = [], 0
            view = memoryview(piece)
            while len(view) > _SLICE:
                yield view[:_SLICE]
                view = view[_SLICE:]
            piece = view
        held.append(piece)
        size += len(piece)
    if held:
        yield b"".join(held)
