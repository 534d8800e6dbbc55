"""Prompts of filler are fitted to their engine before a block of cells begins: counting tokens is load, too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replayer.engines.base import Engine
from replayer.plan.model import Cell
from replayer.requests.history import RecordedHistory
from replayer.requests.lengths import Length, fit
from replayer.run.isolation import marker
from replayer.run.lanes import Lane
from replayer.run.state import Prompt, Run


class _Wanted(NamedTuple):
    history: RecordedHistory
    turn: int
    marker: str
    tokens: int


async def prepare(run: Run, queues: Sequence[Sequence[Cell]]) -> None:
    """Fit every prompt of filler of these cells, where its engine counts tokens before it is asked."""
    await asyncio.gather(*(_prepare(run, queue) for queue in queues))


async def _prepare(run: Run, queue: Sequence[Cell]) -> None:
    words: dict[int, int] = {}
    """What the last prompt of a length took: a good first guess for the next."""
    for cell in queue:
        lane, session = run.lanes[cell.lane], run.session(cell, run.attempts.tried[cell.id] + 1)
        if lane.facts.features.get("tokenize") != "yes" or run.transform is not None:
            continue
        for wanted in _filler(run, cell, session):
            key = prompt(lane, session, wanted.turn)
            if key in run.lengths:
                continue
            guess = Length(words.get(wanted.tokens, wanted.tokens))
            found = await _fitted(lane.instances[0].engine, wanted, guess)
            if found is not None:
                run.lengths[key], words[wanted.tokens] = found, found.words


def prompt(lane: Lane, session: str, turn: int) -> Prompt:
    """Lanes of one matrix over one model count alike."""
    return Prompt(lane.plan.base or lane.name, lane.model, session, turn)


def lengths_of(run: Run, cell: Cell, session: str) -> Mapping[int, Length]:
    """The fitted lengths of a cell by turn."""
    lane, turns = run.lanes[cell.lane], run.histories[cell.trace].turns
    found = {turn: run.lengths.get(prompt(lane, session, turn)) for turn in turns}
    return {turn: length for turn, length in found.items() if length is not None}


def _filler(run: Run, cell: Cell, session: str) -> list[_Wanted]:
    history = run.histories[cell.trace]
    shapes = ((turn, history.trace.turns[turn].tokens) for turn in history.turns[: run.plan.max_turns])
    return [
        _Wanted(history, turn, marker(session), shape.input_tokens)
        for turn, shape in shapes
        if shape is not None
    ]


async def _fitted(engine: Engine, wanted: _Wanted, guess: Length) -> Length | None:
    async def count(length: Length) -> int | None:
        messages = wanted.history.messages(wanted.turn, marker=wanted.marker, length=length)
        ids = await engine.tokenize(messages, None)
        return None if ids is None else len(ids)

    return await fit(count, wanted.tokens, guess)
