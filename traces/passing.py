"""One exchange on its way through the recording proxy: what is seen of it, and what is handed on when it is over."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, field

from replayer.traces.credentials import in_head
from replayer.traces.request_framing import Head, RequestBody
from replayer.wire.content_encoding import Decode, decoder, unpacked
from replayer.wire.reply import ReplyReader
from replayer.wire.types import FaultKind, Reply, Wire, WireFault

TURNS: dict[str, Wire] = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
"""Endpoints whose exchanges become turns, by the end of their path."""
RAW_PATHS = ("/completions",)
"""Endpoints that are kept as they passed."""
_KEPT_RAW = 64 << 20
_ASKS_FOR_STREAM = re.compile(rb'"stream"\s*:\s*true')
"""Within a string of the conversation its quotes would be escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One exchange that went through the proxy. `wall` is when the request was sent, seconds since the epoch."""

    path: str
    request: bytes
    status: int
    reply: Reply | None = None
    """Of an exchange that becomes a turn; None for endpoints that only pass through."""
    wire: Wire = "chat"
    wall: float
    seconds: float = 0.0
    raw: bytes = b""
    """The response's body, unpacked, of endpoints that only pass through."""
    arrivals: tuple[tuple[int, int], ...] = ()
    """(microseconds since the request was sent, length of `raw` by then)."""
    broken: str | None = None
    """Why the response did not end properly."""
    retry_after: float | None = None
    credentials: tuple[bytes, ...] = ()
    """What the request's head carried to be let in; none of it is written."""


@dataclass(slots=True)
class _Raw:
    """The body of a response that only passes through."""

    content: bytearray = field(default_factory=bytearray)
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    decode: Decode | None = None
    unreadable: str | None = None

    def take(self, data: bytes, at: int) -> None:
        if self.unreadable is not None:
            return
        try:
            self.content += data if self.decode is None else unpacked(self.decode, data)
        except ValueError as error:
            self.unreadable = f"the body cannot be read: {error}"
        if len(self.content) > _KEPT_RAW:
            self.unreadable = f"only the first {_KEPT_RAW >> 20} MiB are kept"
        self.arrivals.append((at, len(self.content)))


class Observed:
    """One request and what is seen of its answer; everything that is not to be recorded is only counted through."""

    def __init__(self, head: Head, block: bytes) -> None:
        self.method = head.method
        self.path = head.target.partition("?")[0].rstrip("/")
        posted = self.path if self.method == "POST" else ""
        self.wire = next((wire for end, wire in TURNS.items() if posted.endswith(end)), None)
        self.is_recorded = self.wire is not None or posted.endswith(RAW_PATHS)
        self.body = RequestBody(head, keep=self.is_recorded)
        self.status = 0
        self.has_length = False
        self._encoding = head.fields.get(b"content-encoding", b"").decode("latin-1")
        self._block = block
        self._reader = ReplyReader(stream=None, wire=self.wire) if self.wire else None
        self._raw = _Raw()
        self._sent = 0
        self._wall = 0.0

    def sent(self) -> None:
        """The request's last byte has passed."""
        self._sent, self._wall = time.monotonic_ns(), time.time()
        if self._reader is not None:
            self._reader.sent(self._sent)

    def answered(self, status: int, headers: list[tuple[bytes, bytes]], at: int) -> None:
        """`headers` have their names in lower case."""
        self.status = status
        self.has_length = any(name in (b"content-length", b"transfer-encoding") for name, _ in headers)
        if self._reader is not None:
            self._reader.headers(status, headers, at)
            return
        packed = next((value for name, value in headers if name == b"content-encoding"), b"")
        try:
            self._raw.decode = decoder(packed.decode("latin-1"))
        except ValueError as error:
            self._raw.unreadable = str(error)

    def received(self, data: bytes, at: int) -> None:
        """Bytes of the answer's body, which came at `at` (monotonic nanoseconds)."""
        if self._reader is not None:
            self._reader.body(data, at)
        elif self.is_recorded:
            self._raw.take(data, at)

    def passed(self, broken: str | None = None, kind: FaultKind = "stream_broken") -> Passed:
        """All that there will be; `broken` says why the answer did not end properly."""
        now = time.monotonic_ns()
        sent = self._sent or now
        fault = WireFault(kind, broken, self.status or None) if broken else None
        reader, raw, request = self._reader, self._raw, self._request()
        if reader is not None and _ASKS_FOR_STREAM.search(request):
            reader.asked_stream = True
        return Passed(
            path=self.path,
            request=request,
            status=self.status,
            reply=reader.reply(ended=now, broken=fault) if reader is not None else None,
            wire=self.wire or "chat",
            wall=self._wall or time.time(),
            seconds=(now - sent) / 1e9,
            raw=bytes(raw.content),
            arrivals=tuple([((at - sent) // 1000, length) for at, length in raw.arrivals]),
            broken=broken or raw.unreadable,
            retry_after=reader.retry_after if reader is not None else None,
            credentials=in_head(self._block),
        )

    def _request(self) -> bytes:
        content = bytes(self.body.content)
        with suppress(ValueError):
            decode = decoder(self._encoding)
            return content if decode is None else unpacked(decode, content)
        return content
