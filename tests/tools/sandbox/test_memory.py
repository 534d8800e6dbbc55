"""The memory limit: however a guest takes memory, it gets little more than the limit, and nothing of it is left."""

from __future__ import annotations

import ctypes

import pytest

from replayer.tools.sandbox import fence, sandbox
from replayer.tools.sandbox.bubblewrap import Bubblewrap
from replayer.tools.sandbox.isolation import Isolation
from replayer.tools.sandbox.landlock import Landlock
from replayer.tools.sandbox.probe import probe
from replayer.tools.sandbox.sandbox import OpenSandbox
from replayer.tools.sandbox.throwaway import ThrowAway
from replayer.tools.sandbox.types import FileError, Limits
from replayer.tools.sandbox.workspace import Workspace

from .memory_attacks import PROGRAMS

pytestmark = pytest.mark.sandbox
MiB = 1 << 20
TOTAL = 384 * MiB
LIMITS = Limits(timeout=6.0, total=TOTAL, workspace=192 * MiB, tmp=48 * MiB, home=32 * MiB, shm=48 * MiB)
BOUNDED_OTHERWISE = {"pipes", "memory files", "memory files on their way through a socket"}
"""The kernel's own limit on a user's pipes may come first; where nothing counts memory files, there are none."""


async def taken(isolation: Isolation, name: str) -> tuple[str | None, int | None]:
    """The limit that ended the attack, and where a cgroup counts it, the most memory that the sandbox ever had."""
    async with await OpenSandbox.open(Workspace.from_files({"a.txt": "a"}), isolation, limits=LIMITS) as box:
        ran = await box.run(["/usr/bin/python3", "-c", PROGRAMS[name]])
        assert (await box.run(["/bin/echo", "works on"])).output == "works on\n"
        left = await box.run(["/bin/sh", "-c", "ls /proc | grep -c '^[0-9]'; cat /proc/sysvipc/shm"])
        assert isolation.grade != "full" or len(left.output.splitlines()) <= 2, "something is left"
        assert await box.restore() >= 0
        assert await box.read_file("a.txt") == b"a"
        peak = kernel_peak(box)
    return ran.limit or f"exit code {ran.exit_code}", peak


def kernel_peak(box: OpenSandbox) -> int | None:
    assert box._started is not None
    walls = box._started.fence
    if walls is None:
        return None
    files = ("memory.max_usage_in_bytes", "memory.kmem.tcp.max_usage_in_bytes", "memory.peak")
    return sum(int((walls.folder / name).read_text()) for name in files if (walls.folder / name).exists())


@pytest.mark.parametrize("name", PROGRAMS)
async def test_memory_stays_within_its_limit(name: str) -> None:
    limit, peak = await taken(Bubblewrap(), name)
    expected = {"inodes"} if "folders" in name else {"memory"}
    assert limit in expected or (name in BOUNDED_OTHERWISE and limit in ("time", "exit code 1")), limit
    assert peak is None or peak <= 1.1 * TOTAL


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize("name", PROGRAMS)
async def test_memory_is_counted_where_no_cgroup_can_be_had(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "fence", lambda limit: None)
    limit, _ = await taken(Bubblewrap(), name)
    assert limit in ("memory", "inodes") or name in BOUNDED_OTHERWISE, limit


def test_the_grade_says_what_holds_the_limit() -> None:
    graded = probe("bubblewrap")
    assert graded.memory == fence.kind() and graded.memory in ("cgroup v1", "cgroup v2", "counted")


@pytest.mark.root
async def test_a_sandbox_leaves_no_cgroup_behind() -> None:
    place = fence.home()
    if place is None:
        assert probe("bubblewrap").memory == "counted"
        return
    async with await OpenSandbox.open(Workspace.empty(), Bubblewrap(), limits=LIMITS):
        assert list(place[0].glob(f"{fence.PREFIX}*"))
    assert not [one for one in place[0].glob(f"{fence.PREFIX}*") if (one / "cgroup.procs").read_text() == ""]


async def test_landlock_reaches_no_segment_of_the_host() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(0, 4096, 0o1666)
    try:
        program = (
            "import ctypes; libc = ctypes.CDLL(None, use_errno=True); libc.shmat.restype = ctypes.c_void_p\n"
            f"print(libc.shmat({number}, None, 0) == ctypes.c_void_p(-1).value, ctypes.get_errno())"
        )
        async with await OpenSandbox.open(Workspace.empty(), Landlock(), limits=LIMITS) as box:
            ran = await box.run(["/usr/bin/python3", "-c", program])
        assert ran.output == "True 1\n", ran
    finally:
        libc.shmctl(number, 0, None)


async def test_a_folder_of_a_hundred_thousand_long_names_does_not_end_the_session() -> None:
    program = "import os\nfor n in range(100_000): os.mkdir(f'{n:0>250}')"
    async with await OpenSandbox.open(Workspace.from_files({"a.txt": "a"}), Bubblewrap()) as box:
        ran = await box.run(["/usr/bin/python3", "-c", program])
        assert ran.exit_code == 0
        with pytest.raises(FileError) as refused:
            await box.list(".")
        assert refused.value.kind == "too_large"
        assert await box.snapshot()
        assert await box.restore() == 100_000
        assert await box.list(".") == [("a.txt", "file")]


async def test_names_that_are_no_text_do_not_end_the_session() -> None:
    program = "import os\nfor n in range(20_000): os.mkdir(b'\\xff' * 240 + b'%d' % n)"
    async with await OpenSandbox.open(Workspace.empty(), Bubblewrap()) as box:
        await box.run(["/usr/bin/python3", "-c", program])
        with pytest.raises(FileError):
            await box.list(".")
        assert await box.snapshot()
        assert await box.restore() == 20_000


@pytest.mark.parametrize("isolation", [Landlock(), ThrowAway()], ids=["landlock", "container"])
async def test_segments_of_the_host_are_left_alone(isolation: Isolation) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(0, 4096, 0o1666)
    try:
        async with await OpenSandbox.open(Workspace.empty(), isolation, limits=LIMITS) as box:
            await box.run(["true"])
        assert libc.shmctl(number, 2, ctypes.create_string_buffer(256)) == 0, "the host's segment is gone"
    finally:
        libc.shmctl(number, 0, None)
