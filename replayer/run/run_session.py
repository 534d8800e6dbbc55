"""One attempt at one session of a run: isolation, sandbox, replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replayer.engines.base import Tristate
from replayer.engines.starting import ended_by_itself
from replayer.journal.events import (
    Primed,
    SessionFinished,
    SessionStarted,
)
from replayer.plan.model import Plan
from replayer.plan.schedule import Session, trace_name
from replayer.run.exchange import Exchange
from replayer.run.fit_prompts import lengths_of
from replayer.run.isolation import Isolation, isolate
from replayer.run.judging import TurnJudge
from replayer.run.lanes import for_session
from replayer.run.prefix_watch import Server
from replayer.run.prompts import Prompts
from replayer.run.session import Bounds, Conversation, SessionContext
from replayer.run.session_signals import SessionSignals
from replayer.run.state import Run
from replayer.run.threads import replay_live, replay_recorded
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.run.lanes import Instance


async def replay_session(run: Run, session: Session, bounds: Bounds | None = None) -> str:
    """Returns the outcome. `bounds` are what a load asks of the session."""
    loaded, bounds = bounds is not None, bounds or Bounds()
    lane = run.lanes[session.lane]
    instance = lane.pin()
    attempt = run.schedule.attempts.next(session.id)
    server = run.servers.of(instance.engine)
    instance.sessions_in_flight += 1
    server.sessions_in_flight += 1
    was_reset: Tristate = "no"
    fresh = False
    if not loaded:
        was_reset, fresh = await _cache_of(session, server, instance)
    tag = run.tag(session, attempt)
    history = run.traces.histories[session.trace].over(lane.plan.wire)
    wires = {run.lanes[name].plan.wire for name in server.lanes if name in run.lanes}
    if len(wires) > 1 and run.plan.order == "parallel":
        fresh = False  # it would be for the first lane alone, and other wires would see another prompt
    salts = history.wire == "chat" and len(wires) == 1 and not run.plan.load.shared_prompt
    isolation = isolate(instance.engine, tag, fresh=fresh, filler=history.is_filler, salts=salts)
    server.used = True
    context = _context(run, session, attempt, tag, instance, isolation, bounds)
    try:
        primed = await _prime(context)
        if bounds.ready is not None:
            await bounds.ready(bounds)
        run.journal.append(_opening(run, context, was_reset, tag, isolation))
        if primed is not None:
            run.journal.append(primed)
        outcome, check = await _replay(run, context)
    finally:
        instance.sessions_in_flight -= 1
        server.sessions_in_flight -= 1
        context.ended()
    _tell_death(run, lane.name, instance)
    run.journal.append(
        SessionFinished(
            session=session.id,
            attempt=attempt,
            outcome=outcome,
            check=check,
            verdicts=context.verdicts(),
        )
    )
    return outcome


def _opening(
    run: Run, context: SessionContext, was_reset: Tristate, tag: str, isolation: Isolation
) -> SessionStarted:
    session, bounds = context.session, context.bounds
    return SessionStarted(
        session=session.id,
        attempt=context.attempt,
        lane=session.lane,
        trace=session.trace,
        repeat=session.repeat,
        turns=len(context.sent),
        mode=run.plan.mode,
        tools=run.plan.tools,
        cache_reset=was_reset,
        isolation=isolation.kind,
        tag=tag if isolation.kind else None,
        late_ns=bounds.late_ns,
        first_turn=min(context.turns.index(turn) for turn in context.sent) if bounds.first else 0,
    )


async def _prime(context: SessionContext) -> Primed | None:
    """What stands before the first turn goes into the cache: the prompt of the turn before it."""
    root, first = context.history.lines[0], context.bounds.first
    if not first:
        return None
    prepared = await context.prompts.recorded(-1, root.turns[first - 1], max_tokens=1)
    return await context.conversation(root.thread).exchange.prime(context.key(-1), prepared)


async def _cache_of(session: Session, server: Server, instance: Instance) -> tuple[Tristate, bool]:
    """Whether the cache was emptied, and whether it is fresh.

    The independent parts of one trace share what the recording shared: the first one decides for all of them.
    """
    family = f"{session.lane}/{trace_name(session.trace)}/{session.repeat}"
    is_part = trace_name(session.trace) != session.trace
    if is_part and family in server.fresh:
        return "no", server.fresh[family]
    was_reset = await server.reset(instance.engine)
    fresh = was_reset == "yes" or (instance.launched is not None and not server.used)
    if is_part:
        fresh = server.fresh.setdefault(family, fresh)
    return was_reset, fresh


def _context(
    run: Run,
    session: Session,
    attempt: int,
    tag: str,
    instance: Instance,
    isolation: Isolation,
    bounds: Bounds,
) -> SessionContext:
    lane = run.lanes[session.lane]
    history = run.traces.histories[session.trace].over(lane.plan.wire)
    server = run.servers.of(instance.engine) if _may_reuse(run.plan, session.trace) else None

    def begin() -> Conversation:
        signals = SessionSignals(server, recorded_mode=run.plan.mode == "recorded")
        exchange = Exchange(
            run.plan,
            history.trace,
            instance,
            lane.plan.on_collapse,
            run.journal.append,
            run.feed,
            run.lag,
            signals,
        )
        judge = TurnJudge(
            lambda recorded_turn: run.traces.validator(session.trace, recorded_turn),
            run.traces.results(session.trace),
            signals,
            run.journal.append,
            instance.facts.context_length,
        )
        return Conversation(exchange, judge)

    return SessionContext(
        run.plan,
        session,
        attempt,
        Prompts(
            history,
            lane,
            instance,
            run.plan.max_tokens,
            run.plan.differential,
            run.traces.transform,
            isolation,
            for_session(instance.headers, session.id),
            lengths_of(run, session, tag),
        ),
        begin,
        bounds,
    )


def _may_reuse(plan: Plan, trace: str) -> bool:
    """Generated sessions share no prefix unless the plan says so, and looking for one would cost them time."""
    return all(workload.shared_prefix or trace not in workload.traces for workload in plan.workload)


def _tell_death(run: Run, lane: str, instance: Instance) -> None:
    """A server of ours that died is reported once, with the last lines of its log."""
    if instance.launched is None or instance.dead:
        return
    reason = ended_by_itself(instance.launched)
    if reason is not None:
        instance.dead = True
        run.warn(f"{lane}: {reason}", lane=lane, code="engine_died")


async def _replay(run: Run, context: SessionContext) -> tuple[str, JsonObject | None]:
    """One attempt at a session, with a sandbox of its own where calls are executed."""
    trace = context.session.trace
    executor = await run.tools.open(trace) if run.tools else None
    try:
        if run.plan.mode == "live":
            return await replay_live(context, executor)
        tools = run.tools.recorded(trace, executor) if run.tools and executor else None
        return await replay_recorded(context, tools), None
    finally:
        if executor is not None:
            await executor.sandbox.aclose()
