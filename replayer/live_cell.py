"""A cell in live mode: the engine's own replies and real results go back to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from replayer.cell import CellContext, after_step, build_request, exchange
from replayer.events import Substituted
from replayer.live import ClientName, LiveConversation, LivePolicy
from replayer.plan import Plan
from replayer.tools.execution import Executor


def policy(plan: Plan) -> LivePolicy:
    return LivePolicy(tools=plan.tools, turn_budget=plan.max_turns, malformed=plan.malformed)


async def replay_live(context: CellContext, executor: Executor | None) -> tuple[str, dict[str, Any] | None]:
    """Talk until the session ends; returns how it ended, and what the trace's check command says."""
    client: ClientName = "zed" if context.plan.dialect == "zed" else "verbatim"
    live = LiveConversation(context.history, executor, policy(context.plan), client)
    step = 0
    while live.finished is None:
        turn = live.turn
        messages = live.next_messages()
        if context.transform is not None:
            messages = context.transform(messages)
        requests = [
            build_request(context.history, turn, messages, context.fields(turn), stream)
            for stream in _modes(context)
        ]
        recorded = context.history.recorded(turn)
        done = await exchange(
            context, step, turn, requests[0], recorded=recorded, other=requests[-1] if requests[1:] else None
        )
        runs = await live.accept(done.reply, done.verdict)
        await after_step(context, step, turn, done, runs, partial(list, messages))
        if live.substituted is not None:
            context.emit(Substituted(**context.key(step).where(), reason=live.substituted))
        step += 1
    return live.finished, await live.check()


def _modes(context: CellContext) -> list[bool]:
    """Whether to stream: the lane's own mode, and the other one where the plan compares both."""
    stream = context.lane.plan.stream
    return [stream, not stream] if context.plan.differential else [stream]
