"""One HTTP response to one `Reply`: decides how the body is read, and what the end of it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from replayer.wire.assembly import Assembler
from replayer.wire.connection import Headers
from replayer.wire.content_encoding import Decode, decoder
from replayer.wire.faults import Classify, default_fault
from replayer.wire.sse import EVENT_LIMIT
from replayer.wire.types import Delta, OnDelta, Reply, StampClock, Timing, WireFault


class ReplyReader:
    """Sink of one response: `headers`, then `body` until it returns True or the response ends, then `reply`."""

    def __init__(
        self, *, stream: bool | None, on_delta: OnDelta | None = None, classify: Classify = default_fault
    ) -> None:
        self.status = 0
        self.retry_after: float | None = None
        self.stopped = False
        self._asked_stream = stream
        self._streamed: bool | None = None
        self._on_delta = on_delta
        self._classify = classify
        self._assembler = Assembler()
        self._decode: Decode | None = None
        self._held = bytearray()
        self._sent: int | None = None
        self._headers_at: int | None = None
        self._packets = self._kernel_packets = 0
        self._location = ""
        self._fault: WireFault | None = None

    @property
    def done(self) -> bool:
        """`[DONE]` was seen: nothing that follows matters."""
        return self._assembler.done

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

    def body(self, data: bytes, at: int, by_kernel: bool = False) -> bool:
        """Bytes of the body that arrived at `at`; returns True where no more are wanted."""
        if self._fault is not None:
            return True
        self._packets += 1
        self._kernel_packets += by_kernel
        try:
            deltas = self._read(data, at)
        except ValueError as error:
            self._fault = WireFault("stream_broken", f"the body cannot be read: {error}", self.status)
            return True
        self.stopped = self._show(deltas)
        return self.stopped

    def _read(self, data: bytes, at: int) -> list[Delta]:
        """Raises ValueError where the body is damaged or goes on without end."""
        if self._decode is not None:
            data = self._decode(data)
        if self._streamed is None:
            self._streamed = _looks_streamed(data)
        if self._streamed:
            return self._assembler.feed(data, at)
        self._held += data
        if len(self._held) > EVENT_LIMIT:
            raise ValueError(f"it is longer than {EVENT_LIMIT >> 20} MiB")
        return []

    def reply(self, *, ended: int, retries: int = 0, broken: WireFault | None = None) -> Reply:
        """What came of it. `broken` says why the response did not end properly."""
        sent = ended if self._sent is None else self._sent
        if not self.stopped:
            self._finish(ended, whole=broken is None)
        fault = None if self.stopped else self._judge(broken)
        assembler = self._assembler
        arrivals = assembler.arrivals
        calls = assembler.tool_calls()
        return Reply(
            timing=Timing(
                sent=sent,
                headers=self._headers_at,
                first_token=arrivals[0] if arrivals else None,
                ended=ended,
                arrivals=tuple([at - sent for at in arrivals]),
                retries=retries,
                stamped_by=self._stamped_by(),
            ),
            content="".join(assembler.content),
            reasoning="".join(assembler.reasoning),
            tool_calls=calls,
            finish_reason=assembler.finish_reason,
            usage=assembler.usage,
            done=assembler.done,
            fault=fault,
            stopped_by_us=self.stopped,
            streamed=bool(self._asked_stream if self._streamed is None else self._streamed),
            notes=assembler.notes.all(),
            extra=assembler.extra,
            reasoning_field=assembler.reasoning_field,
        )

    def _stamped_by(self) -> StampClock:
        if not self._kernel_packets:
            return "client"
        return "kernel" if self._kernel_packets == self._packets else "mixed"

    def _set_decoder(self, encoding: str) -> None:
        try:
            self._decode = decoder(encoding)
        except ValueError as error:
            self._fault = WireFault("stream_broken", str(error), self.status)

    def _show(self, deltas: list[Delta]) -> bool:
        on_delta = self._on_delta
        if on_delta is not None:
            for delta in deltas:
                if on_delta(delta):
                    return True
        return False

    def _finish(self, at: int, *, whole: bool) -> None:
        """The body is over: read what was held back."""
        asked = self._asked_stream
        if self._streamed:
            if whole:
                self._show(self._assembler.flush(at))
        elif self.status < 300 and self._held:
            self._show(self._assembler.whole(bytes(self._held), at))
        if self.status < 300 and None not in (self._streamed, asked) and self._streamed != asked:
            told = "a stream came though none was asked for" if self._streamed else "no stream came"
            self._assembler.notes.add("other_mode", told)

    def _judge(self, broken: WireFault | None) -> WireFault | None:
        assembler = self._assembler
        if self._fault is not None:
            return self._fault
        if self.status >= 400:
            return self._classify(self.status, self._held.decode("utf-8", "replace"))
        if self.status >= 300:
            return _redirect(self.status, self._location)
        if error := assembler.error:
            fault = self._classify(error.status or 500, error.body)
            return replace(fault, message=error.message, status=error.status or self.status, body=error.body)
        if assembler.done:
            if assembler.finish_reason is None:
                assembler.notes.add("no_finish_reason", "the reply ended without a finish reason")
            return None
        return broken or self._incomplete()

    def _incomplete(self) -> WireFault | None:
        """The response ended properly, but `[DONE]` did not come."""
        if self._streamed:
            if self._assembler.finish_reason is not None:
                return None
            return WireFault(
                "stream_broken", "the stream ended without a finish reason and without [DONE]", self.status
            )
        excerpt = self._held[:500].decode("utf-8", "replace")
        told = f"the answer is not a chat completion: {excerpt}" if excerpt else "the answer is empty"
        return WireFault("server_error", told, self.status, excerpt or None)


def assemble(
    body: bytes | Iterable[bytes],
    *,
    stream: bool | None = None,
    at: Iterable[int] | None = None,
    classify: Classify = default_fault,
    on_delta: OnDelta | None = None,
) -> Reply:
    """The reply that a captured body supports, SSE or JSON; `stream` says what had been asked for.

    `at` gives each piece of an iterable body its stamp in nanoseconds; without it, times mean nothing.
    """
    pieces = [body] if isinstance(body, bytes) else body
    stamps = iter(at) if at is not None else None
    reader = ReplyReader(stream=stream, classify=classify, on_delta=on_delta)
    stamp = 0
    reader.sent(0)
    reader.headers(200, (), stamp)
    for piece in pieces:
        stamp = next(stamps, stamp) if stamps is not None else stamp
        if reader.body(piece, stamp):
            break
    return reader.reply(ended=stamp)


def _looks_streamed(start: bytes) -> bool | None:
    """By the first byte, which tells more than the content types that gateways make up; None before there is one."""
    start = start.lstrip()
    return start[:1] not in (b"{", b"[", b"<") if start else None


def _redirect(status: int, location: str) -> WireFault:
    where = f" to {location}" if location else ""
    return WireFault(
        "unreachable",
        f"the server redirects (status {status}){where}; redirects are not followed, give the final address as URL",
        status,
    )
