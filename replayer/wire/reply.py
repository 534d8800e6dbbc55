"""One HTTP response to one `Reply`: decides how the body is read, and what the end of it means."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import replace

from replayer.text import safe
from replayer.wire.assembly import Assembler
from replayer.wire.connection import Headers
from replayer.wire.content_encoding import Decode, decoder
from replayer.wire.faults import Classify, default_fault
from replayer.wire.limits import LIMITS, MIB, TooLarge, mib
from replayer.wire.types import (
    END_OF,
    Delta,
    OnDelta,
    OnDeltas,
    Reply,
    StampClock,
    Timing,
    Wire,
    WireFault,
    each,
)


class ReplyReader:
    """Sink of one response: `headers`, then `body` until it returns True or the response ends, then `reply`."""

    def __init__(
        self,
        *,
        stream: bool | None,
        on_deltas: OnDeltas | None = None,
        classify: Classify = default_fault,
        wire: Wire | None = "chat",
        joins: bool = True,
    ) -> None:
        """`wire` of None: as the body itself shows. `joins`: what comes together may be shown as one delta."""
        self.status = 0
        self.retry_after: float | None = None
        self.stopped = False
        self.asked_stream = stream
        """Whether a stream had been asked for; None where that is not known."""
        self._streamed: bool | None = None
        self._on_deltas, self._joins = on_deltas, joins
        self._classify = classify
        self._assembler = Assembler(wire, joins=joins)
        self._parts = self._assembler.parts
        self._decode: Decode | None = None
        self._held = bytearray()
        self._sent: int | None = None
        self._headers_at: int | None = None
        self._packets = self._kernel_packets = 0
        self._size = self._text = 0
        self._location = ""
        self._fault: WireFault | None = None

    @property
    def done(self) -> bool:
        """The wire's own end was seen: nothing that follows matters."""
        return self._parts.done

    @property
    def done_at(self) -> int | None:
        """When that came."""
        return self._assembler.done_at

    @property
    def progress(self) -> int | None:
        """When the last text or call came; None before any. A body that is not streamed comes at once: its headers count."""
        if not (self.asked_stream if self._streamed is None else self._streamed):
            return self._headers_at
        arrivals = self._parts.arrivals
        return arrivals[-1] if arrivals else None

    def sent(self, at: int) -> None:
        self._sent = at

    def headers(self, status: int, headers: Headers, at: int) -> None:
        self.status, self._headers_at = status, at
        for name, value in headers:
            if name == b"content-encoding":
                self._set_decoder(value.decode("latin-1"))
            elif name == b"location":
                self._location = value.decode("latin-1")
            elif name == b"retry-after" and value.isdigit():
                self.retry_after = float(value)
        if status >= 300:
            self._streamed = False

    def body(self, data: bytes, at: int) -> bool:
        """Bytes of the body that arrived at `at`; returns True where no more are wanted."""
        return self.packets([data], [at])

    def packets(self, packets: list[bytes], stamps: list[int], by_kernel: int = 0) -> bool:
        """The same of what came one after another; `by_kernel` counts those that the kernel stamped."""
        self._packets += len(packets)
        self._kernel_packets += by_kernel
        if self._joins or len(packets) == 1:
            return self._take(packets, stamps)
        return any(self._take([data], [at]) for data, at in zip(packets, stamps, strict=True))

    def _take(self, packets: list[bytes], stamps: list[int]) -> bool:
        if self._fault is not None:
            return True
        try:
            deltas = (
                self._read(packets, stamps)
                if self._decode is None
                else self._unpack(self._decode, packets, stamps)
            )
        except ValueError as error:
            self._fault = self._unreadable(error)
            return True
        if deltas and self._on_deltas is not None:
            self.stopped = self._on_deltas(deltas)
        return self.stopped

    def _unpack(self, decode: Decode, packets: list[bytes], stamps: list[int]) -> list[Delta]:
        """As far as the wire's own end: what is packed behind it may be damaged or a bomb."""
        deltas: list[Delta] = []
        for data, at in zip(packets, stamps, strict=True):
            for piece in () if self.done else decode(data):
                deltas += self._read([piece], [at])
                if self.done:
                    break
        return deltas

    def _unreadable(self, error: ValueError) -> WireFault:
        if isinstance(error, TooLarge):
            return WireFault("too_large", str(error), self.status)
        return WireFault("stream_broken", f"the body cannot be read: {error}", self.status)

    def _read(self, packets: list[bytes], stamps: list[int]) -> list[Delta]:
        """Raises ValueError where the body is damaged or goes on without end."""
        while self._streamed is None and packets:
            packets[0] = bytes(self._held) + packets[0]  # white space that came alone
            self._held.clear()
            self._streamed = _looks_streamed(packets[0])
            if self._streamed is None:
                self._held += packets[0]
                packets, stamps = packets[1:], stamps[1:]
        self._size += sum(map(len, packets))
        most = LIMITS.body if self._streamed else LIMITS.whole
        if self._size > most or len(self._held) > most:
            raise TooLarge(f"the answer is longer than {mib(most)}")
        if not self._streamed:
            self._held += b"".join(packets)
            return []
        deltas = self._assembler.feed_all(packets, stamps)
        for delta in deltas:
            self._text += len(delta.text)
        if self._text > LIMITS.text:
            raise TooLarge(f"the reply's text is longer than {mib(LIMITS.text)}")
        return deltas

    def reply(self, *, ended: int, retries: int = 0, broken: WireFault | None = None) -> Reply:
        """What came of it. `broken` says why the response did not end properly."""
        sent = ended if self._sent is None else self._sent
        if not self.stopped and self._fault is None:
            try:
                self._finish(ended, whole=broken is None)
            except ValueError as error:
                self._fault = self._unreadable(error)
        fault = None if self.stopped else self._judge(broken)
        calls = self._assembler.tool_calls()
        parts = self._parts
        arrivals = parts.arrivals
        return Reply(
            timing=Timing(
                sent=sent,
                headers=self._headers_at,
                first_token=arrivals[0] if arrivals else None,
                began=parts.began if arrivals and parts.began else None,
                ended=ended,
                arrivals=tuple([at - sent for at in arrivals]),
                retries=retries,
                stamped_by=self._stamped_by(),
            ),
            content="".join(parts.content),
            reasoning="".join(parts.reasoning),
            tool_calls=calls,
            finish_reason=parts.finish_reason,
            usage=parts.usage,
            done=parts.done,
            fault=fault,
            stopped_by_us=self.stopped,
            streamed=bool(self.asked_stream if self._streamed is None else self._streamed),
            notes=parts.notes.all(),
            extra=parts.extra,
            reasoning_field=parts.reasoning_field,
            wire=self._assembler.wire,
            output=parts.output,
        )

    def _stamped_by(self) -> StampClock:
        if not self._kernel_packets:
            return "client"
        return "kernel" if self._kernel_packets == self._packets else "mixed"

    def _set_decoder(self, encoding: str) -> None:
        try:
            self._decode = decoder(encoding)
        except TooLarge as error:
            self._fault = self._unreadable(error)
        except ValueError as error:
            self._fault = WireFault("stream_broken", str(error), self.status)

    def _finish(self, at: int, *, whole: bool) -> None:
        """The body is over: read what was held back."""
        asked = self.asked_stream
        deltas: list[Delta] = []
        if self._streamed:
            if whole:
                deltas = self._assembler.flush(at)
        elif self.status < 300 and self._held:
            deltas = self._assembler.whole(bytes(self._held), at)
        if deltas and self._on_deltas is not None:
            self._on_deltas(deltas)
        if self.status < 300 and None not in (self._streamed, asked) and self._streamed != asked:
            words = "a stream came though none was asked for" if self._streamed else "no stream came"
            self._parts.notes.add("other_mode", words)

    def _judge(self, broken: WireFault | None) -> WireFault | None:
        if self._fault is not None:
            return self._fault
        if self.status >= 400:
            return self._classify(self.status, self._held[:MIB].decode("utf-8", "replace"))
        if self.status >= 300:
            return WireFault("unreachable", redirected(self.status, self._location), self.status)
        parts = self._parts
        if error := parts.error:
            fault = self._classify(error.meant, error.body)
            return replace(fault, message=error.message, status=error.status or self.status, body=error.body)
        if parts.done:
            if parts.finish_reason is None:
                parts.notes.add("no_finish_reason", "the reply ended without a finish reason")
            return None
        return broken or self._incomplete()

    def _incomplete(self) -> WireFault | None:
        """The response ended properly, but the wire's own end (`[DONE]`, say) did not come."""
        wire = self._assembler.wire
        if self._streamed:
            if self._parts.finish_reason is not None:
                return None
            words = f"the stream ended without a finish reason and without {END_OF[wire]}"
            return WireFault("stream_broken", words, self.status)
        if self._parts.finish_reason in ("queued", "in_progress"):
            words = "the response runs in the background: it would have to be fetched later"
            return WireFault("server_error", words, self.status)
        excerpt = self._held[:500].decode("utf-8", "replace")
        words = f"the answer is not a {BODY_OF[wire]}: {excerpt}" if excerpt else "the answer is empty"
        return WireFault("server_error", words, self.status, excerpt or None)


