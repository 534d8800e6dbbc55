"""GenAI spans without messages, as most instrumentation writes them: lengths, times and counts of every LLM call.

The blocks of prompts are derived as in TraceLab's rounds (tracelab.py). Calls are those that replayer counts on its own
spans, else those that have a span of their own below the LLM call's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.token_traces import FILLER
from replayer.traces.importers.tracelab import BLOCK, DERIVED, shared_blocks
from replayer.traces.schema import Times, TokenShape, Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One LLM call of which the lengths are known."""

    session: str
    prompt: int
    answer: int
    usage: Usage
    times: Times | None
    model: str | None
    finish_reason: str | None
    tool_calls: int
    failed_calls: int


def lengths(calls: list[Call]) -> Iterator[Session]:
    """One session per conversation, its calls in the order in which they were sent."""
    sessions: dict[str, list[Call]] = {}
    for call in sorted(calls, key=lambda call: (call.times and call.times.started) or 0.0):
        sessions.setdefault(call.session, []).append(call)
    for name, members in sessions.items():
        yield Session(partial(_write, members), name=name, key=name)


def _write(members: list[Call], builder: Builder) -> None:
    builder.warn(FILLER)
    builder.warn(DERIVED)
    builder.fidelity(text="absent", arguments="absent", usage="recorded")
    blocks, fresh = list[int](), count(1)
    for call in members:
        blocks = shared_blocks(blocks, call.prompt, call.usage.cached_tokens, fresh)
        _turn(builder, call, blocks)


def _turn(builder: Builder, call: Call, blocks: list[int]) -> None:
    builder.turn(
        (),
        (),
        model=call.model,
        usage=call.usage,
        times=call.times,
        finish_reason=call.finish_reason,
        tokens=TokenShape(
            input_tokens=call.prompt,
            output_tokens=call.answer,
            block_size=BLOCK,
            block_hashes=tuple(blocks),
            tool_calls=call.tool_calls,
            failed_calls=call.failed_calls,
        ),
    )
