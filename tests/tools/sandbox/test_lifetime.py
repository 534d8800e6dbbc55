"""Nothing of a sandbox outlives its use: no process, no mount, no file; whatever way its user ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.sandbox

PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where this suite runs in the background
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace
async def main(backend, busy, end):
    async with await Sandbox.start(Workspace.from_files({"a": "a"}), backend=backend) as box:
        print(box._started.process.pid, flush=True)
        if end == "error":
            raise RuntimeError
        if end != "success":
            await box.run(["/bin/sh", "-c", "sleep 7654.%s & trap '' TERM; sleep 7654.%s" % (busy, busy)])
        await box.run(["/bin/sh", "-c", "sleep 7654.%s & echo x > /tmp/f" % busy])
asyncio.run(main(*sys.argv[1:]))
"""


def world() -> dict[str, set[str]]:
    """Mounts, temporary files and memory segments of this machine that a sandbox could leave behind."""
    mounts = set(Path("/proc/self/mounts").read_text().splitlines())
    places = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    names = ("replayer-sandbox-*", "replayer-probe-*")
    files = {str(one) for place in places for name in names for one in place.glob(name)}
    return {"mounts": {line for line in mounts if "workspace" in line or "bwrap" in line}, "files": files}


def running(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                mark in (folder / "cmdline").read_bytes().decode("utf-8", "replace")
                and int(folder.name) != os.getpid()
            ):
                found.append(int(folder.name))
    return found


def children(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    direct = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [*direct, *(deeper for pid in direct for deeper in children(pid))]


def gone(condition, seconds=120.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def begin(backend: str, end: str, mark: str) -> tuple[subprocess.Popen[str], int]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, backend, mark, end],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    return process, int(process.stdout.readline())


def ended(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(120)
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.mark.parametrize("end", ["success", "error", "SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_nothing_is_left_after(end, backend):
    before, mark = world(), f"{abs(hash((end, backend))) % 10**6:06}{os.getpid()}"
    process, isolation = begin(backend, end, mark)
    if end.startswith("SIG"):
        assert gone(lambda: len(running(f"7654.{mark}")) >= 2), "the command runs"
        process.send_signal(getattr(signal, end))
    ended(process)
    assert gone(lambda: not running("sleep\0" + f"7654.{mark}")), "no command survives"
    assert gone(
        lambda: (
            not Path(f"/proc/{isolation}").exists() or Path(f"/proc/{isolation}/cmdline").read_bytes() == b""
        )
    )
    after = world()
    if backend == "landlock" and end in ("SIGKILL", "SIGTERM"):
        # Killed, the runner cannot remove the folder of the weak mode; the next start of any sandbox does.
        ended(begin(backend, "success", mark)[0])
        after = world()
    assert after["mounts"] <= before["mounts"]
    assert after["files"] <= before["files"]


def test_a_sandbox_that_is_stopped_dies_with_its_runner():
    """A worker that cannot notice the closed socket is killed by the kernel, with its parent (--die-with-parent)."""
    mark = f"55{os.getpid()}"
    process, isolation = begin("bubblewrap", "SIGKILL", mark)
    assert gone(lambda: len(running(f"7654.{mark}")) >= 2)
    workers = [
        pid for pid in children(isolation) if b"sleep" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    process.kill()
    ended(process)
    assert gone(lambda: not running(f"7654.{mark}"))
