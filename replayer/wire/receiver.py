"""The process that owns a run's sockets: it sends, reads, stamps and forwards, and does nothing else.

Times of replies are only as true as the process that takes them is free. This one decodes nothing, so that neither a
tokenizer nor a verdict nor a garbage collection can stand between a packet and its stamp. It is started as a script
with nothing but the standard library (`replayer.wire.remote` is the other side), is given connected sockets over a
Unix socket, and ends when that is closed.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import sys
import time
from array import array
from collections import deque

from replayer.wire.kernel_stamps import ANCILLARY, Clock, Delays, wall_stamp

COMMAND = struct.Struct("<III")
"""To the receiver: connection, size of the bytes that follow, and one of OPEN, WRITE, BEGIN, ABORT, GATHER."""
OPEN, WRITE, BEGIN, ABORT, GATHER = range(5)
"""OPEN comes with the socket. GATHER is a WRITE that waits for the next BEGIN, and BEGIN one that sends a request: with
all of it here, a judge that is held up between two pieces cannot make the engine seem slow."""

RECORD = struct.Struct("<IIIIqq")
"""From the receiver: connection, size of the bytes that follow, kind, how long (us) the receiver had been away from its
sockets before it read them, and two numbers (times are monotonic, in ns)."""
DATA, SENT, ROOM, CLOSED, LATE, HELLO = range(6)
"""DATA: read at, stamped by the kernel at (0: not). SENT: the first byte went out at. ROOM: so many bytes were taken.
CLOSED: error number, 0 for an orderly end. LATE: at, the worst lateness since the last such record. HELLO: priority."""

ORDINARY, NICER, REAL_TIME = range(3)
"""What the system allows: real-time scheduling, a better nice value, or neither."""

SLICE = 64 << 10
"""Bytes read from one socket before the others have their turn."""
SAMPLE_NS = 20_000_000
"""Time between two LATE records while a connection is open."""
_ALIVE_NS = 4_000_000
"""Longest wait while a connection is open: one that took longer was no wait for the engine. A virtual machine that is held,
a process that is stopped, or one that waits for a page has no time that the system counts as a wait for a core."""
_SOCKETS = socket.CMSG_SPACE(64 * array("i").itemsize)
_GATHER_NS = 500_000, 1_000_000
"""Shortest time between two rounds of reading while the kernel stamps: many streams share the cost of waking up. The first
while an answer is awaited, whose first packet may else come with the stamp of the next, the second while none is."""
_FORWARD_NS = 10_000_000
"""Shortest time between two messages to the judge that say nothing but more of replies: what comes at once costs it less."""
_LAST_CHUNK = b"0\r\n\r\n"
_FORWARD_BYTES = 256 << 10
_BACKLOG_BYTES = 128 << 20
"""What the judge may be behind before reading waits for it."""
_SHARE_BYTES = 1 << 20
"""What of that may be one connection's: a flood waits in its own socket, and keeps no other stream waiting."""


class _Peer:
    """One connected socket."""

    __slots__ = ("awaited", "epoch", "gathered", "held", "number", "refused", "sock", "unsent", "waiting")

    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number = number
        self.sock = sock
        self.unsent: deque[memoryview] = deque()
        self.gathered: list[memoryview] = []
        self.refused = 0
        self.epoch = self.waiting = 0
        """Bytes that were read and not forwarded, as long as the receiver counts the same epoch."""
        self.held = False
        """Not read until all is forwarded."""
        self.awaited = False
        """A request went out, and nothing has come since."""


