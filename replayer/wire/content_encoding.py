"""Compressed bodies, which gateways send even to clients that ask for none."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import brotli
import pyzstd

Decode = Callable[[bytes], bytes]
"""Bytes in, bytes out as far as they go; raises ValueError where they are damaged."""


def decoder(encoding: str) -> Decode | None:
    """The decoder of a Content-Encoding header, None for plain bytes. Raises ValueError for an unknown one."""
    names = [name.strip() for name in encoding.lower().split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return None
    if unknown := [name for name in names if name not in _DECODERS]:
        known = ", ".join(sorted(_DECODERS))
        raise ValueError(f"the answer has the content encoding {unknown[0]!r}, which is not one of {known}")
    stages = [_DECODERS[name]() for name in reversed(names)]
    return stages[0] if len(stages) == 1 else _chain(stages)


def _chain(stages: list[Decode]) -> Decode:
    def decode(data: bytes) -> bytes:
        for stage in stages:
            data = stage(data)
        return data

    return decode


class _Zlib:
    """gzip and deflate; deflate comes with a zlib header or, from some servers, without one."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        self._start = b""

    def __call__(self, data: bytes) -> bytes:
        try:
            if len(self._start) < 2:  # as many bytes as the header has by which it is known
                data = self._start + data
                self._start = data[:2]
                return self._first(data) if len(data) > 1 else b""
            return self._decompress(data)
        except zlib.error as error:
            raise ValueError(error) from error

    def _first(self, data: bytes) -> bytes:
        try:
            return self._decompress(data)
        except zlib.error:
            self._stream = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            return self._decompress(data)

    def _decompress(self, data: bytes) -> bytes:
        pieces = [self._stream.decompress(data)]
        while self._stream.eof and (rest := self._stream.unused_data):  # a gzip body of several members
            self._stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            pieces.append(self._stream.decompress(rest))
        return b"".join(pieces)


class _Zstd:
    def __init__(self) -> None:
        self._stream = pyzstd.EndlessZstdDecompressor()

    def __call__(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data)
        except pyzstd.ZstdError as error:
            raise ValueError(error) from error


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def __call__(self, data: bytes) -> bytes:
        try:
            return bytes(self._stream.process(data))
        except brotli.error as error:
            raise ValueError(error) from error


_DECODERS: dict[str, Callable[[], Decode]] = {
    "br": _Brotli,
    "gzip": _Zlib,
    "x-gzip": _Zlib,
    "deflate": _Zlib,
    "zstd": _Zstd,
}
