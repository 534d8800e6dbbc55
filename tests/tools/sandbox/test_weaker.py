"""The weaker isolations: what they hold, what they do not, and that nobody gets them without asking."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from replayer.errors import MissingPartError
from replayer.tools.sandbox import bubblewrap
from replayer.tools.sandbox.bubblewrap import Bubblewrap
from replayer.tools.sandbox.landlock import Landlock
from replayer.tools.sandbox.probe import grade_of, isolation_for, probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace

from .attacks import ATTACKS
from .test_attacks import LIMITS, attacked

pytestmark = pytest.mark.sandbox

NEEDS_NAMESPACES = {
    "climb out through /proc",
    "inherited descriptors",
    "host paths in the command line of PID 1",
    "what of /etc is the host's",
    "host disks",
    "metadata service and the internet",
    "abstract Unix socket of the host",
    "Unix socket of the host by its path",
    "kernel addresses",
    "clock and host name",
    "shared memory of System V",
    "see processes of the host",
    "name of the host",
    "another user",
    "capabilities to win back",
    "control groups of the host",
    "session of the user's terminal",
    "mounts that can be written to without a limit",
    "open what only root may",
    "kill a process of the host",
    "every signal to the worker",
    "read the worker's memory and files",
    "attach to the worker",
    "write to the worker's socket",
    "a memory file of the worker reopened for writing",
    "fork bomb",
    "thread bomb",
    "fill every place that can be written",
    "a million empty files",
    "20,000 folders deep",
    "limits of a process",
    "setuid programs",
}
"""Held otherwise or not at all: Landlock has no view of its own of processes, devices or mounts."""


def test_grades_are_told_apart():
    assert [probe(name).grade for name in ("bubblewrap", "landlock", "container")] == [
        "full",
        "landlock",
        "container",
    ]


@pytest.mark.parametrize(
    "attack", [one for one in ATTACKS if one.name not in NEEDS_NAMESPACES], ids=lambda attack: attack.name
)
async def test_landlock_holds_the_rest_of_the_attacks(attack, host):
    async with await Sandbox.open(Workspace.from_files({"a.txt": "a"}), Landlock(), limits=LIMITS) as box:
        ran = await attacked(box, attack, host)
        refused = attack.held(ran, host) or {"EACCES", "EAFNOSUPPORT", "EPERM"} >= set(ran.output.split())
        assert refused, ran
        assert host.untouched()


async def test_landlock_reaches_no_process_and_no_socket_of_the_host(host):
    program = (
        f"kill -9 {host.process.pid}; cat /proc/{host.process.pid}/environ; exec 3<>/dev/tcp/127.0.0.1/1"
    )
    async with await Sandbox.open(Workspace.empty(), Landlock(), limits=LIMITS) as box:
        ran = await box.run(["/bin/bash", "-c", program])
    assert host.alive()
    assert ran.output.count("Permission denied") + ran.output.count("not permitted") >= 2, ran.output


async def test_nothing_steps_down_by_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(bubblewrap, "binary", lambda: None)
    probe.cache_clear()
    try:
        assert isinstance(isolation_for("auto"), Bubblewrap)
        with pytest.raises(MissingPartError, match="apt install bubblewrap"):
            await Sandbox.start(Workspace.empty())
        assert probe("landlock").grade == "landlock", "by name it can be had"
    finally:
        probe.cache_clear()


async def test_a_bubblewrap_that_does_nothing_is_found_out(tmp_path_factory, monkeypatch):
    """A program that ignores its arguments and runs the command unprotected must not be graded."""

    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="replayer-test-"))
    folder.chmod(0o755)
    fake = folder / "bwrap"
    fake.write_text('#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift\ncd /var/tmp; exec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "binary", lambda: fake)
    try:
        graded = await grade_of(Bubblewrap())
    finally:
        fake.unlink()
        folder.rmdir()
    assert graded.grade == "none"


@pytest.mark.root
@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_root_without_other_uids_is_told_so(name):
    """As in a nested container."""
    command = [
        "unshare",
        "-U",
        "--map-root-user",
        sys.executable,
        "-m",
        "replayer",
        "sandbox",
        "check",
        "--sandbox",
        name,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "")
    assert f"isolation: none ({name})" in done.stdout and "map more uids" in done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_on_a_mac_the_refusal_says_what_to_do():
    assert "--tools recorded" in (isolation_for("seatbelt").missing() or "")


@pytest.fixture
def open_folder():
    """A folder that every user may enter: pytest's own are for one user only."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="replayer-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("copied", [False, True])
async def test_the_wheels_bubblewrap_isolates_as_well(monkeypatch, host, open_folder, copied):
    """Where the user without rights, that root runs it as, cannot reach it, a copy is made that it can."""
    path = bubblewrap.from_wheel()
    assert path is not None, "the extra `sandbox` is part of `dev`"
    if copied:
        monkeypatch.setattr(bubblewrap, "cache_folder", lambda: open_folder)
        path = bubblewrap.copied(path.parents[1])
        assert open_folder in path.parents
        assert bubblewrap.copied(path.parents[1]) == path, "the second time it is there"
    monkeypatch.setattr(bubblewrap, "binary", lambda: path)
    graded = await grade_of(Bubblewrap())
    assert (graded.grade, graded.reason) == ("full", "")
    async with await Sandbox.open(Workspace.from_files({"a": "a"}), Bubblewrap(), limits=LIMITS) as box:
        ran = await box.run(["/bin/bash", "-c", f"cat {host.file}; id -u; kill -9 -1"])
        assert "1000" in ran.output
        assert await box.read_file("a") == b"a"


def test_a_bubblewrap_in_the_current_folder_or_with_setuid_is_left_alone(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    real = bubblewrap.usable
    monkeypatch.setattr(bubblewrap, "usable", lambda path: path != Path("/usr/bin/bwrap") and real(path))
    search = bubblewrap.binary.__wrapped__
    assert search() != fake
    monkeypatch.chdir("/")
    assert search() == fake
    fake.chmod(0o4755)
    assert search() != fake


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("bwrap: setting up uid map: Permission denied", "AppArmor profile"),
        ("bwrap: No permissions to create new namespace, likely because …", "--sandbox container"),
        ("bwrap: something else", "something else"),
    ],
)
async def test_a_bubblewrap_that_may_not_comes_with_a_remedy(monkeypatch, open_folder, said, advice):
    fake = open_folder / "bwrap"
    fake.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "binary", lambda: fake)
    graded = await grade_of(Bubblewrap())
    assert graded.grade == "none"
    assert said.split("likely")[0].strip() in graded.reason
    assert advice in graded.reason
