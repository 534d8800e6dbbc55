"""One shard: a process that drives a share of a run's sessions and keeps a journal of its own.

`python -m replayer.run.shards.shard` reads from its standard input where its coordinator is, dials it, and does what it
says. Where the line to the coordinator breaks, the shard ends: its journal is complete so far.
Lanes come as the coordinator opened them: nobody asks a server twice what it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from replayer.engines.base import EngineFacts
from replayer.engines.detect import unasked
from replayer.engines.openai.adapter import OpenAIEngine
from replayer.errors import ReplayerError, RunFolderError
from replayer.journal.events import LoadEnded, LoadStarted, ShardClock
from replayer.journal.log import JournalWriter
from replayer.journal.progress import Attempts
from replayer.plan.model import LanePlan, Plan
from replayer.plan.schedule import Session, Share
from replayer.requests.lengths import Length
from replayer.requests.transform import load_transform
from replayer.run.coverage import recorded_starts
from replayer.run.driving import background, raise_file_limit, run_queues
from replayer.run.lag import LagMeter
from replayer.run.lanes import Instance, Lane, api_key, fixed, lane_headers
from replayer.run.live_feed import LiveFeed
from replayer.run.prefix_watch import Servers, learn_prompts
from replayer.run.run_session import replay_session
from replayer.run.runner import histories_of, tools_of
from replayer.run.shards.health import Health
from replayer.run.shards.messages import (
    Alive,
    Clock,
    Done,
    End,
    Failed,
    Free,
    Given,
    Hello,
    Link,
    LoadMilestone,
    OpenInstance,
    OpenLane,
    Order,
    Phase,
    Ping,
    Pong,
    Ready,
    Sampled,
    Start,
    Stop,
)
from replayer.run.state import Prompt, Run, Schedule, Traces
from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.loop import run_receiving
from replayer.wire.remote import Receiver, ReceiverLost

_ALIVE_EVERY = 1.0
_LAST_STRETCH = 0.002
"""Seconds before the common start from which on the clock is asked without a pause."""


class ShardRun:
    """A shard at work."""

    def __init__(self, number: int, link: Link, run: Run) -> None:
        self._number, self._link, self._run = number, link, run
        self._start: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._health = Health(number, run.receiver.pid, run.lag, run.journal.append)
        self._asked: dict[str, asyncio.Queue[Session | None]] = {}
        run.on_load, run.more = self._milestone, self._more

    async def obey(self) -> None:
        """Until the coordinator says so, or is gone."""
        async with asyncio.TaskGroup() as tasks:
            always = [tasks.create_task(self._health.run()), tasks.create_task(self._say_alive())]
            working: list[asyncio.Task[None]] = []
            while True:
                match await self._link.receive():
                    case Ping():
                        self._link.send(Pong(wall_ns=time.time_ns(), at_ns=self._run.journal.now()))
                    case Clock() as clock:
                        self._keep(clock)
                    case Phase() as phase:
                        self._start = asyncio.get_running_loop().create_future()
                        working = [tasks.create_task(self._phase(phase))]
                    case Start() as start:
                        self._start.set_result(start.wall_ns)
                    case Sampled() as sampled if sampled.lane in self._run.lanes:
                        for instance in self._run.lanes[sampled.lane].instances:
                            self._run.servers.of(instance.engine).sampled(sampled.lane, sampled.sample)
                    case Given() as given:
                        session = Session(*given.session) if given.session else None
                        self._asked[given.lane].put_nowait(session)
                    case Stop() as stop:
                        self._run.schedule.stopped = stop.reason
                    case None | End():
                        break
                    case _:
                        pass
            for task in (*working, *always):
                task.cancel()

    async def _say_alive(self) -> None:
        while True:
            self._link.send(Alive())
            await asyncio.sleep(_ALIVE_EVERY)

    def _keep(self, clock: Clock) -> None:
        known = clock.model_dump()
        self._run.journal.append(
            ShardClock(shard=self._number, pid=os.getpid(), host=socket.gethostname(), **known)
        )

    async def _phase(self, phase: Phase) -> None:
        run = self._run
        try:
            await self._open(phase)
            queues: dict[str, list[Session]] = {}
            for lane, trace, repeat in phase.sessions:
                queues.setdefault(lane, []).append(Session(lane, trace, repeat))
            await learn_prompts(run, [*queues.values(), [Session(*one) for one in phase.kept]])
            raise_file_limit(sum(lane.places or 0 for lane in phase.lanes))
            self._link.send(Ready())
            await _until(await self._start)
            await run_queues(run, list(queues.values()), replay_session)
            run.feed.flush()
            self._health.report()
            self._link.send(Done(lost=run.schedule.lost, lag_p99_ns=run.lag.p99()))
        except (ReplayerError, OSError) as error:
            self._link.send(_failed(error))

    async def _open(self, phase: Phase) -> None:
        """The lanes of the phase, in the plan's order: their places on a server are in their prompts."""
        run = self._run
        wanted = {lane.name for lane in phase.lanes}
        for name in run.lanes.keys() - wanted:
            await run.lanes.pop(name).close()
        for known in phase.lanes:
            lane = opened(known, run.plan.lane, run.plan.timeouts.of_replies, run.receiver)
            if known.name in run.lanes:
                await run.lanes.pop(known.name).close()
            run.lanes[known.name] = lane
            run.servers.join(lane)
            if known.share is not None:
                run.shares[known.name] = Share(*known.share)
        for one in phase.lengths:
            run.traces.lengths[Prompt(*one.prompt)] = Length(**one.length)

    async def _more(self, lane: str) -> Session | None:
        """Whoever asks first is answered first."""
        answers = self._asked.setdefault(lane, asyncio.Queue())
        self._link.send(Free(lane=lane))
        return await answers.get()

    def _milestone(self, event: LoadStarted | LoadEnded) -> None:
        outcome = event.outcome if isinstance(event, LoadEnded) else None
        self._link.send(LoadMilestone(lane=event.lane, at_ns=self._run.journal.now(), outcome=outcome))


