"""How much memory the sandbox uses: read from its cgroup where it has one, else counted as far as it can be seen."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import struct
from collections.abc import Iterator
from typing import Any

Head = dict[str, Any]
PAGE = resource.getpagesize()
INODE_BYTES = 1536
"""Kernel memory that an empty tmpfs inode costs with a long name (800 bytes with a short one, by measurement)."""
PIPE_BYTES, FULL_PIPES = 1 << 16, 1 << 10
"""A pipe holds 64 KiB until a user has 64 MiB in pipes, and two pages from then on."""
SOCKET_BYTES = 212_992
"""What a sender may have on its way by default (net.core.wmem_default), where that cannot be read."""
DATAGRAMS = 11
"""That may wait at a socket (net.unix.max_dgram_qlen), and the one that is added."""
UNSEEN = 32 << 20
"""Shared memory of this machine that a command is not asked about."""
SHARED = ("/dev/zero (deleted)", "/memfd:", "/SYSV")
SOCK_DIAG, DUMP, DIAG_BY_FAMILY = 4, 0x301, 20
UNIX, TCP, UDP = 1, 6, 17


class Meter:
    """`settings["memory"]`: descriptors of the cgroup's files, or None. Made anew for each command."""

    def __init__(self, settings: Head) -> None:
        self.settings = settings
        self.fence: Head | None = settings.get("memory")
        self.killed = self._kills()
        self.shared = 0 if self.fence else shmem() - place_bytes(settings)[0]

    def broken(self, pids: list[int]) -> tuple[str | None, float]:
        """The limit that is broken, and the share of the memory limit that is used."""
        stored, inodes = place_bytes(self.settings)
        if inodes > self.settings["inodes"]:
            return "inodes", 1.0
        total = self.settings["total_bytes"]
        counted = stored + inodes * INODE_BYTES
        used = measured(self.fence, total) if self.fence else self._counted(counted, pids)
        over = used > total or self._kills() > self.killed
        return "memory" if over else None, used / total

    def _kills(self) -> int:
        """Processes that the kernel ended for the cgroup's own limit."""
        if not self.fence:
            return 0
        return field(os.pread(self.fence["events"], 4096, 0), b"oom_kill")

    def _counted(self, stored: int, pids: list[int]) -> int:
        kept = segments() if self.settings["own_ipc"] else 0
        used = stored + kept
        sockets = pipes = 0
        for pid in pids:
            used += private(pid)
            ends = descriptors(pid)
            sockets += ends[0]
            pipes += ends[1]
        used += pipes * PIPE_BYTES if pipes < FULL_PIPES else FULL_PIPES * PIPE_BYTES + pipes * 2 * PAGE
        used += queued(sockets, own_network=bool(self.settings["tmpfs"])) if sockets else 0
        unseen = shmem() - self.shared - place_bytes(self.settings)[0] - kept
        if unseen > UNSEEN and any(shares(pid) for pid in pids):
            used += unseen
        return used


def measured(fence: Head, total: int) -> int:
    used = 0
    for descriptor in fence["usage"]:
        used += int(os.pread(descriptor, 64, 0))
    if used <= total:
        return used
    # Pages of files that were only read can be given back at any time.
    stat = os.pread(fence["stat"], 1 << 14, 0)
    return used - max(0, field(stat, b"inactive_file") + field(stat, b"active_file"))


def field(text: bytes, name: bytes) -> int:
    """The number behind a name in a list of `name number` lines; 0 where it is not there."""
    for line in text.splitlines():
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return 0


def place_bytes(settings: Head) -> tuple[int, int]:
    """Bytes and inodes in the memory file systems."""
    used = inodes = 0
    for place in settings["tmpfs"]:
        with contextlib.suppress(OSError):
            facts = os.statvfs(place)
            used += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            inodes += facts.f_files - facts.f_ffree
    return used, inodes


def shmem() -> int:
    """Shared memory and memory file systems of the whole machine."""
    with contextlib.suppress(OSError), open("/proc/meminfo", "rb") as lines:
        for line in lines:
            if line.startswith(b"Shmem:"):
                return int(line.split()[1]) << 10
    return 0


