"""The host's end of the socket to the worker. What arrives is hostile: sizes are checked, nothing is trusted."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

from replayer.tools.sandbox.types import FileError, SandboxLost

FRAME = struct.Struct("!II")
MOST_HEAD = 16 << 20


class Link(asyncio.Protocol):
    """One request at a time: frame out, frame in."""

    def __init__(self, most_payload: int) -> None:
        self.most_payload = most_payload
        self.buffer = bytearray()
        self.waiting: asyncio.Future[tuple[dict[str, Any], bytes]] | None = None
        self.transport: asyncio.Transport | None = None
        self.lock = asyncio.Lock()
        self.lost: str | None = None

    @classmethod
    async def over(cls, end: socket.socket, most_payload: int) -> Link:
        loop = asyncio.get_running_loop()
        _, link = await loop.create_connection(lambda: cls(most_payload), sock=end)
        return link

    async def request(
        self, head: dict[str, Any], payload: bytes = b"", *, timeout: float
    ) -> tuple[dict[str, Any], bytes]:
        """Raises FileError for a refusal, SandboxLost when the worker is gone or silent for `timeout` seconds."""
        async with self.lock:
            if self.lost or self.transport is None:
                raise SandboxLost(f"the sandbox ended ({self.lost}); start a new one")
            self.waiting = asyncio.get_running_loop().create_future()
            encoded = json.dumps(head).encode()
            self.transport.write(FRAME.pack(len(encoded), len(payload)) + encoded + payload)
            try:
                answer, body = await asyncio.wait_for(self.waiting, timeout)
            except (TimeoutError, asyncio.CancelledError):
                # The worker is in the middle of something: its next frame would answer the wrong request.
                self.end("no answer in time")
                raise
            finally:
                self.waiting = None
        if "error" in answer:
            raise FileError(answer["error"], str(answer.get("message", "")))
        return answer, body

    def close(self) -> None:
        self.end("closed")

    def end(self, reason: str) -> None:
        self.lost = self.lost or reason
        if self.waiting and not self.waiting.done():
            self.waiting.set_exception(SandboxLost(f"the sandbox ended ({reason}); start a new one"))
        if self.transport:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(str(exc) if exc else "the worker closed its socket")

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if len(self.buffer) < FRAME.size:
            return
        head_length, payload_length = FRAME.unpack_from(self.buffer)
        if head_length > MOST_HEAD or payload_length > self.most_payload:
            return self.end("the worker sent an oversized frame")
        total = FRAME.size + head_length + payload_length
        if len(self.buffer) < total:
            return
        if len(self.buffer) > total or not self.waiting or self.waiting.done():
            return self.end("the worker sent what was not asked for")
        frame = bytes(self.buffer)
        self.buffer.clear()
        split = FRAME.size + head_length
        try:
            answer = json.loads(frame[FRAME.size : split])
        except (ValueError, RecursionError):
            return self.end("the worker sent a damaged frame")
        if not isinstance(answer, dict):
            return self.end("the worker sent a damaged frame")
        self.waiting.set_result((answer, frame[split:]))
        return None
