"""The self-test of an isolation: what must work is tried, and what must not is tried too, before anything runs in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from replayer.errors import MissingPartError, PlanError, ReplayerError
from replayer.lazy import LazyTable
from replayer.tools.sandbox import fence
from replayer.tools.sandbox.isolation import Isolation, interpreter, namespace
from replayer.tools.sandbox.sandbox import OpenSandbox
from replayer.tools.sandbox.types import Grade
from replayer.tools.sandbox.workspace import Workspace

BACKENDS: LazyTable[type[Isolation]] = LazyTable(
    "replayer.tools.sandbox",
    {
        "bubblewrap": "bubblewrap:Bubblewrap",
        "landlock": "landlock:Landlock",
        "container": "throwaway:ThrowAway",
        "seatbelt": "throwaway:Seatbelt",
    },
)
SELF_TEST = Path(__file__).parent / "guest" / "selftest.py"
NAMESPACES = ("pid", "net", "ipc", "uts", "user", "mnt")
LANDLOCKED = ("workspace", "host_file", "environment", "loopback", "abstract_socket", "vsock", "ptrace",
              "user_namespace", "kernel_settings", "NoNewPrivs", "Seccomp", "survivor")  # fmt: skip
DEMANDED: Mapping[Grade, tuple[str, ...]] = {
    "container": ("workspace", "environment"),
    "landlock": LANDLOCKED,
    "full": (*LANDLOCKED, "packet", "root_folder", "CapEff", *(f"ns_{name}" for name in NAMESPACES)),
    "none": (),
}
"""Which checks must hold for a grade."""


@dataclass(frozen=True, slots=True)
class Check:
    """One control. `held` is None where this grade does not demand it."""

    name: str
    expected: str
    observed: str
    held: bool | None


@dataclass(frozen=True, slots=True)
class SandboxGrade:
    """What isolation this machine gives. `reason` says, for grade `none`, what is missing and what to do."""

    backend: str
    grade: Grade
    checks: tuple[Check, ...] = ()
    reason: str = ""
    memory: str = ""
    """What holds the memory limit: a `cgroup` (and its version), or what the worker has `counted`."""


def isolation_for(backend: str) -> Isolation:
    """`auto` is the strongest of this system and never a weaker one; the others must be asked for by name."""
    if backend == "auto":
        backend = "seatbelt" if platform.system() == "Darwin" else "bubblewrap"
    if backend not in BACKENDS:
        raise PlanError(f"no sandbox named {backend!r}; there are auto, {', '.join(BACKENDS)}")
    return BACKENDS[backend]()


@cache
def probe(backend: str = "auto") -> SandboxGrade:
    """Tests the isolation, once in a process. Takes about a quarter of a second."""
    isolation = isolation_for(backend)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(grade_of(isolation))).result()


async def grade_of(isolation: Isolation) -> SandboxGrade:
    reason = isolation.missing()
    if reason:
        return SandboxGrade(isolation.name, "none", reason=reason)
    try:
        checks = await controls(isolation)
    except ReplayerError as error:
        return SandboxGrade(isolation.name, "none", reason=str(error))
    failed = [check.name for check in checks if check.held is False]
    if failed:
        reason = f"{isolation.name} does not hold here: {', '.join(failed)}; see `replayer sandbox check`"
        return SandboxGrade(isolation.name, "none", tuple(checks), reason)
    return SandboxGrade(isolation.name, isolation.grade, tuple(checks), memory=fence.kind())


async def controls(isolation: Isolation) -> list[Check]:
    token = f"REPLAYER_PROBE_{secrets.token_hex(6)}"
    seconds = f"60.{secrets.randbelow(10**9):09}"
    with canaries(token) as (path, port):
        async with await OpenSandbox.open(Workspace.empty(), isolation) as sandbox:
            program = [interpreter().path, "-I", "-S", "-c", SELF_TEST.read_text()]
            ran = await sandbox.run([*program, str(path), token, str(port), token], timeout=20)
            await sandbox.run(["/bin/sh", "-c", f"sleep {seconds} & exec true"], timeout=20)
            left = await sandbox.run(["/bin/sh", "-c", "cat /proc/[0-9]*/cmdline"], timeout=20)
    try:
        seen = {str(name): str(value) for name, value in json.loads(ran.output).items()}
    except (ValueError, AttributeError):
        raise MissingPartError(f"the self-test of {isolation.name} says: {ran.output[-200:]!r}") from None
    seen["survivor"] = "running" if seconds in left.output else "gone"
    return [judged(name, seen, isolation.grade) for name in seen]


@contextlib.contextmanager
def canaries(token: str) -> Iterator[tuple[Path, int]]:
    """Things of the host that the sandbox must not reach: a file that all may read, a variable, two listeners."""
    with (
        tempfile.NamedTemporaryFile(prefix="replayer-probe-") as file,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        os.chmod(file.name, 0o644)
        if platform.system() == "Linux":
            unix.bind(f"\0{token}")
            unix.listen()
        os.environ[token] = "1"
        try:
            yield Path(file.name), tcp.getsockname()[1]
        finally:
            del os.environ[token]


def judged(name: str, seen: Mapping[str, str], grade: Grade) -> Check:
    observed = seen[name]
    expected, held = {
        "workspace": ("written", observed == "written"),
        "environment": ("absent", observed == "absent"),
        "survivor": ("gone", observed == "gone"),
        "NoNewPrivs": ("1", observed == "1"),
        "Seccomp": ("2", observed == "2"),
        "CapEff": ("0", not observed.strip("0")),
    }.get(name, ("refused", observed != "allowed"))
    if name.startswith("ns_"):
        expected, held = "another", observed != namespace(name[3:])
    return Check(name, expected, observed, held if name in DEMANDED[grade] else None)
