"""What every kind of isolation has in common: how the worker is started, and its settings."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from replayer.errors import MissingPartError
from replayer.tools.sandbox.archive import BOOT
from replayer.tools.sandbox.fence import ENTER, Fence
from replayer.tools.sandbox.guest.tree import clear_unknown
from replayer.tools.sandbox.types import Grade, Limits
from replayer.wire.types import Json, JsonObject

NOBODY = 65534
BYTES_PER_INODE = 6000
"""Files may take a quarter of the memory limit by their number alone (1.5 KB each with a long name)."""
PERSONALITY_FIXED_ADDRESSES = 0x0040000
OLDEST_PYTHON = (3, 9)
GUEST_PYTHON = "/opt/python"
GUEST_ENVIRONMENT = "/opt/env"

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/user",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "TMPDIR": "/tmp",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "SOURCE_DATE_EPOCH": "1700000000",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "user",
    "GIT_AUTHOR_EMAIL": "user@sandbox",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "user",
    "GIT_COMMITTER_EMAIL": "user@sandbox",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "COLUMNS": "120",
    "LINES": "40",
    "NO_COLOR": "1",
}
"""All that a command sees of an environment; nothing is inherited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One sandbox to be made: the worker's end of the socket, the archive of its code, the base workspace."""

    socket: int
    archive: int
    base: int
    limits: Limits
    packages: Path | None = None
    """A prepared virtual environment, world-readable."""
    fence: Fence | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        return self.socket, self.archive, self.base, *(self.fence.descriptors if self.fence else ())

    def spawn(
        self, command: Sequence[str], more: Sequence[int] = (), **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start the isolation, inside the memory cgroup where there is one. `more`: descriptors that it inherits too."""
        return subprocess.Popen(
            [*(ENTER if self.fence else ()), *command],
            stdin=subprocess.DEVNULL,
            stdout=self.fence.entrance if self.fence else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(*self.descriptors, *more),
            **options,
        )

    def spawn_at(self, home: PrivateFolder, command: Sequence[str], **options: Any) -> Started:
        """`spawn` for an isolation without a file system of its own: `home` goes when it does."""
        places = {"HOME": str(home.path), "TMPDIR": str(home.path)}
        environment = {**self.environment(str(self.packages)), **places}
        try:
            process = self.spawn(command, cwd=home.root, env=environment, start_new_session=True, **options)
        except BaseException:
            home.remove()
            raise
        return Started(process, str(home.root), home, self.fence)

    def environment(self, packages: str = GUEST_ENVIRONMENT) -> dict[str, str]:
        """`packages` is where the guest sees its virtual environment."""
        if self.packages is None:
            return dict(ENVIRONMENT)
        path = f"{packages}/bin:{ENVIRONMENT['PATH']}"
        return {**ENVIRONMENT, "PATH": path, "VIRTUAL_ENV": packages}

    def worker(
        self, python: str, root: str, tmpfs: Sequence[str], more: Mapping[str, Json] | None = None
    ) -> list[str]:
        """The worker's command line. `more` are settings of one isolation only."""
        boot = BOOT.format(path=f"/proc/self/fd/{self.archive}")
        settings = {**self.settings(root, tmpfs), **(more or {})}
        return [python, "-I", "-S", "-c", boot, json.dumps(settings)]

    def settings(self, root: str, tmpfs: Sequence[str]) -> JsonObject:
        limits = self.limits
        fixed = {"RLIMIT_NPROC": limits.processes, "RLIMIT_NOFILE": limits.open_files, "RLIMIT_CORE": 1}
        sizes = {"RLIMIT_DATA": limits.data, "RLIMIT_FSIZE": limits.file}
        return {
            "root": root,
            "socket": self.socket,
            "descriptors": self.descriptors,
            "personality": PERSONALITY_FIXED_ADDRESSES,
            "rlimits": fixed | sizes,
            "tmpfs": list(tmpfs),
            "inodes": min(limits.inodes, limits.total // BYTES_PER_INODE),
            "total_bytes": limits.total,
            "memory": self.fence and {key: getattr(self.fence, key) for key in ("usage", "stat", "events")},
            "host_ipc": namespace("ipc"),
            "cpu_seconds": limits.cpu,
            "output_kept": limits.output_kept,
            "output_drained": limits.output_drained,
            "read_bytes": limits.read,
            "snapshot_bytes": limits.snapshot // 2,
        }


def namespace(name: str) -> str:
    """Which one this process is in; empty where it cannot be said."""
    try:
        return os.readlink(f"/proc/self/ns/{name}")
    except OSError:
        return ""


class PrivateFolder:
    """A temporary folder that is locked while it is in use: what a killed process left is removed by the next."""

    PREFIX = "replayer-sandbox-"

    def __init__(self) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{self.PREFIX}*"):
            remove_unlocked(left)
        self.path = Path(tempfile.mkdtemp(prefix=self.PREFIX))
        self.root = self.path / "workspace"
        self.root.mkdir()
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            if os.geteuid() == 0:
                os.chown(self.path, NOBODY, NOBODY)
                os.chown(self.root, NOBODY, NOBODY)
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        remove_tree(self.path)
        os.close(self._lock)


def remove_unlocked(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def remove_tree(folder: Path) -> None:
    """Of any depth, never through a link; nothing runs in it any more."""
    with contextlib.suppress(OSError):
        clear_unknown(str(folder), {})
        folder.rmdir()


@dataclass(frozen=True, slots=True)
class Started:
    """A running worker. `root` is the workspace as the guest names it."""

    process: subprocess.Popen[bytes]
    root: str
    home: PrivateFolder | None = None
    """A folder on the host that must go when the sandbox goes (weak modes only)."""
    fence: Fence | None = None

    def remove(self) -> None:
        """What is left on the host once the process has ended."""
        if self.process.stderr:
            self.process.stderr.close()
        if self.home:
            self.home.remove()
        if self.fence:
            self.fence.remove()


class Isolation(Protocol):
    """A way to shut the worker in. `missing` says why it cannot be used here, in a sentence with the remedy."""

    name: str
    grade: Grade

    def missing(self) -> str | None: ...

    def start(self, room: Room) -> Started: ...


def dropped() -> JsonObject:
    """Arguments of Popen that give up root: to the kernel's /proc files and process limits uid 0 is uid 0
    in a user namespace, too."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the worker. `prefix` is a folder to show as /opt/python, None for the system's own."""

    path: str
    prefix: Path | None = None

    @property
    def here(self) -> str:
        """Where it lies on the host."""
        return str(self.prefix / "bin" / Path(self.path).name) if self.prefix else self.path


def interpreter() -> Interpreter:
    """The system's Python 3, else the one that runs this program.

    Raises MissingPartError where neither can be used.
    """
    system = Path("/usr/bin/python3")
    if system.exists() and system_version(system) >= OLDEST_PYTHON:
        return Interpreter(str(system))
    prefix = Path(sys.base_prefix).resolve()
    if os.geteuid() == 0 and not reachable(prefix):
        raise MissingPartError(
            "the sandbox needs a Python that an unprivileged user can read; install the system's python3"
        )
    return Interpreter(f"{GUEST_PYTHON}/bin/python{sys.version_info[0]}.{sys.version_info[1]}", prefix)


def system_version(python: Path) -> tuple[int, int]:
    """From the name that /usr/bin/python3 points to (python3.11): cheaper than to start it."""
    name = python.resolve().name.removeprefix("python")
    major, _, minor = name.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (3, 0)


def reachable(path: Path) -> bool:
    """Every user may enter the folders above and read this one."""
    return all(part.stat().st_mode & 0o005 == 0o005 for part in (path, *path.parents))


def cache_folder() -> Path:
    """Where prepared parts are kept between runs, readable for the user that a sandbox runs as."""
    if os.geteuid() == 0:
        folder = Path("/var/cache/replayer")
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "replayer"
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        folder.chmod(0o755)
    return folder
