"""Workspaces as small tar files whose bytes depend on nothing but names, modes and contents."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

MTIME = 1_700_000_000
"""The date of every file: SOURCE_DATE_EPOCH of the sandbox."""
SKIPPED = {"__pycache__", ".DS_Store"}


def pack(folder: Path) -> bytes:
    """The folder's content as a tar: sorted, one owner, one date, modes 644 and 755."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            if SKIPPED.isdisjoint(path.relative_to(folder).parts):
                tar.add(path, str(path.relative_to(folder)), recursive=False, filter=_plain)
    return out.getvalue()


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = MTIME
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    return info


def unpack(tar: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        archive.extractall(folder, filter="data")
