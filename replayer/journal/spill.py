"""Packed bytes of a long run in a nameless file: read again at once, and no part of the process's memory."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from typing import IO
from zlib import compress, decompress


class Spill:
    """Where no disk takes the bytes, they are held."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0

    def put(self, data: bytes) -> Box:
        """`data`, packed."""
        packed = compress(data)
        with suppress(OSError):
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as this is there
                weakref.finalize(self, self._file.close)
            if os.pwrite(self._file.fileno(), packed, self._size) == len(packed):
                self._size += len(packed)
                return Box(self, self._size - len(packed), len(packed))
        return Box(packed)

    def read(self, start: int, size: int) -> bytes:
        assert self._file is not None
        return os.pread(self._file.fileno(), size, start)


class Box:
    """Packed bytes, held or at a place of a spill."""

    __slots__ = ("_held", "_size", "_start")

    def __init__(self, held: Spill | bytes, start: int = 0, size: int = 0) -> None:
        self._held, self._start, self._size = held, start, size

    def open(self) -> bytes:
        held = self._held
        return decompress(held if isinstance(held, bytes) else held.read(self._start, self._size))
