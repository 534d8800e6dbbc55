"""One trace on one lane, once: its turns in order, in `recorded` mode.

Live mode (`replayer.run.live_session`) drives the same `exchange`, with the engine's own replies as history.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from replayer.engines.base import EngineFacts
from replayer.journal.events import AnyEvent, SignalFinding, TurnStarted, VerdictGiven
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.requests.fields import asked_fields, asked_lengths, only_lengths, token_limit
from replayer.requests.history import RecordedHistory
from replayer.requests.lengths import Length
from replayer.requests.transform import Messages, Transform
from replayer.run.lag import LagMeter
from replayer.run.lanes import Instance, Lane
from replayer.run.live_feed import LiveFeed
from replayer.run.recorded_tools import RecordedTools
from replayer.run.session_signals import SessionSignals, recorded_text
from replayer.run.session_tools import tool_events
from replayer.run.tool_runs import ToolRun
from replayer.run.turn import TurnKey, Watch, finished, observes
from replayer.signals.base import Expected
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.differential import token_text_of
from replayer.tools.verdicts.request_facts import request_facts
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import AnyItem, ToolResultItem
from replayer.wire.types import Reply, Request

MAX_UNREACHABLE = 3
"""Turns in a row that may end unreachable before a session is given up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """One judged exchange."""

    reply: Reply
    verdict: Verdict


@dataclasses.dataclass(slots=True)
class SessionContext:
    """Everything one attempt at a session works with. `marker` and `salt` keep its prompts out of other sessions' caches."""

    plan: Plan
    session: Session
    attempt: int
    lane: Lane
    instance: Instance
    history: RecordedHistory
    validator: Callable[[int], Validator]
    """The validator of a turn's tool set, compiled once per run."""
    emit: Callable[[AnyEvent], None]
    feed: LiveFeed
    lag: LagMeter
    signals: SessionSignals
    results: dict[str, ToolResultItem]
    """The recorded tool results by call id."""
    transform: Transform | None = None
    marker: str | None = None
    salt: dict[str, Any] = dataclasses.field(default_factory=dict)
    call_ids: set[str] = dataclasses.field(default_factory=set)
    """Ids that the engine gave to earlier calls of this session."""
    lengths: Mapping[int, Length] = dataclasses.field(default_factory=dict)
    """Filler with which prompts have their exact lengths, by turn."""

    @property
    def turns(self) -> Sequence[int]:
        return self.history.turns[: self.plan.max_turns]

    def is_filler(self, recorded_turn: int) -> bool:
        """The prompt is words without meaning: nothing is asked of the answer but its length."""
        return self.history.trace.turns[recorded_turn].tokens is not None

    @property
    def facts(self) -> EngineFacts:
        return self.instance.facts

    def fields(self, recorded_turn: int) -> dict[str, Any]:
        """What the recording asked for where it matters to the answer, and what the lane and the plan ask for."""
        own = asked_fields(self.history.trace.turns[recorded_turn], self.instance.engine.sampling_fields)
        return own | self.lane.fields(self.instance.engine, self.plan.max_tokens) | self.salt

    def key(self, turn: int) -> TurnKey:
        return TurnKey(self.session.lane, self.session.id, self.attempt, turn)


async def replay_recorded(context: SessionContext, tools: RecordedTools | None) -> str:
    """Send every turn with its recorded history. Returns the session's outcome."""
    unreachable = 0
    for turn, recorded_turn in enumerate(context.turns):
        await _pace(context, turn)
        messages = await rewritten(context, partial(recorded_messages, context, recorded_turn))
        request = recorded_request(context, recorded_turn, messages)
        recorded = context.history.recorded(recorded_turn)
        other = (
            recorded_request(context, recorded_turn, messages, other_mode=True)
            if context.plan.differential
            else None
        )
        done = await exchange(context, turn, recorded_turn, request, recorded=recorded, other=other)
        calls = done.reply.tool_calls
        runs = await tools.run(recorded_turn, calls) if tools is not None and calls else []
        await after_turn(context, turn, recorded_turn, done, runs)
        unreachable = unreachable + 1 if _is_unreachable(done.reply) else 0
        if unreachable >= MAX_UNREACHABLE:
            return "unreachable"
    return "done"


async def after_turn(
    context: SessionContext,
    turn: int,
    recorded_turn: int,
    done: Exchange,
    runs: Sequence[ToolRun],
) -> None:
    """Journal what was executed, and what the signals find over the turns so far."""
    key = context.key(turn)
    for event in tool_events(key, runs):
        context.emit(event)
    usage = context.instance.engine.usage(done.reply.usage, done.reply.extra)
    recorded = context.history.recorded(recorded_turn)
    reuse = await context.signals.reuse(key, done.reply, usage)
    for finding in context.signals.after_turn(key, done.reply, runs, recorded, context.results, reuse):
        context.emit(finding)


def recorded_messages(context: SessionContext, recorded_turn: int) -> Messages:
    return context.history.messages(
        recorded_turn, marker=context.marker, length=context.lengths.get(recorded_turn)
    )


async def rewritten(context: SessionContext, messages: Callable[[], Messages]) -> Messages | None:
    """The messages as the plan's transform writes them, once per request; None where there is none.

    In a thread: it is the user's code, and may start a program, while other streams are timed.
    """
    if context.transform is None:
        return None
    return await asyncio.to_thread(context.transform, messages())


