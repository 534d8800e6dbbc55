"""The fast path: chunks that equal an earlier one in every byte but the text.

Nearly all chunks of a stream are such. Where a chunk starts and ends like one that was read in full, decoding the
JSON string between is the whole of the work, at about a fifth of the cost. `learn` proves that this is the same as
reading it in full: the bytes with another string in that place parse to the same object with that string in place
of the text, so they do with any string.
"""

from __future__ import annotations

import re

import orjson

from replayer.lazy import dataclass
from replayer.wire.parts import WireReader
from replayer.wire.types import Channel, Delta, JsonObject

_SHORT, _SHORT_FOR_LONG, _LONG = 2_500, 30_000, 100
"""Bytes up to which CPython looks for a string without preparing anything; the second for one of `_LONG` bytes."""
_PROBE = "\x01 another text \x02"
_STRING = re.compile(rb':\s*("(?:[^"\\]|\\.)*")', re.DOTALL)


_NUMBER = re.compile(rb'"sequence_number"\s*:\s*(\d+)')


@dataclass(slots=True)
class Counted:
    """The place of the sequence number, which is one higher in every event: `before` and `after` it."""

    before: bytes
    after: bytes
    number: int
    in_suffix: bool

    @property
    def following(self) -> bytes:
        return b"%b%d%b" % (self.before, self.number + 1, self.after)


@dataclass(slots=True)
class Template:
    """Bytes before and after the JSON string of the text, which goes to `pieces`."""

    prefix: bytes
    suffix: bytes
    channel: Channel
    call_index: int
    pieces: list[str]
    start: int
    stop: int
    counted: Counted | None = None
    opening: bytes = b""
    """All up to the string's first character; `closing`: all behind its last; `seam`: between the strings of two events."""
    closing: bytes = b""
    seam: bytes = b""

    def __post_init__(self) -> None:
        self.opening, self.closing = self.prefix + b'"', b'"' + self.suffix + b"\n\n"
        self.seam = self.closing + self.opening

    def strings(self, joined: bytes) -> list[bytes]:
        """What stands between the seams; nothing where a line break stands anywhere else.

        In long data `bytes.split` at a seam prepares its search again at each: up to 2.6 us an event, where lines take 0.2."""
        if len(joined) < (_SHORT if len(self.seam) < _LONG else _SHORT_FOR_LONG):
            return joined.split(self.seam)
        lines = joined.split(b"\n")[:: self.seam.count(b"\n")]
        start, stop = len(self.opening) - self.opening.rfind(b"\n") - 1, -self.closing.index(b"\n")
        found = [line[start:stop] for line in lines]
        found[0], found[-1] = lines[0][:stop], lines[-1][start:]
        return found if self.seam.join(found) == joined else []

    def count(self) -> None:
        """An event was read: the next one has the next number."""
        counted = self.counted
        assert counted is not None
        counted.number = number = counted.number + 1
        following = b"%b%d%b" % (counted.before, number + 1, counted.after)
        if counted.in_suffix:
            self.suffix, self.stop = following, -len(following)
        else:
            self.prefix, self.start = following, len(following)


def learn(block: bytes, payload: int, chunk: JsonObject, delta: Delta, reader: WireReader) -> Template | None:
    """The template of a block whose `chunk`, which starts at `payload`, gave one `delta`; None where there is no
    safe one."""
    holder, field = reader.holder(chunk, delta.channel)
    if field is None or holder.get(field) != delta.text:
        return None
    for key in re.finditer(b'"%s"\\s*' % field.encode(), block):
        match = _STRING.match(block, key.end())
        if match is None:
            continue
        prefix, suffix = block[: match.start(1)], block[match.end(1) :]
        if _is_proven(prefix[payload:], suffix, chunk, delta, reader):
            return _template(prefix, suffix, payload, chunk, delta, reader)
    return None


def _template(
    prefix: bytes, suffix: bytes, payload: int, chunk: JsonObject, delta: Delta, reader: WireReader
) -> Template | None:
    pieces = reader.pieces(delta)
    number = chunk.get("sequence_number")
    if type(number) is not int or number < 0:
        return Template(prefix, suffix, delta.channel, delta.call_index, pieces, len(prefix), -len(suffix))
    counted = _counted(suffix, number, in_suffix=True) or _counted(prefix, number, in_suffix=False)
    if counted is None:
        return None
    if counted.in_suffix:
        suffix = counted.following
    else:
        prefix = counted.following
    if not _is_proven(prefix[payload:], suffix, {**chunk, "sequence_number": number + 1}, delta, reader):
        return None
    return Template(
        prefix, suffix, delta.channel, delta.call_index, pieces, len(prefix), -len(suffix), counted
    )


def _counted(text: bytes, number: int, *, in_suffix: bool) -> Counted | None:
    match = _NUMBER.search(text)
    if match is None or int(match[1]) != number:
        return None
    return Counted(text[: match.start(1)], text[match.end(1) :], number, in_suffix)


def _is_proven(prefix: bytes, suffix: bytes, chunk: JsonObject, delta: Delta, reader: WireReader) -> bool:
    try:
        other = orjson.loads(prefix + orjson.dumps(_PROBE) + suffix)
    except orjson.JSONDecodeError:
        return False
    holder, field = reader.holder(other, delta.channel)
    if field is None or holder.get(field) != _PROBE:
        return False
    holder[field] = delta.text
    return bool(other == chunk)
