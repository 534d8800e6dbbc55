"""Compressed bodies, which gateways send even to clients that ask for none."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import brotli
import pyzstd

from replayer.wire.limits import LIMITS, MIB, TooLarge, mib

Decode = Callable[[bytes], Iterable[bytes]]
"""Bytes in, pieces out as far as they go: a few bytes can hold gigabytes, so they are never unpacked at once. Raises
ValueError where they are damaged, TooLarge where they hold more than they may."""

_PIECE = 64 << 10
_ZSTD_WINDOW = 23
"""Logarithm of the longest window, which is memory: what RFC 9659 allows a server."""


def decoder(encoding: str) -> Decode | None:
    """The decoder of a Content-Encoding header, None for plain bytes. Raises ValueError for an unknown one."""
    names = [name.strip() for name in encoding.lower().split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return None
    if unknown := [name for name in names if name not in _DECODERS]:
        known = ", ".join(sorted(_DECODERS))
        raise ValueError(f"the answer has the content encoding {unknown[0]!r}, which is not one of {known}")
    if len(names) > LIMITS.encodings:
        raise TooLarge(f"the answer is packed {len(names)} times (limit {LIMITS.encodings})")
    decode: Decode = lambda data: (data,)  # noqa: E731 - the innermost stage
    for name in reversed(names):
        decode = partial(_chain, decode, _Bounded(_DECODERS[name](), LIMITS.body))
    return decode


def unpacked(decode: Decode, data: bytes) -> bytes:
    """All at once."""
    return b"".join(decode(data))


def _chain(first: Decode, then: Decode, data: bytes) -> Iterator[bytes]:
    for piece in first(data):
        yield from then(piece)


class _Bounded:
    """One stage, held to a size and a ratio."""

    def __init__(self, unpack: Decode, most: int) -> None:
        self._unpack, self._most = unpack, most
        self._taken = self._given = 0

    def __call__(self, data: bytes) -> Iterator[bytes]:
        self._taken += len(data)
        for piece in self._unpack(data):
            self._given += len(piece)
            if self._given > self._most:
                raise TooLarge(f"the answer is longer than {mib(self._most)} once unpacked")
            if self._given > MIB and self._given > LIMITS.ratio * self._taken:
                raise TooLarge(f"the answer unpacks to more than {LIMITS.ratio} times its size")
            yield piece


class _Zlib:
    """gzip and deflate; deflate comes with a zlib header or, from some servers, without one."""

    def __init__(self) -> None:
        self._wbits = self._members = 0
        self._start = b""

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if not self._wbits:  # as many bytes as the header has by which it is known
            self._start += data
            if len(self._start) < 2:
                return
            data, self._start = self._start, b""
            self._wbits = _wbits(data[:2])
            self._stream = zlib.decompressobj(self._wbits)
        try:
            yield from self._pieces(data)
        except zlib.error as error:
            raise ValueError(error) from error

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        full = False
        while data or full:
            if self._stream.eof:  # a gzip body of several members
                self._stream = zlib.decompressobj(self._wbits)
                self._members += 1
                if self._members > LIMITS.members:
                    raise TooLarge(f"the answer has more than {LIMITS.members:,} gzip members")
            piece = self._stream.decompress(data, _PIECE)
            full = len(piece) == _PIECE and not self._stream.eof
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece


def _wbits(start: bytes) -> int:
    try:
        zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(start)
    except zlib.error:
        return -zlib.MAX_WBITS
    return zlib.MAX_WBITS | 32


class _Zstd:
    def __init__(self) -> None:
        self._stream = pyzstd.EndlessZstdDecompressor(option={pyzstd.DParameter.windowLogMax: _ZSTD_WINDOW})

    def __call__(self, data: bytes) -> Iterator[bytes]:
        try:
            yield self._stream.decompress(data, _PIECE)
            while not self._stream.needs_input:
                yield self._stream.decompress(b"", _PIECE)
        except pyzstd.ZstdError as error:
            raise ValueError(error) from error


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def __call__(self, data: bytes) -> Iterator[bytes]:
        try:
            piece = bytes(self._stream.process(data, output_buffer_limit=_PIECE))
            yield piece
            while len(piece) >= _PIECE or not self._stream.can_accept_more_data():
                piece = bytes(self._stream.process(b"", output_buffer_limit=_PIECE))
                yield piece
        except brotli.error as error:
            raise ValueError(error) from error


_DECODERS: dict[str, Callable[[], Decode]] = {
    "br": _Brotli,
    "gzip": _Zlib,
    "x-gzip": _Zlib,
    "deflate": _Zlib,
    "zstd": _Zstd,
}
