from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from replayer.simulated import Launched, SimulatedSpec, launch
from replayer.simulated.server import Simulator

Start = Callable[..., Awaitable[Launched]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts simulated engines with the given settings; all end with the test."""
    running: list[Launched] = []

    async def start_one(**options: Any) -> Launched:
        running.append(await launch(SimulatedSpec.from_options(options)))
        return running[-1]

    yield start_one
    for server in running:
        await server.stop()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Serves simulated engines in this process over real HTTP, for tests that need many; gives the base URL."""
    closes: list[Callable[[], None]] = []

    async def serve_one(**options: Any) -> str:
        port, close = await Simulator(SimulatedSpec.from_options(options)).listen("127.0.0.1", 0)
        closes.append(close)
        return f"http://127.0.0.1:{port}/v1"

    yield serve_one
    for close in closes:
        close()
