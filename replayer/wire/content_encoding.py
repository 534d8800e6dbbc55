"""Compressed bodies, which gateways send even to clients that ask for none."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import zstandard

Decode = Callable[[bytes], bytes]
"""Bytes in, bytes out as far as they go; raises ValueError where they are damaged."""


def decoder(encoding: str) -> Decode | None:
    """The decoder of a Content-Encoding header, None for plain bytes. Raises ValueError for an unknown one."""
    names = [name.strip() for name in encoding.lower().split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return None
    if len(names) > 1 or names[0] not in _DECODERS:
        known = ", ".join(sorted(_DECODERS))
        raise ValueError(f"the answer has the content encoding {encoding!r}, which is not one of {known}")
    return _DECODERS[names[0]]()


class _Zlib:
    """gzip and deflate; deflate comes with a zlib header or, from some servers, without one."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        self._first = True

    def __call__(self, data: bytes) -> bytes:
        first, self._first = self._first, False
        try:
            return self._decompress(data)
        except zlib.error as error:
            if not first:
                raise ValueError(error) from error
        self._stream = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
        try:
            return self._decompress(data)
        except zlib.error as error:
            raise ValueError(error) from error

    def _decompress(self, data: bytes) -> bytes:
        pieces = [self._stream.decompress(data)]
        while self._stream.eof and (rest := self._stream.unused_data):  # a gzip body of several members
            self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            pieces.append(self._stream.decompress(rest))
        return b"".join(pieces)


class _Zstd:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor().decompressobj()

    def __call__(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data)
        except zstandard.ZstdError as error:
            raise ValueError(error) from error


_DECODERS: dict[str, Callable[[], Decode]] = {"gzip": _Zlib, "x-gzip": _Zlib, "deflate": _Zlib, "zstd": _Zstd}
