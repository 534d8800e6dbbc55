"""A session in live mode: the engine's own replies and real results go back to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from replayer.journal.events import Substituted
from replayer.journal.turns import CUT, UNREACHABLE
from replayer.plan.model import Plan
from replayer.requests.transform import Messages
from replayer.run.live_history import ClientName, LiveConversation, LivePolicy
from replayer.run.prompts import PreparedTurn
from replayer.run.threads import Threads
from replayer.text import shared_start
from replayer.traces.trees import Line
from replayer.wire.loop import together
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.run.session import SessionContext
    from replayer.tools.execution import Executor


def policy(plan: Plan) -> LivePolicy:
    return LivePolicy(tools=plan.tools, turn_budget=plan.max_turns, malformed=plan.malformed)


class Subagents(Threads):
    """Recorded subagents beside a live conversation: with their recorded history, numbered as they are sent."""

    def __init__(self, context: SessionContext, group: asyncio.TaskGroup, numbers: Iterator[int]) -> None:
        super().__init__(context, None)
        self.unsent = {turn for line in context.history.lines[1:] for turn in line.turns}
        self._group, self._numbers = group, numbers
        self._started: set[str] = set()

    async def replay(self, line: Line) -> None:
        """Start a thread, once; wait for it where the recording did."""
        if line.thread not in self._started:
            self._started.add(line.thread)
            self.start(self._group, line)
            if line.joined is not None:
                await self.ended(line)

    async def prepared(self, line: Line, turn: int) -> PreparedTurn:
        found = await self.context.prompts.recorded(next(self._numbers), turn)
        return replace(found, sent={"line": line.thread})


async def replay_live(context: SessionContext, executor: Executor | None) -> tuple[str, JsonObject | None]:
    """Talk until the session ends; returns how it ended, and what the trace's check command says."""
    client: ClientName = "zed" if context.plan.dialect == "zed" else "verbatim"
    numbers = count()
    async with together() as group:
        subagents = Subagents(context, group, numbers)
        live = LiveConversation(context.history, executor, policy(context.plan), client, subagents.replay)
        await _talk(context, live, numbers)
    if context.lost:
        return UNREACHABLE, None
    return (live.finished, await live.check()) if live.finished else (CUT, None)


async def _talk(context: SessionContext, live: LiveConversation, numbers: Iterator[int]) -> None:
    conversation = context.conversation(context.history.thread)
    before: Messages = []
    while live.finished is None and not (context.lost or context.bounds.over.is_set()):
        turn, recorded_turn = next(numbers), live.recorded_turn
        messages = live.next_messages()
        messages = await context.prompts.rewritten(partial(list, messages)) or messages
        prepared = context.prompts.live(turn, recorded_turn, messages, _news(before, messages))
        done = await conversation.exchange.send(context.key(turn), prepared)
        before = messages
        runs = await live.accept(done.reply, conversation.judge.verdict(done))
        await conversation.judge.after_turn(done, runs)
        if live.substituted is not None:
            conversation.judge.emit(Substituted(**context.key(turn).where(), reason=live.substituted))


def _news(before: Messages, messages: Messages) -> JsonObject:
    """What a request holds beyond the one before it."""
    keep = shared_start(before, messages)
    return {"keep": keep, "messages": messages[keep:]}
