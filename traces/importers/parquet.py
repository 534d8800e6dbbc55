"""Parquet tables as JSON lines, one row a line, so that the content of the rows decides the format."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import BinaryIO

import orjson

from replayer.errors import TraceError
from replayer.traces.importers.values import parsed

_ROWS_AT_ONCE = 64
SESSION_COLUMNS = ("trace", "raw_trace", "session_jsonl")
"""Columns that hold a whole session file as text, which is read by its own content."""


def rows(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Raises TraceError where pyarrow is missing or the file is damaged."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise TraceError(
            f"{where}: Parquet needs pyarrow: run `pip install 'agent-replayer[parquet]'`"
        ) from None
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                fields = {key: _plain(value) for key, value in row.items()}
                values = {k: v if k in SESSION_COLUMNS else parsed(v) for k, v in fields.items()}
                yield orjson.dumps(values, default=str) + b"\n"
    except (ArrowException, OSError) as error:
        why = " ".join(str(error).split())
        raise TraceError(f"{where}: the Parquet file is damaged or cut off ({why})") from None


def _plain(value: object) -> object:
    """A value without the nulls that a table puts where a row lacks a field."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
