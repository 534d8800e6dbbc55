"""The judge's side of the receiver process: starts it, gives it sockets, and takes what it forwards.

For a `Connection` a `RemoteTransport` is a transport like others, whose bytes come with the receiver's stamps. What is
slow here makes nothing late but the next request.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from array import array
from collections import deque
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from replayer.errors import ReplayerError
from replayer.wire.kernel_stamps import enable
from replayer.wire.receiver import (
    ABORT,
    BEGIN,
    CLOSED,
    COMMAND,
    DATA,
    GATHER,
    HELLO,
    LATE,
    OPEN,
    ORDINARY,
    RECORD,
    ROOM,
    SENT,
    SLICE,
    WRITE,
)

_UNSENT = 256 << 10
"""Bytes of one connection that the receiver may hold before its writer waits."""
_GATHERED, _GATHERED_IN_ALL = 8 << 20, 32 << 20
"""Bytes of one request, and of all on their way, that the receiver may hold back until the request is whole."""
_READ = 256 << 10
_AT_ONCE = 64
"""Commands, and sockets, given to the system at once."""
_PRIORITIES = ("ordinary", "nicer", "real-time")
_SCRIPT = "import sys; sys.path.insert(0, sys.argv[1]); from replayer.wire.receiver import main; main(int(sys.argv[2]))"


class ReceiverLost(ReplayerError):
    """The receiver process ended by itself: what it was reading is nobody's answer, and no engine's fault."""


Arrived = tuple[bytes | memoryview, int, int | None, int]
"""Bytes, there as long as they are being received, when they were read, when they came in where the kernel reports it, and how long the reading process had waited
for a core before (all in ns)."""


class Received(Protocol):
    """The side of a connection that a `RemoteTransport` calls."""

    def sent(self, at: int) -> None: ...

    def receive(self, arrived: Sequence[Arrived]) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


class Receiver:
    """One receiver process. `late` is called with (at, nanoseconds) for each sample of how late it was."""

    def __init__(self, late: LateSample | None = None) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _SCRIPT, _root(), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the judge
            )
        ours.setblocking(False)
        self._channel = ours
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(ours.fileno(), self._read)
        self._transports: dict[int, RemoteTransport] = {}
        self._opened = 0
        self.unsent = 0
        """Bytes that were given to the receiver and not yet sent."""
        self._queue: deque[bytes | memoryview] = deque()
        self._files: list[int] = []
        """Sockets that go out with what is sent next: one may come before its OPEN, and never after it."""
        self._blocked = False
        self._buffer = memoryview(bytearray(SLICE + RECORD.size + _READ))
        self._rest = 0
        """Bytes of a record that is not whole yet, at the buffer's begin."""
        self.priority = _PRIORITIES[ORDINARY]
        self.seen = 0
        """Up to when everything that came in has been handed over: deadlines go by this clock, so that what waits for the
        judge is not taken for a server's silence."""
        self.alive = True
        self.lost: ReceiverLost | None = None

    def adopt(self, transport: asyncio.Transport, connection: Received) -> RemoteTransport:
        """Give the socket of a connected transport to the receiver."""
        theirs = transport.get_extra_info("socket")
        number = theirs.fileno()
        sock = socket.socket(fileno=os.dup(number))
        transport.set_protocol(asyncio.Protocol())
        transport.abort()
        enable(sock)
        self._opened += 1
        remote = self._transports[self._opened] = RemoteTransport(self, self._opened, connection)
        self._tell(OPEN, self._opened, b"", sock.detach())
        return remote

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        if self.alive:
            self._end(None)
        self._process.wait()

    def command(self, kind: int, number: int, data: bytes | bytearray | memoryview = b"") -> None:
        self._tell(kind, number, data, None)

    def forget(self, number: int) -> None:
        self._transports.pop(number, None)

    def _tell(self, kind: int, number: int, data: bytes | bytearray | memoryview, file: int | None) -> None:
        if file is not None:
            self._files.append(file)
        if not self.alive:
            self._close_files()
            return
        self._queue += (
            COMMAND.pack(number, len(data), kind),
            bytes(data) if isinstance(data, bytearray) else data,
        )
        if kind != GATHER and not self._blocked:  # what is gathered goes out with what makes it whole
            self._write()
            if self._queue:
                self._blocked = True
                self._loop.add_writer(self._channel.fileno(), self._go_on)

    def _go_on(self) -> None:
        self._write()
        if self.alive and not self._queue:
            self._blocked = False
            self._loop.remove_writer(self._channel.fileno())

    def _write(self) -> None:
        queue = self._queue
        while queue:
            files = array("i", self._files[:_AT_ONCE])
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)] if files else []
            try:
                sent = self._channel.sendmsg(islice(queue, 2 * _AT_ONCE), rights)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._end(error)
                return
            self._close_files(len(files))
            while queue and sent >= len(queue[0]):
                sent -= len(queue.popleft())
            if sent:
                queue[0] = memoryview(queue[0])[sent:]

    def _close_files(self, count: int | None = None) -> None:
        for file in self._files[:count]:
            os.close(file)
        del self._files[:count]

    def _read(self) -> None:
        try:
            size = self._channel.recv_into(self._buffer[self._rest :])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        if not size:
            self._end(ConnectionError("the receiving process ended"))
            return
        at, end, view, transports = 0, self._rest + size, self._buffer, self._transports
        arrived: dict[RemoteTransport, list[Arrived]] = {}
        while end - at >= RECORD.size:
            number, size, kind, delay, first, second = RECORD.unpack_from(view, at)
            start = at + RECORD.size
            if end < start + size:
                break
            at = start + size
            transport = transports.get(number)
            if kind == DATA:
                self.seen = first
                if transport is not None:
                    packet = view[start:at], first, second or None, delay * 1000
                    if transport in arrived:
                        arrived[transport].append(packet)
                    else:
                        arrived[transport] = [packet]
                continue
            if transport is not None and (packets := arrived.pop(transport, None)):
                transport.connection.receive(packets)
            self._take(kind, transport, first, second)
        try:
            for transport, packets in arrived.items():
                transport.connection.receive(packets)
        finally:
            self._rest = end - at
            view[: self._rest] = view[at:end]

    def _take(self, kind: int, transport: RemoteTransport | None, first: int, second: int) -> None:
        if kind == LATE:
            self.seen = first
            if self._late is not None:
                self._late(first, second)
        elif kind == HELLO:
            self.priority = _PRIORITIES[first]
        elif transport is None:
            return
        elif kind == SENT:
            transport.connection.sent(first)
        elif kind == ROOM:
            transport.taken(first)
        elif kind == CLOSED:
            transport.lost(OSError(first, os.strerror(first)) if first else None)

    def _end(self, channel: Exception | None) -> None:
        self.alive = False
        error = self.lost = self._how_lost() if channel is not None else None
        self._loop.remove_reader(self._channel.fileno())
        self._loop.remove_writer(self._channel.fileno())
        self._channel.close()
        self._close_files()
        self._queue.clear()
        for transport in list(self._transports.values()):
            transport.lost(error)

    def _how_lost(self) -> ReceiverLost:
        self._process.kill()  # it is of no use without its channel
        code = self._process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return ReceiverLost(f"the receiving process {how}")


