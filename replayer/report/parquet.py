"""The rows of the CSV as Apache Parquet: typed, nulls for what is unknown, lists for several classes."""

from __future__ import annotations

import io
from collections.abc import Sequence

from replayer.errors import MissingPartError
from replayer.report.csv import COLUMNS, FIGURES, rows
from replayer.report.evidence import Evidence
from replayer.text import safe

_LISTS = {"faults", "fatal_faults", "tool_outcomes"}
_FLAGS = {"usable", "stopped"}
_REALS = {"wall", "total_ms", "prefill_ms", "decode_ms", "lag_ms", *FIGURES}
_WHOLE = {
    "repeat", "attempt", "turn", "recorded_turn", "retries", "calls", "invalid_calls", "prompt_tokens", "cached_tokens",
    "ideal_cached_tokens", "completion_tokens", "drafted", "accepted", "deltas", "body_bytes",
}  # fmt: skip


def parquet_report(evidence: Evidence) -> bytes:
    """Raises MissingPartError where pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingPartError(
            "--parquet needs pyarrow: run `pip install 'agent-replayer[parquet]'` (--csv has the same rows)"
        ) from None
    kinds = {"list": pa.list_(pa.string()), "flag": pa.bool_(), "real": pa.float64(), "whole": pa.int64()}
    schema = pa.schema([(name, kinds.get(_kind(name), pa.string())) for name in COLUMNS])
    cleaned = [{name: _clean(row[name]) for name in COLUMNS} for row in rows(evidence)]
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(cleaned, schema=schema), out, compression="zstd")
    return out.getvalue()


def _kind(name: str) -> str:
    sets = (("list", _LISTS), ("flag", _FLAGS), ("real", _REALS), ("whole", _WHOLE))
    return next((kind for kind, names in sets if name in names), "text")


def _clean(value: object) -> object:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Sequence):
        return [safe(str(item)) for item in value]
    return value
