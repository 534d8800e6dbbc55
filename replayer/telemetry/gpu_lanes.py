"""Which GPU serves which lane: asked for in the lane's facts, detected by the server's processes, or unknown.

A GPU's energy belongs to a lane only when that lane alone is known to use it; what several lanes share is shared,
never counted for each of them.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from replayer.lazy import dataclass
from replayer.telemetry.energy import Assignment
from replayer.telemetry.gpu import LOCAL, Gpu, GpuReader
from replayer.wire.types import JsonObject

TRIES = 3
"""Readings on which the processes are looked up: a server may load its model after the first."""


@dataclass(slots=True)
class GpuUse:
    """What the lanes of a run that are sampled together claim: (lane, server) -> GPU keys, None where unknown."""

    claims: dict[tuple[str, str], set[str] | None] = field(default_factory=dict)

    def lanes(self, key: str) -> list[str]:
        return sorted({lane for (lane, _), keys in self.claims.items() if keys and key in keys})

    @property
    def certain(self) -> bool:
        """No lane may use a GPU that it is not known to use."""
        return None not in self.claims.values()


class LaneGpus:
    """The GPUs of one lane: each reading names the lanes that use it, where that is known."""

    def __init__(
        self,
        lane: str,
        reader: GpuReader,
        use: GpuUse,
        *,
        base_url: str,
        asked: Sequence[str | int] = (),
        pid: int | None = None,
    ) -> None:
        self._lane, self._reader, self._use = lane, reader, use
        self._asked = {str(name) for name in asked}
        self._url, self._pid, self._tries = base_url, pid, TRIES
        self._detected: set[str] | None = None

    async def read(self) -> list[JsonObject]:
        gpus = await self._reader.read()
        if not self._asked and self._tries and not self._detected:
            self._tries -= 1
            self._detected = await asyncio.to_thread(self._detect)
        how, own = self._own(gpus)
        self._use.claims[self._lane, self._url] = None if how == "unknown" else {gpu.key for gpu in own}
        if not self._use.certain:
            return [gpu.as_data() | {"assignment": "unknown"} for gpu in own]
        return [gpu.as_data() | {"assignment": how, "lanes": self._use.lanes(gpu.key)} for gpu in own]

    def _own(self, gpus: list[Gpu]) -> tuple[Assignment, list[Gpu]]:
        if self._asked:
            return "asked", [gpu for gpu in gpus if self._asked & {gpu.gpu, gpu.uuid}]
        if self._detected is not None:
            return "detected", [gpu for gpu in gpus if gpu.key in self._detected]
        return "unknown", gpus

    def _detect(self) -> set[str] | None:
        """None where the server's processes, or those of the GPUs, cannot be seen."""
        users = self._reader.users()
        pids = family({self._pid} if self._pid is not None else listeners(self._url))
        if users is None or not pids:
            return None
        return {key for key, found in users.items() if found & pids}


def listeners(base_url: str) -> set[int]:
    """Processes of this machine that listen on the URL's port, as far as they may be looked at."""
    parts = urlsplit(base_url)
    if parts.hostname not in LOCAL or parts.port is None:
        return set()
    sockets = {f"socket:[{inode}]" for inode in _listening(parts.port)}
    return {pid for pid in _processes() if sockets and sockets & _open_files(pid)}


def _listening(port: int) -> set[str]:
    """Inodes of the listening sockets of a port, from /proc."""
    inodes: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            words = row.split()
            if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                inodes.add(words[9])
    return inodes


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _open_files(pid: int) -> set[str]:
    try:
        return {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    except OSError:
        return set()


def family(roots: set[int]) -> set[int]:
    """The processes and all their descendants: engines compute in children of the process that listens."""
    children: dict[int, set[int]] = defaultdict(set)
    for pid in _processes():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        children[int(stat.rpartition(")")[2].split()[1])].add(pid)
    found, todo = set(roots), list(roots)
    while todo:
        new = children[todo.pop()] - found
        found |= new
        todo += new
    return found