BODY_OF: dict[Wire, str] = {"chat": "chat completion", "messages": "message", "responses": "response"}


def assemble(
    body: bytes | Iterable[bytes],
    *,
    stream: bool | None = None,
    at: Iterable[int] | None = None,
    classify: Classify = default_fault,
    on_delta: OnDelta | None = None,
    wire: Wire | None = None,
    status: int = 200,
) -> Reply:
    """The reply that a captured body supports, SSE or JSON; `stream` says what had been asked for.

    `wire` names the API that it came over; without it, the body itself shows that.

    `at` gives each piece of an iterable body its stamp in nanoseconds; without it, times mean nothing.
    """
    pieces = [body] if isinstance(body, bytes) else body
    stamps = iter(at) if at is not None else None
    reader = ReplyReader(
        stream=stream,
        classify=classify,
        on_deltas=each(on_delta) if on_delta else None,
        wire=wire,
        joins=on_delta is None,
    )
    stamp = 0
    reader.sent(0)
    reader.headers(status, (), stamp)
    for piece in pieces:
        stamp = next(stamps, stamp) if stamps is not None else stamp
        if reader.body(piece, stamp):
            break
    return reader.reply(ended=stamp)


def _looks_streamed(start: bytes) -> bool | None:
    """By the first byte, which tells more than the content types that gateways make up; None before there is one."""
    if BOM_UTF8.startswith(start):
        return None
    start = start.removeprefix(BOM_UTF8).lstrip()
    return start[:1] not in (b"{", b"[", b"<") if start else None


def redirected(status: int, location: str) -> str:
    """Nothing follows redirects: they would take keys and prompts to another server."""
    where = f" to {safe(location[:200])}" if location else ""
    return (
        f"the server redirects (status {status}){where}; "
        "redirects are not followed, give the final address as URL"
    )
