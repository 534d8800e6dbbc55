"""The bytes of an input as UTF-8 that can be read twice: unpacked, recoded from UTF-16 and UTF-32, standard input kept."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyzstd

from replayer.traces.importers.parquet import rows
from replayer.wire.types import Json

_READ_AT_ONCE = 1 << 18
_PACKED: dict[bytes, str] = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
}
"""First bytes -> name."""
_ZSTD_SLICE = 1 << 12
"""A block of some bytes can stand for 128 KiB: what is unpacked at once is bounded by what is fed at once."""
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_DAMAGE = (pyzstd.ZstdError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError, ValueError)


PARQUET_MAGIC = b"PAR1"


def opened(path: Path) -> tuple[BinaryIO, str | None]:
    """A seekable file, and what is to be said of its packing. `-` is standard input. Raises OSError."""
    file: BinaryIO = sys.stdin.buffer if str(path) == "-" else path.open("rb", buffering=_READ_AT_ONCE)
    if str(path) == "-" or not file.seekable():
        file = _spooled(iter(lambda: file.read(_READ_AT_ONCE), b""))[0]
    damage = None
    if _begins(file, PARQUET_MAGIC):
        with file:
            return _spooled(rows(file, str(path)))[0], None
    packing = next((name for magic, name in _PACKED.items() if _begins(file, magic)), None)
    if packing is not None:
        with file:
            file, whole = _spooled(_unpacked(file, packing))
        if not whole:
            damage = f"the {packing} data is cut off or damaged; what could be unpacked is imported"
    if encoding := _encoding(file):
        with file:
            file = _spooled(_recoded(file, encoding))[0]
    return file, damage


def _unpacked(file: BinaryIO, packing: str) -> Iterator[bytes]:
    if packing == "zstd":
        yield from _zstd(file)
        return
    readers: dict[str, Callable[[BinaryIO], Json]] = {"gzip": gzip.open, "xz": lzma.open, "bzip2": bz2.open}
    reader = readers[packing](file)
    while chunk := reader.read1(_READ_AT_ONCE):
        yield chunk


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    """All frames; unlike a stream reader it gives what stands before the damage, and tells a cut from an end."""
    decoder = pyzstd.ZstdDecompressor()
    rest = b""
    while chunk := rest or file.read(_READ_AT_ONCE):
        if decoder.eof:
            decoder = pyzstd.ZstdDecompressor()
        yield decoder.decompress(chunk)
        rest = decoder.unused_data
    if not decoder.eof:
        raise EOFError("the last frame is cut")


def _begins(file: BinaryIO, magic: bytes) -> bool:
    file.seek(0)
    begins = file.read(len(magic)) == magic
    file.seek(0)
    return begins


def _encoding(file: BinaryIO) -> str | None:
    """Of text that is no UTF-8: by its byte order mark, else by where the NULs stand around its first character."""
    head = file.read(64)
    file.seek(0)
    name = json.detect_encoding(head[:4])
    if name.startswith("utf-8"):
        return None
    first = head.decode(name, "replace").lstrip("\ufeff \t\r\n")[:1]
    return name if first in ("{", "[", "#") or head.startswith(_MARKS) else None


def _recoded(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while chunk := file.read(_READ_AT_ONCE):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _spooled(chunks: Iterator[bytes]) -> tuple[BinaryIO, bool]:
    """A temporary file of all chunks, and whether none was damaged; the probe closes it."""
    spool: Json = tempfile.TemporaryFile(buffering=_READ_AT_ONCE)  # noqa: SIM115
    whole = True
    try:
        for chunk in chunks:
            spool.write(chunk)
    except _DAMAGE:
        whole = False
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return spool, whole


def spool_of(chunks: Iterable[bytes]) -> BinaryIO:
    """A temporary file of all chunks, at its start."""
    return _spooled(iter(chunks))[0]


def unpacked_zstd(data: bytes, most: int = 1 << 30) -> bytes:
    """The first zstd frame of some bytes, as far as it goes; other bytes as they are. Raises ZstdError, ValueError."""
    if _PACKED.get(data[:4]) != "zstd":
        return data
    decoder = pyzstd.ZstdDecompressor()
    parts: list[bytes] = []
    for start in range(0, len(data), _ZSTD_SLICE):
        if decoder.eof:
            break
        parts.append(decoder.decompress(data[start : start + _ZSTD_SLICE]))
        most -= len(parts[-1])
        if most < 0:
            raise ValueError("it unpacks to more than 1 GiB")
    return b"".join(parts)
