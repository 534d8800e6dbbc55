"""Server-sent events, incrementally: bytes in any pieces, events out as soon as they are complete."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import NamedTuple

from replayer.wire.limits import LIMITS, TooLarge, mib

_LF, _CR = 10, 13
"""Looking for a number in bytes is twenty times as fast as looking for bytes of length one."""


class SseEvent(NamedTuple):
    """One event. `data` are its data lines joined by a newline, exact bytes."""

    data: bytes
    event: str | None = None
    id: str | None = None


class SseSplitter:
    """Cuts a byte stream into the blocks between blank lines, line ends normalised to a newline.

    Splitting is all that happens to every byte on the timed path; `read_block` makes an event of a block.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._pending = self.blocks = 0
        """`blocks`: how many there were."""
        self._after_cr = False
        self._first = True

    @property
    def between(self) -> bool:
        """What comes next begins an event."""
        return not (self._pieces or self._after_cr)

    def skip(self, blocks: int) -> None:
        """So many blocks were cut elsewhere. Raises TooLarge."""
        self.blocks += blocks
        if self.blocks > LIMITS.events:
            raise TooLarge(f"the stream has more than {LIMITS.events:,} events")

    def feed(self, data: bytes) -> list[bytes]:
        """The blocks that `data` completes. Raises TooLarge where one is too long, or there are too many."""
        if not data:
            return []
        if self._after_cr or _CR in data:
            data = self._newlines(data)
        pieces = self._pieces
        if _LF not in data:  # an event of megabytes in small packets must not cost a copy per packet
            pieces.append(data)
            self._count(self._pending + len(data))
            return []
        if pieces:
            pieces.append(data)
            data = b"".join(pieces)
        if data[-1] == _LF and data.find(_LF) == len(data) - 2:  # one event in one piece, as most arrive
            blocks = [data[:-2]]
            rest = b""
        else:
            blocks = data.split(b"\n\n")
            rest = blocks.pop()
        self._pieces = [rest] if rest else []
        if rest or self._pending:
            self._count(len(rest))
        self.skip(len(blocks))
        if self._first and blocks:
            self._first = False
            blocks[0] = blocks[0].removeprefix(BOM_UTF8)
        return blocks

    def _count(self, pending: int) -> None:
        self._pending = pending
        if pending > LIMITS.event:
            raise TooLarge(f"an event is longer than {mib(LIMITS.event)}")

    def flush(self) -> list[bytes]:
        """The end of the stream; an event without its blank line still counts."""
        rest = b"".join(self._pieces)
        self._pieces = []
        return [rest.removeprefix(BOM_UTF8) if self._first else rest] if rest else []

    def _newlines(self, data: bytes) -> bytes:
        if self._after_cr:
            data = data.removeprefix(b"\n")  # the other half of a CRLF that a packet cut in two
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def payload_start(block: bytes) -> int | None:
    """Where the data of a block begins that is one `data: ` line, after an `event: ` line or alone; None for others."""
    if block.startswith(b"data: "):
        return None if _LF in block else 6
    if block.startswith(b"event: "):
        line = block.find(_LF)
        if line > 0 and block.startswith(b"data: ", line + 1) and block.find(_LF, line + 1) < 0:
            return line + 7
    return None


def read_block(block: bytes) -> SseEvent | None:
    """The event of a block; None for comments and blocks without data."""
    if block.startswith(b"data: ") and _LF not in block:
        return SseEvent(block[6:])
    data: list[bytes] = []
    fields: dict[bytes, str] = {}
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name in (b"event", b"id"):
            fields[name] = value.decode("utf-8", "replace")
        elif name == b"error":  # older llama.cpp servers write `error: {...}`
            data.append(value)
            fields[b"event"] = "error"
    return SseEvent(b"\n".join(data), fields.get(b"event"), fields.get(b"id")) if data else None


def events(body: bytes) -> list[SseEvent]:
    """All events of a whole stream, opaque: for completions, responses and messages streams."""
    splitter = SseSplitter()
    blocks = splitter.feed(body) + splitter.flush()
    return [event for event in map(read_block, blocks) if event is not None]
