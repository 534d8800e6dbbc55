"""A served model that replayer starts itself (embedded, simulated) instead of meeting it at a URL."""

from __future__ import annotations

from asyncio.subprocess import Process
from pathlib import Path
from typing import Protocol


class Launched(Protocol):
    """A running server of ours. `base_url` ends in `/v1`; `log` is its log file, where it writes one."""

    base_url: str
    pid: int
    log: Path | None
    process: Process

    async def stop(self) -> None: ...
