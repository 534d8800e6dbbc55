"""Starts the engine of a lane that has none running: embedded, simulated, or the user's own command."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from replayer.engines import embedded
from replayer.engines.http import http_client
from replayer.engines.launch import Launched
from replayer.errors import EngineUnavailable, MissingPartError
from replayer.plan.model import LanePlan
from replayer.simulated import launch as launch_simulated
from replayer.simulated.spec import SimulatedSpec

READY_SECONDS = 900.0
"""Loading a large model and compiling its kernels takes minutes."""
_LAST_LINES = 5


async def start(plan: LanePlan, log_folder: Path, trace_paths: Sequence[Path]) -> Launched:
    """Raises MissingPartError, PlanError (a wrong option) and EngineUnavailable (it did not come up)."""
    log = log_folder / f"{plan.name}.log"
    if plan.launch == "embedded":
        model = {"model": plan.model} if plan.model else {}
        return await embedded.launch({**plan.options, **model, "log": log})
    if plan.launch == "simulated":
        options = {"trace": [str(path) for path in trace_paths], **plan.options}
        return await launch_simulated(SimulatedSpec.from_options(options), log)
    return await _start_command(plan, log)


@dataclass(slots=True)
class CommandServer:
    """The user's own server, started by us, its output kept in `log`."""

    base_url: str
    pid: int
    log: Path | None
    process: asyncio.subprocess.Process

    async def stop(self) -> None:
        """End the server's whole process group: first politely, then for good."""
        for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)):
            if self.process.returncode is not None:
                return
            os.killpg(self.pid, number)
            try:
                await asyncio.wait_for(self.process.wait(), patience)
            except TimeoutError:
                continue

    def last_words(self) -> str:
        return _last_words(self.log)


async def _start_command(plan: LanePlan, log: Path) -> CommandServer:
    assert plan.url is not None
    with log.open("ab") as stream:
        try:
            process = await asyncio.create_subprocess_exec(
                *plan.command,
                stdout=stream,
                stderr=stream,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise MissingPartError(
                f"lane {plan.name!r}: command {plan.command[0]!r} cannot be started: {error.strerror}"
            ) from None
    server = CommandServer(plan.url, process.pid, log, process)
    try:
        await _until_ready(plan, server)
    except BaseException:
        await server.stop()
        raise
    return server


async def _until_ready(plan: LanePlan, server: CommandServer) -> None:
    """Ready is when the models are listed: cheap on every engine, and never a generation."""
    url = server.base_url.rstrip("/") + "/models"
    async with http_client(url, timeout=5) as client, asyncio.timeout(READY_SECONDS):
        while server.process.returncode is None:
            try:
                if (await client.get(url)).status_code in (200, 401):
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)
    raise EngineUnavailable(
        f"lane {plan.name!r}: its command ended with code {server.process.returncode} before it answered; "
        f"its last words: {server.last_words()} (log: {server.log})"
    )


def death(launched: Launched) -> str | None:
    """What is to be said of a server of ours that ended by itself; None while it runs."""
    code = launched.process.returncode
    if code is None:
        return None
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return (
        f"its server {how} during the run; its last words: {_last_words(launched.log)} (log: {launched.log})"
    )


def _last_words(log: Path | None) -> str:
    if log is None or not log.exists():
        return "none"
    lines = log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return " | ".join(lines) or "none"
