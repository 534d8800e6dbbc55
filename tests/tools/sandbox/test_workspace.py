"""Where a workspace comes from: archives, folders and commits of the user's, and what is refused of them."""

import contextlib
import io
import os
import subprocess
import tarfile

import pytest
import pyzstd
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.errors import PlanError, TraceError
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import Limits
from replayer.tools.sandbox.workspace import Workspace


def tar(path, *members):
    with tarfile.open(path, "w") as archive:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o4755
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def test_the_same_files_have_the_same_digest_whatever_their_order():
    one = Workspace.from_files({"a": "1", "b/c": "2"})
    two = Workspace.from_files({"b/c": "2", "a": "1"})
    other = Workspace.from_files({"a": "1", "b/c": "3"})
    assert one.digest == two.digest != other.digest
    assert one.files == 4


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (("../../etc/cron.d/x", tarfile.REGTYPE, b"x"), "leaves the workspace"),
        (("/etc/passwd", tarfile.REGTYPE, b"x"), "leaves the workspace"),
        (("dev", tarfile.CHRTYPE, b""), "neither file, folder nor link"),
        (("pipe", tarfile.FIFOTYPE, b""), "neither file, folder nor link"),
        (("hard", tarfile.LNKTYPE, "/etc/passwd"), "cannot be read"),
    ],
)
def test_a_hostile_archive_is_refused_by_the_name_of_its_member(tmp_path, member, said):
    with pytest.raises(TraceError, match=said):
        Workspace.from_tar(tar(tmp_path / "w.tar", member))


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100])
def test_a_damaged_archive_is_one_sentence(tmp_path, content):
    (tmp_path / "w.tar").write_bytes(content)
    with pytest.raises(TraceError, match=r"w\.tar: the workspace archive cannot be read"):
        Workspace.from_tar(tmp_path / "w.tar")


@pytest.mark.parametrize("damage", ["garbage", "cut", "flipped", "head"])
def test_a_damaged_zstd_archive_is_one_sentence(tmp_path, damage):
    packed = pyzstd.compress(tar(tmp_path / "w.tar", ("a", tarfile.REGTYPE, b"x" * 600)).read_bytes())
    damaged = {
        "garbage": packed[:4] + b"garbage",
        "cut": packed[:-5],
        "flipped": packed[:10] + bytes([packed[10] ^ 0xFF]) + packed[11:],
        "head": packed[:4],
    }
    (tmp_path / "w.tar.zst").write_bytes(packed)
    assert Workspace.from_tar(tmp_path / "w.tar.zst").files == 2
    (tmp_path / "w.tar.zst").write_bytes(damaged[damage])
    with pytest.raises(TraceError, match=r"w\.tar\.zst: the workspace archive cannot be read: [^\n]+$"):
        Workspace.from_tar(tmp_path / "w.tar.zst")


