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
from typing import Any

from replayer.tools.sandbox.guest import commands, confine, files, jobs, tree

Head = dict[str, Any]
Result = tuple[Head, bytes]
FRAME = struct.Struct("!II")
SMALL = 1 << 16
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36


class Closed(Exception):
    """The host closed the socket."""


class Worker:
    def __init__(self, link: int, settings: Head) -> None:
        self.link = link
        self.settings = settings
        self.arrived = bytearray()
        self.trees = tree.Trees(settings["root"])
        self.operations: dict[str, Callable[[Head, bytes], Result]] = {
            "ping": lambda head, payload: ({"pid": os.getpid()}, b""),
            "run": self.run,
            "job": self.job,
            "load": self.load,
            "restore": self.restore,
            "snapshot": lambda head, payload: self.trees.snapshot(settings["snapshot_bytes"]),
            **files.operations(settings["read_bytes"]),
        }

    def serve(self) -> None:
        while True:
            head_length, payload_length = FRAME.unpack(self.receive(FRAME.size))
            head = json.loads(self.receive(head_length))
            head, payload = self.answer(head, self.receive(payload_length))
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

    def run(self, head: Head, payload: bytes) -> Result:
        return commands.run(head, payload, self.settings, self.link)

    def job(self, head: Head, payload: bytes) -> Result:
        return jobs.run(head, self.settings, self.link)

    def load(self, head: Head, payload: bytes) -> Result:
        return self.trees.load(head["fd"], head["index_bytes"])

    def restore(self, head: Head, payload: bytes) -> Result:
        return self.trees.restore(payload)


def main() -> None:
    settings = json.loads(sys.argv[1])
    harden(settings)
    try:
        Worker(settings["socket"], settings).serve()
    except (Closed, ConnectionError, commands.HostGone):
        commands.sweep()


def harden(settings: Head) -> None:
    """Nothing in the sandbox may trace this process, read its memory or inherit its descriptors."""
    libc = ctypes.CDLL(None)
    if sys.platform == "linux":
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