def recorded_request(
    context: SessionContext, recorded_turn: int, messages: Messages | None, *, other_mode: bool = False
) -> Request:
    """The turn's request with its recorded history, or with the messages that a transform made of it.

    `other_mode`: not streamed where the lane streams, and the reverse.
    """
    history, stream = context.history, context.lane.plan.stream is not other_mode
    if messages is None:
        marker, length = context.marker, context.lengths.get(recorded_turn)
        return history.request(
            recorded_turn, context.fields(recorded_turn), marker=marker, stream=stream, length=length
        )
    return history.build(recorded_turn, messages, context.fields(recorded_turn), stream=stream)


def _is_unreachable(reply: Reply) -> bool:
    return reply.fault is not None and reply.fault.kind == "unreachable"


async def exchange(
    context: SessionContext,
    turn: int,
    recorded_turn: int,
    request: Request,
    *,
    recorded: tuple[AnyItem, ...] | None,
    other: Request | None = None,
    sent: dict[str, Any] | None = None,
) -> Exchange:
    """Send one request, watch its reply, judge it, and journal what happened.

    `other` is the same request in the other mode, sent afterwards so that both answers can be judged together. `sent`
    is for the journal: messages that the trace alone does not tell.
    """
    key, fields = context.key(turn), context.fields(recorded_turn)
    context.emit(
        TurnStarted(
            **key.where(),
            recorded_turn=recorded_turn,
            body_bytes=request.content_length,
            body_sha256=body_digest(request),
            wall=time.time(),
            sent=sent
            or (dataclasses.asdict(length) if (length := context.lengths.get(recorded_turn)) else None),
            asked=asked_lengths(context.history.trace.turns[recorded_turn], fields),
            max_tokens=token_limit(fields),
        )
    )
    context.signals.asked(key, request, filler=context.is_filler(recorded_turn))
    reply, watch = await _watched(context, key, recorded_turn, request, recorded)
    context.emit(
        finished(
            key,
            reply,
            context.instance.engine,
            watch,
            lag_ns=_lateness(context, reply),
        )
    )
    pair = (
        await _other_answer(context, key, other)
        if other and not reply.fault and not reply.stopped_by_us
        else None
    )
    verdict = _judge(context, recorded_turn, reply, request, watch, recorded, pair)
    context.call_ids.update(call.id for call in reply.tool_calls if call.id)
    context.emit(
        VerdictGiven(
            **key.where(),
            usable=verdict.usable,
            faults=[dataclasses.asdict(fault) for fault in verdict.faults],
            against_recording=[dataclasses.asdict(finding) for finding in verdict.against_recording],
            schema_valid=verdict.schema_valid,
        )
    )
    return Exchange(reply, verdict)


def _lateness(context: SessionContext, reply: Reply) -> int:
    """How late this turn's own bytes were read; where the kernel gave no stamps, what the receiver was late meanwhile."""
    late = reply.timing.late_ns
    return late if late is not None else context.lag.worst_since(reply.timing.sent)


def body_digest(request: Request) -> str:
    digest = hashlib.sha256()
    for piece in request.body:
        digest.update(piece)
    return digest.hexdigest()


async def _other_answer(context: SessionContext, key: TurnKey, request: Request) -> Reply:
    """The answer in the other mode, kept in the journal beside the turn."""
    reply = await context.instance.client.chat(request)
    finding = {
        "streamed": reply.streamed,
        "content": reply.content,
        "reasoning": reply.reasoning,
        "tool_calls": [dataclasses.asdict(call) for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "usage": reply.usage,
        "fault": dataclasses.asdict(reply.fault) if reply.fault else None,
    }
    context.emit(SignalFinding(**key.where(), signal="other_mode", version=1, finding=finding))
    return reply


async def _watched(
    context: SessionContext,
    key: TurnKey,
    recorded_turn: int,
    request: Request,
    recorded: tuple[AnyItem, ...] | None,
) -> tuple[Reply, Watch]:
    observe = context.lane.plan.on_collapse == "observe" or observes(
        context.plan.seed, key, context.plan.observe_share
    )
    expected = Expected(_searcher(request), recorded_text(recorded) if recorded else None)
    signals = [] if context.is_filler(recorded_turn) else context.signals.begin(expected)
    watch = Watch(key, signals, context.feed, context.emit, observe=observe)
    reply = await context.instance.client.chat(request, watch.on_delta)
    watch.finish(reply)
    return reply, watch


def _judge(
    context: SessionContext,
    recorded_turn: int,
    reply: Reply,
    request: Request,
    watch: Watch,
    recorded: tuple[AnyItem, ...] | None,
    pair: Reply | None,
) -> Verdict:
    case = Case(
        reply,
        context.validator(recorded_turn),
        request_facts(
            context.fields(recorded_turn),
            seen_call_ids=context.call_ids,
            prompt_contains=_searcher(request),
        ),
        usage=context.instance.engine.usage(reply.usage, reply.extra),
        context_length=context.facts.context_length,
        collapsed=_unit(watch.collapse),
        recorded=recorded,
        pair=pair,
        token_text=token_text_of(reply),
    )
    verdict = judge(case)
    return only_lengths(verdict) if context.is_filler(recorded_turn) else verdict


def _unit(collapse: dict[str, Any] | None) -> str | None:
    return None if collapse is None else f"{collapse.get('kind')}: {collapse.get('unit', '')!r}"


def _searcher(request: Request) -> Callable[[str], bool]:
    """Whether a text stands in the prompt, looked up in the request's own bytes."""

    def contains(text: str) -> bool:
        try:
            needle = orjson.dumps(text)[1:-1]
        except TypeError:
            return False
        pattern = re.compile(re.escape(needle))  # looks into a memoryview without a copy
        return any(pattern.search(piece) for piece in request.body)

    return contains


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
