"""Runs a simulated engine until a signal stops it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import Callable

from replayer.errors import EngineUnavailable
from replayer.simulated.server import Simulator
from replayer.simulated.spec import SimulatedSpec

FILES_WANTED = 16_384


async def serve(spec: SimulatedSpec, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Raises TraceError for an unreadable trace and EngineUnavailable for a port in use."""
    _raise_file_limit()
    simulator = Simulator(spec)
    try:
        port, close = await simulator.listen(host, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise EngineUnavailable(
            f"cannot listen on {host}:{port} ({reason.lower()}); choose another --port"
        ) from None
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    ready(port)
    await stop.wait()
    close()


def _raise_file_limit() -> None:
    """Thousands of connections need as many files; where the system refuses, it serves fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