def _failed(error: Exception) -> Failed:
    code = error.exit_code if isinstance(error, ReplayerError) else 2
    return Failed(
        message=str(error), exit_code=code, alone=isinstance(error, OSError | RunFolderError | ReceiverLost)
    )


async def _until(wall_ns: int) -> None:
    """A time of this process's own wall clock."""
    while (left := (wall_ns - time.time_ns()) / 1e9) > 0:
        await asyncio.sleep(left - _LAST_STRETCH if left > 2 * _LAST_STRETCH else 0)


async def _serve(number: int, address: tuple[str, int], token: str) -> None:
    link = await Link.dial(*address)
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    link.send(Hello(token=token, number=number, pid=os.getpid(), host=socket.gethostname()))
    order = await link.receive()
    if not isinstance(order, Order):
        return
    try:
        await _work(number, link, order)
    except* (ReplayerError, OSError) as errors:
        link.send(_failed(errors.exceptions[0]))
    finally:
        link.close()


async def _work(number: int, link: Link, order: Order) -> None:
    plan, own = Plan.model_validate(order.plan), Path(order.folder)
    traces = {name: Path(path) for name, path in order.traces.items()}
    histories = histories_of(plan, traces)
    recorded_starts(plan, histories)
    transform = load_transform(plan.transform) if plan.transform else None
    said: list[str] = []
    tools = await asyncio.to_thread(tools_of, plan, histories, said.append)
    lag, servers, lanes = LagMeter(), Servers(live=plan.mode == "live", shared=True), dict[str, Lane]()
    attempts = Attempts()
    attempts.tried.update(order.tried)
    (own / "live").mkdir(0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as open_now:
        open_now.enter_context(contextlib.closing(servers))
        receiver = open_now.enter_context(contextlib.closing(Receiver(lag.add)))
        journal = open_now.enter_context(
            contextlib.closing(
                JournalWriter(own, None, plan.sync_every, plan.sync_apart, run=Path(order.run))
            )
        )
        run = Run(
            plan,
            Path(order.run),
            journal,
            Traces(histories, transform),
            Schedule(attempts, 0),
            LiveFeed(own / "live"),
            tools,
            receiver,
            lag,
            servers,
            lanes,
        )
        link.send(Ready())
        try:
            async with background(run):
                await ShardRun(number, link, run).obey()
        finally:
            for lane in lanes.values():
                await lane.close()


def main() -> int:
    words = json.loads(sys.stdin.readline())
    host, port = words["address"]
    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        run_receiving(_serve(words["number"], (host, port), words["token"]))
    return 0


def opened(known: OpenLane, lanes: Sequence[LanePlan], timeouts: Timeouts, receiver: Receiver) -> Lane:
    """The lane with connections of this process's own. Raises PlanError where a variable that it names is not set."""
    plan = next(lane for lane in lanes if lane.name == known.name)
    if known.places is not None:
        plan = plan.model_copy(update={"concurrency": known.places})
    instances = [_opened(one, plan, known.model, timeouts, receiver) for one in known.instances]
    return Lane(plan=plan, instances=instances, model=known.model)


def _opened(
    known: OpenInstance, plan: LanePlan, model: str, timeouts: Timeouts, receiver: Receiver
) -> Instance:
    facts = EngineFacts(**{**known.facts, "models": tuple(known.facts["models"])})
    key, headers = api_key(plan), lane_headers(plan)
    engine = unasked(known.url, facts.kind, api_key=key, headers=fixed(headers))
    engine.sampling_fields, engine.model = known.sampling_fields, model
    if isinstance(engine, OpenAIEngine):
        engine.reports_cached = known.reports_cached
    client = WireClient(
        engine.dial_url, api_key=key, classify=engine.fault, receiver=receiver, timeouts=timeouts
    )
    return Instance(engine=engine, client=client, facts=facts, headers=headers)


if __name__ == "__main__":
    sys.exit(main())
