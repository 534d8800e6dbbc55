"""A server that goes away pauses its lane: whoever meets it gone waits here until it answers again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx

from replayer.engines.base import Engine
from replayer.engines.starting import ended_by_itself
from replayer.journal.events import AnyEvent, Warned
from replayer.wire.types import Reply

if TYPE_CHECKING:
    from replayer.simulated import Launched

_PROBE_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
_STARTING = (502, 503, 504)
"""Statuses of a gateway without its server, and of llama.cpp while it loads."""
_MOST_RESENT = 3
"""Times that one turn is sent again after an answer to it broke off: it may be what ends the server."""


class Presence:
    """Whether one server is there. `out` says why nothing is sent to it any more."""

    def __init__(self, engine: Engine, launched: Launched | None) -> None:
        self.out: str | None = None
        self._engine, self._launched = engine, launched
        self._waiting: asyncio.Task[None] | None = None
        self._back_at = 0
        """When it was back after its last absence: nanoseconds of the monotonic clock."""

    async def returned(
        self, reply: Reply, sent: int, *, lane: str, patience: float, emit: Callable[[AnyEvent], None]
    ) -> bool:
        """Whether the server was gone and is back, so that the turn, sent `sent` times, is to be sent again. Waits for it at
        most `patience` seconds; False where the fault is a server's that is there."""
        if not _may_be_gone(reply) or (reply.timing.headers is not None and sent > _MOST_RESENT):
            return False
        if reply.timing.sent < self._back_at:
            return True
        if self.out is None and self._waiting is None and not await self._answers() and self._waiting is None:
            self._waiting = asyncio.create_task(self._wait(lane, patience, emit))
        if self._waiting is None:
            return False
        await asyncio.shield(self._waiting)
        return self.out is None

    async def _wait(self, lane: str, patience: float, emit: Callable[[AnyEvent], None]) -> None:
        url, begun = self._engine.base_url, time.monotonic()

        def warn(code: str, words: str) -> None:
            emit(Warned(lane=lane, code=code, message=f"{lane}: {words}"))

        warn("server_away", f"{url} is gone; the lane waits for it, at most {patience:g} s")
        while not await self._answers():
            gone = time.monotonic() - begun
            ended = ended_by_itself(self._launched) if self._launched is not None else None
            if ended or gone >= patience:
                self.out = f"{url} {'has ended' if ended else f'did not come back within {patience:g} s'}"
                break
            await asyncio.sleep(min(_PAUSE_SECONDS, patience - gone))
        else:
            self._back_at = time.monotonic_ns()
            gone = time.monotonic() - begun
            warn("server_back", f"{url} was away for {gone:.1f} s; what was on its way is sent again")
        self._waiting = None

    async def _answers(self) -> bool:
        try:
            url = f"{self._engine.base_url}/models"
            status = (await self._engine.http.get(url, timeout=_PROBE_SECONDS)).status_code
        except httpx.HTTPError:
            return False
        return status not in _STARTING


def _may_be_gone(reply: Reply) -> bool:
    fault = reply.fault
    if fault is None:
        return False
    return (
        fault.kind == "stream_broken"
        or (fault.kind == "unreachable" and fault.status is None)
        or fault.status in _STARTING
    )