def test_a_file_that_is_also_a_folder_is_refused(tmp_path):
    path = tar(tmp_path / "w.tar", ("a", tarfile.REGTYPE, b"x"), ("a/b", tarfile.REGTYPE, b"x"))
    with pytest.raises(TraceError, match="both as a file and as a folder"):
        Workspace.from_tar(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_damage_to_an_archive_is_more_than_a_sentence(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "w.tar"
    sound = bytearray(tar(path, ("a", tarfile.REGTYPE, b"x" * 600), ("l", tarfile.SYMTYPE, "a")).read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        sound[data.draw(st.integers(0, 2047))] = data.draw(st.integers(0, 255))
    path.write_bytes(sound[: data.draw(st.integers(0, len(sound)))])
    with contextlib.suppress(TraceError):
        Workspace.from_tar(path)


@pytest.mark.sandbox
async def test_a_workspace_that_does_not_fit_is_one_sentence():
    with pytest.raises(TraceError, match="cannot be made in the sandbox: No space left"):
        await Sandbox.start(Workspace.from_files({"a": b"x" * (2 << 20)}), limits=Limits(workspace=1 << 20))
    with pytest.raises(TraceError, match="cannot be made in the sandbox: File name too long"):
        await Sandbox.start(Workspace.from_files({"n" * 300: "x"}))


def test_a_traces_archive_lies_beside_it(tmp_path):
    trace = tmp_path / "traces" / "t.jsonl"
    trace.parent.mkdir()
    tar(tmp_path / "outside.tar", ("a", tarfile.REGTYPE, b"a"))
    tar(trace.parent / "w.tar", ("a", tarfile.REGTYPE, b"a"))
    found = Workspace.from_trace({"tar": "w.tar", "check": ["true"]}, trace)
    assert (found.files, found.check) == (2, ("true",))
    with pytest.raises(TraceError, match="leaves the trace's folder"):
        Workspace.from_trace({"tar": "../outside.tar"}, trace)
    with pytest.raises(TraceError, match="--workspace DIR"):
        Workspace.from_trace(None, trace)


@pytest.mark.parametrize("spec", ["nowhere", "nowhere@HEAD"])
def test_a_folder_that_is_not_there_is_named(tmp_path, spec):
    with pytest.raises(PlanError, match="is not a directory"):
        Workspace.from_directory(str(tmp_path / spec))


@pytest.mark.sandbox
async def test_an_archive_is_made_inside_with_harmless_modes_and_links(tmp_path):
    path = tar(
        tmp_path / "w.tar",
        ("run.sh", tarfile.REGTYPE, b"#!/bin/sh\necho ran\n"),
        ("link", tarfile.SYMTYPE, "/etc/shadow"),
        ("hard", tarfile.LNKTYPE, "run.sh"),
    )
    async with await Sandbox.start(Workspace.from_tar(path)) as box:
        seen = await box.run(
            ["/bin/bash", "-c", "./run.sh; stat -c '%a %h' run.sh hard; readlink link; cat link"]
        )
    assert seen.output == "ran\n755 1\n755 1\n/etc/shadow\ncat: link: No such file or directory\n"


@pytest.fixture
def repository(tmp_path):
    """A repository whose configuration runs a program whenever git is used carelessly."""
    folder = tmp_path / "repo"
    folder.mkdir()

    def git(*arguments):
        identity = ("-c", "user.name=u", "-c", "user.email=u@x")
        subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    (folder / "a").write_text("committed\n")
    (folder / ".gitignore").write_text("secret.env\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    (folder / "a").write_text("changed\n")
    (folder / "new").write_text("untracked\n")
    (folder / "secret.env").write_text("ignored\n")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git("config", "core.fsmonitor", str(trap))
    git("config", "filter.lfs.smudge", str(trap))
    git("config", "filter.lfs.process", str(trap))
    git("config", "core.hooksPath", str(tmp_path))
    return folder


@pytest.mark.sandbox
async def test_a_commit_of_the_users_repository(repository, tmp_path):
    async with await Sandbox.start(Workspace.from_directory(f"{repository}@main")) as box:
        assert await box.read_file("a") == b"committed\n"
        assert await box.kind("new") is None
        log = await box.run(["git", "log", "--format=%s"])
        await box.run(
            ["/bin/bash", "-c", "git config core.fsmonitor 'touch /tmp/x'; echo x > a; rm -rf .git"]
        )
    assert log.output == "base\n"
    assert (repository / "a").read_text() == "changed\n"
    assert not (tmp_path / "sprung").exists()


@pytest.mark.sandbox
async def test_the_users_folder_as_it_is_without_what_git_ignores(repository, tmp_path):
    async with await Sandbox.start(Workspace.from_directory(str(repository))) as box:
        assert await box.read_file("a") == b"changed\n"
        assert await box.kind("new") == "file"
        assert await box.kind("secret.env") is None
        assert (await box.run(["git", "status", "--porcelain"])).output == ""
    assert not (tmp_path / "sprung").exists()


def test_an_unknown_commit_is_what_git_says(repository):
    with pytest.raises(PlanError, match="not a valid object name"):
        Workspace.from_directory(f"{repository}@nope")
    with pytest.raises(PlanError, match="git says"):
        Workspace.from_directory(f"{repository}@--output=/tmp/x")


def test_a_workspace_that_is_shared_cannot_be_changed():
    workspace = Workspace.from_files({"a": "a"})
    path = f"/proc/self/fd/{workspace.descriptor}"
    with pytest.raises(PermissionError):
        os.pwrite(workspace.descriptor, b"x", 0)
    with open(path, "r+b") as again, pytest.raises(PermissionError):
        os.pwrite(again.fileno(), b"x", 0)
