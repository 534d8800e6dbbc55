"""One sandbox: a workspace, a worker, and the requests to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from replayer.errors import MissingPartError, TraceError
from replayer.tools.sandbox.archive import archive
from replayer.tools.sandbox.bubblewrap import memory_file
from replayer.tools.sandbox.fence import Fence, fence
from replayer.tools.sandbox.isolation import NOBODY, Isolation, Room, Started
from replayer.tools.sandbox.link import Link
from replayer.tools.sandbox.types import (
    SHELL_STATE,
    Block,
    Entries,
    FileError,
    Found,
    Limits,
    Ran,
    SandboxLost,
    Snapshot,
    Symbols,
    SyntaxFaults,
    Texts,
)
from replayer.tools.sandbox.workspace import Workspace
from replayer.wire.types import Json, JsonObject

START_SECONDS = 30.0
SPARE_SECONDS = 10.0
"""How much longer than a command may take the host waits for the worker's word about it."""
END_SECONDS = 2.0
QUICK = frozenset({"ping", "read", "write", "list", "stat", "mkdir"})
"""Requests that the worker answers within microseconds."""
SMALL = 1 << 16
MAKE_REPOSITORY = (
    "git init -q -b main . && git add -A -f . && git commit -q --no-verify --allow-empty -m base"
)


