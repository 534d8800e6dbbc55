"""A port that stays while the server behind it ends and comes again, as a restarted engine's does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Relay:
    """Passes connections on to `server`; while that is None they wait."""

    url: str = ""
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _address: tuple[str, int] = ("", 0)

    def up(self, port: int) -> None:
        self._address = ("127.0.0.1", port)
        self._up.set()

    def down(self) -> None:
        self._up.clear()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                await self._up.wait()
                far_reader, far_writer = await asyncio.open_connection(*self._address)
                await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        finally:
            writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side closes; then the other is closed as well."""
    try:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def relay() -> AsyncIterator[Relay]:
    made = Relay()
    server = await asyncio.start_server(made.connected, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield made
    finally:
        server.close()