def private(pid: int) -> int:
    """Memory of one process that it shares with nobody, and its page tables."""
    used = 0
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status", "rb") as lines:
        for line in lines:
            if line.startswith((b"RssAnon:", b"VmPTE:", b"VmSwap:")):
                used += int(line.split()[1]) << 10
    return used


def shares(pid: int) -> bool:
    """It maps shared memory that has no name, or does not let itself be looked at."""
    try:
        with open(f"/proc/{pid}/maps", errors="replace") as lines:
            return any(mark in line for line in lines for mark in SHARED)
    except PermissionError:
        return True
    except OSError:
        return False


def descriptors(pid: int) -> tuple[int, int]:
    """Sockets and pipes that a process holds; all that it could hold where it does not let itself be looked at."""
    sockets = pipes = 0
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    target = os.readlink(entry.path)
                    sockets += target.startswith("socket:")
                    pipes += target.startswith("pipe:")
    except PermissionError:
        return 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except OSError:
        pass
    return sockets, pipes


def segments() -> int:
    """Bytes of System V segments; they are the sandbox's own where it has an IPC namespace."""
    return sum(int(row[14]) + int(row[15]) for row in ipc("shm"))


def ipc(what: str) -> Iterator[list[str]]:
    with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/sysvipc/{what}") as table:
        next(table, None)
        for line in table:
            yield line.split()


def queued(sockets: int, *, own_network: bool) -> int:
    """Bytes in socket buffers: asked of the kernel where all sockets that it names are the sandbox's."""
    if not own_network:
        return sockets * socket_bytes()
    try:
        unix = request(UNIX, 0, struct.pack("=BBHIIIII", UNIX, 0, 0, 0xFFFFFFFF, 0, 0x30, 0, 0))
        inet = [
            request(family, protocol, struct.pack("=BBBBI48x", family, protocol, 1 << 6, 0, 0xFFFFFFFF))
            for family in (socket.AF_INET, socket.AF_INET6)
            for protocol in (TCP, UDP)
        ]
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, SOCK_DIAG) as link:
            link.settimeout(0.2)
            return sum(map(unix_bytes, answers(link, unix))) + sum(
                memory_of(attributes_of(one, 72), 7) for asked in inet for one in answers(link, asked)
            )
    except OSError:
        return sockets * socket_bytes()


def socket_bytes() -> int:
    """At most, and the packet that goes over it. The filter lets nobody ask for more where this is asked."""
    with contextlib.suppress(OSError, ValueError), open("/proc/sys/net/core/wmem_default") as setting:
        return 2 * int(setting.read())
    return 2 * SOCKET_BYTES


def request(family: int, protocol: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), DIAG_BY_FAMILY, DUMP, 1, 0) + body


def answers(link: socket.socket, asked: bytes) -> Iterator[bytes]:
    """What the kernel says of each socket."""
    link.send(asked)
    while True:
        data = link.recv(1 << 16)
        at = 0
        while at + 16 <= len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind != DIAG_BY_FAMILY:
                return
            yield data[at + 16 : at + length]
            at += length + 3 & ~3


def attributes_of(one: bytes, fixed: int) -> dict[int, bytes]:
    """`fixed`: bytes before the attributes."""
    found = {}
    at = fixed
    while at + 4 <= len(one):
        length, kind = struct.unpack_from("=HH", one, at)
        found[kind] = one[at + 4 : at + length]
        at += max(4, length + 3 & ~3)
    return found


def memory_of(attributes: dict[int, bytes], number: int) -> int:
    if len(attributes.get(number, b"")) < 32:
        return 0
    received, _, sending, _, ahead, queue, _, backlog = struct.unpack_from("=8I", attributes[number])
    return int(received + max(sending, queue) + ahead + backlog)


def unix_bytes(one: bytes) -> int:
    """What it has sent, and what it has not read: that counts for its sender only, which may be gone."""
    attributes = attributes_of(one, 16)
    waiting = struct.unpack_from("=I", attributes.get(4, b"\0" * 4))[0]
    packets = DATAGRAMS if one[1] == socket.SOCK_DGRAM else 1
    return memory_of(attributes, 5) + (packets * socket_bytes() if waiting else 0)
