"""Drives the cells of a run and appends every fact to its journal."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import platform
import resource
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replayer import __version__
from replayer.cell import CellContext, replay_recorded
from replayer.cell_signals import CellSignals
from replayer.cell_tools import Tools
from replayer.engines.logs.settings import with_log
from replayer.engines.starting import death
from replayer.errors import PlanError, ReplayerError
from replayer.events import (
    AnyEvent,
    CellFinished,
    CellStarted,
    LaneReady,
    RunFinished,
    RunResumed,
    RunStarted,
    TelemetryRead,
    Warned,
)
from replayer.history import RecordedHistory
from replayer.journal import JournalWriter, create_folder
from replayer.lag import LagMeter
from replayer.lanes import Instance, Lane, open_lane, reset, warm_up
from replayer.limits import broken_limits
from replayer.live_cell import replay_live
from replayer.live_feed import LiveFeed
from replayer.plan import Cell, Plan, batches, cells
from replayer.prefix_watch import MAX_CONCURRENCY, PrefixWatch
from replayer.progress import Attempts, attempts_so_far
from replayer.telemetry import sample_loop
from replayer.telemetry_gpu import open_gpu
from replayer.tool_runs import results
from replayer.tools.validation import Validator
from replayer.traces.reader import Trace
from replayer.traces.schema import ToolResultItem
from replayer.transform import Transform, load_transform
from replayer.wire.loop import run_receiving, steady_memory

OnEvent = Callable[[AnyEvent], None]
"""Told of every event that was journalled, in order."""


@dataclass(slots=True)
class Run:
    """What is open while a run goes on."""

    plan: Plan
    folder: Path
    journal: JournalWriter
    histories: dict[str, RecordedHistory]
    attempts: Attempts
    feed: LiveFeed
    tools: Tools
    transform: Transform | None = None
    lag: LagMeter = field(default_factory=LagMeter)
    lanes: dict[str, Lane] = field(default_factory=dict)
    validators: dict[str, Validator] = field(default_factory=dict)
    recorded_results: dict[str, dict[str, ToolResultItem]] = field(default_factory=dict)

    def results(self, trace: str) -> dict[str, ToolResultItem]:
        """The recorded tool results of a trace by call id, gathered once."""
        if trace not in self.recorded_results:
            self.recorded_results[trace] = results(self.histories[trace])
        return self.recorded_results[trace]

    def warn(self, message: str, *, lane: str | None = None, code: str | None = None) -> None:
        self.journal.append(Warned(message=message, lane=lane, code=code))

    def validator(self, trace: str, turn: int) -> Validator:
        tool_set = self.histories[trace].tool_set(turn)
        key = f"{trace}/{tool_set.id if tool_set else ''}"
        if key not in self.validators:
            self.validators[key] = Validator(tool_set.tools if tool_set else ())
        return self.validators[key]


def start_run(plan: Plan, traces: dict[str, Path], folder: Path, on_event: OnEvent | None = None) -> int:
    """Run a plan into a new folder; returns the exit code. Nothing is left behind if it cannot start."""
    histories = _histories(plan, traces)
    fresh = not folder.exists()
    create_folder(folder)
    try:
        copies = _copy_traces(traces, folder)
        return run_receiving(_run(plan, histories, copies, folder, Attempts(), on_event, resumed=False))
    except (ReplayerError, OSError):
        if fresh and not (folder / "journal.jsonl").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise


def continue_run(plan: Plan, folder: Path, on_event: OnEvent | None = None, *, widened: bool = False) -> int:
    """Run the cells that have no complete attempt yet (`resume`, `--into`)."""
    copies = {path.parent.name: path for path in sorted((folder / "traces").glob("*/trace.jsonl*"))}
    attempts = attempts_so_far(folder)
    return run_receiving(
        _run(plan, _histories(plan, copies), copies, folder, attempts, on_event, resumed=not widened)
    )


def _copy_traces(traces: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Each trace in a folder of its own, beside the archive of its workspace."""
    copies = {}
    for name, path in traces.items():
        target = folder / "traces" / name
        target.mkdir()
        copies[name] = target / ("trace.jsonl.zst" if path.name.endswith(".zst") else "trace.jsonl")
        shutil.copyfile(path, copies[name])
        archive = (Trace.open(path).header.workspace or {}).get("tar")
        if archive is not None and (path.parent / archive).is_file():
            shutil.copyfile(path.parent / archive, target / archive)
    return copies


