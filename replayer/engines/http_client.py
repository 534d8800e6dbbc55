"""HTTP for everything that is not timed: an engine's facts, metrics and resets. Nothing that a server does makes an
exchange endless or large: it ends within its time-out in all, and an answer beyond its limit is an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx

from replayer.wire.dial import environment_proxy, read_url, tls_context

JSON_BYTES = 2 << 20
"""A list of small objects takes thirty times its size in memory once it is parsed."""
PAGE_BYTES = 8 << 20
"""The token ids of a long prompt."""
METRICS_BYTES = 4 << 20
"""A metrics page of many ranks."""


def http_client(url: str, **options: Any) -> httpx.AsyncClient:
    """A client that goes to `url` the way that the timed streams go: through the environment's proxy, but never
    for this very machine. httpx by itself would ask a proxy for 127.0.0.1.

    Raises PlanError for a URL, or a proxy, that makes no sense.
    """
    origin, _ = read_url(url)
    proxy = environment_proxy(origin)
    if proxy is not None:
        read_url(proxy, "the proxy")
    secure = "https" in (origin.scheme, (proxy or "").partition(":")[0])
    verify = tls_context(True) if secure else False
    transport = httpx.AsyncHTTPTransport(proxy=proxy, verify=verify, trust_env=False)
    headers = {"accept-encoding": "identity"}
    return _Client(transport=_Bounded(transport), headers=headers, trust_env=False, **options)


def at_most(size: int) -> dict[str, int]:
    """Extensions of a request whose answer may be larger than JSON_BYTES."""
    return {"most_bytes": size}


class _Client(httpx.AsyncClient):
    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """A reply and its stream refer to each other, and the garbage collector is put off while a run measures: read to its
        end, a reply needs no stream."""
        reply = await super().send(request, stream=stream, **options)
        if not stream:
            reply.stream = _READ
        return reply


_READ = httpx.ByteStream(b"")


class _Bounded(httpx.AsyncBaseTransport):
    """Holds every exchange to its read time-out in all, not between two bytes, and to its size."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        limits = request.extensions.get("timeout", {})
        seconds = limits.get("read")
        if seconds is not None:  # before ours: a handshake that is cancelled leaves its socket open
            request.extensions["timeout"] = limits | {"connect": 0.9 * seconds}
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                reply = await self._inner.handle_async_request(request)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no answer within {seconds:g} s", request=request) from None
        encoding = reply.headers.get("content-encoding", "identity")
        if encoding != "identity":  # not asked for, and a few bytes of it can fill the memory
            await reply.aclose()
            raise httpx.DecodingError(f"the answer is compressed ({encoding[:20]})", request=request)
        assert isinstance(reply.stream, httpx.AsyncByteStream)
        most = request.extensions.get("most_bytes", JSON_BYTES)
        return httpx.Response(
            reply.status_code,
            headers=reply.headers,
            stream=_Body(reply.stream, most, deadline),
            extensions=reply.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, most: int, deadline: float | None) -> None:
        self._inner, self._most, self._deadline = inner, most, deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces, size = aiter(self._inner), 0
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise httpx.ReadTimeout("the answer did not end in time") from None
            size += len(piece)
            if size > self._most:
                raise httpx.ReadError(f"the answer is larger than {self._most / 2**20:g} MiB")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
