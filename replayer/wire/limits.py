"""What one exchange may take: how long each part of a reply may last, and how large each may grow.

Streams, detection, metrics and the recorder hold to the same numbers, so that no server makes an exchange endless or
fills the memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MIB = 1 << 20


class TooLarge(ValueError):
    """A server sent more than a limit; the message names the limit."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None waits for ever. Each counts what the user waits for: comments, interim responses, trailers, chunk
    extensions and empty deltas end none of them."""

    connect: float | None = 10.0
    """Until connected, TLS and proxy included, over all attempts."""
    first_byte: float | None = 600.0
    """From sending to the end of the response's headers."""
    first_token: float | None = 600.0
    """From sending to the first text or call. A reply that was asked for whole has no tokens."""
    idle: float | None = 300.0
    """From one text or call to the next, and from the last one to the end."""
    total: float | None = 3600.0
    """The whole exchange, attempts and their pauses included."""

    @property
    def shortest(self) -> float:
        """Of those that hold once connected; infinite where none does."""
        limits = (self.first_byte, self.first_token, self.idle, self.total)
        return min((limit for limit in limits if limit is not None), default=float("inf"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes unless said otherwise."""

    headers: int = 256
    """Header fields of a response, trailers included."""
    framing: int = MIB // 4
    """Bytes without a byte of the body: headers, interim responses, chunk extensions, trailers."""
    event: int = 8 * MIB
    """One event of a stream."""
    body: int = 32 * MIB
    """A stream in all, unpacked."""
    whole: int = 8 * MIB
    """A body that was not streamed, unpacked."""
    text: int = 2 * MIB
    """Characters of content, reasoning and arguments: four times what 128,000 tokens take."""
    events: int = 1 << 18
    """Events of a stream, comments included: twice those of 128,000 tokens."""
    empty: int = 1 << 14
    """Events without text or a call: comments, pings, empty deltas."""
    parts: int = 1 << 10
    """Calls, content blocks and output items of a reply."""
    ids: int = MIB
    """Characters of the ids of all calls; some servers put a signature into each. Of a refusal or a signature, too: they grow by
    the piece, and each piece copies what was there."""
    name: int = MIB // 16
    """Characters of the name of a call, or of a finish reason."""
    parsed: int = 14 * MIB
    """Estimated memory of one event or body as JSON objects; two of them are held at a time."""
    kept: int = 40 * MIB
    """Of all that adds up over a reply beside its text."""
    after_done: int = MIB // 16
    """What may follow the wire's own end."""
    ratio: int = 200
    """Unpacked over packed bytes, beyond the first MiB."""
    members: int = 1000
    """Members of one gzip body: empty ones give nothing that could be counted."""
    encodings: int = 2
    """Content codings, one within the other."""


LIMITS = Limits()
_SMALL = MIB // 4
_WIDE, _ESCAPED = re.compile(rb"[\xf0-\xf7]"), re.compile(rb"\\u[dD][89abAB]")
"""Apart: as one pattern they take 30 times as long over a megabyte of backslashes."""


def parsed_size(data: bytes | memoryview | bytearray) -> int:
    """Upper estimate of the memory that JSON takes once it is parsed, from counting its brackets, colons and commas."""
    found = bytes(data) if isinstance(data, memoryview) else data
    # One such character widens all of its string, and one more copy is held while it is read.
    wide = 8 if len(found) > _SMALL and _is_wide(found) else 1
    objects = 200 * found.count(b"{") + 70 * found.count(b":") + 64 * found.count(b"[")
    return objects + 40 * found.count(b",") + wide * len(found)


def _is_wide(data: bytes | bytearray) -> bool:
    return bool(_ESCAPED.search(data)) or not (data.isascii() or _WIDE.search(data) is None)


def check_parsed(data: bytes | bytearray, what: str = "an event") -> None:
    """Raises TooLarge where parsing would fill the memory."""
    if len(data) > _SMALL and parsed_size(data) > LIMITS.parsed + len(data):
        raise TooLarge(f"{what} would take more than {LIMITS.parsed // MIB} MiB as JSON objects")


def check_parts(number: int) -> None:
    """Raises TooLarge where a reply that has `number` calls, or blocks, begins another one."""
    if number >= LIMITS.parts:
        raise TooLarge(f"the reply has more than {LIMITS.parts:,} calls or content blocks")


def check_aside(text: str, what: str) -> str:
    """`text`, which grew by a piece. Raises TooLarge."""
    if len(text) > LIMITS.ids:
        raise TooLarge(f"{what} is longer than {mib(LIMITS.ids)}")
    return text


def quoted(value: object) -> str:
    """A value as a note quotes it: what is noted at every delta must not cost what was sent once."""
    return repr(value[:500] if isinstance(value, str) else value)


def mib(size: int) -> str:
    return f"{size / MIB:g} MiB" if size >= MIB else f"{size // 1024} KiB"
