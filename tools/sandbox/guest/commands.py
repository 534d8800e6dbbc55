"""Runs one command and lets nothing of it survive: not a daemon, not a holder of its output."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import time
from collections.abc import Iterator

from replayer.tools.sandbox.guest.memory import Head, Meter, ipc

POLL_SECONDS = 0.05
SWEEP_ROUNDS = 4000
NICENESS = 10
CLOSE_SECONDS, CLOSE = 0.004, 0.4
"""How often a command is looked at that uses more than this share of the memory limit."""
EXPENDABLE = b"1000"
"""The kernel ends a command before the worker where memory runs out."""
IPC_RMID = 0


class HostGone(Exception):
    """The host's end of the socket closed while a command was running."""


class Output:
    """The first and the last part of what a command printed; what lies between is counted only."""

    def __init__(self, keep: int, drain: int) -> None:
        self.keep, self.drain = keep // 2, drain
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.keep - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 4 * self.keep:
            del self.tail[: -self.keep]

    @property
    def flooded(self) -> bool:
        return self.total > self.drain


def run(head: Head, payload: bytes, settings: Head, link: int) -> tuple[Head, bytes]:
    """`head`: argv, cwd, env, timeout. The payload, when there is one, is the command's standard input."""
    home = os.open(".", os.O_PATH | os.O_CLOEXEC)
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(writing, True)
    started = time.monotonic()
    try:
        os.chdir(head["cwd"])
        meter = Meter(settings)
        with cpu_limit(settings["cpu_seconds"]), expendable(settings):
            pid = spawn(head, payload, writing)
    except (OSError, ValueError):
        os.close(reading)
        raise
    finally:
        os.fchdir(home)
        os.close(home)
        os.close(writing)
    if pid is None:
        os.close(reading)
        reason = f"{head['argv'][0]}: command not found\n".encode("utf-8", "replace")
        return {"exit_code": 127, "head": len(reason), "total": len(reason), "duration": 0.0}, reason
    return collect(pid, reading, started, head["timeout"], settings, link, meter)


@contextlib.contextmanager
def expendable(settings: Head) -> Iterator[None]:
    """What is started here is ended first, the worker last."""
    score, own = settings["score"]
    with contextlib.suppress(OSError):
        os.pwrite(score, EXPENDABLE, 0)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.pwrite(score, own, 0)


@contextlib.contextmanager
def cpu_limit(seconds: int) -> Iterator[None]:
    """What is started here inherits the limit at once; the worker itself must not live under it."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    affordable = time.process_time() < seconds - 1
    if affordable:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, before[1]))
    try:
        yield
    finally:
        if affordable:
            resource.setrlimit(resource.RLIMIT_CPU, before)


def spawn(head: Head, payload: bytes, writing: int) -> int | None:
    """None where the program cannot be executed."""
    source = stdin(payload)
    actions = [
        (os.POSIX_SPAWN_DUP2, source, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_DUP2, writing, 2),
    ]
    try:
        # Python ignores SIGPIPE and SIGXFSZ, and a child would inherit that: `grep | head` would complain.
        return os.posix_spawnp(
            head["argv"][0],
            head["argv"],
            {**os.environ, **head.get("env", {})},
            file_actions=actions,
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError:
        return None
    finally:
        os.close(source)


def stdin(payload: bytes) -> int:
    if not payload:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    source = os.open(os.environ["TMPDIR"], os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC)
    while payload:
        payload = payload[os.write(source, payload) :]
    os.lseek(source, 0, os.SEEK_SET)
    return source


def collect(
    pid: int, reading: int, started: float, timeout: float, settings: Head, link: int, meter: Meter
) -> tuple[Head, bytes]:
    """Read output until the command itself ends. Not until the pipe closes: a background holder keeps it open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # Calls must not take the processor from an engine that is measured on the same machine.
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
        resource.prlimit(pid, resource.RLIMIT_CPU, (settings["cpu_seconds"], settings["cpu_seconds"] + 1))
    output = Output(settings["output_kept"], settings["output_drained"])
    child = os.pidfd_open(pid)
    poll = select.poll()
    for descriptor, events in ((reading, select.POLLIN), (child, select.POLLIN), (link, 0)):
        poll.register(descriptor, events)
    try:
        limit = watch(poll, reading, child, link, output, started + timeout, meter)
    finally:
        status = sweep(pid)
        clear_ipc(settings)
        drain(reading, output)
        os.close(reading)
        os.close(child)
    return report(status, limit, output, time.monotonic() - started)


def report(status: int, limit: str | None, output: Output, duration: float) -> tuple[Head, bytes]:
    first, last = bytes(output.head), bytes(output.tail[-output.keep :])
    code = os.waitstatus_to_exitcode(status)
    if limit is None and code == -signal.SIGXCPU:
        limit = "cpu"
    head = {"exit_code": code, "head": len(first), "total": output.total, "duration": duration}
    return {**head, "limit": limit}, first + last


def watch(
    poll: select.poll,
    reading: int,
    child: int,
    link: int,
    output: Output,
    deadline: float,
    meter: Meter,
) -> str | None:
    """Returns when the command ended (None) or must end (the limit it broke)."""
    checked, pause = time.monotonic(), POLL_SECONDS
    while True:
        now = time.monotonic()
        if now >= deadline:
            return "time"
        ready = dict(poll.poll(min(pause, deadline - now) * 1000))
        if link in ready:
            raise HostGone
        if reading in ready:
            if not drain(reading, output, 1 << 18):
                poll.unregister(reading)
            if output.flooded:
                return "output"
        if child in ready:
            return meter.broken([])[0] if meter.fence else None
        if time.monotonic() - checked >= pause:
            broken, share = meter.broken(processes())
            if broken:
                return broken
            checked, pause = time.monotonic(), CLOSE_SECONDS if share > CLOSE else POLL_SECONDS


def drain(reading: int, output: Output, most: int = 1 << 20) -> bool:
    """False when every writer closed the pipe."""
    while most > 0:
        try:
            data = os.read(reading, 1 << 16)
        except BlockingIOError:
            return True
        if not data:
            return False
        output.add(data)
        most -= len(data)
    return True


def processes() -> list[int]:
    """Every process that belongs to a command: all others where this is PID 1, else its descendants."""
    if os.getpid() == 1:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        with contextlib.suppress(OSError):
            parent = pending.pop()
            with open(f"/proc/{parent}/task/{parent}/children") as children:
                below = [int(pid) for pid in children.read().split()]
            found += below
            pending += below
    return found


def sweep(main: int | None = None) -> int:
    """Kill and reap everything but this process; returns the wait status of `main`."""
    status = 0
    for _ in range(SWEEP_ROUNDS):
        kill_all()
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == main:
                    status = ended[1]
        except ChildProcessError:
            return status
        time.sleep(0.0005)
    return status


def kill_all() -> None:
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def clear_ipc(settings: Head) -> None:
    """System V objects outlive their makers. Only where they are all the sandbox's own."""
    if not settings["own_ipc"]:
        return
    libc = ctypes.CDLL(None)
    for what, remove in (("shm", libc.shmctl), ("msg", libc.msgctl)):
        for row in ipc(what):
            remove(int(row[1]), IPC_RMID, None)
    for row in ipc("sem"):
        libc.semctl(int(row[1]), 0, IPC_RMID)