class Receiver:
    """Serves one judge until the channel to it is closed."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.setblocking(False)
        self._epoll = _poller()
        self._epoll.register(channel.fileno(), select.POLLIN)
        self._peers: dict[int, _Peer] = {}
        self._by_file: dict[int, _Peer] = {}
        self._sockets: deque[int] = deque()
        self._commands = memoryview(bytearray(1 << 20))
        self._unread = 0
        """Bytes of a command that is not whole yet."""
        self._buffer = memoryview(bytearray(SLICE))
        self._clock = Clock()
        self._out: list[bytes] = []
        self._rest = memoryview(b"")
        """What the channel has not taken yet of what was forwarded last."""
        self._out_bytes = 0
        self._epoch = 0
        self._held: list[_Peer] = []
        self._blocked = False
        self._forwarded = 0
        self._worst = 0
        self._sampled = 0
        self._delays = Delays()
        self._delayed = self._begun = self._deadline = 0
        """Of this round: how long what is read may have waited (us), when it began, and when it should have."""
        self._awaited = 0
        """Connections that are."""
        self._open = True

    def run(self, priority: int) -> None:
        self._record(0, HELLO, priority, 0)
        gathering = False
        begun = ended = time.monotonic_ns()
        while self._open:
            gather = _GATHER_NS[not self._awaited]
            if gathering:
                time.sleep(max(0, begun + gather - ended) / 1e9)
            due = self._due(awake := time.monotonic_ns())
            ready = self._epoll.poll(due) or self._epoll.poll(0)  # a signal ends a wait without a look
            away = max(ended - begun, awake - ended - gather)
            begun = self._begun = time.monotonic_ns()
            away = away if due is None else max(away, begun - self._deadline)
            self._delayed = max(self._delays.since_last(), away // 1000)
            self._late(self._delayed * 1000)
            gathering = self._round(ready)
            after = time.monotonic_ns()
            self._late(after - begun)
            self._sample(after)
            self._forward(after)
            ended = time.monotonic_ns()

    def _due(self, now: int) -> float | None:
        """Seconds until something must be done though nothing comes in; None is never."""
        if not self._peers and not self._out and not self._rest:
            return None
        forward = self._forwarded + _FORWARD_NS if self._out and not self._blocked else now + SAMPLE_NS
        wait = max(0, min(self._sampled + SAMPLE_NS, now + _ALIVE_NS, forward) - now)
        self._deadline = now + -(-wait // 1_000_000) * 1_000_000  # the system rounds up to milliseconds
        return wait / 1e9

    def _late(self, nanoseconds: int) -> None:
        if nanoseconds > self._worst:
            self._worst = nanoseconds

    def _round(self, ready: list[tuple[int, int]]) -> bool:
        """Everything that is ready, each socket once; returns whether the kernel stamped what was read."""
        offset = self._clock.offset()
        stamped = False
        for file, mask in ready:
            peer = self._by_file.get(file)
            if peer is not None:
                if mask & select.POLLOUT:
                    self._send(peer)
                if mask & ~select.POLLOUT and peer.number in self._peers:
                    stamped = self._read(peer, offset)
            elif file == self._channel.fileno():
                if mask & select.POLLOUT:
                    self._unblock()
                if mask & ~select.POLLOUT:
                    self._obey()
        return stamped

    def _read(self, peer: _Peer, offset: int | None) -> bool:
        try:
            size, ancillary, _, _ = peer.sock.recvmsg_into((self._buffer,), ANCILLARY)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._close(peer, error.errno or 0)
            return False
        now = time.monotonic_ns()
        self._await(peer, False)
        if not size:
            self._close(peer, peer.refused)
            return False
        wall = wall_stamp(ancillary)
        kernel = 0 if wall is None or offset is None else wall - offset
        if 0 < kernel <= now:
            self._late(now - kernel)
        data = bytes(self._buffer[:size])
        delayed = max(self._delayed, (now - self._begun) // 1000)
        self._out += (RECORD.pack(peer.number, size, DATA, delayed, now, kernel), data)
        if data.endswith(_LAST_CHUNK):  # the next request waits for it
            self._forwarded = 0
        self._out_bytes += size
        if peer.epoch != self._epoch:
            peer.epoch, peer.waiting = self._epoch, 0
        peer.waiting += size
        if peer.waiting > _SHARE_BYTES and not peer.held:
            peer.held = True
            self._held.append(peer)
            self._watch(peer)
        return kernel > 0

    def _await(self, peer: _Peer, awaited: bool) -> None:
        self._awaited += awaited - peer.awaited
        peer.awaited = awaited

    def _watch(self, peer: _Peer) -> None:
        wanted = (0 if peer.held else select.POLLIN) | (select.POLLOUT if peer.unsent else 0)
        self._epoll.modify(peer.sock.fileno(), wanted)

    def _record(self, number: int, kind: int, first: int, second: int) -> None:
        if kind in (CLOSED, HELLO) or (kind == ROOM and first >= SLICE):
            self._forwarded = 0  # somebody may wait for it
        self._out.append(RECORD.pack(number, 0, kind, 0, first, second))

    def _close(self, peer: _Peer, error: int) -> None:
        self._record(peer.number, CLOSED, error, 0)
        self._forget(peer)

    def _forget(self, peer: _Peer) -> None:
        del self._peers[peer.number], self._by_file[peer.sock.fileno()]
        self._epoll.unregister(peer.sock.fileno())
        peer.sock.close()
        self._await(peer, False)

    # what the judge wants

    def _obey(self) -> None:
        if self._unread == len(self._commands):  # one command alone
            self._commands = memoryview(bytearray(bytes(self._commands) * 2))
        try:
            size, ancillary, _, _ = self._channel.recvmsg_into([self._commands[self._unread :]], _SOCKETS)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            size, ancillary = 0, []
        for _, _, sockets in ancillary:
            self._sockets.extend(array("i", sockets))
        if not size:
            self._open = False
            return
        commands, at, end = self._commands, 0, self._unread + size
        while end - at >= COMMAND.size:
            number, size, kind = COMMAND.unpack_from(commands, at)
            begin = at + COMMAND.size
            if end < begin + size:
                break
            at = begin + size
            self._do(number, kind, bytes(commands[begin:at]))
        self._unread = end - at
        commands[: self._unread] = commands[at:end]

    def _do(self, number: int, kind: int, data: bytes) -> None:
        if kind == OPEN:
            sock = socket.socket(fileno=self._sockets.popleft())
            sock.setblocking(False)
            peer = self._peers[number] = self._by_file[sock.fileno()] = _Peer(number, sock)
            self._epoll.register(sock.fileno(), select.POLLIN)
            return
        known = self._peers.get(number)
        if known is None:
            return
        peer = known
        if kind == ABORT:
            self._forget(peer)
            return
        if kind == GATHER:
            peer.gathered.append(memoryview(data))
            return
        waiting = bool(peer.unsent)
        if kind == BEGIN:
            self._record(number, SENT, time.monotonic_ns(), 0)
            self._await(peer, True)
            peer.unsent += peer.gathered
            peer.gathered = []
        peer.unsent.append(memoryview(data))
        if not waiting:
            self._send(peer)

    def _send(self, peer: _Peer) -> None:
        """As much as the socket takes; the rest when there is room."""
        waited, taken = len(peer.unsent) > 1, 0
        while peer.unsent:
            first = peer.unsent[0]
            try:
                sent = len(first) if peer.refused else peer.sock.send(first)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                # It may have answered before it closed: reading ends the connection.
                peer.refused = error.errno or 1
                continue
            taken += sent
            if sent < len(first):
                peer.unsent[0] = first[sent:]
            else:
                peer.unsent.popleft()
        if taken:
            self._record(peer.number, ROOM, taken, 0)
        if peer.unsent or waited:
            self._watch(peer)

    # to the judge

    def _sample(self, now: int) -> None:
        if self._peers and now - self._sampled >= SAMPLE_NS:
            self._record(0, LATE, now, self._worst)
            self._sampled, self._worst = now, 0

    def _forward(self, now: int) -> None:
        pending = self._out or self._rest
        if not pending or (self._blocked and self._out_bytes < _BACKLOG_BYTES):
            return
        if now - self._forwarded < _FORWARD_NS and self._out_bytes < _FORWARD_BYTES:
            return
        self._forwarded = now
        behind = self._out_bytes >= _BACKLOG_BYTES
        if not self._rest or behind:
            self._rest = memoryview(b"".join((self._rest, *self._out)))
            self._out.clear()
        try:
            if behind:  # the judge is far behind: wait for it, engines feel it
                self._channel.setblocking(True)
                self._channel.sendall(self._rest)
                self._channel.setblocking(False)
                sent = len(self._rest)
            else:
                sent = self._channel.send(self._rest)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._open = False
            return
        self._rest = self._rest[sent:]
        self._out_bytes = max(0, self._out_bytes - sent)
        if not self._rest and not self._out:
            self._caught_up()
        if bool(self._rest) != self._blocked:
            self._blocked = bool(self._rest)
            wanted = select.POLLIN | (select.POLLOUT if self._blocked else 0)
            self._epoll.modify(self._channel.fileno(), wanted)

    def _caught_up(self) -> None:
        """All is forwarded: every connection is read again."""
        self._epoch += 1
        self._out_bytes = 0
        held, self._held = self._held, []
        for peer in held:
            peer.held = False
            if self._peers.get(peer.number) is peer:
                self._watch(peer)

    def _unblock(self) -> None:
        self._blocked = False
        self._epoll.modify(self._channel.fileno(), select.POLLIN)
        self._forwarded = 0


class _Poll:
    """`select.poll` with the time-outs of `select.epoll`, for systems without that one."""

    def __init__(self) -> None:
        self._poll = poll = select.poll()
        self.register, self.modify, self.unregister = poll.register, poll.modify, poll.unregister

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        return self._poll.poll(None if timeout is None else -(-timeout * 1000 // 1))


def _poller() -> select.epoll | _Poll:
    return select.epoll() if hasattr(select, "epoll") else _Poll()


def _hurry() -> int:
    """Run before everything else on the machine as far as the system allows: this needs a few percent of a core."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        return REAL_TIME
    except (OSError, AttributeError):
        pass
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except OSError:
        return ORDINARY
    return NICER


def main(channel: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the judge ends us
    gc.disable()  # nothing here makes circles
    Receiver(socket.socket(fileno=channel)).run(_hurry())


if __name__ == "__main__":
    main(int(sys.argv[1]))
