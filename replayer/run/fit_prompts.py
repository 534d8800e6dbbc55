"""Prompts of filler are fitted to their engine before a block of sessions begins: counting tokens is load, too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from replayer.engines.base import Engine
from replayer.plan.schedule import Session
from replayer.requests.lengths import Length, fit
from replayer.run.isolation import marker
from replayer.run.state import Prompt, Run

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory
    from replayer.run.lanes import Lane

_MISSES = 3
"""Prompts that an engine may fail to count before it is asked no more."""
_WORD_IS_A_TOKEN = 0.9
"""Words per token of a prompt from which on blocks keep their size: the rest is the chat template."""


class _Wanted(NamedTuple):
    history: RecordedHistory
    recorded_turn: int
    marker: str
    tokens: int
    block: int


async def prepare(run: Run, queues: Sequence[Sequence[Session]]) -> None:
    """Fit every prompt of filler of these sessions, where its engine counts tokens before it is asked."""
    await asyncio.gather(*(_prepare(run, queue) for queue in queues))


async def _prepare(run: Run, queue: Sequence[Session]) -> None:
    words: dict[int, int] = {}
    """What the last prompt of a length took: a good first guess for the next."""
    misses = 0
    sizes: dict[tuple[str, int], int] = {}
    """Words of a whole block by model and block size: equal blocks must be equal text in every prompt."""
    for session in queue:
        lane, tag = run.lanes[session.lane], run.tag(session, run.schedule.attempts.tried[session.id] + 1)
        if lane.facts.features.get("tokenize") != "yes" or run.traces.transform is not None:
            continue
        for wanted in _filler(run, session, tag):
            key = prompt(lane, tag, wanted.recorded_turn)
            if key in run.traces.lengths:
                continue
            engine, size = lane.instances[0].engine, (lane.model, wanted.block)
            guess = Length(words.get(wanted.tokens, wanted.tokens), block=sizes.get(size, 0))
            found = await _fitted(engine, wanted, guess)
            if found is not None and size not in sizes:
                sizes[size] = _words_of_a_block(found, wanted)
                if sizes[size]:
                    found = await _fitted(engine, wanted, replace(found, block=sizes[size]))
            if found is not None:
                run.traces.lengths[key], words[wanted.tokens] = found, found.words
                continue
            misses += 1
            if misses > _MISSES:
                return


def _words_of_a_block(found: Length, wanted: _Wanted) -> int:
    """0 where a word is a token, give or take the template: the trace's blocks then stay as they are."""
    share = found.words / wanted.tokens
    return 0 if share > _WORD_IS_A_TOKEN else max(1, int(wanted.block * share))


def prompt(lane: Lane, tag: str, recorded_turn: int) -> Prompt:
    """Lanes of one matrix over one model count alike."""
    return Prompt(lane.plan.base or lane.name, lane.model, tag, recorded_turn)


def lengths_of(run: Run, session: Session, tag: str) -> Mapping[int, Length]:
    """The fitted lengths of a session by turn. Those of its first round serve a session that a load brings again: between
    turns, counting would be load too, and a mark has the length of any other."""
    if not run.traces.lengths:
        return {}
    lane, turns = run.lanes[session.lane], run.traces.histories[session.trace].turns
    first = run.tag(replace(session, repeat=0), 1) if run.plan.load.asked else tag
    known = run.traces.lengths
    found = {
        number: known.get(prompt(lane, tag, number)) or known.get(prompt(lane, first, number))
        for number in turns
    }
    return {recorded_turn: length for recorded_turn, length in found.items() if length is not None}


def _filler(run: Run, session: Session, tag: str) -> list[_Wanted]:
    history = run.traces.histories[session.trace]
    shapes = (
        (recorded_turn, history.trace.turns[recorded_turn].tokens)
        for recorded_turn in history.turns[: run.plan.max_turns]
    )
    return [
        _Wanted(history, recorded_turn, marker(tag), shape.input_tokens, shape.block_size)
        for recorded_turn, shape in shapes
        if shape is not None
    ]


async def _fitted(engine: Engine, wanted: _Wanted, guess: Length) -> Length | None:
    async def count(length: Length) -> int | None:
        messages = wanted.history.messages(wanted.recorded_turn, marker=wanted.marker, length=length)
        ids = await engine.tokenize(messages, None)
        return None if ids is None else len(ids)

    return await fit(count, wanted.tokens, guess)
