from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from replayer.engines.simulated import SimulatedServer, SimulatedSpec, launch

Start = Callable[..., Awaitable[SimulatedServer]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts simulated engines with the given settings; all end with the test."""
    running: list[SimulatedServer] = []

    async def start_one(**options: Any) -> SimulatedServer:
        running.append(await launch(SimulatedSpec.from_options(options)))
        return running[-1]

    yield start_one
    for server in running:
        await server.stop()
