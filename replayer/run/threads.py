"""The threads of a session side by side: with recorded history, or with the engine's own replies (live mode).

A subagent starts after the turn whose call started it, and its parent waits for it where the recording did.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from replayer.journal.events import Substituted
from replayer.journal.turns import CUT, UNREACHABLE
from replayer.requests.transform import Messages
from replayer.run.prompts import PreparedTurn
from replayer.run.session import wait_for
from replayer.run.turn import FinishedTurn
from replayer.text import shared_start
from replayer.traces.schema import Turn
from replayer.traces.trees import Line
from replayer.wire.loop import together
from replayer.wire.types import JsonObject, Reply

if TYPE_CHECKING:
    from replayer.run.judging import TurnJudge
    from replayer.run.live_history import LiveConversation
    from replayer.run.recorded_tools import RecordedTools
    from replayer.run.session import SessionContext
    from replayer.tools.execution import Executor


MAX_UNREACHABLE = 3
"""Turns in a row that may end unreachable before a session is given up."""


class Behind:
    """Work that is done while the next turn is on its way, in order, one turn behind at most."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def put(self, work: Coroutine[object, object, None]) -> None:
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
    """Send every turn of every thread with its recorded history. Returns the session's outcome."""
    threads = Threads(context, tools)
    async with together() as group:
        await threads.follow(group, context.history.lines[0])
    if threads.unreachable >= MAX_UNREACHABLE or context.lost:
        return UNREACHABLE
    return CUT if context.bounds.over.is_set() and threads.unsent else "done"


class Threads:
    """One attempt at a session: its threads as tasks, and who waits for whom."""

    def __init__(self, context: SessionContext, tools: RecordedTools | None) -> None:
        self.context = context
        self.unreachable = 0
        """Turns in a row, over all threads, that ended unreachable."""
        self._tools = tools
        self._workspace = asyncio.Lock()
        self.unsent = set(context.sent)
        self._places = {recorded: number for number, recorded in enumerate(context.turns)}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[int, int] = {}
        """When the reply of a recorded turn ended: nanoseconds of the monotonic clock."""

    def start(self, group: asyncio.TaskGroup, line: Line) -> None:
        self._tasks[line.thread] = group.create_task(self.follow(group, line))

    async def follow(self, group: asyncio.TaskGroup, line: Line) -> None:
        """While a reply streams, the next request is prepared; while the next reply is awaited, the last is judged."""
        turns = [turn for turn in line.turns if turn in self.unsent]
        talk = self.context.conversation(line.thread)
        behind, done = Behind(), line.after
        ahead: asyncio.Task[PreparedTurn] | None = None
        try:
            for place, turn in enumerate(turns):
                await self._wait(line, done, turn)
                if (
                    self.unreachable >= MAX_UNREACHABLE
                    or self.context.lost
                    or self.context.bounds.over.is_set()
                ):
                    break
                self.unsent.discard(turn)
                prepared = await (ahead or self.prepared(line, turn))
                following = turns[place + 1 : place + 2]
                ahead = asyncio.create_task(self.prepared(line, *following)) if following else None
                key = self.context.key(prepared.number, line.thread)
                answered = await talk.exchange.send(key, prepared)
                done, self._ended[turn] = turn, answered.reply.timing.ended
                for child in self.context.history.lines[1:]:
                    if child.after == turn:
                        self.start(group, child)
                await behind.put(self._conclude(talk.judge, answered))
                if self._tools is not None:
                    await behind.finish()  # executed calls are load: not while a reply is timed
                self._count(answered.reply)
            await behind.finish()
        finally:
            if ahead is not None:
                ahead.cancel()
            await behind.drop()

    async def prepared(self, line: Line, turn: int) -> PreparedTurn:
        return await self.context.prompts.recorded(self._places[turn], turn)

    async def ended(self, line: Line) -> None:
        """Wait until a thread that was started has ended."""
        await asyncio.wait([self._tasks[line.thread]])

    async def _wait(self, line: Line, done: int | None, turn: int) -> None:
        """Until the subagents that the recording waited for have ended, and for as long as the client then took."""
        joined = [
            one for one in self.context.history.lines if one.joined == turn and one.thread in self._tasks
        ]
        if joined:
            await asyncio.wait([self._tasks[one.thread] for one in joined])
        pace = self.context.plan.pace
        if pace is None or done is None:
            return
        recorded = self.context.history.trace.turns
        before = [done, *(one.turns[-1] for one in joined)]
        gap = _recorded_gap([recorded[one] for one in before], recorded[turn])
        if gap is not None:
            ended = max(self._ended.get(one, 0) for one in before)
            cap = self.context.plan.load.idle_cap
            wanted = gap * pace if cap is None else min(gap * pace, cap)
            await wait_for(self.context.bounds.over, wanted - (time.monotonic_ns() - ended) / 1e9)

    async def _conclude(self, judge: TurnJudge, done: FinishedTurn) -> None:
        judge.verdict(done)
        calls = done.reply.tool_calls
        runs = []
        if self._tools is not None and calls:
            async with self._workspace:  # the threads share one workspace
                runs = await self._tools.run(done.prepared.recorded_turn, calls)
        await judge.after_turn(done, runs)

    def _count(self, reply: Reply) -> None:
        missing = reply.fault is not None and reply.fault.kind == "unreachable"
        self.unreachable = self.unreachable + 1 if missing else 0


def _recorded_gap(before: Sequence[Turn], turn: Turn) -> float | None:
    """Seconds from the end of the last of the replies `before` to the start of this request, as recorded."""
    ended = [one.times.ended for one in before if one.times is not None and one.times.ended is not None]
    started = turn.times.started if turn.times is not None else None
    if not ended or started is None:
        return None
    return max(0.0, started - max(ended))


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
    from replayer.run.live_history import (  # late: most runs are recorded
        ClientName,
        LiveConversation,
        LivePolicy,
    )

    plan = context.plan
    policy = LivePolicy(tools=plan.tools, turn_budget=plan.max_turns, malformed=plan.malformed)
    client: ClientName = "zed" if plan.dialect == "zed" else "verbatim"
    numbers = count()
    async with together() as group:
        subagents = Subagents(context, group, numbers)
        live = LiveConversation(context.history, executor, policy, client, subagents.replay)
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
