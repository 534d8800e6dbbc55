"""Plain TCP read by ourselves, so that every arrival bears the kernel's stamp; for asyncio a transport like others."""

from __future__ import annotations

import asyncio
import select
import socket
import time
from weakref import WeakKeyDictionary

from replayer.wire.kernel_stamps import ANCILLARY, Clock, enable, wall_stamp
from replayer.wire.remote import Received

_READ = 256 << 10
_GATHER_NS = 500_000
"""Shortest time between two rounds of reading: many streams then share the cost of waking up. Late reading does not
show in the kernel's stamps, unless two events of one stream come within this time."""


def take_over(transport: asyncio.Transport, connection: Received) -> PlainTransport | None:
    """The connected socket of a transport of the loop, under a transport of ours; None where there are no stamps."""
    theirs = transport.get_extra_info("socket")
    sock: socket.socket = theirs.dup()
    sock.setblocking(False)
    if not enable(sock):
        sock.close()
        return None
    transport.set_protocol(asyncio.Protocol())
    transport.abort()
    return PlainTransport(sock, connection)


class PlainTransport(asyncio.Transport):
    """One socket. A write is sent at once; what the socket does not take pauses the writer."""

    def __init__(self, sock: socket.socket, connection: Received) -> None:
        super().__init__()
        self._sock = sock
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._unsent: list[memoryview] = []
        self._closed = False
        self._refused: OSError | None = None
        """Why the peer takes no more: it may have answered before it closed, so reading ends the connection."""
        self._receiver = _receiver(self._loop)
        self._receiver.add(sock.fileno(), self)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered that the socket would take."""

    def is_closing(self) -> bool:
        return self._closed

    def abort(self) -> None:
        self._close(None)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closed or self._refused:
            return
        rest = memoryview(data)
        if not self._unsent:
            rest = rest[self._send(rest) :]
        if not rest or self._closed:
            return
        if not self._unsent:
            self._loop.add_writer(self._sock.fileno(), self._send_rest)
            self._connection.pause_writing()
        self._unsent.append(rest)

    def _send_rest(self) -> None:
        while self._unsent:
            first = self._unsent[0]
            sent = self._send(first)
            if self._closed:
                return
            if sent < len(first):
                self._unsent[0] = first[sent:]
                return
            del self._unsent[0]
        self._loop.remove_writer(self._sock.fileno())
        self._connection.resume_writing()

    def _send(self, data: memoryview) -> int:
        try:
            return self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except (BrokenPipeError, ConnectionResetError) as error:
            self._refused = error
            return len(data)
        except OSError as error:
            self._close(error)
            return 0

    def read(self, buffer: memoryview, offset: int | None) -> bool:
        """Something is there; returns whether the kernel had stamped it. `offset` is the wall clock's lead."""
        try:
            size, ancillary, _, _ = self._sock.recvmsg_into((buffer,), ANCILLARY)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._close(error)
            return False
        now = time.monotonic_ns()
        if not size:
            self._close(self._refused)
            return False
        wall = wall_stamp(ancillary)
        kernel = None if wall is None or offset is None else wall - offset
        self._connection.receive([(buffer[:size], now, kernel, 0)])
        return kernel is not None

    def _close(self, error: Exception | None) -> None:
        if self._closed:
            return
        self._closed = True
        number = self._sock.fileno()
        if self._unsent:
            self._loop.remove_writer(number)
            self._unsent.clear()
        self._receiver.remove(number)
        self._sock.close()
        self._loop.call_soon(self._connection.connection_lost, error)


class _Receiver:
    """Reads all plain sockets of one loop: one call of the loop for all that have something, which costs less."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._transports: dict[int, PlainTransport] = {}
        self._buffer = memoryview(bytearray(_READ))
        self._clock = Clock()
        self._due = 0
        self._stamped = False

    def add(self, number: int, transport: PlainTransport) -> None:
        if not self._transports:
            self._loop.add_reader(self._epoll.fileno(), self._read)
        self._transports[number] = transport
        self._epoll.register(number, select.EPOLLIN)

    def remove(self, number: int) -> None:
        del self._transports[number]
        self._epoll.unregister(number)
        if not self._transports:
            self._loop.remove_reader(self._epoll.fileno())

    def _read(self) -> None:
        if self._stamped:
            self._gather()
        ready = self._epoll.poll(0)
        offset = self._clock.offset()
        transports, buffer = self._transports, self._buffer
        stamped = False
        for number, _ in ready:
            if transport := transports.get(number):  # one before it may have closed it
                stamped = transport.read(buffer, offset)
        self._stamped = stamped

    def _gather(self) -> None:
        now = time.monotonic_ns()
        if now < self._due:  # a timer of the loop is not finer than a millisecond
            time.sleep((self._due - now) / 1e9)
            now = self._due
        self._due = now + _GATHER_NS


_receivers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Receiver] = WeakKeyDictionary()


def _receiver(loop: asyncio.AbstractEventLoop) -> _Receiver:
    receiver = _receivers.get(loop)
    if receiver is None:
        receiver = _receivers[loop] = _Receiver(loop)
    return receiver
