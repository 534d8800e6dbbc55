"""Works through the sessions that run at the same time, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from replayer.errors import PlanError
from replayer.lazy import LazyTable
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.run.state import Run
from replayer.wire.loop import steady_memory, together

if TYPE_CHECKING:
    from replayer.run.lanes import Lane
    from replayer.run.load import Replay
    from replayer.run.shards.crew import Crew

OpenCrew = Callable[[Plan, Sequence[Session], Path], AbstractAsyncContextManager["Crew | None"]]


CREWS: LazyTable[OpenCrew] = LazyTable(
    "replayer.run.shards", {"processes": "crew:processes", "ray": "on_ray:cluster"}
)
"""Who drives the sessions where this process does not."""


async def run_queues(run: Run, queues: list[list[Session]], replay: Replay) -> None:
    """Work on all queues at the same time; the first error ends them all."""
    from replayer.run.load import run_load

    async with together() as group:
        for queue in queues:
            if run.plan.load.asked:
                group.create_task(run_load(run, replay, queue[0].lane))
                continue
            lane = run.lanes[queue[0].lane]
            todo = list(reversed(queue))
            places = lane.concurrency(run.plan)
            for _ in range(places if run.more is not None else min(places, len(queue))):
                group.create_task(_work(run, lane, todo, replay))


async def _work(run: Run, lane: Lane, todo: list[Session], replay: Replay) -> None:
    while session := await _next(run, lane, todo):
        await lane.warm()
        if lane.out is None:
            await replay(run, session, None)
        if lane.out is not None:
            run.schedule.lost[lane.name] = f"{lane.name} was given up: {lane.out}"
        run.schedule.left -= 1
        run.stop_if_decided()


async def _next(run: Run, lane: Lane, todo: list[Session]) -> Session | None:
    """What the lane does next; what others could do too is left to them once it was given up."""
    if run.schedule.stopped is not None:
        return None
    if todo:
        return todo.pop()
    session = await run.more(lane.name) if run.more is not None and lane.out is None else None
    return session if run.schedule.stopped is None else None


@contextlib.asynccontextmanager
async def background(run: Run) -> AsyncIterator[None]:
    """Keep the live feed going, and the collector's pauses short."""
    feeding = asyncio.ensure_future(run.feed.run())
    try:
        with steady_memory():
            yield
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        run.feed.flush()


def raise_file_limit(streams: int) -> None:
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
