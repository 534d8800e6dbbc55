"""What a session works on: a tree of files, read as data on the host and made only inside a sandbox."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import lzma
import os
import stat
import subprocess
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyzstd

from replayer.errors import PlanError, TraceError
from replayer.wire.types import Json

FIXED_TIME = 1_700_000_000
"""Modification time of every file that comes without one, so that two runs see the same tree."""
LATEST = (1 << 33) - 1
MOST_BYTES, MOST_FILES = 1 << 30, 200_000
ROOT = "/workspace"

DAMAGE = (
    OSError,
    tarfile.TarError,
    EOFError,
    KeyError,
    ValueError,
    RecursionError,
    zlib.error,
    lzma.LZMAError,
    pyzstd.ZstdError,
)
"""Everything that tarfile and the decompressors raise for bytes that are not a sound archive."""

QUIET_GIT = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"),
    *("-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false"),
)


class Workspace:
    """A base state: an index `[path, kind, mode, mtime_ns, offset, size]` and the content that it points into.

    `check` is a command that decides whether a session's work is done, `environment` what the session needs
    installed (see `replayer.tools.environment`); `git` asks for a repository of one commit.
    """

    def __init__(
        self,
        entries: Mapping[str, tuple[str, int, int, bytes]],
        *,
        environment: object = None,
        check: tuple[str, ...] = (),
        git: bool = False,
    ) -> None:
        self.environment = environment
        self.check = check
        self.git = git
        index, content = [], io.BytesIO()
        for path, (kind, mode, mtime, data) in sorted(entries.items()):
            index.append([path, kind, mode, mtime, content.tell(), len(data)])
            content.write(data)
        self.index = json.dumps(index).encode()
        self.files = len(index)
        digest = hashlib.sha256(self.index)
        digest.update(content.getbuffer())
        self.digest = digest.hexdigest()
        self.descriptor = sealed(self.index, content.getbuffer())

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self.descriptor)

    @classmethod
    def empty(cls) -> Workspace:
        return cls(with_parents({}))

    @classmethod
    def from_files(cls, files: Mapping[str, str | bytes], **more: Any) -> Workspace:
        """Files by relative path; text as UTF-8."""
        texts = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        entries = {path: ("f", 0o644, FIXED_TIME * 10**9, data) for path, data in texts.items()}
        return cls(with_parents(entries), **more)

    @classmethod
    def from_tar(cls, path: Path, **more: Any) -> Workspace:
        """Read a tar (plain, gzip, bzip2, xz or zstd) as data. Raises TraceError naming the bad member."""
        try:
            with tarfile.open(fileobj=io.BytesIO(unpacked(path))) as archive:
                return cls(with_parents(dict(tar_entries(archive, path))), **more)
        except DAMAGE as error:
            # tarfile adds a line for each way in which it tried to read the file
            said = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
            raise TraceError(f"{path}: the workspace archive cannot be read: {said}") from error

    @classmethod
    def from_directory(cls, spec: str) -> Workspace:
        """`DIR` (its files as they are; of a git repository those that it does not ignore) or `DIR@COMMIT`."""
        folder, _, commit = (
            spec.rpartition("@") if "@" in spec and not Path(spec).is_dir() else (spec, "", "")
        )
        directory = Path(folder)
        if not directory.is_dir():
            raise PlanError(f"--workspace {spec}: {folder} is not a directory; give DIR or DIR@COMMIT")
        if commit:
            data = git(directory, "archive", "--format=tar", commit, "--")
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                return cls(with_parents(dict(tar_entries(archive, directory))), git=True)
        return cls(with_parents(dict(directory_entries(directory))), git=True)

    @classmethod
    def from_trace(cls, workspace: Mapping[str, Json] | None, trace: Path) -> Workspace:
        """From a trace header's `workspace`; the archive lies beside the trace. Raises TraceError."""
        facts = workspace or {}
        known = {"check": tuple(facts.get("check") or ()), "environment": facts.get("environment")}
        if not facts.get("tar"):
            raise TraceError(f"{trace}: the trace has no workspace; attach one with --workspace DIR[@COMMIT]")
        archive = (trace.parent / str(facts["tar"])).resolve()
        if trace.parent.resolve() not in archive.parents:
            raise TraceError(f"{trace}: workspace.tar {facts['tar']!r} leaves the trace's folder")
        return cls.from_tar(archive, git=bool(facts.get("git")), **known)


