"""Delta times packed for the journal, 200 deltas in some 300 characters; and times between deltas counted in bins 1 % wide, so that
their quantiles are right to half a percent."""

from __future__ import annotations

import base64
import math
import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from operator import sub


def pack(offsets_ns: Sequence[int]) -> str:
    """Offsets from sending, nanoseconds, ascending -> base64 of zlib of little-endian uint32 microsecond gaps."""
    microseconds = [offset // 1000 for offset in offsets_ns]
    try:
        gaps = array("I", map(sub, microseconds, [0, *microseconds]))
    except OverflowError:  # a clock that went back, or more than an hour of silence
        between = map(sub, microseconds, [0, *microseconds])
        gaps = array("I", [min(max(gap, 0), 0xFFFF_FFFF) for gap in between])
    if sys.byteorder == "big":
        gaps.byteswap()
    return base64.b64encode(_compressed(gaps.tobytes())).decode() if gaps else ""


_MOST_BYTES = 1 << 26
"""16 million gaps: a damaged or forged journal asks for no more memory than this."""


def _compressed(data: bytes) -> bytes:
    """With a small window and little memory, which setting up would else take longer than the work."""
    compress = zlib.compressobj(1, zlib.DEFLATED, 12, 5)
    return compress.compress(data) + compress.flush()


def gaps_us(packed: str) -> array[int]:
    """The gaps between arrivals in microseconds; the first is the time to the first delta.

    Raises ValueError for what `pack` did not make.
    """
    gaps = array("I")
    if packed:
        unpacker = zlib.decompressobj()
        try:
            gaps.frombytes(unpacker.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES))
        except zlib.error as error:
            raise ValueError(f"packed times cannot be unpacked: {error}") from None
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("packed times are cut, or are more than they may be")
        if sys.byteorder == "big":
            gaps.byteswap()
    return gaps


_BIN = math.log(1.01)
_SHORT = 1 << 16


def bins(gaps: Iterable[int]) -> list[int]:
    """Those of gaps in microseconds."""
    known = _of_short()
    return [known[gap] if gap < _SHORT else _of(gap) for gap in gaps]


def bin_ms(index: int) -> float:
    """The middle of a bin in milliseconds."""
    return math.exp(index * _BIN) / 1000


@cache
def _of_short() -> array[int]:
    """Worked out once, by where the next bin begins: there is one gap per token of a run."""
    found = array("H")
    while len(found) < _SHORT:
        index = _of(len(found))
        following = math.ceil(math.exp((index + 0.5) * _BIN))
        found.extend([index] * (following - len(found)))
    return found


def _of(gap: int) -> int:
    return round(math.log(max(gap, 1)) / _BIN)
