"""Starts the engine of a lane that has none running: embedded, simulated, or the user's own command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import httpx

from replayer.engines.engine_spec import LaunchKind
from replayer.engines.http_client import http_client
from replayer.errors import EngineUnavailable, MissingPartError
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.simulated import Launched

READY_SECONDS = 900.0
"""Loading a large model and compiling its kernels takes minutes."""
_LAST_LINES = 5


class Order(Protocol):
    """What a lane says of the server to start for it: a `launch` of ours, else a `command` that serves at `url`."""

    @property
    def name(self) -> str: ...
    @property
    def launch(self) -> LaunchKind | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def start_options(self) -> JsonObject: ...
    @property
    def start_command(self) -> Sequence[str]: ...
    @property
    def start_secrets(self) -> Sequence[str]: ...
    @property
    def url(self) -> str | None: ...
    @property
    def resources(self) -> dict[str, float]: ...


Serve = Callable[[Order, Path], "Awaitable[Launched]"]


async def start(order: Order, log_folder: Path, trace_paths: Sequence[Path]) -> Launched:
    """Raises MissingPartError, PlanError (a wrong option) and EngineUnavailable (it did not come up)."""
    log = log_folder / f"{order.name}.log"
    if order.launch == "embedded":
        from replayer.engines.embedded import llama_server  # late, as below: most lanes have a server already

        model = {"model": order.model} if order.model else {}
        return await llama_server.launch({**order.start_options, **model, "log": log})
    if order.launch == "simulated":
        from replayer.simulated import launch
        from replayer.simulated.spec import SimulatedSpec

        options = {"trace": [str(path) for path in trace_paths], **order.start_options}
        return await launch(SimulatedSpec.from_options(options), log)
    return await _start_command(order, log)


class Starts:
    """Starts the servers of a run's lanes; lanes of one key get the same server, which ends with the last of them."""

    def __init__(self) -> None:
        self._started: dict[Hashable, asyncio.Task[Launched]] = {}
        self._holders: Counter[Hashable] = Counter()
        self.serve: Serve | None = None
        """Starts a server that asks for resources."""

    async def start(
        self, order: Order, key: Hashable | None, log_folder: Path, trace_paths: Sequence[Path]
    ) -> Launched:
        """As `start`. `key` of None: a server of its own."""
        if key is None:
            return await self._start(order, log_folder, trace_paths)
        if key not in self._started:
            self._started[key] = asyncio.ensure_future(self._start(order, log_folder, trace_paths))
        launched = await self._started[key]
        self._holders[key] += 1
        return replace(launched, stop=partial(self._let_go, key))

    async def _start(self, order: Order, log_folder: Path, trace_paths: Sequence[Path]) -> Launched:
        if self.serve is not None and order.resources:
            return await self.serve(order, log_folder / f"{order.name}.log")
        return await start(order, log_folder, trace_paths)

    async def _let_go(self, key: Hashable) -> None:
        """A server that several lanes use ends with the last of them."""
        self._holders[key] -= 1
        if not self._holders[key]:
            await self._started.pop(key).result().stop()


async def _end_group(process: asyncio.subprocess.Process, _copying: asyncio.Task[None] | None) -> None:
    """End a server's whole process group: first politely, then for good."""
    for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)):
        if process.returncode is not None:
            return
        os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience)


async def _start_command(order: Order, log: Path) -> Launched:
    """The user's own server, its output kept in `log`."""
    from replayer.simulated import Launched

    assert order.url is not None
    log.touch(0o600)
    command, secrets = order.start_command, [secret.encode() for secret in order.start_secrets]
    with log.open("ab") as stream:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdout=asyncio.subprocess.PIPE if secrets else stream,
                stderr=asyncio.subprocess.STDOUT,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise MissingPartError(
                f"lane {order.name!r}: command {command[0]!r} cannot be started: {error.strerror}"
            ) from None
    copying = asyncio.create_task(_copy(process, log, secrets)) if secrets else None
    stop = partial(_end_group, process, copying)
    return await when_ready(order, Launched(order.url, process.pid, log, process, stop))


async def _copy(process: asyncio.subprocess.Process, log: Path, secrets: Sequence[bytes]) -> None:
    """Servers print the arguments that they were started with."""
    assert process.stdout is not None
    held = b""
    with log.open("ab", buffering=0) as file:
        while data := await process.stdout.read(1 << 16):
            held += data
            whole = held.rfind(b"\n") + 1 or (len(held) if len(held) > 1 << 20 else 0)
            file.write(_without(held[:whole], secrets))
            held = held[whole:]
        file.write(_without(held, secrets))


def _without(text: bytes, secrets: Sequence[bytes]) -> bytes:
    for secret in secrets:
        text = text.replace(secret, b"[not kept]")
    return text


async def when_ready(order: Order, server: Launched) -> Launched:
    """The server once it answers; it is ended where it does not come up."""
    try:
        await _until_ready(order, server)
    except BaseException:
        await server.stop()
        raise
    return server


async def _until_ready(order: Order, server: Launched) -> None:
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
        f"lane {order.name!r}: its command ended with code {server.process.returncode} before it answered; "
        f"its last words: {_last_words(server.log)} (log: {server.log})"
    )


def ended_by_itself(launched: Launched) -> str | None:
    """The sentence about a server of ours that ended by itself; None while it runs."""
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
