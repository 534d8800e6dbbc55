"""A cell in live mode: the engine's own replies and real results go back to it."""

from __future__ import annotations

from typing import Any

from replayer.cell import CellContext, build_request, exchange
from replayer.cell_tools import tool_events
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
        request = build_request(context.history, turn, messages, context.fields(), context.lane.plan.stream)
        recorded = context.history.recorded(turn)
        done = await exchange(context, step, turn, request, recorded=recorded)
        runs = await live.accept(done.reply, done.verdict)
        for event in tool_events(context.key(step), runs):
            context.emit(event)
        if live.substituted is not None:
            context.emit(Substituted(**context.key(step).where(), reason=live.substituted))
        step += 1
    return live.finished, await live.check()
