"""One row per turn and lane, for analysis elsewhere: as CSV, where unknown is empty and never 0, and as Apache Parquet, with
types, nulls for what is unknown, and lists for several classes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from replayer.errors import MissingPartError
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.catalogue import METRICS
from replayer.report.evidence import Evidence
from replayer.text import safe
from replayer.wire.types import JsonObject

COLUMNS = (
    "run", "lane", "kind", "model", "trace", "repeat", "attempt", "turn", "recorded_turn", "wall", "usable", "faults",
    "fatal_faults", "collapse_kind", "finish_reason", "error", "retries", "stopped", "substituted", "calls",
    "invalid_calls", "tool_outcomes", "prompt_tokens", "cached_tokens", "ideal_cached_tokens", "prefix_cause",
    "completion_tokens", "usage_source", "drafted", "accepted", "ttft_ms", "tpot_ms", "e2e_ms", "total_ms",
    "prefill_ms", "decode_ms", "decode_tok_s", "prefill_tok_s", "deltas",
    "body_bytes", "lag_ms", "stamped_by",
)  # fmt: skip


FIGURES = {
    "ttft_ms": "ttft_ms.p50", "tpot_ms": "tpot_ms.p50", "e2e_ms": "e2e_ms.p50", "decode_tok_s": "decode_tok_s",
    "prefill_tok_s": "prefill_tok_s",
}  # fmt: skip
"""Columns that a turn gives the catalogue's figures."""


def csv_report(evidence: Evidence) -> str:
    """RFC 4180, in the order of lanes, sessions, turns."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for row in rows(evidence):
        writer.writerow({key: _session(value) for key, value in row.items()})
    return out.getvalue()


def rows(evidence: Evidence) -> Iterator[JsonObject]:
    """COLUMNS of each turn; the several classes of a turn are tuples."""
    for lane in evidence.view.lanes:
        for attempt in sorted(lane.attempts, key=lambda attempt: (attempt.trace, attempt.repeat)):
            for number in sorted(attempt.turns):
                yield _row(evidence.view.run, lane, attempt, attempt.turns[number])


def _row(run: str, lane: LaneView, attempt: Attempt, turn: TurnFacts) -> JsonObject:
    """What is not found here by the column's name is the turn's own."""
    prefix, collapse = turn.prefix or {}, turn.collapse or {}
    found = {
        "run": run, "lane": lane.name, "kind": lane.kind, "model": lane.model, "trace": attempt.trace,
        "repeat": attempt.repeat, "attempt": attempt.number, "turn": turn.turn + 1, "fatal_faults": turn.fatal,
        "collapse_kind": collapse.get("kind"), "ideal_cached_tokens": prefix.get("ideal_tokens"),
        "prefix_cause": prefix.get("cause"), "total_ms": _ms(turn.total_ns),
        "prefill_ms": _ms(turn.prefill_ns), "decode_ms": _ms(turn.decode_ns), "lag_ms": _ms(turn.lag_ns), **{name: _value(key, turn) for name, key in FIGURES.items()},
    }  # fmt: skip
    return {name: found[name] if name in found else getattr(turn, name) for name in COLUMNS}


def _value(key: str, turn: TurnFacts) -> float | None:
    """What the turn says of a figure of the catalogue."""
    metric = METRICS[key]
    if metric.time is not None:
        return metric.time(turn)
    count = metric.ratio(turn) if metric.ratio is not None else None
    return count[0] / count[1] if count and count[1] else None


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


def _session(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, CSV injection)."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        value = ";".join(value)
    if isinstance(value, str):
        value = safe(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return value


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
