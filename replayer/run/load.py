"""Load on one lane: sessions that are kept alive, or that arrive by themselves, until their time is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from replayer.engines.base import Tristate
from replayer.journal.events import LoadEnded, LoadStarted
from replayer.journal.turns import UNREACHABLE
from replayer.lazy import dataclass
from replayer.plan.load_shape import Next, coming, first_turn
from replayer.plan.schedule import Session, Share
from replayer.run.coverage import recorded_starts
from replayer.run.session import Bounds, wait_for
from replayer.run.state import Run
from replayer.wire.loop import together

if TYPE_CHECKING:
    from replayer.run.lanes import Instance

_GONE = 3
"""Sessions in a row, for each that is to be alive, that may find no server before the load is ended."""
_LOOK = 0.1
"""Seconds between two looks at whether enough is known."""


Replay = Callable[[Run, Session, Bounds | None], Awaitable[str]]
"""Replays one session, within the bounds of a load; returns its outcome (`run_session.replay_session`)."""


@dataclass(slots=True)
class Load:
    """The load on one lane while it goes on."""

    run: Run
    replay: Replay
    lane: str
    alive: int | None
    order: Iterator[Next]
    to_prime: int
    """Of the first sessions, those whose prefix is not in the cache yet: the load begins once all are."""
    cache_reset: Tristate = "unknown"
    begun: float = 0.0
    """Seconds of the monotonic clock."""
    has_begun: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    started: int = 0
    unreachable: int = 0
    """Sessions in a row that found no server."""

    def begin(self) -> None:
        self.begun = time.monotonic()
        started = LoadStarted(lane=self.lane, sessions=self.alive, cache_reset=self.cache_reset)
        self.run.load(started)
        self.has_begun.set()

    def primed(self) -> None:
        self.to_prime -= 1
        if not self.to_prime:
            self.begin()

    async def drive(self) -> None:
        if not self.to_prime:
            self.begin()
        shape, watch = self.run.plan.load, asyncio.create_task(self._watch())
        try:
            async with together() as group:
                if shape.closed:
                    for place in range(self.alive or 1):
                        group.create_task(self._keep_one(place))
                else:
                    group.create_task(self._arrive(group))
        finally:
            watch.cancel()
        self.end("done")

    async def _watch(self) -> None:
        """Ends the load when its time is over, or once enough is known."""
        await self.has_begun.wait()
        duration, schedule = self.run.plan.load.duration, self.run.schedule
        while not self.over.is_set():
            left = float("inf") if duration is None else self.begun + duration - time.monotonic()
            if left <= 0:
                self.end("duration")
            self.run.stop_if_decided()
            if schedule.stopped is not None:
                self.end("decided")
            await wait_for(self.over, min(_LOOK, max(left, 0.001)))

    def end(self, outcome: str) -> None:
        """No further turn is sent from here on."""
        if not self.over.is_set():
            self.over.set()
            self.run.load(LoadEnded(lane=self.lane, outcome=outcome))

    async def _keep_one(self, place: int) -> None:
        """One of those that are alive: when its session ends, the next one starts."""
        after = self.run.plan.load.ramp * place / (self.alive or 1)
        if self.to_prime:
            session = next(self.order, None)
            if session is None:
                self.primed()
                return
            await self._replay(session, after, first=True)
            due = time.monotonic()
        else:
            due = self.begun + after
            await wait_for(self.over, due - time.monotonic())
        while not self.over.is_set() and (session := next(self.order, None)) is not None:
            await self._replay(session, due - self.begun)
            due = time.monotonic()

    async def _arrive(self, group: asyncio.TaskGroup) -> None:
        places = asyncio.Semaphore(self.alive) if self.alive else None
        for session in self.order:
            due = session.after or 0.0
            await wait_for(self.over, self.begun + due - time.monotonic())
            if places is not None and not self.over.is_set():
                await self._first(places.acquire())
            if self.over.is_set():
                return
            task = group.create_task(self._replay(session, due))
            if places is not None:
                task.add_done_callback(lambda _: places.release())

    async def _first(self, wanted: Coroutine[object, object, object]) -> None:
        """Until a place is free, or the load is over."""
        tasks = [asyncio.ensure_future(wanted), asyncio.ensure_future(self.over.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _replay(self, session: Next, due: float, *, first: bool = False) -> None:
        """`due`: seconds after the load's begin."""
        place, self.started = self.started, self.started + 1
        plan, history = self.run.plan, self.run.traces.histories[session.label]
        turns = len(history.lines[0].turns[: plan.max_turns])
        start = first_turn(plan.load, turns, seed=plan.seed, session=session, place=place, alive=self.alive)

        async def ready(bounds: Bounds) -> None:
            if first:
                self.primed()
                await self.has_begun.wait()
                await wait_for(self.over, self.begun + due - time.monotonic())
            bounds.late_ns = max(0, round((time.monotonic() - self.begun - due) * 1e9))

        bounds = Bounds(start, ready=ready, over=self.over)
        outcome = await self.replay(self.run, Session(self.lane, session.label, session.repeat), bounds)
        self.unreachable = self.unreachable + 1 if outcome == UNREACHABLE else 0
        if self.run.lanes[self.lane].out or self.unreachable >= _GONE * (self.alive or 1):
            self.run.warn(
                f"{self.lane}: its server is gone; the load was ended", lane=self.lane, code="server_gone"
            )
            self.end("server_gone")


async def run_load(run: Run, replay: Replay, lane: str) -> None:
    """Keep up the plan's load on a lane until it is over. The cache is emptied once, before the first session."""
    labels, plan = list(run.traces.histories), run.plan
    await run.lanes[lane].warm()
    alive = plan.alive(run.lanes[lane].plan)
    was_reset = await empty_cache(run, lane)
    order = run.shares.get(lane, Share()).deal(
        coming(
            plan.load,
            labels,
            seed=plan.seed,
            repeat=plan.repeat,
            recorded=recorded_starts(plan, run.traces.histories),
        )
    )
    priming = (alive or 1) if plan.load.closed and plan.load.start != "beginning" else 0
    await Load(run, replay, lane, alive, order, priming, was_reset).drive()


async def empty_cache(run: Run, lane: str) -> Tristate:
    """Of all servers of a lane that are idle."""
    resets = {await _reset(run, instance) for instance in run.lanes[lane].instances}
    return resets.pop() if len(resets) == 1 else "unknown"


async def _reset(run: Run, instance: Instance) -> Tristate:
    server = run.servers.of(instance.engine)
    return "no" if server.sessions_in_flight else await server.reset(instance.engine)
