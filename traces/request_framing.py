"""Where an HTTP/1.1 request ends within the bytes of a connection, and what its body carries."""

from __future__ import annotations

from typing import NamedTuple

_LINE_LIMIT = 1 << 14
_VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")


class Head(NamedTuple):
    """A request's first lines. `lines` are the header lines with the blank one behind them, as they came."""

    method: str
    target: str
    version: bytes
    lines: bytes
    fields: dict[bytes, bytes]
    """Names in lower case; of a repeated one the last."""


_ONCE = {b"host", b"origin", b"content-length", b"transfer-encoding"}
"""Two of them could be read one way here and another way behind."""


def read_head(block: bytes) -> Head:
    """Raises ValueError, with words for whoever sent it, for what is no HTTP/1 request."""
    line, _, lines = block.partition(b"\r\n")
    parts = line.split(b" ")
    if len(parts) != 3 or not parts[0].isalpha():
        raise ValueError("this is no HTTP request")
    if parts[2] not in _VERSIONS:
        raise ValueError(f"{parts[2].decode('latin-1')[:20]} is not spoken here, only HTTP/1.1")
    fields: dict[bytes, bytes] = {}
    for row in lines.split(b"\r\n"):
        name, colon, value = row.partition(b":")
        if colon and name.strip().lower() in _ONCE & fields.keys():
            raise ValueError(f"the request has two {name.strip().decode('latin-1')} lines")
        if colon:
            fields[name.strip().lower()] = value.strip()
    return Head(parts[0].decode("latin-1"), parts[1].decode("latin-1"), parts[2], lines, fields)


class RequestBody:
    """Follows one body, of stated length or in chunks. `content` is what it carries, where that is to be kept."""

    def __init__(self, head: Head, keep: bool) -> None:
        self.content = bytearray()
        self._keep = keep
        self._chunked = b"chunked" in head.fields.get(b"transfer-encoding", b"").lower()
        length = head.fields.get(b"content-length", b"0")
        if not length.isdigit():
            raise ValueError("the request's Content-Length is not a number")
        self._left = 0 if self._chunked else int(length)
        self._line = bytearray()
        self._last_chunk = False
        self.done = not self._chunked and not self._left

    def take(self, data: bytes) -> int:
        """How many of these bytes belong to the body. Raises ValueError where chunks are damaged."""
        if not self._chunked:
            return self._carry(data, 0)
        at = 0
        while at < len(data) and not self.done:
            at = self._carry(data, at) if self._left else self._chunk_line(data, at)
        return at

    def _carry(self, data: bytes, at: int) -> int:
        end = min(at + self._left, len(data))
        if self._keep:
            self.content += data if end - at == len(data) else data[at:end]
        self._left -= end - at
        self.done = not self._chunked and not self._left
        return end

    def _chunk_line(self, data: bytes, at: int) -> int:
        """A line between the chunks' data: a size, the line end behind a chunk, or a trailer."""
        end = data.find(b"\n", at)
        self._line += data[at:] if end < 0 else data[at:end]
        if len(self._line) > _LINE_LIMIT:
            raise ValueError("a chunk of the request has no size")
        if end < 0:
            return len(data)
        line = bytes(self._line.strip())
        self._line.clear()
        if self._last_chunk:
            self.done = not line
        elif line:
            self._left = _size(line)
            self._last_chunk = not self._left
        return end + 1


def _size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        raise ValueError("a chunk of the request has no size") from None
