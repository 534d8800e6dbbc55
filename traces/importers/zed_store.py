"""Zed's `threads.db`: SQLite rows of zstd or plain JSON, one thread each; opened read-only, also while Zed runs.

Projection P: that of the thread's version; subagents become threads of the trace of their parent.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import zstandard

from replayer.errors import TraceError
from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.damaged import salvaged
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_str, loads, opt_str
from replayer.traces.importers.zed_legacy import is_legacy, write_legacy
from replayer.traces.importers.zed_thread import FIDELITY, is_thread, write_thread
from replayer.traces.schema import Fidelity, Thread

_COLUMNS = ("id", "summary", "updated_at", "parent_id", "folder_paths", "created_at")
_ZSTD = b"\x28\xb5\x2f\xfd"
_MOST_MISSING = 1 << 30
Row = dict[str, Any]


class ZedStore:
    format: ClassVar[str] = "zed-threads-db"
    fidelity: ClassVar[Fidelity] = FIDELITY
    experimental: ClassVar[bool] = False

    def matches(self, probe: Probe) -> bool:
        return probe.shape == "sqlite" and "data" in _columns(probe.path)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        """Top-level threads, newest first; a subagent whose parent is gone stands for itself."""
        rows = {row["id"]: row for row in _rows(probe)}
        children: dict[str, list[Row]] = {}
        for row in rows.values():
            if row.get("parent_id") in rows and row["parent_id"] != row["id"]:
                children.setdefault(row["parent_id"], []).append(row)
        for row in rows.values():
            if row.get("parent_id") not in rows or row["parent_id"] == row["id"]:
                yield self._session(probe.path, row, children)

    def _session(self, path: Path, row: Row, children: dict[str, list[Row]]) -> Session:
        def write(builder: Builder) -> None:
            document = _document(builder, path, row)
            _write(builder, document, "main")
            builder.remember(thread_id=row["id"], created_at=row.get("created_at"), folders=_folders(row))
            _write_children(builder, path, row, "main", children)

        title = opt_str(row.get("summary"))
        return Session(write, name=str(row["id"])[:8], key=str(row["id"]), title=title)


def default_store() -> Path:
    """Where Zed keeps its threads on this platform (paths crate: data_dir)."""
    home = Path.home()
    if sys.platform == "darwin":
        data = home / "Library/Application Support/Zed"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA", home / "AppData/Local")) / "Zed"
    else:
        flatpak = os.environ.get("FLATPAK_XDG_DATA_HOME")
        base = Path(flatpak or os.environ.get("XDG_DATA_HOME") or home / ".local/share")
        data = base / "zed"
        sandboxed = home / ".var/app/dev.zed.Zed/data/zed"
        if not (data / "threads/threads.db").exists() and sandboxed.exists():
            data = sandboxed
    return data / "threads" / "threads.db"


def _write_children(
    builder: Builder, path: Path, row: Row, thread: str, children: dict[str, list[Row]], depth: int = 0
) -> None:
    """Subagents; each is tied to the `spawn_agent` call whose result names its session."""
    for child in children.get(row["id"], ()):
        document = _document(builder, path, child)
        name = f"sub-{child['id'][:8]}"
        call = builder.call_whose_result_holds(child["id"])
        builder.thread(Thread(id=name, parent=thread, parent_call=call, title=opt_str(document.get("title"))))
        _write(builder, document, name)
        if depth < 8:
            _write_children(builder, path, child, name, children, depth + 1)


def _write(builder: Builder, document: dict[str, Any], thread: str) -> None:
    (write_legacy if is_legacy(document) else write_thread)(builder, document, thread)


def _folders(row: Row) -> list[str] | None:
    paths = as_str(row.get("folder_paths"))
    return paths.split("\n") if paths else None


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only; where even the side files of a write-ahead log cannot be made, the database as it lies there."""
    missing = _missing_bytes(path)
    if missing > 0:
        return _filled_up(path, missing)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    return connection


def _missing_bytes(path: Path) -> int:
    """How much of the size that the header states (pages at byte 28, page size at byte 16) a cut file lacks."""
    with path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100:
        return 0
    page, pages = struct.unpack(">H", head[16:18])[0], struct.unpack(">I", head[28:32])[0]
    return int(pages * (65536 if page == 1 else page) - path.stat().st_size)


def _filled_up(path: Path, missing: int) -> sqlite3.Connection:
    """A cut database with empty pages in place of the missing ones, in memory, so that the rest can be read."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(path.read_bytes() + bytes(min(missing, _MOST_MISSING)))
    except (sqlite3.Error, OverflowError) as error:
        connection.close()
        raise sqlite3.DatabaseError(str(error)) from None
    return connection


def _columns(path: Path) -> list[str]:
    try:
        connection = _connect(path)
        try:
            return [row[1] for row in connection.execute("PRAGMA table_info(threads)")]
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TraceError(f"{path}: the database cannot be read ({error})") from None


def _rows(probe: Probe) -> list[Row]:
    """Every row without its data. Rows behind damage are named in a warning."""
    names = [name for name in _COLUMNS if name in _columns(probe.path)]
    rows: dict[Any, Row] = {}
    failure: sqlite3.Error | None = None
    for order in ("updated_at DESC", "rowid", "rowid DESC"):
        failure = _collect(
            probe.path, f"SELECT rowid, {', '.join(names)} FROM threads ORDER BY {order}", names, rows
        )
        if failure is None:
            break
    if failure is not None and not rows:
        raise TraceError(f"{probe.path}: the database cannot be read ({failure})")
    if failure is not None:
        probe.warn(f"the database is damaged or cut off; {len(rows)} threads were found ({failure})")
    return [row for key, row in rows.items() if isinstance(key, str)]


def _collect(path: Path, query: str, names: list[str], rows: dict[Any, Row]) -> sqlite3.Error | None:
    """Adds the rows of a query by id; returns the error that ended it early."""
    try:
        connection = _connect(path)
        try:
            for values in connection.execute(query):
                row = dict(zip(("rowid", *names), values, strict=True))
                rows.setdefault(row.get("id"), row)
        finally:
            connection.close()
    except sqlite3.Error as error:
        return error
    return None


def _document(builder: Builder, path: Path, row: Row) -> dict[str, Any]:
    """The thread of a row. Raises TraceError that names it."""
    key = row["id"]
    try:
        connection = _connect(path)
        try:
            query = "SELECT data FROM threads WHERE rowid = ?"
            [data] = connection.execute(query, (row["rowid"],)).fetchone()
        finally:
            connection.close()
        raw = data.encode() if isinstance(data, str) else bytes(data)
        document = _value(
            builder,
            zstandard.ZstdDecompressor().decompressobj().decompress(raw) if raw.startswith(_ZSTD) else raw,
        )
    except (sqlite3.Error, zstandard.ZstdError, ValueError, TypeError) as error:
        raise TraceError(f"{path}: thread {key} is damaged and cannot be read ({error})") from None
    if not (is_thread(document) or is_legacy(document)):
        raise TraceError(
            f"{path}: thread {key} has a form that replayer does not know (version {_version(document)})"
        )
    return as_dict(document)


def _value(builder: Builder, raw: bytes) -> Any:
    """Raises ValueError when nothing can be read."""
    try:
        return loads(raw)
    except ValueError as error:
        value = salvaged(raw)
        builder.warn(f"the thread is damaged or cut off ({error}); what stands before that is imported")
        return value


def _version(document: Any) -> str:
    return as_str(as_dict(document).get("version"), "unknown")
