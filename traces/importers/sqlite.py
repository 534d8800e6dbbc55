"""SQLite databases of agents: opened read-only, also while the agent writes, and read as far as damage allows."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path

from replayer.errors import TraceError
from replayer.traces.importers.probe import Probe
from replayer.wire.types import JsonObject

_MOST_MISSING = 1 << 40


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only; where even the side files of a write-ahead log cannot be made, the database as it lies there."""
    missing = _missing_bytes(path)
    if missing > 0:
        return _filled_up(path, missing)
    try:
        return _read_only(path, "", "SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError:
        return _read_only(path, "&immutable=1", "")


def _read_only(path: Path, options: str, trial: str) -> sqlite3.Connection:
    """Raises sqlite3.Error where the trial fails."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{options}", uri=True, timeout=5)
    try:
        connection.execute(trial).fetchone()
    except sqlite3.Error:
        connection.close()
        raise
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
    """A cut database with empty pages in place of the missing ones, so that the rest can be read: a copy whose end takes no
    room, on disk and in memory, whatever size the header claims."""
    with tempfile.NamedTemporaryFile(suffix=".db") as whole, path.open("rb") as source:
        shutil.copyfileobj(source, whole)
        whole.truncate(whole.tell() + min(missing, _MOST_MISSING))
        return _read_only(Path(whole.name), "&immutable=1", "PRAGMA schema_version")


def reason(error: sqlite3.Error) -> str:
    """What SQLite says, on one line: it quotes names that a damaged file may hold."""
    return " ".join(str(error).split())


def opened(probe: Probe) -> closing[sqlite3.Connection]:
    return closing(_connect(probe.plain_path))


def columns(probe: Probe, table: str) -> list[str]:
    """Names of a table's columns; [] where there is no such table. Raises TraceError as `rows` does."""
    return [row["name"] for row in rows(probe, f"PRAGMA table_info({table})")]


def rows(probe: Probe, query: str, *values: object) -> list[JsonObject]:
    """What a query gives, by column. Raises TraceError where the file cannot be read as a database."""
    try:
        with opened(probe) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]
    except sqlite3.Error as error:
        raise TraceError(f"{probe.path}: the database cannot be read ({reason(error)})") from None
