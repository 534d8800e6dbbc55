"""Shards on the machines of a Ray cluster. Ray places, starts, watches, stops, and fetches what shards wrote.

What shards and coordinator say to each other goes over
their own line: Ray carries no delta, no stamp and no "send now". A shard is a process beside its Ray actor, as on one machine.
Traces go to a machine once, by their content. Credentials do not: a node has the variables that the plan names.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from replayer.engines.starting import Order
from replayer.errors import EngineUnavailable, PlanError
from replayer.journal.run_traces import copies
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.run.shards.crew import Crew, launched
from replayer.run.shards.dealing import processes_of
from replayer.run.shards.launching import WORKER, Launcher, Resources, Shard, greeting, how_it_ended
from replayer.run.shards.ray_itself import ANSWER, connected, ray, value
from replayer.run.shards.ray_servers import placed

if TYPE_CHECKING:
    from replayer.simulated import Launched

_FETCH = 0.5
"""Seconds between two looks at what a shard has written."""
_START = 60.0
"""Seconds for the cluster to start a process."""


class Piece(NamedTuple):
    """What a file holds since the last look; all of it where it was begun anew."""

    name: str
    anew: bool
    data: bytes


class Node:
    """Runs beside one shard, on its machine: a Ray actor."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="replayer-shard-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._read: dict[str, int] = {}

    def place(self, digest: str, files: dict[str, bytes]) -> str:
        """The folder of a trace; what another shard of the machine has placed is there already."""
        folder = Path(tempfile.gettempdir()) / f"replayer-traces-{os.getuid()}" / digest
        folder.mkdir(0o700, parents=True, exist_ok=True)
        for name, data in files.items():
            if not (folder / name).exists():
                draft = folder / f".{name}.{os.getpid()}"
                draft.touch(0o600)
                draft.write_bytes(data)
                draft.replace(folder / name)
        return str(folder)

    def node(self) -> str:
        return str(ray().get_runtime_context().get_node_id())

    def start(self, hello: bytes) -> str:
        """The folder in which the shard writes."""
        with (self._folder / "stderr.log").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            )
        assert self._process.stdin is not None
        self._process.stdin.write(hello)
        self._process.stdin.close()
        return str(self._folder)

    def written(self) -> tuple[list[Piece], str | None]:
        """What is new, and how the process ended, once it has."""
        assert self._process is not None
        code = self._process.poll()
        found = [piece for path in sorted(self._folder.glob("**/*.jsonl")) if (piece := self._new(path))]
        if code is None:
            return found, None
        return found, how_it_ended(code, (self._folder / "stderr.log").read_text(errors="replace"))

    def _new(self, path: Path) -> Piece | None:
        name, size = str(path.relative_to(self._folder)), path.stat().st_size
        before = self._read.get(name, 0)
        if size == before:
            return None
        with path.open("rb") as stream:
            stream.seek(before if size > before else 0)
            data = stream.read()
            self._read[name] = stream.tell()
        return Piece(name, size < before, data)

    def stop(self, patience: float = 10) -> None:
        """It has been asked to end, where there is patience."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
            self._process.kill()
            self._process.wait()

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class RayShard(Shard):
    """A shard on some node; what it writes is copied to its folder here."""

    def __init__(self, actor: Any, folder: Path, remote: str, traces: dict[Path, str], node: str) -> None:
        self.folder, self.node = remote, node
        self._actor, self._here, self._traces = actor, folder, traces
        self._fetching = asyncio.Lock()

    def trace(self, path: Path) -> str:
        return self._traces[path]

    async def ended(self) -> str:
        while (how := await self.fetch()) is None:
            await asyncio.sleep(_FETCH)
        return how

    async def fetch(self) -> str | None:

        async with self._fetching:
            try:
                pieces, how = await asyncio.wait_for(value(self._actor.written.remote()), ANSWER)
            except (ray().exceptions.RayError, TimeoutError) as error:
                return f"is lost: its node does not answer ({type(error).__name__})"
            for piece in pieces:
                path = self._here / piece.name
                path.parent.mkdir(0o700, exist_ok=True)
                path.touch(0o600)
                with path.open("wb" if piece.anew else "ab") as stream:
                    stream.write(piece.data)
            return None if how is None else str(how)

    async def kill(self) -> None:
        with suppress(ray().exceptions.RayError, TimeoutError):
            await asyncio.wait_for(value(self._actor.stop.remote(0)), ANSWER)

    async def stop(self) -> None:

        with suppress(ray().exceptions.RayError, TimeoutError):
            await asyncio.wait_for(value(self._actor.stop.remote()), 2 * ANSWER)
            await self.fetch()
            await asyncio.wait_for(value(self._actor.clear.remote()), ANSWER)
        ray().kill(self._actor)


class OnRay(Launcher):
    """Starts shards wherever the cluster has a free core, one node after another."""

    keeps_secrets = False
    lead_s = 1.0

    def __init__(self, folder: Path) -> None:

        self.host = str(ray().util.get_node_ip_address())
        self._traces = {path: _bundle(path.parent) for path in copies(folder).values()}
        self._servers: dict[str, str] = {}
        self._shards: Counter[str] = Counter()
        self._bodies = {digest: ray().put(files) for digest, files in self._traces.values()}

    async def start(self, number: int, folder: Path, address: tuple[str, int], token: str) -> Shard:

        hello = greeting(number, address, token)
        try:
            async with asyncio.timeout(_START):
                while True:
                    with suppress(ray().exceptions.RayError):  # placed on a node that has just been lost
                        return await self._placed(folder, hello)
        except TimeoutError:
            raise EngineUnavailable(
                f"the Ray cluster started no process within {_START:g} s; has it free cores?"
            ) from None

    async def _placed(self, folder: Path, hello: bytes) -> Shard:
        actor = ray().remote(Node).options(num_cpus=1, scheduling_strategy="SPREAD", max_restarts=0).remote()
        traces = {
            path: f"{await value(actor.place.remote(digest, self._bodies[digest]))}/{path.name}"
            for path, (digest, _) in self._traces.items()
        }
        node = await value(actor.node.remote())
        self._shards[node] += 1
        return RayShard(actor, folder, await value(actor.start.remote(hello)), traces, node)

    def nodes(self) -> list[Resources]:
        """What the cluster's nodes have beside the shards."""
        found = []
        for node in ray().nodes():
            if node["Alive"]:
                cores = node["Resources"].get("CPU", 0) - self._shards[node["NodeID"]]
                found.append({**node["Resources"], "CPU": cores})
        return found

    async def serve(self, order: Order, log: Path) -> Launched:
        server, node = await placed(order, log)
        self._servers[server.base_url] = node
        return server

    def node_of(self, url: str) -> str | None:
        return self._servers.get(url)


def _bundle(folder: Path) -> tuple[str, dict[str, bytes]]:
    """The files of one trace, under the hash of what they hold."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name}/{len(data)}/".encode() + data)
    return digest.hexdigest(), files


@asynccontextmanager
async def cluster(plan: Plan, todo: Sequence[Session], folder: Path) -> AsyncIterator[Crew | None]:
    """Raises MissingPartError without Ray, EngineUnavailable where no cluster answers, PlanError."""
    secret = next((lane.name for lane in plan.lane if lane.secrets), None)
    if secret is not None:
        raise PlanError(
            f"lane {secret!r} holds a credential, which does not travel to other machines: give it as "
            "api_key_env=VARIABLE or header.NAME=env:VARIABLE, and set the variable on every node"
        )
    connected(str(plan.ray))
    try:
        nodes = sum(node["Alive"] for node in ray().nodes())
        cores = int(ray().cluster_resources().get("CPU", 1))  # fewer where a node was lost since
        n = max(1, min(processes_of(plan, todo, str(plan.shards or nodes)) or 1, cores))
        async with launched(Crew(folder, OnRay(folder), plan.timeouts.process), n) as crew:
            yield crew
    finally:
        ray().shutdown()
