"""One trace on one lane, once: its turns in order, in `recorded` mode.

Live mode (`replayer.run.live_session`) sends and judges in the same way, with the engine's own replies as history.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Coroutine, Sequence
from typing import Any

from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.requests.history import RecordedHistory
from replayer.run.exchange import Exchange, FinishedTurn
from replayer.run.judging import TurnJudge
from replayer.run.prompts import Prompts
from replayer.run.recorded_tools import RecordedTools
from replayer.run.turn import TurnKey
from replayer.wire.types import Reply

MAX_UNREACHABLE = 3
"""Turns in a row that may end unreachable before a session is given up."""


@dataclasses.dataclass(frozen=True, slots=True)
class SessionContext:
    """One attempt at a session: what its requests are made of, what sends them, and what judges the replies."""

    plan: Plan
    session: Session
    attempt: int
    prompts: Prompts
    exchange: Exchange
    judge: TurnJudge

    @property
    def history(self) -> RecordedHistory:
        return self.prompts.history

    @property
    def turns(self) -> Sequence[int]:
        return self.history.turns[: self.plan.max_turns]

    def key(self, turn: int) -> TurnKey:
        return TurnKey(self.session.lane, self.session.id, self.attempt, turn)


class Behind:
    """Work that is done while the next turn is on its way, in order, one turn behind at most."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def put(self, work: Coroutine[Any, Any, None]) -> None:
        """Start `work` once what was put before has ended; raises what that raised."""
        try:
            await self.finish()
        except BaseException:
            work.close()
            raise
        self._task = asyncio.create_task(work)

    async def finish(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await task

    async def drop(self) -> None:
        """End what is still at work: the session is being given up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def replay_recorded(context: SessionContext, tools: RecordedTools | None) -> str:
    """Send every turn with its recorded history. Returns the session's outcome.

    While a reply streams, the next request is prepared; while the next reply is awaited, the last one is judged.
    """
    behind, prompts = Behind(), context.prompts
    prepared = await prompts.recorded(0, context.turns[0])
    ahead: asyncio.Task[Any] | None = None
    unreachable = 0
    try:
        for turn in range(len(context.turns)):
            await _pace(context, turn)
            if ahead is not None:
                prepared = await ahead
            following = turn + 1
            if following < len(context.turns):
                ahead = asyncio.create_task(prompts.recorded(following, context.turns[following]))
            done = await context.exchange.send(context.key(turn), prepared)
            await behind.put(_conclude(context, done, tools))
            if tools is not None:
                await behind.finish()  # executed calls are load: not while a reply is timed
            unreachable = unreachable + 1 if _is_unreachable(done.reply) else 0
            if unreachable >= MAX_UNREACHABLE:
                break
        await behind.finish()
    finally:
        if ahead is not None:
            ahead.cancel()
        await behind.drop()
    return "unreachable" if unreachable >= MAX_UNREACHABLE else "done"


async def _conclude(context: SessionContext, done: FinishedTurn, tools: RecordedTools | None) -> None:
    context.judge.verdict(done)
    calls = done.reply.tool_calls
    runs = await tools.run(done.prepared.recorded_turn, calls) if tools is not None and calls else []
    await context.judge.after_turn(done, runs)


def _is_unreachable(reply: Reply) -> bool:
    return reply.fault is not None and reply.fault.kind == "unreachable"


async def _pace(context: SessionContext, turn: int) -> None:
    """Wait as long as the recorded client did between two turns (tool and thinking time), scaled."""
    pace = context.plan.pace
    if pace is None or turn == 0:
        return
    gap = _recorded_gap(context.history, context.turns[turn - 1], context.turns[turn])
    if gap is not None:
        await asyncio.sleep(gap * pace)


def _recorded_gap(history: RecordedHistory, before: int, recorded_turn: int) -> float | None:
    """Seconds from the end of one recorded reply to the start of the next request."""
    ended, started = history.trace.turns[before].times, history.trace.turns[recorded_turn].times
    if ended is None or started is None or ended.ended is None or started.started is None:
        return None
    return max(0.0, started.started - ended.ended)
