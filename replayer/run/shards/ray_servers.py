"""Servers of lanes on nodes of a Ray cluster that have what they ask for: a process beside an actor that holds it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replayer.engines.starting import Order, when_ready
from replayer.errors import EngineUnavailable, MissingPartError
from replayer.run.shards.ray_itself import ANSWER, ray, value
from replayer.simulated import Launched

_LOOK = 1.0
_POLITE = 20.0
"""Seconds for a server that was asked to end."""
_PLACED = 600.0
"""Seconds until a node has what is asked for, while others use the cluster."""
_OWN = {"GPU": "num_gpus", "CPU": "num_cpus", "memory": "memory"}
"""Resources that Ray's actors have options of their own for."""


class Host:
    """Runs one server: a Ray actor that holds what it asked for, its GPUs in CUDA_VISIBLE_DEVICES."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile(prefix="replayer-server-")  # noqa: SIM115 - as long as the actor
        self._read = 0

    def start(self, command: Sequence[str]) -> tuple[str, str, int]:
        """The node, its address, and the port that `{port}` stands for. Raises OSError."""
        with socket.create_server(("", 0)) as free:
            port = free.getsockname()[1]
        address = str(ray().util.get_node_ip_address())
        self._process = subprocess.Popen(
            [word.replace("{port}", str(port)).replace("{host}", address) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        return str(ray().get_runtime_context().get_node_id()), address, port

    def look(self) -> tuple[bytes, int | None]:
        """What it has written since, and its code where it has ended."""
        code = self._process.poll()
        data = os.pread(self._log.fileno(), 1 << 24, self._read)
        self._read += len(data)
        return data, code

    def stop(self) -> None:
        for number, patience in ((signal.SIGTERM, _POLITE), (signal.SIGKILL, 5.0)):
            with suppress(subprocess.TimeoutExpired, ProcessLookupError):
                if self._process.poll() is None:
                    os.killpg(self._process.pid, number)
                    self._process.wait(patience)


def _end_with_parent() -> None:
    """No server stays behind, and holds a GPU, where the run or its node is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@dataclass(slots=True)
class Code:
    returncode: int | None = None


@dataclass(slots=True)
class _Watched:
    """A server on some node; its log is copied here."""

    actor: Any
    log: Path
    process: Code = field(default_factory=Code)
    watching: asyncio.Task[None] | None = None

    async def watch(self) -> None:
        while self.process.returncode is None:
            await asyncio.sleep(_LOOK)
            await self.look()

    async def look(self) -> None:
        try:
            data, code = await asyncio.wait_for(value(self.actor.look.remote()), ANSWER)
        except (ray().exceptions.RayError, TimeoutError):
            data, code = b"\nreplayer: the node of this server does not answer\n", -signal.SIGKILL
        with self.log.open("ab") as stream:
            stream.write(data)
        self.process.returncode = code

    async def stop(self) -> None:
        if self.watching is not None:
            self.watching.cancel()
        with suppress(ray().exceptions.RayError, TimeoutError):
            await asyncio.wait_for(value(self.actor.stop.remote()), _POLITE + ANSWER)
            await self.look()
        ray().kill(self.actor)


async def placed(order: Order, log: Path) -> tuple[Launched, str]:
    """Start the server of a lane where its resources are; with its node. It has no process of this machine: its `pid` is 0.
    Raises EngineUnavailable and MissingPartError."""
    assert order.url is not None
    log.touch(0o600)
    actor = ray().remote(Host).options(max_restarts=0, **_options(order.resources)).remote()
    try:
        where = value(actor.start.remote(order.start_command))
        node, address, port = await asyncio.wait_for(where, _PLACED)
    except TimeoutError:
        ray().kill(actor)
        raise EngineUnavailable(
            f"lane {order.name!r}: no node of the cluster had {_words(order.resources)} free within {_PLACED:g} s"
        ) from None
    except ray().exceptions.RayError as error:
        why = getattr(error, "cause", error)
        raise MissingPartError(
            f"lane {order.name!r}: command {order.start_command[0]!r} cannot be started: {why}"
        ) from None
    server = _Watched(actor, log)
    server.watching = asyncio.create_task(server.watch())
    url = _url(order.url, node, address, port)
    return await when_ready(order, Launched(url, 0, log, server.process, server.stop)), node


def _url(url: str, node: str, address: str, port: int) -> str:
    """On this node as the plan has it; on another by the node's address."""
    url = url.replace("{port}", str(port)).replace("{host}", address)
    if node == ray().get_runtime_context().get_node_id():
        return url
    parts = urlsplit(url)
    return parts._replace(netloc=f"{address}:{parts.port or 80}").geturl()


def _options(resources: Mapping[str, float]) -> dict[str, Any]:
    own = {_OWN[name]: amount for name, amount in resources.items() if name in _OWN}
    return {"num_cpus": 0} | own | {"resources": {k: v for k, v in resources.items() if k not in _OWN}}


def _words(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {amount:g}" for name, amount in resources.items())
