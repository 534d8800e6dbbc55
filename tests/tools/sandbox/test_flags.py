"""Takes away one protection at a time: the attack that it stops must then succeed, or the suite proves nothing."""

from __future__ import annotations

import pytest

from replayer.errors import MissingPartError
from replayer.tools.sandbox import bubblewrap, isolation
from replayer.tools.sandbox.bubblewrap import Bubblewrap
from replayer.tools.sandbox.probe import grade_of
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace

from .attacks import ATTACKS
from .test_attacks import LIMITS, attacked

pytestmark = pytest.mark.sandbox
BY_NAME = {attack.name: attack for attack in ATTACKS}


class Without(Bubblewrap):
    """The full isolation less some of its words; `instead` takes their place."""

    def __init__(self, *words: str, instead: tuple[str, ...] = ()) -> None:
        self.words = words
        self.instead = instead

    def arguments(self, *given):
        words = super().arguments(*given)
        count = len(self.words)
        places = [n for n in range(len(words)) if tuple(words[n : n + count]) == self.words]
        assert places, f"{self.words} is not part of the arguments any more"
        for place in reversed(places):
            words[place : place + count] = self.instead
        return words


class WithoutFilter(Bubblewrap):
    def policy(self, *, fenced):
        allow_everything = bubblewrap.seccomp.instruction(bubblewrap.seccomp.RETURN, bubblewrap.seccomp.ALLOW)
        return allow_everything


class WithoutBoth(WithoutFilter, Without):
    """Two protections against the same attack, both gone."""


class WithoutLandlock(Without):
    """The mounts alone, less some words."""

    def confinement(self):
        return {}


REMOVED = {
    "--unshare-net": (Without("--unshare-net"), "TCP to a listener on the host's loopback"),
    "--unshare-net, abstract": (Without("--unshare-net"), "abstract Unix socket of the host"),
    "--unshare-ipc": (Without("--unshare-ipc"), "shared memory of System V"),
    "--unshare-uts": (Without("--hostname", "sandbox"), "name of the host"),
    "--unshare-cgroup": (Without("--unshare-cgroup-try"), "control groups of the host"),
    "--disable-userns": (WithoutBoth("--disable-userns"), "new namespaces"),
    "--uid": (Without("--uid", "1000"), "another user"),
    "--gid": (Without("--gid", "1000"), "another user"),
    "--clearenv": (Without("--clearenv"), "secrets in the environment"),
    "--new-session": (Without("--new-session"), "session of the user's terminal"),
    "--as-pid-1": (Without("--as-pid-1"), "host paths in the command line of PID 1"),
    "--remount-ro /": (WithoutLandlock("--remount-ro", "/"), "fill every place that can be written"),
    "--remount-ro /dev": (Without("--remount-ro", "/dev"), "fill every place that can be written"),
    "--ro-bind /usr": (
        Without("--ro-bind", "/usr", instead=("--bind", "/usr")),
        "mounts that can be written to without a limit",
    ),
    "--ro-bind /proc/sys": (
        Without("--ro-bind", "/proc/sys", "/proc/sys"),
        "mounts that can be written to without a limit",
    ),
    **{
        f"--size of {place}": (
            Without("--size", str(size), "--tmpfs", place, instead=("--tmpfs", place)),
            "fill every place that can be written",
        )
        for place, size in (
            ("/workspace", LIMITS.workspace),
            ("/tmp", LIMITS.tmp),
            ("/home", LIMITS.home),
            ("/dev/shm", LIMITS.shm),
        )
    },
    "tmpfs /tmp": (
        Without(
            *("--perms", "1777", "--size", str(LIMITS.tmp), "--tmpfs", "/tmp"),
            instead=("--bind", "/var/tmp", "/tmp"),
        ),
        "mounts that can be written to without a limit",
    ),
    "seccomp: socket families": (
        WithoutFilter(),
        "families that no network namespace holds: VSOCK, PACKET, ALG, BLUETOOTH",
    ),
    "seccomp: calls": (WithoutFilter(), "dangerous system calls"),
    "seccomp: hidden arguments": (WithoutFilter(), "system calls whose arguments a filter cannot see"),
}


@pytest.mark.parametrize("name", REMOVED)
async def test_without_one_protection_an_attack_succeeds(name, host):
    weakened, attack = REMOVED[name]
    async with await Sandbox.open(Workspace.from_files({"a.txt": "a"}), weakened, limits=LIMITS) as box:
        ran = await attacked(box, BY_NAME[attack], host)
        assert not BY_NAME[attack].held(ran, host), ran


@pytest.mark.parametrize(
    "weakened",
    [
        Without("--unshare-net"),
        Without("--unshare-ipc"),
        Without("--clearenv"),
        WithoutFilter(),
        WithoutLandlock("--remount-ro", "/"),
    ],
    ids=["--unshare-net", "--unshare-ipc", "--clearenv", "--seccomp", "--remount-ro /"],
)
async def test_the_self_test_refuses_what_is_weakened(weakened):
    graded = await grade_of(weakened)
    assert graded.grade == "none"
    assert "does not hold here" in graded.reason


@pytest.mark.parametrize("word", ["--unshare-user", "--unshare-pid", "--unshare-uts"])
async def test_protections_without_which_nothing_starts(word):
    with pytest.raises(MissingPartError, match="bubblewrap does not start here"):
        await Sandbox.open(Workspace.empty(), Without(word))


@pytest.mark.root
async def test_the_uid_drop_keeps_kernel_settings_shut_even_without_their_cover(host, monkeypatch):
    uncovered = Without("--ro-bind", "/proc/sys", "/proc/sys")
    attack = BY_NAME["open what only root may"]
    async with await Sandbox.open(Workspace.empty(), uncovered, limits=LIMITS) as box:
        assert "ALLOWED" not in (await attacked(box, attack, host)).output
    monkeypatch.setattr(bubblewrap, "dropped", dict)
    async with await Sandbox.open(Workspace.empty(), uncovered, limits=LIMITS) as box:
        assert "ALLOWED" in (await attacked(box, attack, host)).output
    assert isolation.dropped() == {"user": 65534, "group": 65534, "extra_groups": []}


async def test_one_protection_of_two_is_enough(host):
    async with await Sandbox.open(Workspace.empty(), WithoutFilter(), limits=LIMITS) as box:
        ran = await attacked(box, BY_NAME["new namespaces"], host)
        assert BY_NAME["new namespaces"].held(ran, host), ran


async def test_landlock_holds_what_the_mounts_no_longer_do(host):
    weakened = Without("--remount-ro", "/")
    async with await Sandbox.open(Workspace.empty(), weakened, limits=LIMITS) as box:
        ran = await box.run(["/bin/sh", "-c", "echo x > /new && echo WROTE"])
        assert "WROTE" not in ran.output and "Permission denied" in ran.output
