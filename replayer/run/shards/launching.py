"""Starts the processes of shards. A launcher places, starts, watches and ends; whatever else passes over the link."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from replayer.engines.starting import Order
from replayer.errors import PlanError

if TYPE_CHECKING:
    from replayer.simulated import Launched

WORKER = ("-m", "replayer.run.shards.shard")
_LAST_WORDS = 300


Resources = dict[str, float]
"""What a node has, or a server asks for, by Ray's names: GPU, CPU, and those that an operator gave."""


class Shard(Protocol):
    """A process that was started. `folder`: where it writes, on its own machine, and `node` which that is."""

    folder: str
    node: str = ""

    def trace(self, path: Path) -> str:
        """Where it finds a copy of a trace of the run folder."""

    async def fetch(self) -> object:
        """Bring what it has written to its folder here, where that is another machine."""
        return None

    async def ended(self) -> str:
        """Waits until it is over; how it ended, as the rest of a sentence."""

    async def kill(self) -> None:
        """End it at once: it does not answer."""

    async def stop(self) -> None:
        """End it, at once if need be, and take what it wrote."""


class Launcher(Protocol):
    host: str
    """Where shards reach the coordinator."""
    keeps_secrets: bool
    """Nobody else reads what is sent to its shards."""
    lead_s: float
    """Seconds between the last word and the common start."""

    async def start(self, number: int, folder: Path, address: tuple[str, int], token: str) -> Shard:
        """`folder` is the shard's own, in the run folder of this machine."""

    def nodes(self) -> list[Resources]:
        """What the machines have for servers; none where servers start here alone."""
        return []

    async def serve(self, order: Order, log: Path) -> Launched:
        """Start a server that asks for resources where they are."""
        raise PlanError(f"lane {order.name!r} asks for resources, which only a Ray cluster gives")

    def node_of(self, url: str) -> str | None:
        """Where a server was started."""
        return None


class Local(Launcher):
    """Processes of this machine; Ctrl-C reaches the coordinator alone."""

    host = "127.0.0.1"
    keeps_secrets = True
    lead_s = 0.2

    def __init__(self, command: Sequence[str] = (sys.executable, *WORKER)) -> None:
        self._command = command

    async def start(self, number: int, folder: Path, address: tuple[str, int], token: str) -> Shard:
        with (folder / "stderr.log").open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(greeting(number, address, token))
        process.stdin.close()
        return LocalShard(process, folder)


def greeting(number: int, address: tuple[str, int], token: str) -> bytes:
    """What a shard reads from its standard input."""
    return json.dumps({"number": number, "address": address, "token": token}).encode() + b"\n"


class LocalShard(Shard):
    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process, self.folder, self._errors = process, str(folder.absolute()), folder / "stderr.log"

    def trace(self, path: Path) -> str:
        return str(path.absolute())

    async def ended(self) -> str:
        code = await self._process.wait()
        return how_it_ended(code, self._errors.read_text(errors="replace"))

    async def kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def stop(self) -> None:
        """It has been asked to end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 10.0)
        await self.kill()


def how_it_ended(code: int, errors: str) -> str:
    words = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    last = errors.strip().splitlines()[-1:]
    return f"{words}: {last[0][:_LAST_WORDS]}" if last else words
