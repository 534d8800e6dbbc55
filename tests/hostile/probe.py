"""One process that meets every mode of the hostile server beside sound streams, and says what came of it.

`python -m tests.hostile.probe ROUGH SICK WELL TLS…` prints a JSON document; the arguments are base URLs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from replayer.wire.client import WireClient
from replayer.wire.dial import tls_context
from replayer.wire.limits import Timeouts
from replayer.wire.remote import Receiver
from replayer.wire.types import Request
from tests.hostile.modes import EXPECTED, ROUGH

LIMITS = Timeouts(connect=8, first_byte=1.5, first_token=1.5, idle=1.5, total=4)
BODY = Request([b'{"model":"m","stream":true,"messages":[]}'])
AT_ONCE = {True: 2, False: 16}
"""Of those that flood, and of those that keep one waiting."""


async def ask(url: str, receiver: Receiver, **options: Any) -> dict[str, Any]:
    client = WireClient(url, timeouts=LIMITS, receiver=receiver, **options)
    begun = time.monotonic()
    try:
        reply = await client.chat(BODY)
    finally:
        await client.aclose()
    fault, first = reply.fault, reply.timing.first_token
    stamp = reply.extra.get("system_fingerprint")
    return {
        "kind": fault.kind if fault else None,
        "message": fault.message[:300] if fault else "",
        "seconds": time.monotonic() - begun,
        "text": len(reply.content),
        "ttft_ms": first and (first - reply.timing.sent) / 1e6,
        "late_ms": (first - int(stamp)) / 1e6 if first and stamp else None,
    }


async def sound(url: str, receiver: Receiver, over: asyncio.Event) -> list[dict[str, Any]]:
    """Replies of a healthy server, one after another, until the others are through."""
    found = []
    while not over.is_set():
        found.append(await ask(url, receiver))
    return found


async def main(rough: str, sick: str, well: str, *tls: str) -> dict[str, Any]:
    receiver, over = Receiver(), asyncio.Event()
    slots = {is_rough: asyncio.Semaphore(number) for is_rough, number in AT_ONCE.items()}
    found: dict[str, Any] = {}
    tls_context(True)  # imports much
    alone = [await ask(f"{well}/healthy/v1", receiver) for _ in range(5)]

    async def one(name: str, url: str) -> None:
        async with slots[name.startswith(ROUGH)]:
            found[name] = await ask(url, receiver)

    Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmHWM")
    healthy = asyncio.create_task(sound(f"{well}/healthy/v1", receiver, over))
    async with asyncio.TaskGroup() as group:
        for number, url in enumerate(tls):
            group.create_task(one(f"tls_{number}", f"{url}/healthy/v1"))
        for name in EXPECTED:
            group.create_task(one(name, f"{rough if name.startswith(ROUGH) else sick}/{name}/v1"))
    over.set()
    memory = {"before": before, "peak": _memory("VmHWM"), "receiver": _memory("VmHWM", receiver.pid)}
    beside = await healthy
    cuts = [await ask(f"{sick}/reset_anywhere/v1", receiver, retries=0) for _ in range(600)]
    receiver.close()
    return {"modes": found, "alone": alone, "beside": beside, "cuts": cuts, "memory": memory}


def _memory(field: str, pid: int | str = "self") -> float:
    """MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
