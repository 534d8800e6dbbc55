"""A session in live mode: the engine's own replies and real results go back to it."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import Any

from replayer.journal.events import Substituted
from replayer.journal.turns import CUT
from replayer.plan.model import Plan
from replayer.requests.transform import Messages
from replayer.run.live_history import ClientName, LiveConversation, LivePolicy
from replayer.run.session import SessionContext
from replayer.tools.execution import Executor


def policy(plan: Plan) -> LivePolicy:
    return LivePolicy(tools=plan.tools, turn_budget=plan.max_turns, malformed=plan.malformed)


async def replay_live(
    context: SessionContext, executor: Executor | None
) -> tuple[str, dict[str, Any] | None]:
    """Talk until the session ends; returns how it ended, and what the trace's check command says."""
    client: ClientName = "zed" if context.plan.dialect == "zed" else "verbatim"
    live = LiveConversation(context.history, executor, policy(context.plan), client)
    conversation = context.conversation(context.history.thread)
    turn = 0
    before: Messages = []
    while live.finished is None and not context.bounds.over.is_set():
        recorded_turn = live.recorded_turn
        messages = live.next_messages()
        messages = await context.prompts.rewritten(partial(list, messages)) or messages
        prepared = context.prompts.live(turn, recorded_turn, messages, _news(before, messages))
        done = await conversation.exchange.send(context.key(turn), prepared)
        before = messages
        runs = await live.accept(done.reply, conversation.judge.verdict(done))
        await conversation.judge.after_turn(done, runs)
        if live.substituted is not None:
            conversation.judge.emit(Substituted(**context.key(turn).where(), reason=live.substituted))
        turn += 1
    return (live.finished, await live.check()) if live.finished else (CUT, None)


def _news(before: Messages, messages: Messages) -> dict[str, Any]:
    """What a request holds beyond the one before it."""
    pairs = zip(before, messages, strict=False)
    keep = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
    return {"keep": keep, "messages": messages[keep:]}