def _histories(plan: Plan, traces: dict[str, Path]) -> dict[str, RecordedHistory]:
    return {
        name: RecordedHistory(Trace.open(traces[name]), plan.dialect, profile_name=plan.profile)
        for name in plan.traces
    }


async def _run(
    plan: Plan,
    histories: dict[str, RecordedHistory],
    traces: dict[str, Path],
    folder: Path,
    attempts: Attempts,
    on_event: OnEvent | None,
    *,
    resumed: bool,
) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    todo = [cell for cell in cells(plan, list(histories)) if cell.id not in attempts.done]
    transform = load_transform(plan.transform) if plan.transform else None
    tools = Tools(plan, histories)
    early: list[str] = []
    await asyncio.to_thread(tools.check, early.append)
    _raise_file_limit(plan.concurrency * len(plan.lane))
    phases = batches(plan, todo)
    first = await _open_lanes(plan, _lanes_of(phases[:1]), folder, traces)
    try:
        journal = JournalWriter(folder, on_event)
    except ReplayerError:
        await _close(first)
        raise
    run = Run(
        plan, folder, journal, histories, attempts, LiveFeed(folder / "live"), tools, transform, lanes=first
    )
    journal.go_on_after(attempts.last_at)
    journal.append(_opening(run, resumed=resumed))
    for message in early:
        run.warn(message, code="sandbox")
    try:
        async with _background(run):
            await _run_phases(run, phases, traces)
        reasons = broken_limits(folder, plan, run.lag.p99())
        code = 1 if reasons else 0
        journal.append(RunFinished(exit_code=code, reasons=reasons))
        return code
    finally:
        run.feed.flush()
        await _close(run.lanes)
        journal.close()


def _opening(run: Run, *, resumed: bool) -> RunStarted | RunResumed:
    steps = {name: len(history.turns[: run.plan.max_turns]) for name, history in run.histories.items()}
    if resumed:
        return RunResumed(wall=time.time(), version=__version__, steps=steps)
    return RunStarted(
        run_id=run.folder.name,
        wall=time.time(),
        version=__version__,
        plan=run.plan.model_dump(mode="json"),
        steps=steps,
        environment={
            "python": platform.python_version(),
            "platform": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "sandbox": run.tools.grade.grade if run.tools.grade else None,
        },
    )


@contextlib.asynccontextmanager
async def _background(run: Run) -> AsyncIterator[None]:
    """Keep the lag meter and the live feed going; keep the collector's pauses out of the timing."""
    tasks = [asyncio.ensure_future(run.lag.run()), asyncio.ensure_future(run.feed.run())]
    try:
        with steady_memory():
            yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_phases(run: Run, phases: list[list[list[Cell]]], traces: dict[str, Path]) -> None:
    for lane in run.lanes.values():
        await _ready(run, lane)
    for number, phase in enumerate(phases):
        missing = _lanes_of([phase]) - run.lanes.keys()
        opened = await _open_lanes(run.plan, missing, run.folder, traces)
        run.lanes.update(opened)
        for lane in opened.values():
            await _ready(run, lane)
        async with _telemetry(run, _lanes_of([phase])):
            await _run_queues(run, phase)
        await _release(run, _lanes_of(phases[number + 1 :]))


async def _run_queues(run: Run, queues: list[list[Cell]]) -> None:
    """Work on all queues at the same time; the first error ends them all."""
    try:
        async with asyncio.TaskGroup() as group:
            for queue in queues:
                todo = list(reversed(queue))
                for _ in range(min(run.plan.concurrency, len(queue))):
                    group.create_task(_work(run, todo))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _work(run: Run, todo: list[Cell]) -> None:
    while todo:
        await _run_cell(run, todo.pop())
        if run.plan.cool_down:
            await asyncio.sleep(run.plan.cool_down)


async def _run_cell(run: Run, cell: Cell) -> None:
    lane = run.lanes[cell.lane]
    instance = lane.pin()
    attempt = run.attempts.next(cell.id)
    instance.cells_in_flight += 1
    was_reset = await reset(instance)
    salt, marker = _isolation(run, instance, cell, attempt, was_reset)
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
            _prefix_watch(run, instance, fresh=was_reset == "yes" or bool(salt)),
            recorded_mode=run.plan.mode == "recorded",
        ),
        results=run.results(cell.trace),
        transform=run.transform,
        marker=marker,
        salt=salt,
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
            isolation="salt" if salt else "marker" if marker else None,
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


