"""The loop of the sandbox's PID 1: one request frame in, one reply frame out, until the socket closes.

A frame is two big-endian uint32 (length of the JSON head, length of the payload), the head, the payload.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable

from replayer.tools.sandbox.guest import commands, confine, files, jobs, tree
from replayer.tools.sandbox.guest.memory import Head

Result = tuple[Head, bytes]
FRAME = struct.Struct("!II")
SMALL = 1 << 16
MOST_HEAD = 16 << 20
"""The host reads no more."""
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
CLONE_NEWIPC = 0x08000000


class Closed(Exception):
    """The host closed the socket."""


class Worker:
    def __init__(self, link: int, settings: Head) -> None:
        self.link = link
        self.arrived = bytearray()
        self.trees = tree.Trees(settings["root"])
        self.operations: dict[str, Callable[[Head, bytes], Result]] = {
            "ping": lambda head, payload: ({"pid": os.getpid()}, b""),
            "run": lambda head, payload: commands.run(head, payload, settings, link),
            "job": lambda head, payload: jobs.run(head, settings, link),
            "load": lambda head, payload: self.trees.load(head["fd"], head["index_bytes"]),
            "restore": lambda head, payload: self.trees.restore(payload),
            "snapshot": lambda head, payload: self.trees.snapshot(settings["snapshot_bytes"]),
            **files.operations(settings["read_bytes"]),
        }

    def serve(self) -> None:
        while True:
            head_length, payload_length = FRAME.unpack(self.receive(FRAME.size))
            head = json.loads(self.receive(head_length))
            head, payload = self.answer(head, self.receive(payload_length))
            encoded = json.dumps(head).encode()
            if len(encoded) > MOST_HEAD:
                head, payload = {"error": "too_large", "message": "Result is too large"}, b""
                encoded = json.dumps(head).encode()
            self.send(FRAME.pack(len(encoded), len(payload)) + encoded + payload)

    def send(self, data: bytes) -> None:
        sent = os.write(self.link, data)
        while sent < len(data):
            sent += os.write(self.link, memoryview(data)[sent:])

    def answer(self, head: Head, payload: bytes) -> Result:
        try:
            return self.operations[head["op"]](head, payload)
        except files.Refused as refused:
            return {"error": refused.kind, "message": str(refused)}, b""
        except OSError as error:
            return {"error": files.kind_of(error), "message": error.strerror or str(error)}, b""
        except (ValueError, OverflowError, MemoryError, RecursionError) as error:
            return {"error": "failed", "message": str(error) or type(error).__name__}, b""

    def receive(self, count: int) -> bytes:
        while len(self.arrived) < count:
            chunk = os.read(self.link, max(SMALL, min(count, 1 << 20)))
            if not chunk:
                raise Closed
            self.arrived += chunk
        taken = bytes(self.arrived[:count])
        del self.arrived[:count]
        return taken


def main() -> None:
    settings = json.loads(sys.argv[1])
    harden(settings)
    try:
        Worker(settings["socket"], settings).serve()
    except (Closed, ConnectionError, commands.HostGone):
        commands.sweep()


def score() -> tuple[int, bytes]:
    """Where this process says how soon the kernel may end it, and what it says now; open before `/proc` closes to it."""
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        return file, os.pread(file, 16, 0).strip()
    except OSError:
        return -1, b""


def own_ipc(libc: ctypes.CDLL, host: str) -> bool:
    """Whether System V objects here are the sandbox's own; where this process may, it makes them so."""
    try:
        if os.readlink("/proc/self/ns/ipc") == host:
            libc.unshare(CLONE_NEWIPC)
        return os.readlink("/proc/self/ns/ipc") != host != ""
    except OSError:
        return False


def harden(settings: Head) -> None:
    """Nothing in the sandbox may trace this process, read its memory or inherit its descriptors."""
    libc = ctypes.CDLL(None)
    if sys.platform == "linux":
        settings["score"] = score()
        settings["own_ipc"] = own_ipc(libc, settings["host_ipc"])
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.personality(settings["personality"])
    for descriptor in settings["descriptors"]:
        os.set_inheritable(descriptor, False)
    # On PID 1 a signal with its default action is ignored when it comes from inside the namespace.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    for name, most in settings["rlimits"].items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    if "landlock" in settings:
        confine.confine(settings)
