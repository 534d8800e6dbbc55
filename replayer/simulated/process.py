"""Servers of ours in child processes: settings go in on the first line, the child's first line says where it serves, and
it ends when its standard input does, that is with the process that started it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from replayer.errors import EngineUnavailable, ReplayerError
from replayer.simulated.spec import SimulatedSpec

START_SECONDS = 120
END_SECONDS = 5


class Ended(Protocol):
    """`returncode` is None while it runs."""

    @property
    def returncode(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Launched:
    """A running server of ours. `base_url` ends in `/v1`; `log` is its log file, where it writes one; `stop` ends it."""

    base_url: str
    pid: int
    log: Path | None
    process: Ended
    stop: Callable[[], Awaitable[None]]


async def start_child(
    module: str, settings: str, log: Path | None, environment: Mapping[str, str] | None = None
) -> tuple[Process, str]:
    """The process, and its first line: empty where it ended or said nothing in time."""
    if log is not None:
        log.touch(0o600)
    errors = log.open("ab") if log is not None else None
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module),
            stdin=PIPE,
            stdout=PIPE,
            stderr=errors if errors is not None else DEVNULL,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C is for the runner, which then stops its engines
        )
    finally:
        if errors is not None:
            errors.close()
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(settings.encode() + b"\n")
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    except TimeoutError:
        return process, ""
    except BaseException:
        await end_child(process)
        raise
    return process, line.decode().strip()


async def end_child(process: Process) -> None:
    """Close its stdin, which ends it; kill it where that does not help."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def launch(spec: SimulatedSpec, log: Path | None = None) -> Launched:
    """Start a simulated engine on 127.0.0.1 at a free port. Raises ReplayerError (unreadable trace) and
    EngineUnavailable."""
    process, line = await start_child("replayer.simulated", spec.dump(), log)
    word, _, rest = line.partition(" ")
    if word == "port":
        url = f"http://127.0.0.1:{rest}/v1"
        return Launched(url, process.pid, log, process, partial(end_child, process))
    await end_child(process)
    if word == "error":
        raise ReplayerError(rest)
    raise EngineUnavailable(f"the simulated engine did not start (exit code {process.returncode})")
