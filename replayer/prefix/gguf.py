"""Reads the metadata of a GGUF file: enough to tokenize as the model does, without loading it.

Layout after https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from replayer.errors import ReplayerError
from replayer.wire.types import JsonObject

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_metadata(path: str | Path) -> JsonObject:
    """All key-value pairs. Raises ReplayerError when the file is missing or no GGUF file."""
    try:
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _Reader(data).metadata()
    except (OSError, ValueError, struct.error, KeyError, UnicodeDecodeError) as error:
        raise ReplayerError(f"{path}: not a readable GGUF file ({error})") from None


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def metadata(self) -> JsonObject:
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not start with GGUF")
        self._at = 4
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"version {version}, known are 2 and 3")
        self._number("Q")
        return {self._string(): self._value(self._number("I")) for _ in range(self._number("Q"))}

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._number(_NUMBERS[kind])

    def _array(self) -> list[Any]:
        kind, length = self._number("I"), self._number("Q")
        if kind in _NUMBERS:
            form = struct.Struct(f"<{length}{_NUMBERS[kind]}")
            values = form.unpack_from(self._data, self._at)
            self._at += form.size
            return list(values)
        return [self._value(kind) for _ in range(length)]

    def _number(self, form: str) -> Any:
        layout = struct.Struct("<" + form)
        (value,) = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return value

    def _string(self) -> str:
        length = self._number("Q")
        if length > len(self._data) - self._at:
            raise ValueError("it is cut short")
        text = self._data[self._at : self._at + length]
        self._at += length
        return text.decode("utf-8", "surrogateescape")
