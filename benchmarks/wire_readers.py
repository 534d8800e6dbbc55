"""Ways to receive streams, for `benchmarks/wire.py`.

Each is an async context that gives `read(body) -> Reading`: one request over a kept-alive connection, every event
decoded, stamped and put together, and whatever was received when.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson


class Reading(NamedTuple):
    """One reply: when the request was sent, when each delta with text arrived, and the text of each."""

    sent: int
    at: Sequence[int]
    texts: Sequence[str]
    stamped_by: str = "client"


Read = Callable[[bytes], Awaitable[Reading]]

# Every reader takes the base URL, the number of streams and whether the texts are looked at afterwards.


@asynccontextmanager
async def replayer(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    from replayer.wire.client import WireClient
    from replayer.wire.types import Delta, Request

    client = WireClient(url)

    async def read(body: bytes) -> Reading:
        seen: list[str] = []

        def keep(delta: Delta) -> None:
            seen.append(delta.text)

        reply = await client.chat(Request([body]), keep if texts else None)
        assert reply.fault is None and reply.done and not reply.notes, reply
        sent = reply.timing.sent
        at = [sent + offset for offset in reply.timing.arrivals]
        return Reading(sent, at, seen, reply.timing.stamped_by)

    yield read
    await client.aclose()


@asynccontextmanager
async def replayer_in_full(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    """Without the fast path: every chunk parsed in full."""
    from replayer.wire import assembly

    assembly.learn = lambda *_: None
    async with replayer(url, streams, texts) as read:
        yield read


@asynccontextmanager
async def raw(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    """The floor: packets stamped and events counted, nothing decoded."""
    host, port = url.split("/")[2].split(":")
    loop = asyncio.get_running_loop()
    idle: list[_Raw] = []

    async def read(body: bytes) -> Reading:
        connection = idle.pop() if idle else (await loop.create_connection(_Raw, host, int(port)))[1]
        sent = time.monotonic_ns()
        at = await connection.ask(body)
        idle.append(connection)
        return Reading(sent, at, ())

    yield read
    for connection in idle:
        connection.transport.abort()


class _Raw(asyncio.Protocol):
    transport: asyncio.Transport

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, body: bytes) -> asyncio.Future[list[int]]:
        self._at: list[int] = []
        self._done: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)
        return self._done

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self._at.extend([now] * data.count(b"["))  # one byte, so that no packet can cut it
        if data.endswith(b"0\r\n\r\n"):
            self._done.set_result(self._at[1:-3])  # without role, finish, usage and [DONE]


def take(data: bytes, at: list[int], texts: list[str]) -> None:
    """What the rows with a foreign HTTP client do with an event: decode, stamp, collect."""
    if data == b"[DONE]":
        return
    for choice in orjson.loads(data)["choices"]:
        if text := choice["delta"].get("content"):
            at.append(time.monotonic_ns())
            texts.append(text)


HEADERS = {"Content-Type": "application/json"}


@asynccontextmanager
async def httpx_orjson(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    import httpx

    limits = httpx.Limits(max_connections=streams, max_keepalive_connections=streams)
    async with httpx.AsyncClient(limits=limits, timeout=600, trust_env=False) as client:

        async def read(body: bytes) -> Reading:
            at: list[int] = []
            texts: list[str] = []
            sent = time.monotonic_ns()
            async with client.stream(
                "POST", f"{url}/chat/completions", content=body, headers=HEADERS
            ) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        take(line[6:].encode(), at, texts)
            return Reading(sent, at, texts)

        yield read


@asynccontextmanager
async def aiohttp_orjson(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=streams)) as session:

        async def read(body: bytes) -> Reading:
            at: list[int] = []
            texts: list[str] = []
            sent = time.monotonic_ns()
            async with session.post(f"{url}/chat/completions", data=body, headers=HEADERS) as response:
                async for line in response.content:
                    if line.startswith(b"data: "):
                        take(line[6:].rstrip(), at, texts)
            return Reading(sent, at, texts)

        yield read


@asynccontextmanager
async def openai(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    import httpx
    from openai import AsyncOpenAI

    limits = httpx.Limits(max_connections=streams, max_keepalive_connections=streams)
    http = httpx.AsyncClient(limits=limits, timeout=600, trust_env=False)
    client = AsyncOpenAI(base_url=url, api_key="x", http_client=http)

    async def read(body: bytes) -> Reading:
        at: list[int] = []
        texts: list[str] = []
        asked = orjson.loads(body)
        sent = time.monotonic_ns()
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True, extra_body=asked
        )
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                at.append(time.monotonic_ns())
                texts.append(text)
        return Reading(sent, at, texts)

    yield read
    await client.close()
