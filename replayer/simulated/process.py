"""Starts a simulated engine as a child process."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from pathlib import Path

from replayer.errors import EngineUnavailable, ReplayerError
from replayer.simulated.spec import SimulatedSpec

START_SECONDS = 120


@dataclass(kw_only=True)
class SimulatedServer:
    """A running simulated engine (see `Launched`). It ends with `stop`, or with the process that started it."""

    base_url: str
    pid: int
    log: Path | None
    process: Process

    async def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


async def launch(spec: SimulatedSpec, log: Path | None = None) -> SimulatedServer:
    """Start it on 127.0.0.1 at a free port. Raises ReplayerError (unreadable trace) and EngineUnavailable."""
    errors = log.open("ab") if log is not None else None
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "replayer.simulated",
            stdin=PIPE,
            stdout=PIPE,
            stderr=errors if errors is not None else DEVNULL,
            start_new_session=True,
        )
    finally:
        if errors is not None:
            errors.close()
    assert process.stdin is not None
    process.stdin.write(spec.dump().encode() + b"\n")
    port = await _port(process)
    return SimulatedServer(base_url=f"http://127.0.0.1:{port}/v1", pid=process.pid, log=log, process=process)


async def _port(process: Process) -> int:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    except TimeoutError:
        process.kill()
        raise EngineUnavailable(f"the simulated engine did not start within {START_SECONDS} s") from None
    word, _, rest = line.decode().strip().partition(" ")
    if word == "port":
        return int(rest)
    await process.wait()
    if word == "error":
        raise ReplayerError(rest)
    raise EngineUnavailable(f"the simulated engine ended at once (exit code {process.returncode})")
