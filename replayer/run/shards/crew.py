"""The coordinator of a run's shards: starts them, hands the sessions out, begins and ends together.

The run opens lanes, empties caches, warms up and samples telemetry as any run does, once; the shards send the requests.
What they journal is read while they write it: for the progress, for an early stop, for whoever listens.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from replayer.engines.base import Tristate
from replayer.engines.starting import Starts
from replayer.errors import EngineUnavailable, PlanError, ReplayerError
from replayer.journal.events import AnyEvent, LoadEnded, LoadStarted, SessionFinished, TelemetryRead
from replayer.journal.log import Reading
from replayer.journal.parts import next_part, part_folder
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.run.fit_prompts import prepare
from replayer.run.load import empty_cache
from replayer.run.run_lanes import lanes_of, telemetry
from replayer.run.shards.dealing import dealt, fitting, places_of, processes_of
from replayer.run.shards.launching import Launcher, Local
from replayer.run.shards.member import Member
from replayer.run.shards.messages import (
    Done,
    End,
    Failed,
    Hello,
    Link,
    LoadMilestone,
    Message,
    Order,
    Phase,
    Sampled,
    Start,
    Stop,
)
from replayer.run.state import Run

_STARTING = 5
"""How many times as long a process may be silent while it loads its modules and opens the traces."""
_SAID_AT, _SAID_SOONEST = 6, 5.0
"""After this part of the time in which a process must say something, the user hears of its silence; seconds at least."""
_LOOK = 0.2
_WARN_MS = 5.0
"""Uncertainty of a clock from which on the user is warned."""


class Crew:
    """`on_event` hears of what the shards journal."""

    def __init__(self, folder: Path, launcher: Launcher, patience: float) -> None:
        self._folder, self._launcher, self._patience = folder, launcher, patience
        self._token = secrets.token_hex(16)
        self.members: list[Member] = []
        self._by_number: dict[int, Member] = {}
        self._hellos: dict[int, asyncio.Future[tuple[Hello, Link]]] = {}
        self._watching: list[asyncio.Task[None]] = []
        self._loads: dict[str, SharedLoad] = {}
        self._kept: list[Session] = []
        self._reading = Reading(folder)
        self._run: Run | None = None
        self._on_event: Callable[[AnyEvent], None] | None = None
        self._stopped = False
        self._fewer: str | None = None
        self.lag_p99_ns = 0

    # Start and end

    async def launch(self, n: int) -> None:
        """Start the processes; they load what they need while the lanes are opened."""
        self._server = await Link.listen(self._launcher.host, self._greet)
        address = self._server.sockets[0].getsockname()[:2]
        first = next_part(self._folder)
        for number in range(first, first + n):
            own = part_folder(self._folder, number)
            own.mkdir(0o700, parents=True)
            hello = self._hellos[number] = asyncio.get_running_loop().create_future()
            try:
                shard = await self._launcher.start(number, own, address, self._token)
            except EngineUnavailable as error:
                if not self.members:
                    raise
                self._fewer = f"{len(self.members)} of {n} shards drive the run: {error}"
                return
            member = self._by_number[number] = Member(number, shard, hello, self._milestone, self._next_of)
            self.members.append(member)
            self._watching += (
                asyncio.create_task(self._watch(member)),
                asyncio.create_task(self._hark(member)),
            )

    async def _greet(self, link: Link) -> None:
        hello = await link.receive()
        if isinstance(hello, Hello) and secrets.compare_digest(hello.token, self._token):
            expected = self._hellos.get(hello.number)
            if expected is not None and not expected.done():
                expected.set_result((hello, link))
                return
        link.close()

    async def _hark(self, member: Member) -> None:
        """End a process that has said nothing for too long."""
        said = False
        while member.gone is None:
            await asyncio.sleep(_LOOK)
            limit = self._patience * (1 if member.started else _STARTING)
            silent = time.monotonic() - member.heard
            if silent > limit:
                await member.end(f"said nothing for {limit:g} s and was ended")
                return
            late = silent > max(limit / _SAID_AT, _SAID_SOONEST)
            if late and not said and self._run is not None:
                self._run.warn(f"{member.name} has said nothing for {silent:.0f} s", code="shard_silent")
            said = late and self._run is not None

    async def _watch(self, member: Member) -> None:
        await member.ended()
        self._say_gone(member)
        for load in self._loads.values():
            load.lost(member.number)
        self._settle()

    def _say_gone(self, member: Member) -> None:
        if self._run is not None:
            self._run.warn(f"{member.name} {member.gone}", code="shard_lost")

    async def join(
        self, run: Run, traces: dict[str, Path], on_event: Callable[[AnyEvent], None] | None
    ) -> None:
        """Give every shard the run; they open its traces. `on_event` hears of what they journal from now on."""
        self._run, self._on_event = run, on_event
        if self._fewer is not None:
            run.warn(self._fewer, code="fewer_shards")
        for _ in self._reading.events():
            pass  # of earlier processes
        for member in self.members:
            if member.gone is not None:
                self._say_gone(member)
        reveal = {"reveal": True} if self._launcher.keeps_secrets else None
        order = Order(
            plan=run.plan.model_dump(mode="json", context=reveal),
            run=str(run.folder),
            folder="",
            traces={},
            tried=dict(run.schedule.attempts.tried),
        )
        await asyncio.gather(*(member.take(order, traces) for member in self.members))
        await self._each()
        for member in self._there():
            if await member.compare_clocks(run.journal.now):
                self._check(member)
        self._watching.append(asyncio.create_task(self._follow()))

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        for member in self.members:
            member.send(End())
        await asyncio.gather(*(member.close() for member in self.members))
        self._server.close()

    # A phase

    async def run_phase(self, run: Run, phase: list[list[Session]]) -> None:
        """Drive sessions that may run at the same time; all shards begin at one moment."""
        await asyncio.gather(*(run.lanes[queue[0].lane].warm() for queue in phase))
        await prepare(run, phase)
        there = self._there()
        if not there:
            raise ReplayerError(f"no shard is left; `replayer resume {run.folder}` goes on with the run")
        orders, self._kept = dealt(run, phase, len(there), self._beside(run, phase, there))
        given = list(zip(there, orders, strict=True))
        resets = {queue[0].lane: await empty_cache(run, queue[0].lane) for queue in phase}
        self._loads = {
            lane: SharedLoad(lane, places_of(run.plan, lane), was_reset, _holders(given, lane))
            for lane, was_reset in resets.items()
            if run.plan.load.asked
        }
        for member, order in given:
            member.sessions += [Session(*one) for one in order.sessions]
            member.send(order)
        await self._each()
        await self._start(run)
        async with telemetry(run, lanes_of([phase])):
            await self._each()
        await asyncio.gather(*(member.shard.fetch() for member in self._there()))
        self.read()

    def _next_of(self, lane: str) -> Session | None:
        session = next((one for one in self._kept if one.lane == lane), None)
        if session is None or (self._run is not None and self._run.schedule.stopped is not None):
            return None
        self._kept.remove(session)
        return session

    def fit(self, plan: Plan, phases: list[list[list[Session]]], starts: Starts) -> list[list[list[Session]]]:
        """What may run at the same time, and from now on where its servers start. Raises PlanError."""
        nodes = self._launcher.nodes()
        if not nodes:
            return phases
        starts.serve = self._launcher.serve
        return fitting(plan, phases, nodes)

    def _beside(self, run: Run, phase: list[list[Session]], there: list[Member]) -> dict[str, list[int]]:
        """By lane the shards on the node of its server, where there are some."""
        found = {}
        for lane in (run.lanes[queue[0].lane] for queue in phase):
            launched = lane.instances[0].launched
            node = self._launcher.node_of(launched.base_url) if launched is not None else None
            found[lane.name] = [n for n, member in enumerate(there) if member.shard.node == node]
        return found

    async def _start(self, run: Run) -> None:
        for member in self._there():
            if await member.compare_clocks(run.journal.now):
                self._check(member)
        at = time.time_ns() + round(self._launcher.lead_s * 1e9)
        for member in self._there():
            if member.clock is not None:
                member.send(Start(wall_ns=at + member.clock.ahead_ns))

    def _check(self, member: Member) -> None:
        assert self._run is not None and member.clock is not None
        bound, most = member.clock.bound_ns / 1e6, self._run.plan.limits.clock_ms
        if bound > most:
            raise PlanError(
                f"the clock of {member.name} is known within {bound:.1f} ms only (limit {most:g} ms): its sessions "
                "cannot be set beside the others' in time; raise --max-clock, or give a nearer machine"
            )
        if bound > _WARN_MS and not member.uncertain:
            member.uncertain = True
            words = f"the clock of {member.name} is known within {bound:.1f} ms: busy time and concurrency are not known better"
            self._run.warn(words, code="clock")

    async def _each(self) -> None:
        """Until every shard is ready, or done, or gone. Raises what one of them failed with that ends them all."""
        said = [asyncio.ensure_future(self._hear(member)) for member in self._there()]
        try:
            await asyncio.gather(*said)
        finally:
            for waiting in said:
                waiting.cancel()

    async def _hear(self, member: Member) -> None:
        assert self._run is not None
        match message := await member.next():
            case Done():
                self.lag_p99_ns = max(self.lag_p99_ns, message.lag_p99_ns)
                self._run.schedule.lost |= message.lost
            case Failed() if message.alone:
                await member.end(f"gave up: {message.message}")
            case Failed():
                error = ReplayerError(message.message)
                error.exit_code = message.exit_code
                raise error
            case _:
                pass

    def _there(self) -> list[Member]:
        return [member for member in self.members if member.gone is None and member.link is not None]

    # What they write

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            self.read()

    def read(self) -> None:
        """Take what the shards have journalled since."""
        run = self._run
        assert run is not None
        for event, line in self._reading.events():
            if not line.part:
                if isinstance(event, TelemetryRead):
                    self._tell(Sampled(lane=event.lane, sample=event.sample))
                continue
            if self._on_event is not None:
                self._on_event(event)
            if isinstance(event, SessionFinished):
                run.schedule.left -= 1
                run.stop_if_decided()
        if run.schedule.stopped is not None and not self._stopped:
            self._stopped = True
            self._tell(Stop(reason=run.schedule.stopped))

    def _tell(self, message: Message) -> None:
        for member in self._there():
            member.send(message)

    def _milestone(self, number: int, message: LoadMilestone) -> None:
        load, clock = self._loads.get(message.lane), self._by_number[number].clock
        if load is None or clock is None:
            return
        at = message.at_ns + clock.shift_ns
        if message.outcome is None:
            load.begun[number] = at
        else:
            load.ended[number] = at, message.outcome
        self._settle()

    def _settle(self) -> None:
        for load in self._loads.values():
            while self._run is not None and (event := load.due()) is not None:
                self._run.journal.append(event)

    def lost(self, run: Run, done: set[str]) -> list[str]:
        """Why sessions are left, for each shard that was lost."""
        found = []
        for member in self.members:
            left = [session for session in member.sessions if session.id not in done]
            if member.gone is not None and (left or run.plan.load.asked):
                what = f"{len(left)} of its sessions are" if not run.plan.load.asked else "its load is"
                found.append(
                    f"{member.name} {member.gone} ({what} unfinished: `replayer resume {run.folder}` goes on)"
                )
        return found


def _holders(given: list[tuple[Member, Phase]], lane: str) -> set[int]:
    return {
        member.number
        for member, order in given
        if any(one.name == lane and one.share is not None for one in order.lanes)
    }


@asynccontextmanager
async def processes(plan: Plan, todo: Sequence[Session], folder: Path) -> AsyncIterator[Crew | None]:
    """Processes of this machine; None where one is enough. Raises PlanError."""
    n = processes_of(plan, todo, str(plan.processes))
    if n is None:
        yield None
        return
    async with launched(Crew(folder, Local(), plan.timeouts.process), n) as crew:
        yield crew


@asynccontextmanager
async def launched(crew: Crew, n: int) -> AsyncIterator[Crew]:
    try:
        await crew.launch(n)
        yield crew
    finally:
        await crew.close()


_WORST_FIRST = ("server_gone", "decided", "duration", "done")


@dataclass(slots=True)
class SharedLoad:
    """`of`: the shards that keep it up. Times are those of the run's journal."""

    lane: str
    sessions: int | None
    cache_reset: Tristate
    of: set[int]
    whole: bool = True
    """No shard was lost while it went on."""
    begun: dict[int, int] = field(default_factory=dict)
    ended: dict[int, tuple[int, str]] = field(default_factory=dict)
    _said: int = 0

    def lost(self, shard: int) -> None:
        if shard in self.of:
            self.of.discard(shard)
            self.whole = False

    def due(self) -> LoadStarted | LoadEnded | None:
        """What is to be journalled now, once. A load that lost a shard has no end: `resume` runs it again."""
        if self._said == 0 and self.of and self.of <= self.begun.keys():
            self._said = 1
            at = max(self.begun[shard] for shard in self.of)
            return LoadStarted(at=at, lane=self.lane, sessions=self.sessions, cache_reset=self.cache_reset)
        if self._said == 1 and self.whole and self.of <= self.ended.keys():
            self._said = 2
            outcomes = {outcome for _, outcome in self.ended.values()}
            at = max(at for at, _ in self.ended.values())
            return LoadEnded(at=at, lane=self.lane, outcome=next(o for o in _WORST_FIRST if o in outcomes))
        return None
