"""Reports as files."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from replayer.errors import ReplayerError


def new_folder(path: Path) -> None:
    """With its parents, where it is not there. Raises ReplayerError naming it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReplayerError(f"cannot make the folder {path}: {error.strerror or error}") from None


def write(path: Path, content: str | bytes) -> None:
    """The whole file or nothing. Raises ReplayerError naming the file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise ReplayerError(f"cannot write {path}: {error.strerror or error}") from None
