"""The time at which the kernel received the bytes of a plain TCP connection (Linux).

The loop gets round to a socket when it can; under load that is milliseconds after the bytes came in, and other
programs on the machine add theirs. The kernel stamps every segment as it takes it in and hands over the stamp of the
last one with the bytes. Its clock is the wall clock, which can be set: `Clock` turns it into the monotonic one.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time

_SO_TIMESTAMPNS = 35
"""SO_TIMESTAMPNS_OLD (asm-generic/socket.h), also the type of its control message; Python has no name for it."""
_TIMESPEC = struct.Struct("@qq")
ANCILLARY = socket.CMSG_SPACE(_TIMESPEC.size) if sys.platform == "linux" else 0
"""Bytes to reserve for what comes with the data."""
_BRACKET_NS = 20_000
_TURN_NS = 100_000

Ancillary = list[tuple[int, int, bytes]]


def enable(sock: socket.socket) -> bool:
    """Ask for stamps; returns whether this system takes the option. None may come all the same."""
    if sys.platform != "linux":
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def wall_stamp(ancillary: Ancillary) -> int | None:
    """The kernel's stamp in nanoseconds of the wall clock, if there is one."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return None


class Clock:
    """Wall clock minus monotonic clock, read anew before every batch of stamps.

    Both are slewed alike, so that the difference is constant until somebody sets the wall clock.
    """

    def __init__(self) -> None:
        self._last: int | None = None

    def offset(self) -> int | None:
        """Nanoseconds to take off a stamp; None where the clock was just set, or could not be read at one moment."""
        now = _difference()
        if now is None:
            return None
        steady = self._last is None or abs(now - self._last) <= _TURN_NS
        self._last = now
        return now if steady else None


def _difference() -> int | None:
    for _ in range(3):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if after - before <= _BRACKET_NS:
            return wall - (before + after) // 2
    return None


class Delays:
    """Time that this process could have run and had no core, as the system counts it; 0 where it does not.

    What piles up in a socket meanwhile comes with the stamp of its last packet alone, so that the stamp does not show it.
    """

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/self/schedstat", os.O_RDONLY)
        except OSError:
            self._file = -1
        self._last = 0
        self.since_last()

    def since_last(self) -> int:
        """Microseconds."""
        if self._file < 0:
            return 0
        delay = int(os.pread(self._file, 64, 0).split()[1])
        before, self._last = self._last, delay
        return min((delay - before) // 1000, 0xFFFF_FFFF)
