"""The host's end of the socket to the worker. What arrives is hostile: sizes are checked, nothing is trusted."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import struct
from typing import cast, get_args

from replayer.tools.sandbox.types import FileError, FileFault, SandboxLost
from replayer.wire.types import JsonObject

FRAME = struct.Struct("!II")
MOST_HEAD = 16 << 20
CHUNK = 1 << 16
"""Read at once. More would be a fresh memory mapping for each small answer."""
BULK = 1 << 20
QUICK_MS = 1
"""How long a request that takes microseconds is waited for on the spot. To sleep and be woken by the event loop
costs more of the loop's own time (120 us against 15 us for an empty exchange) than to wait here."""

Answer = tuple[JsonObject, bytes]


def fault(kind: object) -> FileFault:
    return cast(FileFault, kind) if kind in get_args(FileFault) else "failed"


class Link:
    """One request at a time: frame out, frame in."""

    def __init__(self, end: socket.socket, most_payload: int) -> None:
        end.setblocking(False)
        self.socket = end
        self.most_payload = most_payload
        self.buffer = bytearray()
        self.lock = asyncio.Lock()
        self.lost: str | None = None
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    async def request(
        self, head: JsonObject, payload: bytes = b"", *, timeout: float, quick: bool = False
    ) -> Answer:
        """Raises FileError for a refusal, SandboxLost when the worker is gone or silent for `timeout` seconds."""
        async with self.lock:
            if self.lost:
                raise self._gone()
            encoded = json.dumps(head).encode()
            try:
                await self._send(FRAME.pack(len(encoded), len(payload)) + encoded + payload)
                answer, body = await self._answer(timeout, quick)
            except asyncio.CancelledError:
                # The worker is in the middle of something: its next frame would answer the wrong request.
                self.close("cancelled")
                raise
            except (OSError, ValueError, RecursionError) as error:
                self.close(str(error))
                raise self._gone() from error
        if "error" in answer:
            raise FileError(fault(answer["error"]), str(answer.get("message", "")))
        return answer, body

    def close(self, reason: str = "closed") -> None:
        self.lost = self.lost or reason
        self.socket.close()

    def _gone(self) -> SandboxLost:
        return SandboxLost(f"the sandbox ended ({self.lost}); start a new one")

    async def _send(self, data: bytes) -> None:
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(self.socket, memoryview(data)[sent:])

    async def _answer(self, timeout: float, quick: bool) -> Answer:
        """Raises OSError or ValueError where what comes is not an answer."""
        if quick:
            while self._poll.poll(QUICK_MS):
                self._take(self.socket.recv(CHUNK))
                if answer := self._whole():
                    return answer
        try:
            async with asyncio.timeout(timeout):
                while not (answer := self._whole()):
                    size = BULK if len(self.buffer) >= CHUNK else CHUNK
                    self._take(await asyncio.get_running_loop().sock_recv(self.socket, size))
        except TimeoutError:
            raise OSError(f"no answer in {timeout:g} s") from None
        return answer

    def _take(self, data: bytes) -> None:
        if not data:
            raise OSError("the worker closed its socket")
        self.buffer += data

    def _whole(self) -> Answer | None:
        """The answer once all of it is there."""
        if len(self.buffer) < FRAME.size:
            return None
        head_length, payload_length = FRAME.unpack_from(self.buffer)
        if head_length > MOST_HEAD or payload_length > self.most_payload:
            raise ValueError("the worker sent an oversized frame")
        split = FRAME.size + head_length
        if len(self.buffer) < split + payload_length:
            return None
        if len(self.buffer) > split + payload_length:
            raise ValueError("the worker sent what was not asked for")
        head, payload = bytes(self.buffer[FRAME.size : split]), bytes(self.buffer[split:])
        self.buffer.clear()
        answer = json.loads(head)
        if not isinstance(answer, dict):
            raise ValueError("the worker sent a damaged frame")
        return answer, payload
