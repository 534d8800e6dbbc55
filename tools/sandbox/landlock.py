"""Weaker isolation for machines without user namespaces: Landlock, a system-call filter, a private copy of the tree.

The host's process list stays visible and totals of memory are watched only: grade `landlock`.
"""

from __future__ import annotations

import ctypes
import platform

from replayer.tools.sandbox import seccomp
from replayer.tools.sandbox.isolation import PrivateFolder, Room, Started, dropped, interpreter
from replayer.tools.sandbox.types import Grade

CREATE_RULESET, VERSION_FLAG = 444, 1
NEEDED_ABI = 6
"""The first with scopes for signals and abstract sockets (Linux 6.12)."""
READ = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/proc"),
    *(
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/etc/ssl/certs",
        "/etc/passwd",
        "/etc/group",
        "/etc/nsswitch.conf",
    ),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Landlock:
    """Linux 6.12 or later. Only by name: never a silent turn down from bubblewrap."""

    name = "landlock"
    grade: Grade = "landlock"

    def missing(self) -> str | None:
        if platform.system() != "Linux" or platform.machine() not in seccomp.ARCHITECTURES:
            return "landlock needs Linux on x86_64 or aarch64"
        found = abi()
        if found < NEEDED_ABI:
            return (
                f"landlock needs Linux 6.12 (Landlock ABI {NEEDED_ABI}), this kernel has ABI {max(found, 0)}"
            )
        return None

    def start(self, room: Room) -> Started:
        home = PrivateFolder()
        python = interpreter()
        read = [*READ, *(str(one) for one in (python.prefix, room.packages) if one)]
        confinement = {
            "landlock": {"read": read, "write": [str(home.path), *DEVICES]},
            "seccomp": seccomp.program(families=(), fenced=room.fence is not None, own_ipc=False).hex(),
        }
        return room.spawn_at(home, room.worker(python.here, str(home.root), (), confinement), **dropped())


def abi() -> int:
    return int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, VERSION_FLAG))
