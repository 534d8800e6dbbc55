"""What the coordinator and a shard say to each other, a line each. Never a delta, never a stamp of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from replayer.wire.types import JsonObject

_LINE = 1 << 28
"""Bytes of the longest line: a plan with many lanes, and the lengths of many prompts."""


class Message(BaseModel):
    """A line: the name of its class, and its values."""


class Hello(Message):
    token: str
    number: int
    pid: int
    host: str


class Order(Message):
    """The run, and where the shard keeps its journal. `tried`: attempts so far by session."""

    plan: JsonObject
    run: str
    folder: str
    traces: dict[str, str]
    tried: dict[str, int]


class OpenInstance(BaseModel):
    """A server as the coordinator found it: a shard asks it nothing."""

    url: str
    facts: JsonObject
    sampling_fields: dict[str, tuple[str, ...]] | None
    reports_cached: bool | None


class OpenLane(BaseModel):
    """`places`: sessions in flight of this shard; `share`: its number, and of how many."""

    name: str
    model: str
    instances: list[OpenInstance]
    places: int | None
    share: tuple[int, int] | None


class FittedPrompt(BaseModel):
    prompt: tuple[str, str, str, int]
    length: JsonObject


class Phase(Message):
    """Sessions (lane, trace, repeat) that run at the same time as those of the other shards, once `Start` has come. `kept`: those
    that go to whoever has a free place."""

    lanes: list[OpenLane]
    sessions: list[tuple[str, str, int]]
    kept: list[tuple[str, str, int]] = []
    lengths: list[FittedPrompt] = []


class Ready(Message):
    """It has opened what it was given."""


class Ping(Message):
    """Asks for the clocks."""


class Pong(Message):
    """The shard's wall clock and the clock of its journal, in nanoseconds."""

    wall_ns: int
    at_ns: int


class Clock(Message):
    ahead_ns: int
    shift_ns: int
    bound_ns: int


class Start(Message):
    """When to begin, by the shard's own wall clock."""

    wall_ns: int


class Alive(Message):
    """Said once a second from when the shard has loaded what it needs."""


class Sampled(Message):
    """Telemetry that the coordinator read."""

    lane: str
    sample: JsonObject


class Stop(Message):
    """Start no further session."""

    reason: str


class End(Message):
    """Leave everything as it is and end."""


class LoadMilestone(Message):
    """The load on a lane began (without `outcome`) or ended in this shard, by the clock of its journal."""

    lane: str
    at_ns: int
    outcome: str | None = None


class Free(Message):
    """A place is free on a lane, and no session of its own is left for it."""

    lane: str


class Given(Message):
    """A session for a free place; None where no more is left."""

    lane: str
    session: tuple[str, str, int] | None = None


class Done(Message):
    """The phase is over. `lost`: lanes that were given up, and why."""

    lost: dict[str, str]
    lag_p99_ns: int


class Failed(Message):
    """`alone`: the reason lies with this shard's machine, the others may go on."""

    message: str
    exit_code: int
    alone: bool


_KINDS = {kind.__name__: kind for kind in Message.__subclasses__()}
LinkTaker = Callable[["Link"], Awaitable[None]]


class Link:
    """One end of the line between the coordinator and a shard."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def dial(cls, host: str, port: int) -> Link:
        return cls(*await asyncio.open_connection(host, port, limit=_LINE))

    @classmethod
    async def listen(cls, host: str, on_link: LinkTaker) -> asyncio.Server:
        return await asyncio.start_server(lambda r, w: on_link(cls(r, w)), host, 0, limit=_LINE)

    def send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(f"{type(message).__name__} {message.model_dump_json()}\n".encode())

    async def receive(self) -> Message | None:
        """None where the other end is gone, or is no shard."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):
            return None
        name, _, values = line.partition(b" ")
        kind = _KINDS.get(name.decode("ascii", "replace")) if line.endswith(b"\n") else None
        return kind.model_validate_json(values) if kind else None

    def close(self) -> None:
        self._writer.close()