class OpenSandbox:
    """An isolated copy of a workspace in which commands and file tools run; made by `open`, ended by `aclose`."""

    def __init__(
        self, workspace: Workspace, isolation: Isolation, limits: Limits, packages: Path | None
    ) -> None:
        self.workspace = workspace
        self.limits = limits
        self.root = ""
        self._isolation = isolation
        self._packages = packages
        self._started: Started | None = None
        self._link: Link
        self._first: Snapshot | None = None

    @classmethod
    async def open(
        cls,
        workspace: Workspace,
        isolation: Isolation,
        *,
        limits: Limits | None = None,
        packages: Path | None = None,
    ) -> Self:
        """Start with exactly this isolation, untested. Raises MissingPartError when it does not start."""
        sandbox = cls(workspace, isolation, limits or Limits(), packages)
        await sandbox.restart()
        return sandbox

    async def restart(self) -> None:
        """Begin anew with the workspace as it was at first, e.g. after SandboxLost."""
        await self._stop()
        launching = asyncio.get_running_loop().run_in_executor(
            SPAWNER, launch, self.workspace, self._isolation, self.limits, self._packages
        )
        try:
            started, end = await asyncio.shield(launching)
        except asyncio.CancelledError:
            launching.add_done_callback(abandon)
            raise
        self._started, self.root = started, started.root
        self._link = Link(end, most_payload=self.limits.snapshot)
        try:
            await self._load(self.workspace.descriptor)
        except BaseException as error:
            reason = await self._stop()
            if isinstance(error, SandboxLost):
                remedy = next((advice for sign, advice in REMEDIES.items() if sign in reason), "")
                text = f"{self._isolation.name} does not start here: {reason or error}{remedy}"
                raise MissingPartError(text) from error
            if isinstance(error, FileError):
                raise TraceError(f"the workspace cannot be made in the sandbox: {error}") from error
            raise

    async def _load(self, base: int) -> None:
        await self._ask("load", fd=base, index_bytes=len(self.workspace.index), timeout=START_SECONDS)
        if self.workspace.git:
            made = await self.run(["/bin/sh", "-c", MAKE_REPOSITORY], timeout=START_SECONDS)
            if made.exit_code == 0:
                self._first = await self.snapshot()

    async def _ask(
        self, op: str, payload: bytes = b"", *, timeout: float = START_SECONDS, **arguments: object
    ) -> tuple[JsonObject, bytes]:
        quick = op in QUICK and len(payload) < SMALL
        return await self._link.request({"op": op, **arguments}, payload, timeout=timeout, quick=quick)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Ran:
        """Run a command until it ends or breaks a limit. Whatever it left running is gone when this returns."""
        seconds = min(timeout or self.limits.timeout, self.limits.timeout)
        request = {
            "op": "run",
            "argv": [word.replace("\0", "") for word in argv],
            "cwd": self.path(cwd),
            "env": dict(env or {}),
            "timeout": seconds,
        }
        try:
            head, output = await self._link.request(request, stdin, timeout=seconds + SPARE_SECONDS)
        except FileError as error:
            text = f"{cwd}: {error}\n".encode("utf-8", "replace")
            return Ran(exit_code=1, head=text, tail=b"", dropped=0, timed_out=False, limit=None, duration=0.0)
        with sense():
            return ran(head, output)

    async def read_file(self, path: str) -> bytes:
        """Raises FileError, also for what is not a regular file or larger than `limits.read`."""
        _, data = await self._ask("read", path=self.path(path))
        return data

    async def write_file(self, path: str, data: bytes) -> bool:
        """Whether the file is new. Makes the folders above it."""
        head, _ = await self._ask("write", data, path=self.path(path))
        return bool(head.get("created"))

    async def list(self, path: str = ".") -> Entries:
        """Names with their kind (file, directory, link, special), sorted."""
        head, _ = await self._ask("list", path=self.path(path))
        with sense():
            return [(str(name), str(kind)) for name, kind in head["entries"]]

    async def kind(self, path: str) -> str | None:
        """What is at a path, links followed; None where nothing is."""
        try:
            head, _ = await self._ask("stat", path=self.path(path))
        except FileError:
            return None
        return str(head.get("kind"))

    async def make_directory(self, path: str) -> None:
        await self._ask("mkdir", path=self.path(path))

    async def remove(self, path: str) -> None:
        await self._ask("remove", path=self.path(path))

    async def copy(self, path: str, to: str) -> None:
        await self._ask("copy", path=self.path(path), to=self.path(to))

    async def move(self, path: str, to: str) -> None:
        await self._ask("move", path=self.path(path), to=self.path(to))

    async def grep(self, path: str, *, seconds: float, **arguments: object) -> Found:
        """Blocks of matching lines per file, and whether there are more (see the guest's search module)."""
        head = await self._search("grep", path, seconds, arguments)
        with sense():
            return [(str(name), [block(one) for one in blocks]) for name, blocks in head["files"]], bool(
                head["more"]
            )

    async def find(self, path: str, glob: str, *, seconds: float, **arguments: object) -> Texts:
        """Paths that match a glob, in order."""
        head = await self._search("find", path, seconds, {"glob": glob, **arguments})
        with sense():
            return [str(one) for one in head["paths"]]

    async def outline(self, path: str, *, seconds: float) -> Symbols:
        """Depth, name, first and last line of what a file defines."""
        head = await self._search("outline", path, seconds, {})
        with sense():
            return [
                (int(deep), str(name), int(first), int(last)) for deep, name, first, last in head["symbols"]
            ]

    async def check_syntax(self, path: str, *, seconds: float) -> SyntaxFaults:
        """Path, line and message of every Python file that does not parse."""
        head = await self._search("check_syntax", path, seconds, {})
        with sense():
            return [(str(name), int(line), str(message)) for name, line, message in head["faults"]]

    async def _search(self, job: str, path: str, seconds: float, arguments: JsonObject) -> JsonObject:
        """In a child of the worker that ends with the time limit."""
        request = {"op": "job", "name": job, "path": self.path(path), "timeout": seconds, **arguments}
        head, _ = await self._link.request(request, timeout=seconds + SPARE_SECONDS)
        return head

    async def snapshot(self) -> Snapshot:
        """The workspace as it is now. Raises FileError where it has changed by more than `limits.snapshot` allows."""
        _, delta = await self._ask("snapshot")
        shell = b""
        with contextlib.suppress(FileError):
            shell = await self.read_file(SHELL_STATE)
        return Snapshot(self.workspace.digest, delta, shell)

    async def restore(self, snapshot: Snapshot | None = None) -> int:
        """Put the workspace back to a snapshot, by default to its start; returns how many entries had changed."""
        wanted = snapshot or self._first
        if wanted and wanted.base != self.workspace.digest:
            raise ValueError("this snapshot belongs to another workspace")
        head, _ = await self._ask("restore", wanted.delta if wanted else b"")
        with contextlib.suppress(FileError):
            if wanted and wanted.shell:
                await self.write_file(SHELL_STATE, wanted.shell)
            else:
                await self.remove(SHELL_STATE)
        with sense():
            return int(head["changed"])

    def path(self, path: str) -> str:
        """A path as the guest sees it; it is opened nowhere else."""
        return os.path.normpath(os.path.join(self.root, path.replace("\0", "")))

    async def aclose(self) -> None:
        """End every process in the sandbox. Its memory file systems end with it."""
        await self._stop()

    async def _stop(self) -> str:
        """Returns what the isolation said on its way out."""
        if self._started is None:
            return ""
        self._link.close()
        started, self._started = self._started, None
        process = started.process
        try:
            await ended(process, END_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            said = process.stderr.read().decode("utf-8", "replace").strip() if process.stderr else ""
            await asyncio.to_thread(started.remove)
        return said

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


REMEDIES = {
    "uid map": "; on Ubuntu, install the system's bubblewrap: its AppArmor profile allows it user namespaces",
    "RTM_NEWADDR": "; on Ubuntu, install the system's bubblewrap: its AppArmor profile allows it user namespaces",
    "new namespace": "; in a container, allow user namespaces (docker: --security-opt seccomp=unconfined), or say "
    "--sandbox container if this is a throw-away one",
}
"""What to do about bubblewrap's own words (as reported for it by users of other tools)."""


SPAWNER = ThreadPoolExecutor(1, thread_name_prefix="replayer-sandbox")
"""Starts all sandboxes: the kernel ends one with the thread that started it, so that thread must stay."""


def launch(
    workspace: Workspace, isolation: Isolation, limits: Limits, packages: Path | None
) -> tuple[Started, socket.socket]:
    """Start the worker; returns it with the host's end of its socket."""
    ours, theirs = socket.socketpair()
    walls = fence(limits.total)
    try:
        with theirs, memory_file(archive()) as code:
            ends = {"socket": theirs.fileno(), "archive": code, "base": workspace.descriptor}
            return isolation.start(Room(**ends, limits=limits, packages=packages, fence=walls)), ours
    except OSError as error:
        discard(ours, walls)
        raise MissingPartError(f"{isolation.name} does not start here: {error.strerror}{nested()}") from error
    except BaseException:
        discard(ours, walls)
        raise


def discard(end: socket.socket, walls: Fence | None) -> None:
    end.close()
    if walls:
        walls.remove()


def nested() -> str:
    """Root gives its uid up first, which a user namespace with a single uid does not allow."""
    mapped = Path("/proc/self/uid_map").read_text().split()
    few = os.geteuid() == 0 and len(mapped) == 3 and int(mapped[2]) <= NOBODY
    return f"; root here has no uid {NOBODY} to become: run as a plain user, or map more uids" if few else ""


def abandon(launching: asyncio.Future[tuple[Started, socket.socket]]) -> None:
    """Ends a sandbox that started after nobody waited for it any more."""
    if launching.cancelled() or launching.exception():
        return
    started, end = launching.result()
    end.close()
    started.process.kill()
    started.process.wait()
    started.remove()


def block(value: Json) -> Block:
    first, lines, rows = value
    return int(first), [str(line) for line in lines], [int(row) for row in rows]


@contextlib.contextmanager
def sense() -> Iterator[None]:
    """An answer of another shape than asked for comes from a worker that is not ours any more."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxLost("the sandbox's answer makes no sense; start a new one") from error


def ran(head: Mapping[str, Json], output: bytes) -> Ran:
    split, limit = int(head["head"]), head.get("limit")
    code = head.get("exit_code")
    return Ran(
        exit_code=None if limit else code,
        head=output[:split],
        tail=output[split:],
        dropped=max(0, int(head["total"]) - len(output)),
        timed_out=limit == "time",
        limit=limit,
        duration=float(head["duration"]),
    )


async def ended(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process without a thread and without polling."""
    if process.poll() is not None:
        return
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    loop.add_reader(descriptor, done.set)
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), seconds)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    process.poll()
