"""A shard as its coordinator sees it: the line to it, its process, and what it was given to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from replayer.plan.schedule import Session
from replayer.run.shards.launching import Shard
from replayer.run.shards.messages import (
    Alive,
    Clock,
    Free,
    Given,
    Hello,
    Link,
    LoadMilestone,
    Message,
    Order,
    Ping,
    Pong,
)


@dataclass(slots=True)
class Member:
    """`on_load` hears of the loads that it keeps up; `next_of` has the next session of a lane."""

    number: int
    shard: Shard
    hello: Awaitable[tuple[Hello, Link]]
    on_load: Callable[[int, LoadMilestone], None]
    next_of: Callable[[str], Session | None]
    pid: int = 0
    host: str = ""
    clock: Clock | None = None
    gone: str | None = None
    """How it ended, once it has."""
    joined: asyncio.Event = field(default_factory=asyncio.Event)
    """It has said hello, or is gone."""
    started: bool = False
    """It has loaded what it needs, and says from then on that it is alive."""
    heard: float = field(default_factory=time.monotonic)
    """When it last said anything."""
    uncertain: bool = False
    """The user was warned of its clock."""
    _why: str | None = None
    sessions: list[Session] = field(default_factory=list)
    """All that it was given."""
    link: Link | None = None
    _said: asyncio.Queue[Message | None] = field(default_factory=asyncio.Queue)
    _pongs: asyncio.Queue[Pong | None] = field(default_factory=asyncio.Queue)
    _listening: asyncio.Task[None] = field(init=False)

    @property
    def name(self) -> str:
        where = f" (process {self.pid} on {self.host})" if self.pid else ""
        return f"shard {self.number}{where}"

    def __post_init__(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        hello, link = await self.hello
        self.pid, self.host, self.link = hello.pid, hello.host, link
        self.joined.set()
        while (message := await link.receive()) is not None:
            self.heard = time.monotonic()
            if isinstance(message, Alive):
                self.started = True
            elif isinstance(message, Pong):
                self._pongs.put_nowait(message)
            elif isinstance(message, LoadMilestone):
                self.on_load(self.number, message)
            elif isinstance(message, Free):
                self._give(message.lane)
            else:
                self._said.put_nowait(message)
        self.lost()

    def _give(self, lane: str) -> None:
        session = self.next_of(lane)
        if session is None:
            self.send(Given(lane=lane))
            return
        self.sessions.append(session)
        self.send(Given(lane=lane, session=(session.lane, session.trace, session.repeat)))

    async def take(self, order: Order, traces: dict[str, Path]) -> None:
        """Give it the run as soon as it is there."""
        await self.joined.wait()
        self.heard = time.monotonic()
        own = {name: self.shard.trace(path) for name, path in traces.items()}
        self.send(order.model_copy(update={"folder": self.shard.folder, "traces": own}))

    async def end(self, why: str) -> None:
        """It cannot go on."""
        self._why = why
        await self.shard.kill()

    async def ended(self) -> str:
        """Until it has; how."""
        try:
            how = await self.shard.ended()
        except OSError as error:
            how = f"is lost: what it wrote cannot be copied ({error.strerror})"
        self.gone = how = self._why or how
        self.lost()
        if self.link is not None:
            self.link.close()  # a machine that cannot be reached may still be at work
        self.joined.set()
        return how

    def lost(self) -> None:
        """Nothing more will come: whoever waits for it learns so."""
        self._said.put_nowait(None)
        self._pongs.put_nowait(None)

    def send(self, message: Message) -> None:
        if self.link is not None:
            self.link.send(message)

    async def next(self) -> Message | None:
        """What it says; None where it is gone."""
        message = await self._said.get()
        if message is None:
            self.lost()
        return message

    async def compare_clocks(self, now: Callable[[], int]) -> bool:
        """Learn how far its clocks are from ours, and let it write that down; False where it is gone."""

        async def ask() -> Pong | None:
            self.send(Ping())
            return await self._pongs.get()

        self.clock = await compared(ask, now)
        if self.clock is not None:
            self.send(self.clock)
        return self.clock is not None

    async def close(self) -> None:
        await self.shard.stop()
        self._listening.cancel()
        if self.link is not None:
            self.link.close()


_TRIPS = 64
_ENOUGH, _LONG_NS = 8, 1_000_000_000
"""Round trips that are made even where they take longer than this together."""


async def compared(ask: Callable[[], Awaitable[Pong | None]], now: Callable[[], int]) -> Clock | None:
    """`ask` brings the other's clocks, `now` is the clock of this journal. None where the other is gone.

    The other answered somewhere between sending and receiving: the middle is off by half of the trip at most.
    """
    best: tuple[int, Clock] | None = None
    until = time.monotonic_ns() + _LONG_NS
    for made in range(_TRIPS):
        if made >= _ENOUGH and time.monotonic_ns() > until:
            break
        wall, at, sent = time.time_ns(), now(), time.monotonic_ns()
        pong = await ask()
        trip = time.monotonic_ns() - sent
        if pong is None:
            return None
        if best is None or trip < best[0]:
            half = trip // 2
            clock = Clock(
                ahead_ns=pong.wall_ns - wall - half, shift_ns=at + half - pong.at_ns, bound_ns=half + 1
            )
            best = trip, clock
    assert best is not None
    return best[1]
