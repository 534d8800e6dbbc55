"""What a recorded turn itself asks of the engine, beside its messages and tools."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import Turn
from replayer.wire.types import JsonObject

_OF_FILLER = frozenset({"engine_error", "history_rejected", "protocol", "empty_turn"})


def asked_fields(turn: Turn, known: Container[str] | None) -> JsonObject:
    """Request fields of a turn: the length of a turn of lengths, the schema of a structured answer.

    `known` are the fields that the engine knows. Generation goes on past the end token where the engine has a field for it, so
    that every engine generates the same number of tokens (`ignore_eos`).
    """
    if turn.tokens is not None:
        end = {"ignore_eos": True} if known is not None and "ignore_eos" in known else {}
        return {"max_tokens": turn.tokens.output_tokens, **end} if turn.tokens.output_tokens else {}
    if "response_format" in turn.params:
        return {key: turn.params[key] for key in ("max_tokens", "response_format") if key in turn.params}
    return {}


def asked_lengths(turn: Turn, fields: Mapping[str, Any]) -> dict[str, int] | None:
    """Tokens in and out that a turn of lengths is to have; `fields` are those of its request."""
    if turn.tokens is None:
        return None
    return {"input": turn.tokens.input_tokens, "output": int(fields.get("max_tokens") or 0)}


def token_limit(fields: Mapping[str, object]) -> int | None:
    """The most tokens that a request allows its answer, under either of the API's two names."""
    limit = fields.get("max_tokens") or fields.get("max_completion_tokens")
    return limit if isinstance(limit, int) else None


def only_lengths(verdict: Verdict) -> Verdict:
    """The verdict on an answer to filler: whether it came, not what it says or that its length was set."""
    faults = tuple(fault for fault in verdict.faults if fault.klass in _OF_FILLER)
    return replace(
        verdict, usable=not any(fault.fatal for fault in faults), faults=faults, against_recording=()
    )
