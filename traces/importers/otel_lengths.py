"""GenAI spans without messages, as most instrumentation writes them: lengths, times and counts of every LLM call.

The blocks of prompts are derived as in TraceLab's rounds (tracelab.py). Calls are those that replayer counts on its own
spans, else those that have a span of their own below the LLM call's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import NamedTuple

from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.token_traces import FILLER
from replayer.traces.importers.tracelab import DERIVED, shared_blocks
from replayer.traces.schema import TokenShape, Usage
from replayer.wire.types import JsonObject


class Call(NamedTuple):
    """One LLM call of which the lengths are known; the blocks of its prompt are not."""

    session: str
    facts: JsonObject
    """Model, times and finish reason."""
    usage: Usage
    tokens: TokenShape


def lengths(calls: list[Call]) -> Iterator[Session]:
    """One session per conversation, its calls in the order in which they were sent."""
    sessions: dict[str, list[Call]] = {}
    for call in sorted(calls, key=lambda call: ((times := call.facts["times"]) and times.started) or 0.0):
        sessions.setdefault(call.session, []).append(call)
    for name, members in sessions.items():
        yield Session(partial(_write, members), name=name, key=name)


def _write(members: list[Call], builder: Builder) -> None:
    builder.warn(FILLER)
    builder.warn(DERIVED)
    builder.fidelity(text="absent", arguments="absent", usage="recorded")
    blocks, fresh = list[int](), count(1)
    for call in members:
        blocks = shared_blocks(blocks, call.tokens.input_tokens, call.usage.cached_tokens, fresh)
        shape = replace(call.tokens, block_hashes=tuple(blocks))
        builder.turn((), (), usage=call.usage, tokens=shape, **call.facts)