def _prefix_watch(run: Run, instance: Instance, *, fresh: bool) -> PrefixWatch | None:
    """The instance's analyser; a cache that was emptied, or a scope of its own, starts a new one."""
    if run.plan.concurrency > MAX_CONCURRENCY:
        return None
    if fresh or instance.prefix is None:
        alone = run.plan.concurrency == 1
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


def _isolation(
    run: Run, instance: Instance, cell: Cell, attempt: int, was_reset: str
) -> tuple[dict[str, Any], str | None]:
    """Keep a cell's prompts out of what earlier cells left in the cache: the engine's salt, else a marker.

    The marker is the same on every lane, so that lanes still see the same prompts. A cache that was just
    emptied, or that nothing has used yet, needs neither.
    """
    if was_reset == "yes" or (instance.launched is not None and not instance.used):
        return {}, None
    name = f"{run.folder.name}/{cell.trace}/{cell.repeat}/{attempt}"
    salt = instance.engine.isolation(name)
    return (salt, None) if salt else ({}, f"\n\n[session {name}]")


async def _open_lanes(plan: Plan, names: set[str], folder: Path, traces: dict[str, Path]) -> dict[str, Lane]:
    opened: dict[str, Lane] = {}
    try:
        for lane in plan.lane:
            if lane.name in names:
                opened[lane.name] = await open_lane(
                    lane, folder / "engines", trace_paths=list(traces.values())
                )
    except BaseException:
        await _close(opened)
        raise
    return opened


async def _ready(run: Run, lane: Lane) -> None:
    """Journal what is known of a lane, then warm its instances up."""
    facts = lane.facts
    run.journal.append(
        LaneReady(
            lane=lane.name,
            kind=lane.plan.launch or facts.kind,
            model=lane.model,
            base_url=facts.base_url,
            facts=with_log(_plain(facts), lane.instances[0].log(lane.plan)) | {"plan": lane.plan.facts},
            settings=lane.settings(),
        )
    )
    for warning in lane.warnings:
        run.warn(warning, lane=lane.name)
    if run.plan.warm_up:
        for instance in lane.instances:
            problem = await warm_up(instance, lane.model)
            if problem:
                run.warn(f"{lane.name}: {problem}", lane=lane.name, code="warm_up")


def _plain(facts: Any) -> dict[str, Any]:
    return dataclasses.asdict(facts)


def _sampler(run: Run, lane: str, instance: Instance) -> Callable[[dict[str, Any]], None]:
    def emit(sample: dict[str, Any]) -> None:
        run.journal.append(TelemetryRead(lane=lane, instance=instance.engine.base_url, sample=sample))

    return emit


def _sampling(run: Run, lane: Lane, instance: Instance) -> Coroutine[Any, Any, None]:
    """The lane's facts may name a DCGM exporter (`facts = { dcgm = URL }`)."""
    return sample_loop(
        instance.engine,
        run.plan.telemetry_interval,
        _sampler(run, lane.name, instance),
        gpu=open_gpu(instance.engine.base_url, lane.plan.facts.get("dcgm")),
        log=instance.log(lane.plan),
    )


@contextlib.asynccontextmanager
async def _telemetry(run: Run, names: set[str]) -> AsyncIterator[None]:
    tasks = [
        asyncio.ensure_future(_sampling(run, run.lanes[name], instance))
        for name in sorted(names)
        for instance in run.lanes[name].instances
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _release(run: Run, needed: set[str]) -> None:
    """Stop engines that no later phase needs, so that the next block has the machine to itself."""
    done = {name: lane for name, lane in run.lanes.items() if name not in needed}
    for name in done:
        del run.lanes[name]
    await _close(done)


async def _close(lanes: dict[str, Lane]) -> None:
    for lane in lanes.values():
        await lane.close()


def _lanes_of(phases: Sequence[list[list[Cell]]]) -> set[str]:
    return {cell.lane for phase in phases for queue in phase for cell in queue}


def _raise_file_limit(streams: int) -> None:
    """One socket per stream. Raises PlanError where the system does not allow so many."""
    needed = streams * 2 + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise PlanError(
            f"{streams} streams need {needed} open files, the system allows {hard}: "
            "lower --concurrency or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
