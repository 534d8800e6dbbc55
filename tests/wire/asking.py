"""One request, and the ordinary answer to it."""

from typing import Any

from replayer.wire.client import WireClient
from replayer.wire.types import Reply, Request
from tests.wire.serving import (
    Received,
    chat,
)


async def ordinary(request: Received) -> None:
    await request.send_chunks(*chat())


async def ask(url: str, times: int = 1, **options: Any) -> Reply:
    client = WireClient(url, **options)
    try:
        for _ in range(times):
            reply = await client.chat(Request([b"{}"]))
        return reply
    finally:
        await client.aclose()


def is_ordinary(reply: Reply) -> bool:
    return (reply.content, reply.done, reply.fault, reply.notes) == ("Hello there", True, None, ())