class LateSample(Protocol):
    def __call__(self, at: int, late: int) -> None: ...


class StampingTransport(asyncio.Transport):
    """A transport whose other end stamps what goes out."""

    def gather(self) -> None:
        """What is written from now on is held back until the request is whole."""
        raise NotImplementedError

    def begin(self) -> None:
        """The next write makes the request whole: it goes out and is stamped."""
        raise NotImplementedError

    @property
    def seen(self) -> int:
        """Up to when everything that came in has been handed over (monotonic, ns)."""
        raise NotImplementedError


class RemoteTransport(StampingTransport):
    """One socket of the receiver. Never blocks; a writer that is far ahead is paused."""

    def __init__(self, receiver: Receiver, number: int, connection: Received) -> None:
        super().__init__()
        self.connection = connection
        self._receiver = receiver
        self._number = number
        self._unsent = 0
        self._gathers = self._begins = self._paused = False
        self._closed = False

    @property
    def seen(self) -> int:
        return self._receiver.seen

    def gather(self) -> None:
        self._gathers = self._receiver.unsent < _GATHERED_IN_ALL
        self._begins = not self._gathers

    def begin(self) -> None:
        self._begins, self._gathers = self._begins or self._gathers, False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closed:
            return
        if self._gathers and self._unsent > _GATHERED:
            self.begin()
        kind = BEGIN if self._begins else GATHER if self._gathers else WRITE
        self._begins = False
        self._count(len(data))
        self._receiver.command(kind, self._number, data)
        if self._unsent > _UNSENT and not (self._paused or self._gathers):
            self._paused = True
            self.connection.pause_writing()

    def _count(self, size: int) -> None:
        self._unsent += size
        self._receiver.unsent += size

    def taken(self, size: int) -> None:
        self._count(-size)
        if self._paused and self._unsent <= _UNSENT:
            self._paused = False
            self.connection.resume_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The receiver's are fixed."""

    def is_closing(self) -> bool:
        return self._closed

    def abort(self) -> None:
        if not self._closed:
            self._receiver.command(ABORT, self._number)
            self.lost(None)

    def lost(self, error: Exception | None) -> None:
        """The socket is gone."""
        if not self._closed:
            self._closed = True
            self._count(-self._unsent)
            self._receiver.forget(self._number)
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, error)


def _root() -> str:
    return str(Path(__file__).parents[2])
