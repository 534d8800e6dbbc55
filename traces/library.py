"""The sessions that ship with replayer, found by name."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from replayer.errors import TraceError
from replayer.text import nearest

_NAMES = ("trace.jsonl", "trace.jsonl.zst")


def find(name_or_path: str | Path) -> Path:
    """The trace file of a path or of a shipped session's name. Raises TraceError that names the nearest name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.is_dir():
        inside = _in_folder(path)
        if inside is None:
            raise TraceError(f"{path}: the folder holds no trace.jsonl")
        return inside
    shipped_traces = shipped()
    name = str(name_or_path)
    if name in shipped_traces:
        return shipped_traces[name]
    if "/" in name or name.endswith((".jsonl", ".zst", ".json")):
        raise TraceError(f"{name}: no such file")
    raise TraceError(
        f"{name}: no such file and no shipped trace of that name{nearest(name, [*shipped_traces])}"
    )


def shipped() -> dict[str, Path]:
    """Name -> trace file of every session that ships."""
    root = Path(str(files("replayer.traces"))) / "recorded"
    if not root.is_dir():
        return {}
    found = {folder.name: _in_folder(folder) for folder in sorted(root.iterdir()) if folder.is_dir()}
    return {name: path for name, path in found.items() if path is not None}


def _in_folder(folder: Path) -> Path | None:
    return next((folder / name for name in _NAMES if (folder / name).is_file()), None)
