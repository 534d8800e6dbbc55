"""Bytes of a trace file: plain, or zstd in independent frames of about 1 MiB with a seek table.

The compressed form is zstd's own seekable format, which any zstd tool reads. A compressed file without a table, or with
a damaged one, is unpacked into a temporary file as far as it goes.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from pyzstd import EndlessZstdDecompressor, SeekableFormatError, SeekableZstdFile, ZstdError

from replayer.errors import TraceError

FRAME_BYTES = 1_000_000
_LEVEL = 6
_PIECE = 1 << 14
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DAMAGE = (ZstdError, SeekableFormatError, EOFError, OSError)


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
    try:
        return ZstdSource(path)
    except _DAMAGE:
        with _unpacked(path) as plain:
            return PlainSource(plain)


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
    """A compressed file with a seek table. Raises one of `_DAMAGE` where it has none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = SeekableZstdFile(path, "r")
        self.size = self._file.seek(0, 2)

    @property
    def frames(self) -> int:
        info = self._file.seek_table_info
        return info[0] if info else 0

    def read(self, offset: int, length: int) -> bytes:
        try:
            self._file.seek(offset)
            data: bytes = self._file.read(length)
        except _DAMAGE as error:
            why = " ".join(str(error).split())
            raise TraceError(
                f"{self._path}: a frame before byte {offset + length} is damaged ({why})"
            ) from None
        return data

    def lines(self) -> Iterator[tuple[int, bytes]]:
        position = read = 0
        rest = b""
        while read < self.size:
            data = rest + (piece := self.read(read, FRAME_BYTES))
            if not piece:
                raise TraceError(f"{self._path}: holds fewer bytes than its seek table says")
            read += len(piece)
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
        self._file.close()


def _unpacked(path: Path) -> BinaryIO:
    """What stands before the damage. Raises TraceError when nothing does."""
    spool: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    decoder = EndlessZstdDecompressor()
    with suppress(*_DAMAGE), path.open("rb") as packed:
        while piece := packed.read(_PIECE):
            spool.write(decoder.decompress(piece))
    if not spool.tell():
        spool.close()
        raise TraceError(f"{path}: the first zstd frame is damaged or cut")
    return spool


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What a file system refuses is a TraceError that names the file."""
    try:
        yield
    except OSError as error:
        raise TraceError(f"{path}: cannot be written ({error.strerror or error})") from None


def pack(pieces: Iterator[bytes], out: BinaryIO) -> None:
    """Writes bytes in the compressed form, whose frames are of one size but the last."""
    with SeekableZstdFile(out, "w", level_or_option=_LEVEL, max_frame_content_size=FRAME_BYTES) as packed:
        for piece in pieces:
            packed.write(piece)
