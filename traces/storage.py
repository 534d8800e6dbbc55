"""Bytes of a trace file: plain, or zstd in independent frames of about 1 MiB with a seek table.

The seek table is that of zstd's seekable format (contrib/seekable_format in facebook/zstd): a skippable frame with
one entry of compressed and decompressed size per frame, and a footer of 9 bytes. Any zstd tool reads such a file.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from replayer.errors import TraceError

FRAME_BYTES = 1 << 20
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A5E
_SEEKABLE = 0x8F92EAB1
_FRAMES_KEPT = 4
_MAX_FRAME = 1 << 28
"""A frame that claims more than this is damage, not data; it bounds the memory that a hostile file can take."""


class Source(Protocol):
    """Random access to the text of a trace."""

    size: int

    def read(self, offset: int, length: int) -> bytes: ...

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its offset, without its newline; the last may lack one (see `ends_in_newline`)."""

    def ends_in_newline(self) -> bool: ...

    def close(self) -> None: ...


def open_source(path: Path) -> Source:
    """Raises TraceError when the file is missing, unreadable or no zstd file although it begins like one."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    with file:
        if path.is_dir() or file.read(4) != _ZSTD_MAGIC:
            return PlainSource(file)
        return ZstdSource(path, file)


class PlainSource:
    """An uncompressed file, memory-mapped."""

    def __init__(self, file: BinaryIO) -> None:
        self.size = file.seek(0, 2)
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else None

    def read(self, offset: int, length: int) -> bytes:
        return self._map[offset : offset + length] if self._map else b""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        position, data = 0, self._map
        while data is not None and position < self.size:
            end = data.find(b"\n", position)
            end = self.size if end < 0 else end
            yield position, data[position:end]
            position = end + 1

    def ends_in_newline(self) -> bool:
        return self._map is not None and self._map[-1:] == b"\n"

    def close(self) -> None:
        if self._map is not None:
            self._map.close()


class ZstdSource:
    """A compressed file; a few decompressed frames are kept. Without a seek table, frames are found by reading."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        size = file.seek(0, 2)
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._frames = _seek_table(self._map, size) or _scan_frames(self._map, path)
        self._starts = [0]
        for _, _, length in self._frames:
            self._starts.append(self._starts[-1] + length)
        self.size = self._starts[-1]
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def read(self, offset: int, length: int) -> bytes:
        pieces = []
        while length > 0 and offset < self.size:
            index = bisect_right(self._starts, offset) - 1
            begin = offset - self._starts[index]
            piece = self._frame(index)[begin : begin + length]
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return b"".join(pieces)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        position, rest = 0, b""
        for index in range(len(self._frames)):
            data = rest + self._frame(index)
            begin = 0
            while (end := data.find(b"\n", begin)) >= 0:
                yield position, data[begin:end]
                position += end + 1 - begin
                begin = end + 1
            rest = data[begin:]
        if rest:
            yield position, rest

    def ends_in_newline(self) -> bool:
        return self.read(self.size - 1, 1) == b"\n"

    def close(self) -> None:
        self._map.close()

    def _frame(self, index: int) -> bytes:
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        offset, size, length = self._frames[index]
        try:
            data = zstandard.ZstdDecompressor().decompress(
                self._map[offset : offset + size], max_output_size=length
            )
        except zstandard.ZstdError as error:
            raise TraceError(
                f"{self._path}: frame {index + 1} at byte {offset} is damaged ({error})"
            ) from None
        if len(data) != length:
            raise TraceError(f"{self._path}: frame {index + 1} at byte {offset} is damaged (wrong length)")
        self._kept[index] = data
        if len(self._kept) > _FRAMES_KEPT:
            self._kept.popitem(last=False)
        return data


Frame = tuple[int, int, int]
"""Offset and size of a frame in the file, and its decompressed length."""


def _seek_table(data: mmap.mmap, size: int) -> list[Frame] | None:
    if size < 17:
        return None
    count, flags, magic = struct.unpack("<IBI", data[size - 9 : size])
    table = 8 + count * 8 + 9
    if magic != _SEEKABLE or flags & 0x80 or table > size:
        return None
    head, body = struct.unpack("<II", data[size - table : size - table + 8])
    if head != _SKIPPABLE or body != table - 8:
        return None
    frames, offset = [], 0
    for packed, length in struct.iter_unpack("<II", data[size - table + 8 : size - 9]):
        frames.append((offset, packed, length))
        offset += packed
    return frames if offset == size - table and all(f[2] <= _MAX_FRAME for f in frames) else None


def _scan_frames(data: mmap.mmap, path: Path) -> list[Frame]:
    """Frames up to the first that is not whole. Raises TraceError when not even the first is."""
    frames: list[Frame] = []
    offset = 0
    while data[offset : offset + 4] == _ZSTD_MAGIC:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        try:
            length, used, position = 0, 0, offset
            while not decoder.eof and position < len(data):
                piece = data[position : position + FRAME_BYTES]
                length += len(decoder.decompress(piece))
                position += len(piece)
                used = position - offset - len(decoder.unused_data)
        except zstandard.ZstdError:
            break
        if not decoder.eof:
            break
        frames.append((offset, used, length))
        offset += used
    if not frames:
        raise TraceError(f"{path}: the first zstd frame is damaged or cut")
    return frames


class FrameWriter:
    """Collects lines and writes them as independent frames, each ending at a line's end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packer = zstandard.ZstdCompressor(level=6, write_content_size=True)
        self._lines: list[bytes] = []
        self._held = 0
        self.sizes: list[tuple[int, int]] = []

    def write(self, line: bytes) -> None:
        self._lines.append(line)
        self._held += len(line)
        if self._held >= FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._held:
            return
        packed = self._packer.compress(b"".join(self._lines))
        self._file.write(packed)
        self.sizes.append((len(packed), self._held))
        self._lines, self._held = [], 0


def seek_table(sizes: list[tuple[int, int]]) -> bytes:
    """The skippable frame that ends a seekable file, from each frame's compressed and decompressed size."""
    entries = b"".join(struct.pack("<II", packed, length) for packed, length in sizes)
    footer = struct.pack("<IBI", len(sizes), 0, _SEEKABLE)
    return struct.pack("<II", _SKIPPABLE, len(entries) + len(footer)) + entries + footer
