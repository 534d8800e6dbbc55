"""One attempt at one session of a run: isolation, sandbox, replay."""

from __future__ import annotations

from typing import Any

from replayer.engines.starting import ended_by_itself
from replayer.journal.events import (
    SessionFinished,
    SessionStarted,
)
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.run.fit_prompts import lengths_of
from replayer.run.isolation import isolate
from replayer.run.lanes import Instance
from replayer.run.live_session import replay_live
from replayer.run.session import SessionContext, replay_recorded
from replayer.run.session_signals import SessionSignals
from replayer.run.state import Run


async def replay_session(run: Run, session: Session) -> None:
    lane = run.lanes[session.lane]
    instance = lane.pin()
    attempt = run.attempts.next(session.id)
    server = run.servers.of(instance.engine)
    instance.sessions_in_flight += 1
    server.sessions_in_flight += 1
    was_reset = await server.reset(instance.engine)
    tag = run.tag(session, attempt)
    fresh = was_reset == "yes" or (instance.launched is not None and not server.used)
    isolation = isolate(instance.engine, tag, fresh=fresh, filler=run.histories[session.trace].is_filler)
    server.used = True
    context = SessionContext(
        plan=run.plan,
        session=session,
        attempt=attempt,
        lane=lane,
        instance=instance,
        history=run.histories[session.trace],
        validator=lambda recorded_turn: run.validator(session.trace, recorded_turn),
        emit=run.journal.append,
        feed=run.feed,
        lag=run.lag,
        signals=SessionSignals(
            server if _may_reuse(run.plan, session.trace) else None,
            recorded_mode=run.plan.mode == "recorded",
        ),
        results=run.results(session.trace),
        transform=run.transform,
        marker=isolation.marker,
        salt=isolation.fields,
        lengths=lengths_of(run, session, tag),
    )
    run.journal.append(
        SessionStarted(
            session=session.id,
            attempt=attempt,
            lane=session.lane,
            trace=session.trace,
            repeat=session.repeat,
            turns=len(context.turns),
            mode=run.plan.mode,
            tools=run.plan.tools,
            cache_reset=was_reset,
            isolation=isolation.kind,
            tag=tag if isolation.kind else None,
        )
    )
    try:
        outcome, check = await _replay(run, context)
    finally:
        instance.sessions_in_flight -= 1
        server.sessions_in_flight -= 1
        context.signals.ended(context.key(0))
    _tell_death(run, lane.name, instance)
    run.journal.append(
        SessionFinished(
            session=session.id,
            attempt=attempt,
            outcome=outcome,
            check=check,
            verdicts=context.signals.verdicts(),
        )
    )


def _may_reuse(plan: Plan, trace: str) -> bool:
    """Generated sessions share no prefix unless they are told to, and looking for one would cost them time."""
    return all(workload.shared_prefix or trace not in workload.traces for workload in plan.workload)


def _tell_death(run: Run, lane: str, instance: Instance) -> None:
    """A server of ours that died is reported once, with the last lines of its log."""
    if instance.launched is None or instance.dead:
        return
    told = ended_by_itself(instance.launched)
    if told is not None:
        instance.dead = True
        run.warn(f"{lane}: {told}", lane=lane, code="engine_died")


async def _replay(run: Run, context: SessionContext) -> tuple[str, dict[str, Any] | None]:
    """One attempt at a session, with a sandbox of its own where calls are executed."""
    trace = context.session.trace
    executor = await run.tools.open(trace)
    try:
        if run.plan.mode == "live":
            return await replay_live(context, executor)
        tools = run.tools.recorded(trace, executor) if executor else None
        return await replay_recorded(context, tools), None
    finally:
        if executor is not None:
            await executor.sandbox.aclose()
