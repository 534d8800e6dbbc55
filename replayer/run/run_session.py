"""One attempt at one cell of a run: isolation, sandbox, replay."""

from __future__ import annotations

from typing import Any

from replayer.engines.starting import death
from replayer.journal.events import (
    CellFinished,
    CellStarted,
)
from replayer.plan.model import Cell, Plan
from replayer.run.fit_prompts import lengths_of
from replayer.run.isolation import Isolation, isolate
from replayer.run.lanes import Instance, Lane, reset
from replayer.run.live_session import replay_live
from replayer.run.prefix_watch import MAX_CONCURRENCY, PrefixWatch
from replayer.run.session import CellContext, replay_recorded
from replayer.run.session_signals import CellSignals
from replayer.run.state import Run


async def run_cell(run: Run, cell: Cell) -> None:
    lane = run.lanes[cell.lane]
    instance = lane.pin()
    attempt = run.attempts.next(cell.id)
    instance.cells_in_flight += 1
    was_reset = await reset(instance)
    session = run.session(cell, attempt)
    isolation = _isolation(run, instance, cell.trace, session, was_reset)
    instance.used = True
    context = CellContext(
        plan=run.plan,
        cell=cell,
        attempt=attempt,
        lane=lane,
        instance=instance,
        history=run.histories[cell.trace],
        validator=lambda turn: run.validator(cell.trace, turn),
        emit=run.journal.append,
        feed=run.feed,
        lag=run.lag,
        signals=CellSignals(
            _prefix_watch(
                run, cell.trace, lane, instance, fresh=was_reset == "yes" or bool(isolation.fields)
            ),
            recorded_mode=run.plan.mode == "recorded",
        ),
        results=run.results(cell.trace),
        transform=run.transform,
        marker=isolation.marker,
        salt=isolation.fields,
        lengths=lengths_of(run, cell, session),
    )
    run.journal.append(
        CellStarted(
            cell=cell.id,
            attempt=attempt,
            lane=cell.lane,
            trace=cell.trace,
            repeat=cell.repeat,
            steps=len(context.turns),
            mode=run.plan.mode,
            tools=run.plan.tools,
            cache_reset=was_reset,
            isolation=isolation.kind,
            session=session if isolation.kind else None,
        )
    )
    try:
        outcome, check = await _replay(run, context)
    finally:
        instance.cells_in_flight -= 1
    _tell_death(run, lane.name, instance)
    run.journal.append(
        CellFinished(
            cell=cell.id,
            attempt=attempt,
            outcome=outcome,
            check=check,
            verdicts=context.signals.verdicts(),
        )
    )


def _may_reuse(plan: Plan, trace: str) -> bool:
    """Generated sessions share no prefix unless they are told to, and looking for one would cost them time."""
    return all(workload.shared_prefix or trace not in workload.traces for workload in plan.workload)


def _prefix_watch(run: Run, trace: str, lane: Lane, instance: Instance, *, fresh: bool) -> PrefixWatch | None:
    """The instance's analyser; a cache that was emptied, or a scope of its own, starts a new one."""
    concurrency = lane.concurrency(run.plan)
    if concurrency > MAX_CONCURRENCY or not _may_reuse(run.plan, trace):
        return None
    if fresh or instance.prefix is None:
        alone = concurrency == 1
        live = run.plan.mode == "live"
        instance.prefix = PrefixWatch(instance.engine, instance.facts, alone=alone, live=live)
    return instance.prefix


def _tell_death(run: Run, lane: str, instance: Instance) -> None:
    """A server of ours that died is reported once, with the last lines of its log."""
    if instance.launched is None or instance.dead:
        return
    told = death(instance.launched)
    if told is not None:
        instance.dead = True
        run.warn(f"{lane}: {told}", lane=lane, code="engine_died")


async def _replay(run: Run, context: CellContext) -> tuple[str, dict[str, Any] | None]:
    """One attempt at a cell, with a sandbox of its own where calls are executed."""
    trace = context.cell.trace
    executor = await run.tools.open(trace)
    try:
        if run.plan.mode == "live":
            return await replay_live(context, executor)
        tools = run.tools.recorded(trace, executor) if executor else None
        return await replay_recorded(context, tools), None
    finally:
        if executor is not None:
            await executor.sandbox.aclose()


def _isolation(run: Run, instance: Instance, trace: str, session: str, was_reset: str) -> Isolation:
    """A cache that was just emptied, or that nothing has used yet, needs none."""
    fresh = was_reset == "yes" or (instance.launched is not None and not instance.used)
    return isolate(instance.engine, session, fresh=fresh, filler=run.histories[trace].is_filler)
