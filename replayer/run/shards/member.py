"""A shard as its coordinator sees it: the line to it, its process, and what it was given to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from replayer.plan.schedule import Session
from replayer.run.shards.clock import compared
from replayer.run.shards.launching import Shard
from replayer.run.shards.messages import Clock, Link, LoadMilestone, Message, Ping, Pong


@dataclass(slots=True)
class Member:
    """`on_load` hears of the loads that it keeps up."""

    number: int
    shard: Shard
    on_load: Callable[[int, LoadMilestone], None]
    pid: int = 0
    host: str = ""
    clock: Clock | None = None
    gone: str | None = None
    """How it ended, once it has."""
    sessions: list[Session] = field(default_factory=list)
    """All that it was given."""
    link: Link | None = None
    _said: asyncio.Queue[Message | None] = field(default_factory=asyncio.Queue)
    _pongs: asyncio.Queue[Pong | None] = field(default_factory=asyncio.Queue)
    _listening: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        where = f" on {self.host}" if self.host else ""
        return f"shard {self.number} (process {self.pid}{where})"

    def listen(self, link: Link) -> None:
        self.link = link
        self._listening = asyncio.create_task(self._listen(link))

    async def _listen(self, link: Link) -> None:
        while (message := await link.receive()) is not None:
            if isinstance(message, Pong):
                self._pongs.put_nowait(message)
            elif isinstance(message, LoadMilestone):
                self.on_load(self.number, message)
            else:
                self._said.put_nowait(message)
        self.lost()

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
        if self._listening is not None:
            self._listening.cancel()
        if self.link is not None:
            self.link.close()
