"""What kind of file this is, by its content: SQLite, one JSON document, JSON lines, or text."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from io import SEEK_END
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

import orjson

from replayer.errors import TraceError
from replayer.traces.importers.damaged import divided, salvaged
from replayer.traces.importers.unpack import opened, spool_of
from replayer.traces.importers.values import TOO_DEEP, loads
from replayer.wire.types import Json

Shape = Literal["sqlite", "json", "jsonl", "text", "folder"]

_HEAD_RECORDS = 64
_MAX_WARNINGS = 5
_NUL_AND_SPACE = b"\x00 \t\r\n"
_NOT_UTF8 = "bytes that are not UTF-8"
_NOT_JSON = "values that JSON does not have (NaN, infinities, lone surrogates, numbers beyond 64 bits)"


class Probe:
    """One input. `warnings` collects what had to be left out. Raises TraceError when there is nothing to read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._bad_lines = 0
        self._file: BinaryIO | None = None
        self._copy: Json = None
        try:
            self.shape: Shape = "folder" if path.is_dir() else self._open()
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror or error}") from None
        except TraceError:
            self.close()
            raise

    @cached_property
    def head(self) -> list[Json]:
        """The first records (JSON lines, files of a folder) or the document alone; for sniffing."""
        if self.shape in ("jsonl", "folder"):
            return [record for _, record in islice(self.records(quiet=True), _HEAD_RECORDS)]
        document = self.document if self.shape == "json" else []
        return document[:_HEAD_RECORDS] if isinstance(document, list) else [document]

    @cached_property
    def document(self) -> object:
        """The one JSON value of the file; None where the file is not a single document."""
        if self.shape == "jsonl":
            first = list(islice(self.records(quiet=True), 2))
            return first[0][1] if len(first) == 1 else None
        return self._whole_document() if self.shape == "json" else None

    @cached_property
    def text(self) -> str:
        data = self._bytes() if self.shape == "text" else b""
        if not _is_utf8(data):
            self.warn(f"in the file {_NOT_UTF8} are replaced")
        text = data.decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @property
    def file(self) -> BinaryIO:
        """The bytes of the input, uncompressed, from the start."""
        assert self._file is not None
        self._file.seek(0)
        return self._file

    @cached_property
    def plain_path(self) -> Path:
        """Where the bytes lie uncompressed: the input itself, or a copy that goes when the probe is closed."""
        if isinstance(self.file.name, str):
            return self.path
        self._copy = tempfile.NamedTemporaryFile(prefix="replayer-")  # noqa: SIM115
        shutil.copyfileobj(self.file, self._copy)
        self._copy.flush()
        return Path(self._copy.name)

    def records(self, quiet: bool = False) -> Iterator[tuple[int, Json]]:
        """Line number and value of each line; lines that are no JSON are left out with a warning."""
        if self.shape == "folder":
            yield from self._files(quiet)
            return
        if self.shape == "json":
            document = self.document
            yield from enumerate(document if isinstance(document, list) else [document], start=1)
            return
        yield from ((number, record) for number, _, record in self._lines(quiet))

    def located(self) -> Iterator[tuple[int, Json]]:
        """Each record with a key for `record_at`: its offset in the file, or its place in the document."""
        if self.shape != "jsonl":
            yield from enumerate(self._listed())
            return
        yield from ((offset, record) for _, offset, record in self._lines(quiet=False))

    def _lines(self, quiet: bool) -> Iterator[tuple[int, int, Json]]:
        """Number, offset and value of each line."""
        offset = 0
        for number, line in enumerate(self.file, start=1):
            try:
                yield number, offset, orjson.loads(line)
            except orjson.JSONDecodeError:
                if not line.isspace():
                    yield from ((number, offset, record) for _, record in self._line(number, line, quiet))
            offset += len(line)
            if offset >= self._size:
                return

    def record_at(self, key: int) -> object:
        """The record of a key that `located` gave."""
        if self.shape != "jsonl":
            return self._listed()[key]
        assert self._file is not None
        self._file.seek(key)
        found = next(self._line(0, self._file.readline(), quiet=True), None)
        if found is None:
            raise TraceError(f"{self.path}: the file was changed while it was read")
        return found[1]

    def _listed(self) -> list[Json]:
        return self.document if isinstance(self.document, list) else [self.document]

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def close(self) -> None:
        for file in (self._file, self._copy):
            if file is not None:
                file.close()

    def _line(self, number: int, line: bytes, quiet: bool) -> Iterator[tuple[int, Json]]:
        """The value of a line that is not plain JSON: with a byte order mark, NULs, bytes that are no UTF-8."""
        text = line.removeprefix(b"\xef\xbb\xbf").strip(_NUL_AND_SPACE).removesuffix(b",")
        lost = b"\x00" in line
        if lost and not quiet:
            self.warn("NUL bytes stand where data was lost, as after a crash; they are passed over")
        if not text:
            return
        try:
            yield number, self._value(text, f"from line {number} on", quiet)
        except ValueError as error:
            if not quiet:
                what = f"is {TOO_DEEP}" if TOO_DEEP in str(error) else "is not JSON"
                self._bad_line(number, what if line.endswith(b"\n") else "is cut off")

    def _value(self, data: bytes, where: str, quiet: bool = False) -> object:
        """JSON with what other tools write into it, said once a kind. Raises ValueError."""
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            replaced = _NOT_UTF8 if not _is_utf8(data) else _NOT_JSON
        value = loads(data.decode("utf-8", "replace").encode() if replaced is _NOT_UTF8 else data)
        if not quiet and not any(replaced in warning for warning in self.warnings):
            self.warn(f"{where} {replaced} are replaced")
        return value

    def _bad_line(self, number: int, why: str) -> None:
        self._bad_lines += 1
        if self._bad_lines < _MAX_WARNINGS:
            self.warn(f"line {number} {why} and is left out")
        elif self._bad_lines == _MAX_WARNINGS:
            self.warn(f"more lines cannot be read, from line {number} on; all are left out")

    def _files(self, quiet: bool) -> Iterator[tuple[int, Json]]:
        folder = self.path / "events" if (self.path / "events").is_dir() else self.path
        names = sorted(
            folder.glob("*.json"), key=lambda p: (len(p.stem) if p.stem.isdecimal() else 0, p.name)
        )
        for number, name in enumerate(names, start=1):
            try:
                yield number, loads(name.read_bytes())
            except (ValueError, OSError):
                if not quiet:
                    self.warn(f"{name.name} is not JSON and is left out")

    def _open(self) -> Shape:
        self._file, damage = opened(self.path)
        if damage:
            self.warn(damage)
        self._size = self._file.seek(0, SEEK_END)
        """What lay there at the start; a file may be written to faster than it is read."""
        self._file.seek(0)
        head = self._file.read(1 << 16)
        if head.startswith(b"SQLite format 3\x00"):
            return "sqlite"
        stripped = head.removeprefix(b"\xef\xbb\xbf").lstrip(_NUL_AND_SPACE)
        if not stripped:
            nothing = "the file holds nothing but NUL bytes" if head.strip() else "the file is empty"
            raise TraceError(f"{self.path}: {damage.partition(';')[0] if damage else nothing}")
        if stripped[:1] not in (b"{", b"["):
            if b"\x00" in head.rstrip(b"\x00")[:512]:
                raise TraceError(f"{self.path}: a binary file of no known kind")
            return "jsonl" if self._has_json_lines() else "text"
        return self._json_shape()

    def _json_shape(self) -> Shape:
        first = self._first_line()
        try:
            value = self._value(first, "", quiet=True)
        except ValueError:
            if first[:1] == b"{" and len(first) > 1 and self._has_json_lines():
                return "jsonl"
            return self._one_or_several()
        return "jsonl" if isinstance(value, dict) else "json"

    def _one_or_several(self) -> Shape:
        """One value over many lines; or several not divided by line feeds, which are then laid out as JSON lines."""
        data = self._bytes().removeprefix(b"\xef\xbb\xbf").strip(_NUL_AND_SPACE)
        try:
            self.document = self._value(data, "in the file")
            return "json"
        except ValueError:
            pass
        values = list(divided(data.decode("utf-8", "replace"))) if data[:1] == b"{" else []
        if len(values) < 2:
            return "json"
        assert self._file is not None
        self._file.close()
        self._file = spool_of(value.encode() + b"\n" for value in values)
        self._size = self._file.seek(0, SEEK_END)
        return "jsonl"

    def _has_json_lines(self) -> bool:
        """After a first line that is no JSON: whether the lines that follow are whole objects."""
        self._first_line()
        file = self._file
        assert file is not None
        for line in (file.readline() for _ in range(3)):
            stripped = line.strip()
            if stripped[:1] == b"{" and stripped[-1:] == b"}" and len(stripped) > 2:
                try:
                    return isinstance(loads(stripped), dict)
                except ValueError:
                    continue
        return False

    def _first_line(self) -> bytes:
        """The first line that is not blank, without byte order mark and line end."""
        for line in self.file:
            if stripped := line.removeprefix(b"\xef\xbb\xbf").strip(_NUL_AND_SPACE):
                return stripped
        return b""

    def _bytes(self) -> bytes:
        return self.file.read(self._size)

    def _whole_document(self) -> object:
        data = self._bytes().removeprefix(b"\xef\xbb\xbf").strip(_NUL_AND_SPACE)
        try:
            return self._value(data, "in the file")
        except ValueError as error:
            if TOO_DEEP in str(error):
                raise TraceError(f"{self.path}: the JSON is {TOO_DEEP} to be read") from None
            try:
                value = salvaged(data.decode("utf-8", "replace").encode())
            except ValueError:
                raise TraceError(f"{self.path}: not JSON ({error})") from None
            self.warn(f"the JSON is damaged or cut off ({error}); what stands before that is imported")
            return value


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