def sealed(*parts: bytes | memoryview) -> int:
    """A memory file that several sandboxes may hold: unsealed, one could rewrite it for the others."""
    descriptor = os.memfd_create("workspace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def with_parents(
    entries: Mapping[str, tuple[str, int, int, bytes]],
) -> dict[str, tuple[str, int, int, bytes]]:
    whole = dict(entries)
    for path in [*entries, ""]:
        for parent in [*(str(one) for one in PurePosixPath(path).parents), ""]:
            folder = whole.setdefault("" if parent == "." else parent, ("d", 0o755, FIXED_TIME * 10**9, b""))
            if folder[0] != "d":
                raise TraceError(f"the workspace has {parent!r} both as a file and as a folder")
    return whole


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with pyzstd.ZstdFile(io.BytesIO(data)) as reader:
            return reader.read(MOST_BYTES)
    return data


def tar_entries(archive: tarfile.TarFile, source: Path) -> Iterable[tuple[str, tuple[str, int, int, bytes]]]:
    total = count = 0
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts:
            raise TraceError(f"{source}: the archive's member {member.name!r} leaves the workspace")
        total, count = total + member.size, count + 1
        if total > MOST_BYTES or count > MOST_FILES:
            raise TraceError(
                f"{source}: the workspace is larger than {MOST_BYTES} bytes or {MOST_FILES} files"
            )
        entry = tar_entry(archive, member)
        if entry is None:
            raise TraceError(
                f"{source}: the archive's member {member.name!r} is neither file, folder nor link"
            )
        if path.parts:
            yield str(path), entry


def tar_entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[str, int, int, bytes] | None:
    mtime = min(max(int(member.mtime), 0), LATEST) * 10**9
    if member.isdir():
        return "d", member.mode & 0o777 | 0o700, mtime, b""
    if member.issym():
        return "l", 0o777, mtime, os.fsencode(member.linkname)
    if member.isreg() or member.islnk():
        file = archive.extractfile(member)
        return "f", member.mode & 0o777, mtime, file.read() if file else b""
    return None


def directory_entries(directory: Path) -> Iterable[tuple[str, tuple[str, int, int, bytes]]]:
    total = 0
    for count, name in enumerate(directory_names(directory)):
        full = directory / name
        try:
            facts = full.lstat()
        except OSError:
            continue
        if stat.S_ISLNK(facts.st_mode):
            yield name, ("l", 0o777, FIXED_TIME * 10**9, os.fsencode(os.readlink(full)))
        elif stat.S_ISREG(facts.st_mode):
            total += facts.st_size
            if total > MOST_BYTES or count > MOST_FILES:
                raise PlanError(
                    f"--workspace {directory}: larger than {MOST_BYTES} bytes or {MOST_FILES} files"
                )
            mode = 0o755 if facts.st_mode & 0o100 else 0o644
            yield name, ("f", mode, FIXED_TIME * 10**9, full.read_bytes())


def directory_names(directory: Path) -> list[str]:
    if any((folder / ".git").exists() for folder in (directory, *directory.resolve().parents)):
        listed = git(directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return [os.fsdecode(name) for name in listed.split(b"\0") if name]
    found = []
    for folder, names, files in os.walk(directory):
        names[:] = [name for name in names if name != ".git"]
        found += [os.path.relpath(os.path.join(folder, name), directory) for name in files]
    return found


def git(directory: Path, *arguments: str) -> bytes:
    """Only for the user's own repository: git executes what a repository's configuration says."""
    command = ["git", "-C", str(directory), *QUIET_GIT, *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
    except FileNotFoundError:
        raise PlanError(f"--workspace {directory}: git is not installed") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PlanError(f"--workspace {directory}: git says: {reason[-1] if reason else done.returncode}")
    return done.stdout
