"""Runs that lie where `--out` put them: `replayer runs` and `last` find them by a list in the user's state folder.

A line of the list is a JSON array: the folder of runs in which the command was given, and the run's folder. The list is a
help, never needed: where it cannot be written, those runs are found by their path only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

_MOST = 500
"""Runs that are remembered."""


def _list() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "replayer/runs.jsonl"


def remember(folder: Path, root: Path) -> None:
    """Nothing where the run lies under `root`: it is found there."""
    folder, root = folder.absolute(), root.absolute()
    if folder.parent == root:
        return
    line = orjson.dumps([str(root), str(folder)])
    with suppress(OSError, RuntimeError):
        path = _list()
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines() if path.exists() else []
        kept = [*(one for one in lines if one != line), line][-_MOST:]
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_bytes(b"\n".join(kept) + b"\n")
        draft.replace(path)


def remembered(root: Path) -> Iterator[Path]:
    """Folders of runs that were started beside `root`, the latest last; they may be gone since."""
    with suppress(OSError, RuntimeError):
        for line in _list().read_bytes().splitlines():
            with suppress(ValueError, TypeError):
                where, folder = orjson.loads(line)
                if where == str(root.absolute()):
                    yield Path(folder)
