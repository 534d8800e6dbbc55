"""Zed's `threads.db`: SQLite rows of zstd or plain JSON, one thread each; opened read-only, also while Zed runs.

Projection P: that of the thread's version; subagents become threads of the trace of their parent.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyzstd

from replayer.errors import TraceError
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.damaged import salvaged
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.sqlite import columns, opened, reason
from replayer.traces.importers.unpack import unpacked_zstd
from replayer.traces.importers.values import as_dict, as_str, loads, opt_str
from replayer.traces.importers.zed_legacy import is_legacy, write_legacy
from replayer.traces.importers.zed_thread import FIDELITY, is_thread, write_thread
from replayer.traces.schema import Thread
from replayer.wire.types import JsonObject

_COLUMNS = ("id", "summary", "updated_at", "parent_id", "folder_paths", "created_at")
Row = JsonObject


class ZedStore(Importer):
    format = "zed-threads-db"
    fidelity = FIDELITY

    def matches(self, probe: Probe) -> bool:
        return probe.shape == "sqlite" and "data" in columns(probe, "threads")

    def sessions(self, probe: Probe) -> Iterator[Session]:
        """Top-level threads, newest first; a subagent whose parent is gone stands for itself."""
        for root, children in _families(_rows(probe)):
            yield _session(probe, root, children)


def _families(rows: list[Row]) -> Iterator[tuple[Row, dict[str, list[Row]]]]:
    """Each top-level row with the rows below it, by the id of their parent; every row is in one family."""
    by_id = {row["id"]: row for row in reversed(rows)}
    below: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("parent_id") in by_id:
            below.setdefault(row["parent_id"], []).append(row)
    taken: set[Any] = set()
    tops = [row for row in rows if row.get("parent_id") not in by_id]
    for number, row in enumerate((*tops, *rows)):
        if row["key"] not in taken:
            taken.add(row["key"])
            yield {**row, "circle": number >= len(tops)}, _descendants(row, below, taken)


def _descendants(top: Row, below: dict[str, list[Row]], taken: set[object]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    open_rows = [top]
    while open_rows:
        row = open_rows.pop()
        fresh = [child for child in below.get(row["id"], ()) if child["key"] not in taken]
        taken.update(child["key"] for child in fresh)
        if fresh:
            found[row["id"]] = fresh
        open_rows += fresh
    return found


def _session(probe: Probe, row: Row, children: dict[str, list[Row]]) -> Session:
    def write(builder: Builder) -> None:
        if row["circle"]:
            builder.warn(
                "the thread stands below itself in the store; it is taken as the first of its circle"
            )
        _write(builder, _document(builder, probe, row), "main")
        folders = as_str(row.get("folder_paths")).split("\n") if row.get("folder_paths") else None
        builder.remember(thread_id=row["id"], created_at=row.get("created_at"), folders=folders)
        _write_children(builder, probe, row, children)

    return Session(write, name=row["id"][:8], key=row["id"], title=opt_str(row.get("summary")))


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


def _write_children(builder: Builder, probe: Probe, top: Row, children: dict[str, list[Row]]) -> None:
    """Subagents; each is tied to the `spawn_agent` call whose result names its session."""
    waiting = [(child, "main") for child in reversed(children.get(top["id"], ()))]
    while waiting:
        row, parent = waiting.pop()
        name = f"sub-{row['id'][:8]}"
        waiting += [(child, name) for child in reversed(children.get(row["id"], ()))]
        try:
            document = _document(builder, probe, row)
        except TraceError as error:
            builder.warn(f"a subagent is left out ({str(error).removeprefix(f'{probe.path}: ')})")
            continue
        call = builder.call_whose_result_holds(row["id"])
        builder.thread(Thread(id=name, parent=parent, parent_call=call, title=opt_str(document.get("title"))))
        _write(builder, document, name)


def _write(builder: Builder, document: JsonObject, thread: str) -> None:
    (write_legacy if is_legacy(document) else write_thread)(builder, document, thread)


def _key_column(probe: Probe) -> str:
    """What a row is found by: a table WITHOUT ROWID, and a view, have the id only."""
    try:
        with opened(probe) as connection:
            row = connection.execute("SELECT rowid FROM threads LIMIT 1").fetchone()
        return "id" if row == (None,) else "rowid"
    except sqlite3.OperationalError:
        return "id"
    except sqlite3.Error:
        return "rowid"


def _rows(probe: Probe) -> list[Row]:
    """Every row without its data. Rows behind damage are named in a warning."""
    names = [name for name in _COLUMNS if name in columns(probe, "threads")]
    key = _key_column(probe)
    rows: dict[Any, Row] = {}
    failure: sqlite3.Error | None = None
    for order in ("updated_at DESC", key, f"{key} DESC"):
        query = f"SELECT {key}, {', '.join(names)} FROM threads ORDER BY {order}"
        failure = _collect(probe, query, names, rows)
        if failure is None:
            break
    if failure is not None and not rows:
        raise TraceError(f"{probe.path}: the database cannot be read ({reason(failure)})")
    if failure is not None:
        probe.warn(f"the database is damaged or cut off; {len(rows)} threads were found ({reason(failure)})")
    return [
        {**row, "id": _id_text(row.get("id"), number), "key": found, "by": key}
        for number, (found, row) in enumerate(rows.items(), start=1)
    ]


def _id_text(value: object, number: int) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"row-{number}" if value in (None, "") else str(value)


def _collect(probe: Probe, query: str, names: list[str], rows: dict[object, Row]) -> sqlite3.Error | None:
    """Adds the rows of a query by their key; returns the error that ended it early."""
    try:
        with opened(probe) as connection:
            for key, *values in connection.execute(query):
                rows.setdefault(key, dict(zip(names, values, strict=True)))
    except sqlite3.Error as error:
        return error
    return None


def _document(builder: Builder, probe: Probe, row: Row) -> JsonObject:
    """The thread of a row. Raises TraceError that names it."""
    where = f"{probe.path}: thread {row['id']}"
    try:
        with opened(probe) as connection:
            query = f"SELECT data FROM threads WHERE {row['by']} IS ?"
            [data] = connection.execute(query, (row["key"],)).fetchone()
        if not data:
            raise TraceError(f"{where} holds no data")
        document = _value(builder, unpacked_zstd(data.encode() if isinstance(data, str) else bytes(data)))
    except (sqlite3.Error, pyzstd.ZstdError, ValueError, TypeError) as error:
        raise TraceError(f"{where} is damaged and cannot be read ({error})") from None
    if not (is_thread(document) or is_legacy(document)):
        version = as_str(as_dict(document).get("version"), "unknown")
        raise TraceError(f"{where} has a form that replayer does not know (version {version})")
    return as_dict(document)


def _value(builder: Builder, raw: bytes) -> Any:
    """Raises ValueError when nothing can be read."""
    try:
        return loads(raw)
    except ValueError as error:
        value = salvaged(raw)
        builder.warn(f"the thread is damaged or cut off ({error}); what stands before that is imported")
        return value
