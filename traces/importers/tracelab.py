"""TraceLab's rounds of Claude Code and Codex: lengths, cached tokens and times of every LLM call, without text.

A round is a turn, a session a thread; subagents are sessions of their own, because the source does not tie them to
their parents. The blocks are derived: of the prompt before, as many are shared as the engine reported cached.
Projection P: lengths, cached and reasoning tokens, times, model, counts of calls and of failed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.token_traces import FILLER
from replayer.traces.importers.values import as_dict, as_int, as_str, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Times, TokenShape, Usage
from replayer.wire.types import JsonObject

BLOCK = 64
"""Tokens of a derived block: small enough to keep the shares of cached tokens, few enough to be stored."""
DERIVED = f"blocks of {BLOCK} tokens are derived from the counts of cached tokens"
MOST_TOKENS = 20_000_000
"""Of a prompt: each takes memory here."""
_INPUTS = frozenset({"user_message", "tool_result"})
_OUTPUTS = frozenset({"text", "reasoning", "tool_call"})


class TraceLab(Importer):
    format = "tracelab"
    fidelity = Fidelity(timing="recorded", usage="recorded", boundaries="recorded")
    experimental = True

    def matches(self, probe: Probe) -> bool:
        keys = {"session_id", "round_index", "input_tokens_total", "prefix_tokens"}
        return any(keys <= as_dict(record).keys() for record in probe.head[:8])

    def write(self, builder: Builder, probe: Probe) -> None:
        builder.warn(FILLER)
        builder.warn(DERIVED)
        sessions: dict[str, list[tuple[float, int, int]]] = {}
        """Of each round when it was sent (0 where unknown), its number, and its key."""
        for key, record in probe.located():
            fields = as_dict(record)
            order = _times(fields)[0] or 0.0, as_int(fields.get("round_index")) or 0, key
            sessions.setdefault(as_str(fields.get("session_id")) or "unknown", []).append(order)
        fresh = count(1)
        for session, members in sessions.items():
            blocks: list[int] = []
            for _, _, key in sorted(members):
                blocks = _round(builder, session, as_dict(probe.record_at(key)), blocks, fresh)


def _round(
    builder: Builder, session: str, record: JsonObject, before: list[int], fresh: Iterator[int]
) -> list[int]:
    """Writes one turn; returns the blocks of its prompt."""
    total, cached = as_int(record.get("input_tokens_total")) or 0, as_int(record.get("prefix_tokens"))
    if total > MOST_TOKENS:
        builder.warn(
            f"a round of {session} is left out: its prompt of {total:,} tokens is longer than any model takes"
        )
        return before
    answer = as_int(record.get("output_tokens")) or 0
    blocks = shared_blocks(before, total, cached, fresh)
    sent, first, ended = _times(record)
    tools = dicts(record.get("tools"))
    builder.turn(
        (),
        (),
        thread=session,
        model=opt_str(record.get("model")),
        usage=Usage(
            prompt_tokens=total,
            cached_tokens=cached,
            completion_tokens=answer,
            reasoning_tokens=as_int(record.get("reasoning_output_tokens")),
        ),
        times=Times(started=sent, first_token=first, ended=ended) if sent is not None else None,
        finish_reason="tool_calls" if tools else "stop",
        tokens=TokenShape(
            input_tokens=total,
            output_tokens=answer,
            block_size=BLOCK,
            block_hashes=tuple(blocks),
            tool_calls=len(tools),
            failed_calls=sum(tool.get("is_error") is True for tool in tools),
        ),
    )
    return blocks


def shared_blocks(before: list[int], total: int, cached: int | None, fresh: Iterator[int]) -> list[int]:
    """The blocks of a prompt of `total` tokens: of those `before`, as many as were cached, then new ones."""
    whole = total // BLOCK
    kept = before[: min((cached or 0) // BLOCK, whole)]
    return kept + list(islice(fresh, whole - len(kept)))


def _times(record: JsonObject) -> tuple[float | None, float | None, float | None]:
    """When a round was sent (its last input), first answered and ended."""
    inputs: list[float] = []
    outputs: list[float] = []
    for event in dicts(record.get("timing_events")):
        at, kind = epoch(event.get("timestamp")), event.get("event_type")
        if at is not None and kind in _INPUTS:
            inputs.append(at)
        elif at is not None and kind in _OUTPUTS:
            outputs.append(at)
    sent = max(inputs) if inputs else min(outputs, default=None)
    return sent, min(outputs, default=None) if inputs else None, max(outputs, default=None)
