"""Hostile commands against the full isolation: each must fail, and the sandbox must work on afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import FileError, Limits
from replayer.tools.sandbox.workspace import Workspace

from .attacks import ATTACKS, Attack

pytestmark = pytest.mark.sandbox

MiB = 1 << 20
LIMITS = Limits(
    total=600 * MiB,
    workspace=64 * MiB,
    tmp=32 * MiB,
    home=16 * MiB,
    shm=16 * MiB,
    inodes=50_000,
    processes=100,
)


async def attacked(box: Sandbox, attack: Attack, host):
    program = attack.program
    for name, value in host.names.items():
        program = program.replace(f"{{{name}}}", str(value))
    program = program.replace("{{", "{").replace("}}", "}")
    return await box.run(
        [*(["/usr/bin/python3", "-c"] if attack.python else ["/bin/bash", "-c"]), program],
        timeout=attack.timeout,
    )


async def others(box: Sandbox) -> list[str]:
    """Processes in the sandbox but its worker and the one that looks."""
    listed = await box.run(["/bin/sh", "-c", "echo $$; exec ls /proc"])
    own, *names = listed.output.split()
    return [name for name in names if name.isdigit() and name not in ("1", own)]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_attack(attack, host):
    async with await Sandbox.start(Workspace.from_files({"a.txt": "a"}), limits=LIMITS) as box:
        ran = await attacked(box, attack, host)
        assert attack.held(ran, host), ran
        assert host.untouched()
        await box.restore()
        assert await box.read_file("a.txt") == b"a"
        assert await others(box) == [], "something of the attack is left"


async def test_file_tools_follow_links_inside_the_sandbox_only(host):
    links = f"ln -s {host.file} l; ln -s {host.folder} d; ln -s /proc/1/mem m; ln -s /dev/zero z; mkfifo f"
    async with await Sandbox.start(Workspace.empty()) as box:
        await box.run(["/bin/bash", "-c", links])
        for path in ("l", "d/file", "m", "z", "f", host.file, "../../../" + host.file):
            with pytest.raises(FileError):
                await box.read_file(path)
        for path in ("d/new", "l"):
            with pytest.raises(FileError) as refused:
                await box.write_file(path, b"x")
            assert refused.value.kind in ("denied", "not_found", "exists")
        with pytest.raises(FileError):
            await box.write_file("f", b"x")
    assert host.untouched()


async def test_a_link_to_a_host_secret_planted_in_the_workspace(tmp_path, host):
    (tmp_path / "planted").symlink_to(host.file)
    async with await Sandbox.start(Workspace.from_directory(str(tmp_path))) as box:
        with pytest.raises(FileError):
            await box.read_file("planted")


async def test_a_daemon_is_dead_before_the_next_call():
    daemon = (
        "import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(300)"
    )
    async with await Sandbox.start(Workspace.empty()) as box:
        await box.run(["/usr/bin/python3", "-c", daemon])
        assert await others(box) == []


async def test_a_hard_link_of_a_host_file_in_the_users_folder_becomes_a_copy(host):
    folder = Path(host.folder, "tree")
    folder.mkdir()
    (folder / "hard").hardlink_to(host.file)
    try:
        async with await Sandbox.start(Workspace.from_directory(str(folder))) as box:
            await box.run(["/bin/bash", "-c", "echo changed > hard; cat hard"])
    finally:
        (folder / "hard").unlink()
        folder.rmdir()
    assert host.untouched()
