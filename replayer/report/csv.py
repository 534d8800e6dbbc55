"""One row per step and lane, for analysis elsewhere. Unknown is empty, never 0."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from replayer.journal.turns import Attempt, StepFacts
from replayer.journal.view import LaneView
from replayer.report.evidence import Evidence
from replayer.text import safe

COLUMNS = (
    "run", "lane", "kind", "model", "trace", "repeat", "attempt", "step", "turn", "wall", "usable", "faults",
    "fatal_faults", "collapse_kind", "finish_reason", "error", "retries", "stopped", "substituted", "calls",
    "invalid_calls", "tool_outcomes", "prompt_tokens", "cached_tokens", "ideal_cached_tokens", "prefix_cause",
    "completion_tokens", "usage_source", "drafted", "accepted", "ttft_ms", "total_ms", "decode_tok_s", "deltas",
    "body_bytes", "lag_ms", "stamped_by",
)  # fmt: skip


def csv_report(evidence: Evidence) -> str:
    """RFC 4180, in the order of lanes, sessions, steps."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for row in rows(evidence):
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """COLUMNS of each step; the several classes of a step are tuples."""
    for lane in evidence.view.lanes:
        for attempt in sorted(lane.attempts, key=lambda attempt: (attempt.trace, attempt.repeat)):
            for number in sorted(attempt.steps):
                yield {"run": evidence.view.run} | _row(lane, attempt, attempt.steps[number])


def _row(lane: LaneView, attempt: Attempt, step: StepFacts) -> dict[str, Any]:
    prefix, collapse = step.prefix or {}, step.collapse or {}
    return {
        "lane": lane.name,
        "kind": lane.kind,
        "model": lane.model,
        "trace": attempt.trace,
        "repeat": attempt.repeat,
        "attempt": attempt.number,
        "step": step.step + 1,
        "turn": step.turn,
        "wall": step.wall,
        "usable": step.usable,
        "faults": step.faults,
        "fatal_faults": step.fatal,
        "collapse_kind": collapse.get("kind"),
        "finish_reason": step.finish_reason,
        "error": step.error,
        "retries": step.retries,
        "stopped": step.stopped,
        "substituted": step.substituted,
        "calls": step.calls,
        "invalid_calls": step.invalid_calls,
        "tool_outcomes": step.tool_outcomes,
        "prompt_tokens": step.prompt_tokens,
        "cached_tokens": step.cached_tokens,
        "ideal_cached_tokens": prefix.get("ideal_tokens"),
        "prefix_cause": prefix.get("cause"),
        "completion_tokens": step.completion_tokens,
        "usage_source": step.usage_source,
        "drafted": step.drafted,
        "accepted": step.accepted,
        "ttft_ms": _ms(step.ttft_ns),
        "total_ms": _ms(step.total_ns),
        "decode_tok_s": step.decode_tok_s,
        "deltas": step.deltas,
        "body_bytes": step.body_bytes,
        "lag_ms": _ms(step.lag_ns),
        "stamped_by": step.stamped_by,
    }


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, CSV injection)."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        value = ";".join(value)
    if isinstance(value, str):
        value = safe(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return value
