"""What a command inside the sandbox can reach: run as a program, prints one JSON object of observations.

Arguments: path of a file on the host, name of a variable of the host, its loopback port, its abstract socket.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any


def attempt(action: Callable[[], str | None]) -> str:
    try:
        return action() or "allowed"
    except OSError as error:
        return error.strerror or type(error).__name__


def connect(family: int, address: Any) -> None:
    with socket.socket(family) as one:
        one.settimeout(1)
        one.connect(address)


def call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write_workspace() -> str:
    with open("probe-file", "w") as file:
        file.write("written")
    with open("probe-file") as file:
        text = file.read()
    os.unlink("probe-file")
    return text


def status(field: str) -> str:
    with open("/proc/self/status") as lines:
        return next(line.split()[1] for line in lines if line.startswith(field + ":"))


def create(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    os.unlink(path)


def main() -> None:
    host_file, variable, port, abstract = sys.argv[1:5]
    seen = {
        "workspace": attempt(write_workspace),
        "host_file": attempt(lambda: open(host_file).close()),
        "environment": "allowed" if variable in os.environ else "absent",
        "loopback": attempt(lambda: connect(socket.AF_INET, ("127.0.0.1", int(port)))),
        "abstract_socket": attempt(lambda: connect(socket.AF_UNIX, "\0" + abstract)),
        "vsock": attempt(lambda: socket.socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM).close()),
        "packet": attempt(lambda: socket.socket(17, socket.SOCK_RAW).close()),
        "ptrace": attempt(lambda: call("ptrace", 0, 0, 0, 0)),
        "user_namespace": attempt(lambda: call("unshare", 0x10000000)),
        "kernel_settings": attempt(lambda: open("/proc/sys/vm/swappiness", "w").close()),
        "root_folder": attempt(lambda: create("/replayer-probe")),
    }
    for field in ("NoNewPrivs", "Seccomp", "CapEff"):
        seen[field] = status(field)
    for space in ("pid", "net", "ipc", "uts", "user", "mnt"):
        seen["ns_" + space] = os.readlink("/proc/self/ns/" + space)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
