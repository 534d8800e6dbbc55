"""Lanes of a run: opened for the phases that need them, sampled while they work, closed after."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from replayer.engines.starting import Starts
from replayer.errors import EngineUnavailable, MissingPartError, ReplayerError
from replayer.journal.events import (
    LaneReady,
    TelemetryRead,
)
from replayer.plan.model import LanePlan, Plan
from replayer.plan.schedule import Session
from replayer.run.lanes import Instance, Lane, open_lane, server_key, warm_up
from replayer.run.state import Run
from replayer.telemetry.gpu import open_gpu
from replayer.telemetry.gpu_lanes import GpuUse, LaneGpus
from replayer.telemetry.sampler import sample_loop
from replayer.wire.loop import together
from replayer.wire.remote import Receiver
from replayer.wire.types import JsonObject

_WARM_SECONDS = 20.0
"""How long lanes that are warm wait for one that is not, so that all begin together."""


async def open_lanes(
    plan: Plan,
    names: set[str],
    folder: Path,
    traces: dict[str, Path],
    receiver: Receiver | None,
    starts: Starts,
) -> tuple[dict[str, Lane], dict[str, ReplayerError]]:
    """Lanes, and by name why the others cannot be made ready: they keep none waiting. Side by side, but servers that we
    start by a command come one after another: those that share a GPU measure its free memory while they start. One that asks
    for resources has its GPUs to itself."""
    opened: dict[str, Lane] = {}
    failed: dict[str, ReplayerError] = {}

    async def open_each(lanes: Sequence[LanePlan]) -> None:
        for lane in lanes:
            try:
                opened[lane.name] = await open_lane(
                    lane,
                    folder / "engines",
                    timeouts=plan.timeouts.of_replies,
                    trace_paths=list(traces.values()),
                    receiver=receiver,
                    starts=starts,
                )
            except (EngineUnavailable, MissingPartError) as error:
                failed[lane.name] = error

    wanted = [lane for lane in plan.lane if lane.name in names]
    started = [lane for lane in wanted if lane.command and not lane.resources]
    whole = False
    try:
        async with together() as group:
            for lanes in [started, *([lane] for lane in wanted if lane not in started)]:
                group.create_task(open_each(lanes))
        whole = True
    finally:
        if not whole:
            await close_lanes(opened)
    return {lane.name: opened[lane.name] for lane in wanted if lane.name in opened}, failed


async def lanes_ready(run: Run, lanes: Sequence[Lane]) -> None:
    """Journal what is known of the lanes, then warm them up side by side. One whose first reply takes long goes on alone,
    and the others begin."""
    for lane in lanes:
        _announce(run, lane)
    if run.plan.warm_up and lanes:
        for lane in lanes:
            lane.warming = asyncio.create_task(_warm(run, lane))
        await asyncio.wait([lane.warming for lane in lanes if lane.warming], timeout=_WARM_SECONDS)


def _announce(run: Run, lane: Lane) -> None:
    facts = lane.facts
    known, log = dataclasses.asdict(facts), lane.instances[0].log(lane.plan)
    if log is not None:
        from replayer.engines.logs.patterns import with_log  # late: most lanes' logs are elsewhere

        known = with_log(known, log)
    run.journal.append(
        LaneReady(
            lane=lane.name,
            kind=lane.plan.launch or facts.kind,
            model=lane.model,
            base_url=facts.base_url,
            facts=known | {"plan": lane.plan.facts},
            settings=lane.settings(),
        )
    )
    shared = run.servers.join(lane)
    if shared:
        run.warn(shared, lane=lane.name, code="shared_server")
    for warning in lane.warnings:
        run.warn(warning, lane=lane.name)


async def _warm(run: Run, lane: Lane) -> None:
    for instance in lane.instances:
        problem = await warm_up(instance, lane.model)
        if problem:
            run.warn(f"{lane.name}: {problem}", lane=lane.name, code="warm_up")


def _sampler(run: Run, lane: str, instance: Instance) -> Callable[[JsonObject], None]:
    def emit(sample: JsonObject) -> None:
        run.servers.of(instance.engine).sampled(lane, sample)
        run.journal.append(TelemetryRead(lane=lane, instance=instance.engine.base_url, sample=sample))

    return emit


def _gpus(lane: Lane, instance: Instance, use: GpuUse) -> LaneGpus | None:
    """The lane's facts may name a DCGM exporter and the GPUs that serve it (`facts = { dcgm = URL, gpus = [0] }`)."""
    url, facts = instance.engine.base_url, lane.plan.facts
    reader = open_gpu(url, facts.get("dcgm"))
    if reader is None:
        return None
    pid = instance.launched.pid or None if instance.launched else None
    return LaneGpus(lane.name, reader, use, base_url=url, asked=facts.get("gpus", ()), pid=pid)


@contextlib.asynccontextmanager
async def telemetry(run: Run, names: set[str]) -> AsyncIterator[None]:
    use = GpuUse()
    tasks = [
        asyncio.ensure_future(
            sample_loop(
                instance.engine,
                run.plan.telemetry_interval,
                _sampler(run, name, instance),
                gpu=_gpus(run.lanes[name], instance, use),
                log=instance.log(run.lanes[name].plan),
            )
        )
        for name in sorted(names)
        for instance in run.lanes[name].instances
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def release(run: Run, needed: set[str]) -> None:
    """Stop engines that no later phase needs, so that the next block has the machine to itself."""
    servers = {server_key(lane) for lane in run.plan.lane if lane.name in needed} - {None}
    done = {
        name: lane
        for name, lane in run.lanes.items()
        if name not in needed and server_key(lane.plan) not in servers
    }
    for name in done:
        del run.lanes[name]
    await close_lanes(done)


async def close_lanes(lanes: dict[str, Lane]) -> None:
    for lane in lanes.values():
        if lane.warming is not None:
            lane.warming.cancel()
        await lane.close()


def lanes_of(phases: Sequence[list[list[Session]]]) -> set[str]:
    return {session.lane for phase in phases for queue in phase for session in queue}
