"""Drives the sessions of a run and appends every fact to its journal."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import platform
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replayer import __version__
from replayer.errors import Interrupted, ReplayerError
from replayer.journal.events import (
    AnyEvent,
    RunFinished,
    RunResumed,
    RunStarted,
)
from replayer.journal.log import JournalWriter, create_folder, read
from replayer.journal.parts import JOURNAL
from replayer.journal.progress import Attempts, attempts_so_far
from replayer.journal.run_traces import copies as run_copies
from replayer.plan.model import Plan
from replayer.plan.schedule import Session, batches, labelled, sessions
from replayer.requests.generated import generated
from replayer.requests.history import RecordedHistory
from replayer.requests.transform import load_transform
from replayer.run.coverage import coverage, recorded_starts
from replayer.run.driving import CREWS, background, raise_file_limit, run_queues
from replayer.run.fit_prompts import prepare
from replayer.run.job import Job
from replayer.run.lag import LagMeter
from replayer.run.live_feed import LiveFeed
from replayer.run.metrics_page import served
from replayer.run.prefix_watch import Servers, learn_prompts
from replayer.run.run_lanes import close_lanes, lanes_of, lanes_ready, open_lanes, release, telemetry
from replayer.run.state import Run, Schedule, Traces
from replayer.traces.public.workloads import credits_of
from replayer.traces.reader import Trace
from replayer.wire.loop import run_receiving
from replayer.wire.remote import Receiver, ReceiverLost

if TYPE_CHECKING:
    from replayer.run.early_stop import EarlyStop, Stopper
    from replayer.run.session_tools import Tools
    from replayer.run.shards.crew import Crew

OnEvent = Callable[[AnyEvent], None]
"""Receives every event that was journalled, in order."""
_MANY = 1000
"""Streams to be ready for where sessions arrive by themselves."""


def perform(job: Job, on_event: OnEvent | None = None, *, stopper: Stopper | None = None) -> int:
    """Run the job in this process; returns the exit code. `stopper` may end it early. Raises Interrupted on Ctrl-C and
    SIGTERM."""
    goes_on = f"; the journal is complete so far: `replayer resume {job.folder}` goes on"
    try:
        with served(job.metrics_port, on_event) as observer:
            return _start(job, observer, stopper) if job.action == "start" else _go_on(job, observer)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Interrupted(f"interrupted{goes_on}") from None
    except ReceiverLost as error:
        raise ReplayerError(f"{error}{goes_on}") from None


def _start(job: Job, on_event: OnEvent | None, stopper: Stopper | None) -> int:
    """Nothing is left behind if it cannot start."""
    plan, folder = job.plan, job.folder
    with generated(plan.workload, plan.seed) as made:
        traces = job.traces | made
        histories = histories_of(plan, traces)
        fresh = not folder.exists()
        create_folder(folder)
        try:
            copies = _copy_traces(traces, folder, histories)
            _check_baseline(plan, folder)
            return run_receiving(
                _run(plan, histories, copies, folder, Attempts(), on_event, resumed=False, stopper=stopper)
            )
        except (ReplayerError, OSError):
            if fresh and not (folder / "journal.jsonl").exists():
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _go_on(job: Job, on_event: OnEvent | None) -> int:
    """Run the sessions that have no complete attempt yet (`resume`, `--into`)."""
    plan, folder = job.plan, job.folder
    copies = run_copies(folder)
    return run_receiving(
        _run(
            plan,
            histories_of(plan, copies),
            copies,
            folder,
            attempts_so_far(folder),
            on_event,
            resumed=job.action == "resume",
        )
    )


def _check_baseline(plan: Plan, folder: Path) -> None:
    if plan.baseline is not None:
        from replayer.metrics.limits import check_baseline

        check_baseline(plan, folder)


def _copy_traces(
    traces: dict[str, Path], folder: Path, histories: dict[str, RecordedHistory]
) -> dict[str, Path]:
    """Each trace in a folder of its own, beside the archive of its workspace."""
    copies = {}
    headers = {history.trace.path: history.trace.header for history in histories.values()}
    for name, path in traces.items():
        target = folder / "traces" / name
        target.mkdir(0o700)
        copies[name] = target / ("trace.jsonl.zst" if path.name.endswith(".zst") else "trace.jsonl")
        _copy(path, copies[name])
        header = headers[path] if path in headers else Trace.open(path).header
        archive = (header.workspace or {}).get("tar")
        if archive is not None and (path.parent / archive).is_file():
            _copy(path.parent / archive, target / archive)
    return copies


def _copy(source: Path, target: Path) -> None:
    """For the owner alone, from the first byte on."""
    target.touch(0o600)
    shutil.copyfile(source, target)


def histories_of(plan: Plan, traces: dict[str, Path]) -> dict[str, RecordedHistory]:
    """By label: a trace whose threads are independent is a session for each of them."""
    found: dict[str, RecordedHistory] = {}
    for name in plan.traces:
        parts = RecordedHistory.trees(Trace.open(traces[name]), plan.dialect, plan.profile)
        found |= labelled(name, parts)
    return found


def _todo(plan: Plan, labels: list[str], attempts: Attempts) -> list[Session]:
    """What has no complete attempt. A load stands here as its first round, until it has come to its end on the lane."""
    if plan.load.asked:
        first = plan.model_copy(update={"repeat": 1})
        return [session for session in sessions(first, labels) if session.lane not in attempts.loads]
    return [session for session in sessions(plan, labels) if session.id not in attempts.done]


async def _run(
    plan: Plan,
    histories: dict[str, RecordedHistory],
    traces: dict[str, Path],
    folder: Path,
    attempts: Attempts,
    on_event: OnEvent | None,
    *,
    resumed: bool,
    stopper: Stopper | None = None,
) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    todo = _todo(plan, list(histories), attempts)
    recorded_starts(plan, histories)
    transform = load_transform(plan.transform) if plan.transform else None
    early: list[str] = []
    tools = await asyncio.to_thread(tools_of, plan, histories, early.append)
    raise_file_limit(sum(plan.alive(lane) or _MANY for lane in plan.lane))
    phases = batches(plan, todo)
    lag = LagMeter()
    servers = Servers(live=plan.mode == "live")
    async with contextlib.AsyncExitStack() as open_now:
        open_now.enter_context(contextlib.closing(servers))
        receiver = open_now.enter_context(contextlib.closing(Receiver(lag.add)))
        crew = await open_now.enter_async_context(_crew(plan, todo, folder))
        if crew is not None:
            phases = crew.fit(plan, phases, servers.starts)
        lanes, failed = await open_lanes(plan, lanes_of(phases[:1]), folder, traces, receiver, servers.starts)
        if failed and lanes_of(phases) <= failed.keys():
            raise next(iter(failed.values()))
        try:
            # What sessions need is loaded while the lanes warm up.
            ahead = asyncio.create_task(
                asyncio.to_thread(importlib.import_module, "replayer.run.run_session")
            )
            early_stop = stopper or _early_stop(plan, folder)
            tell = _observer(early_stop, on_event)
            with contextlib.closing(JournalWriter(folder, tell, plan.sync_every, plan.sync_apart)) as journal:
                parts = Traces(histories, transform), Schedule(attempts, len(todo), early_stop)
                feed = LiveFeed(folder / "live")
                run = Run(plan, folder, journal, *parts, feed, tools, receiver, lag, servers, lanes)
                _begin(run, early, failed, resumed=resumed)
                if crew is not None:
                    await crew.join(run, traces, tell)
                return await _drive(run, phases, traces, ahead, crew)
        finally:
            await close_lanes(lanes)


def _crew(
    plan: Plan, todo: Sequence[Session], folder: Path
) -> contextlib.AbstractAsyncContextManager[Crew | None]:
    """Who drives the sessions; None where this process does."""
    if plan.ray is None and plan.processes is None:
        return contextlib.nullcontext()
    return CREWS["ray" if plan.ray is not None else "processes"](plan, todo, folder)


def _begin(run: Run, early: Sequence[str], failed: dict[str, ReplayerError], *, resumed: bool) -> None:
    """The first lines of the journal. `early`: what was to be said before there was one."""
    run.journal.go_on_after(run.schedule.attempts.last_at)
    run.journal.append(_opening(run, resumed=resumed))
    for message in early:
        run.warn(message, code="sandbox")
    histories = run.traces.histories.values()
    for credit in () if resumed else credits_of(history.trace.header for history in histories):
        run.warn(credit, code="workload")
    _leave_out(run, failed)


def tools_of(plan: Plan, histories: dict[str, RecordedHistory], warn: Callable[[str], None]) -> Tools | None:
    """What executes calls, tested; None where the plan wants none executed."""
    if plan.tools == "recorded":
        return None
    from replayer.run.session_tools import Tools

    tools = Tools(plan, histories)
    tools.check(warn)
    return tools


async def _drive(
    run: Run,
    phases: list[list[list[Session]]],
    traces: dict[str, Path],
    ahead: asyncio.Task[Any],
    crew: Crew | None,
) -> int:
    async with background(run):
        await asyncio.gather(lanes_ready(run, list(run.lanes.values())), ahead)
        await _run_phases(run, phases, traces, crew)
    from replayer.metrics.limits import broken_limits

    reasons = _lost(run, crew)
    reasons += broken_limits(run.folder, run.plan, crew.lag_p99_ns if crew else run.lag.p99())
    code = 1 if reasons else 0
    run.journal.append(RunFinished(exit_code=code, reasons=reasons))
    return code


def _leave_out(run: Run, failed: dict[str, ReplayerError]) -> None:
    for name, error in failed.items():
        run.schedule.lost[name] = f"{name} was left out: {error}"
        run.warn(run.schedule.lost[name], lane=name, code="left_out")


def _lost(run: Run, crew: Crew | None) -> list[str]:
    """Why sessions are left, for each lane and each shard that was lost."""
    lost = run.schedule.lost
    done = attempts_so_far(run.folder).done if lost or crew else set()
    left = [s for s in _todo(run.plan, list(run.traces.histories), run.schedule.attempts) if s.id not in done]
    return (crew.lost(run, done) if crew else []) + [
        f"{why} ({count} of its sessions are unfinished: `replayer resume {run.folder}` goes on with them)"
        for lane, why in lost.items()
        if (count := sum(session.lane == lane for session in left))
    ]


def _early_stop(plan: Plan, folder: Path) -> EarlyStop | None:
    """With what earlier processes of this run have journalled."""
    if plan.stop_when_decided is None:
        return None
    from replayer.run.early_stop import EarlyStop

    found = EarlyStop(plan.stop_when_decided)
    for event in read(folder) if (folder / JOURNAL).exists() else ():
        found.apply(event)
    return found


def _observer(early_stop: Stopper | None, on_event: OnEvent | None) -> OnEvent | None:
    if early_stop is None:
        return on_event

    def tell(event: AnyEvent) -> None:
        early_stop.apply(event)
        if on_event is not None:
            on_event(event)

    return tell


def _opening(run: Run, *, resumed: bool) -> RunStarted | RunResumed:
    turns = {name: len(history.turns[: run.plan.max_turns]) for name, history in run.traces.histories.items()}
    if resumed:
        return RunResumed(wall=time.time(), version=__version__, turns=turns)
    return RunStarted(
        run_id=run.folder.name,
        wall=time.time(),
        version=__version__,
        plan=run.plan.model_dump(mode="json"),
        turns=turns,
        coverage=list(coverage(run.plan, run.traces.histories)),
        environment={
            "python": platform.python_version(),
            "platform": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "sandbox": run.tools.grade.grade if run.tools and run.tools.grade else None,
        },
    )


async def _run_phases(
    run: Run, phases: list[list[list[Session]]], traces: dict[str, Path], crew: Crew | None
) -> None:
    run.stop_if_decided()
    for number, phase in enumerate(phases):
        if run.schedule.stopped is not None:
            return
        if number and run.plan.cool_down:
            await asyncio.sleep(run.plan.cool_down)
        missing = lanes_of([phase]) - run.lanes.keys() - run.schedule.lost.keys()
        opened, failed = await open_lanes(
            run.plan, missing, run.folder, traces, run.receiver, run.servers.starts
        )
        run.lanes.update(opened)
        _leave_out(run, failed)
        await lanes_ready(run, list(opened.values()))
        phase = [kept for queue in phase if (kept := [s for s in queue if s.lane in run.lanes])]
        if crew is not None:
            await crew.run_phase(run, [queue for queue in phase if queue])
        else:
            await prepare(run, phase)
            await learn_prompts(run, phase)
            async with telemetry(run, lanes_of([phase])):
                from replayer.run.run_session import replay_session

                await run_queues(run, phase, replay_session)
        await release(run, lanes_of(phases[number + 1 :]))
