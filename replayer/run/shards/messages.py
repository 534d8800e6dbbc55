"""What the coordinator and a shard say to each other: one JSON object a line. Never a delta, never a stamp of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter

from replayer.wire.types import JsonObject

_LINE = 1 << 28
"""Bytes of the longest line: a plan with many lanes, and the lengths of many prompts."""


class Hello(BaseModel):
    type: Literal["hello"] = "hello"
    token: str
    number: int
    pid: int
    host: str


class Order(BaseModel):
    """The run, and where the shard keeps its journal. `tried`: attempts so far by session."""

    type: Literal["order"] = "order"
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


class Phase(BaseModel):
    """Sessions (lane, trace, repeat) that run at the same time as those of the other shards, once `Start` has come."""

    type: Literal["phase"] = "phase"
    lanes: list[OpenLane]
    sessions: list[tuple[str, str, int]]
    lengths: list[FittedPrompt] = []


class Ready(BaseModel):
    type: Literal["ready"] = "ready"


class Ping(BaseModel):
    type: Literal["ping"] = "ping"


class Pong(BaseModel):
    """The shard's wall clock and the clock of its journal, in nanoseconds."""

    type: Literal["pong"] = "pong"
    wall_ns: int
    at_ns: int


class Clock(BaseModel):
    type: Literal["clock"] = "clock"
    ahead_ns: int
    shift_ns: int
    bound_ns: int


class Start(BaseModel):
    """When to begin, by the shard's own wall clock."""

    type: Literal["start"] = "start"
    wall_ns: int


class Alive(BaseModel):
    """Said once a second from when the shard has loaded what it needs."""

    type: Literal["alive"] = "alive"


class Sampled(BaseModel):
    """Telemetry that the coordinator read."""

    type: Literal["sampled"] = "sampled"
    lane: str
    sample: JsonObject


class Stop(BaseModel):
    """Start no further session."""

    type: Literal["stop"] = "stop"
    reason: str


class End(BaseModel):
    """Leave everything as it is and end."""

    type: Literal["end"] = "end"


class LoadMilestone(BaseModel):
    """The load on a lane began (without `outcome`) or ended in this shard, by the clock of its journal."""

    type: Literal["load"] = "load"
    lane: str
    at_ns: int
    outcome: str | None = None


class Done(BaseModel):
    """The phase is over. `lost`: lanes that were given up, and why."""

    type: Literal["done"] = "done"
    lost: dict[str, str]
    lag_p99_ns: int


class Failed(BaseModel):
    """`alone`: the reason lies with this shard's machine, the others may go on."""

    type: Literal["failed"] = "failed"
    message: str
    exit_code: int
    alone: bool


Message = Annotated[
    Hello
    | Order
    | Phase
    | Ready
    | Ping
    | Pong
    | Clock
    | Start
    | Alive
    | Sampled
    | Stop
    | End
    | LoadMilestone
    | Done
    | Failed,
    Field(discriminator="type"),
]
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
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
            self._writer.write(message.model_dump_json().encode() + b"\n")

    async def receive(self) -> Message | None:
        """None where the other end is gone."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):
            return None
        return _MESSAGE.validate_json(line) if line.endswith(b"\n") else None

    def close(self) -> None:
        self._writer.close()
