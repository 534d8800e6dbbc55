"""Reading native traces: as a stream of records, or indexed with the bodies left in the file.

The index takes 12 bytes per item and turn; bodies are read by offset from a memory map (or a decompressed frame).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, Self, TypeVar, overload

from replayer.errors import TraceError
from replayer.lazy import Newest
from replayer.traces.records import End, Record, RecordError, build, loads, tag_of
from replayer.traces.schema import (
    SCHEMA,
    AnyItem,
    Header,
    Item,
    Thread,
    ToolResultItem,
    ToolRun,
    ToolSet,
    Turn,
)
from replayer.traces.storage import Source, open_source
from replayer.wire.types import JsonObject

_CONTEXTS_KEPT = 8
_RECENT_ITEMS = 16
_RESULT = b'"tool_result"'
"""Items kept parsed: a turn's new ones are asked for three times while it is prepared."""


class Located(NamedTuple):
    """A record with the line (from 1) that it came from."""

    line: int
    record: Record


def records(path: str | Path) -> Iterator[Located]:
    """Every record of a file in order, in bounded memory; a torn last line is left out. Raises TraceError."""
    path = Path(path)
    with closing(open_source(path)) as source:
        schema: int | None = None
        for number, _, line, last in _numbered(source):
            if schema is None:
                schema = _schema_of(path, line)
            record = _parse(path, number, line, schema, torn_allowed=last)
            if record is not None:
                yield Located(number, record)
        if schema is None:
            raise TraceError(f"{path}: the file is empty")


def is_native(path: Path) -> bool:
    """Whether a file begins as a native trace does, whatever its name."""
    with suppress(TraceError), closing(open_source(path)) as source:
        _, line = next(source.lines(), (0, b""))
        return line.startswith(b"{") and b'"type":"trace"' in line[:64].replace(b" ", b"")
    return False


class Trace:
    """One trace file, open for reading. Close it, or use it as a context manager."""

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        self._source = source
        self._schema = SCHEMA
        self._items = _Index()
        self._turns = _Index()
        self._runs = _Index()
        self.turns: Sequence[Turn] = _Lazy(self, self._turns, Turn)
        self.tool_runs: Sequence[ToolRun] = _Lazy(self, self._runs, ToolRun)
        self._threads: dict[str, Thread] = {}
        self.tool_sets: dict[str, ToolSet] = {}
        self._end: End | None = None
        self.torn = False
        """The last line was cut and is left out."""
        self._contexts: Newest[int, tuple[int, ...]] = Newest(_CONTEXTS_KEPT)
        self._recent: Newest[int, AnyItem] = Newest(_RECENT_ITEMS)
        self.header = self._scan()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Raises TraceError (missing, damaged, of a newer schema)."""
        path = Path(path)
        source = open_source(path)
        try:
            return cls(path, source)
        except BaseException:
            source.close()
            raise

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of the file; a trace that names none has the one called `main`."""
        return tuple(self._threads.values()) or (Thread(id="main"),)

    @property
    def item_count(self) -> int:
        return len(self._items)

    @property
    def complete(self) -> bool:
        """The file has its end record and holds what that promises."""
        end = self._end
        return end is not None and (end.items, end.turns) == (len(self._items), len(self._turns))

    def item(self, number: int) -> AnyItem:
        """Raises TraceError when the trace has no such item or its line is damaged."""
        if not 0 <= number < len(self._items):
            raise TraceError(f"{self.path}: there is no item {number} (items 0 to {len(self._items) - 1})")
        known = self._recent.get(number)
        if known is not None:
            return known
        record = self._record(self._items, number)
        if not isinstance(record, Item) or record.id != number:
            raise self._damage(self._items.offsets[number], f"item {number} expected")
        self._recent[number] = record
        return record

    def items(self) -> Iterator[AnyItem]:
        for number in range(len(self._items)):
            yield self.item(number)

    def tool_results(self, numbers: Iterable[int]) -> Iterator[ToolResultItem]:
        """Those of the items that are results; the lines of others are not decoded. Raises TraceError as `item` does."""
        lines = self._items
        for number in numbers:
            known = self._schema == SCHEMA and 0 <= number < len(lines)
            if known and _RESULT not in self._source.read(lines.offsets[number], lines.lengths[number]):
                continue
            item = self.item(number)
            if isinstance(item, ToolResultItem):
                yield item

    def context(self, turn: int) -> tuple[int, ...]:
        """Ids of the items that a turn was really sent, in order. Raises TraceError."""
        chain: list[Turn] = []
        number: int | None = turn
        while number is not None and number not in self._contexts:
            current = self.turns[number]
            base = current.context.base
            if base is not None and not 0 <= base < number:
                raise TraceError(
                    f"{self.path}: turn {number} builds on turn {base}, which does not precede it"
                )
            chain.append(current)
            number = base
        for current in reversed(chain):
            self._remember(current)
        self._contexts.move_to_end(turn)
        return self._contexts[turn]

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remember(self, turn: Turn) -> None:
        kept: tuple[int, ...] = ()
        base = turn.context.base
        if base is not None:
            follows = self._contexts[base] + self.turns[base].produced
            if turn.context.keep > len(follows):
                raise TraceError(
                    f"{self.path}: turn {turn.id} keeps {turn.context.keep} items of turn {base}, which has {len(follows)}"
                )
            kept = follows[: turn.context.keep]
        self._contexts[turn.id] = kept + turn.context.append

    def _scan(self) -> Header:
        header: Header | None = None
        for number, offset, line, last in _numbered(self._source):
            if header is not None:
                self._note(number, offset, line, last)
                continue
            self._schema = _schema_of(self.path, line)
            record = _parse(self.path, 1, line, self._schema)
            assert isinstance(record, Header)
            header = record
        if header is None:
            raise TraceError(f"{self.path}: the file is empty")
        return header

    def _note(self, number: int, offset: int, line: bytes, last: bool) -> None:
        """Puts one line into the index; only what is small and needed at once is parsed."""
        try:
            tag = tag_of(line)
        except RecordError as error:
            tag = ""
            if not last:
                raise TraceError(f"{self.path}: line {number}: {error}") from None
        if last and _parse(self.path, number, line, self._schema, torn_allowed=True) is None:
            self.torn = True
            return
        index = {"item": self._items, "turn": self._turns, "tool_run": self._runs}.get(tag)
        if index is not None:
            index.add(offset, len(line))
            return
        record = _parse(self.path, number, line, self._schema)
        if isinstance(record, ToolSet):
            self.tool_sets[record.id] = record
        elif isinstance(record, Thread):
            self._threads[record.id] = record
        elif isinstance(record, End):
            self._end = record

    def _record(self, index: _Index, position: int) -> Record:
        offset, length = index.offsets[position], index.lengths[position]
        line = self._source.read(offset, length)
        try:
            return _build(line, self._schema)
        except RecordError as error:
            raise self._damage(offset, str(error)) from None

    def _damage(self, offset: int, reason: str) -> TraceError:
        line = next((n for n, at, _, _ in _numbered(self._source) if at == offset), 0)
        return TraceError(f"{self.path}: line {line}: {reason}")


class _Index:
    """Offset (8 bytes) and length (4 bytes) of each line of one kind."""

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.lengths = array("I")

    def add(self, offset: int, length: int) -> None:
        self.offsets.append(offset)
        self.lengths.append(length)

    def __len__(self) -> int:
        return len(self.offsets)


R = TypeVar("R", Turn, ToolRun)

_RECENT = 64
"""Records kept parsed: one turn is asked for a dozen times while it is replayed."""


class _Lazy(Sequence[R]):
    """Records of one kind, parsed when they are asked for."""

    def __init__(self, trace: Trace, index: _Index, klass: type[R]) -> None:
        self._trace, self._index = trace, index
        self._klass: type[R] = klass
        self._recent: Newest[int, R] = Newest(_RECENT)

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, position: int) -> R: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[R]: ...
    def __getitem__(self, position: int | slice) -> R | Sequence[R]:
        if isinstance(position, slice):
            return [self[number] for number in range(*position.indices(len(self)))]
        number = position + len(self) if position < 0 else position
        if not 0 <= number < len(self):
            raise IndexError(f"{self._trace.path}: there is no {self._klass.__name__} {position}")
        known = self._recent.get(number)
        if known is not None:
            return known
        record = self._trace._record(self._index, number)
        if not isinstance(record, self._klass):
            raise self._trace._damage(self._index.offsets[number], f"no {self._klass.__name__}")
        if isinstance(record, Turn) and record.id != number:
            raise self._trace._damage(self._index.offsets[number], f"turn {number} expected, not {record.id}")
        self._recent[number] = record
        return record


def _numbered(source: Source) -> Iterator[tuple[int, int, bytes, bool]]:
    """Line number, offset, line, and whether it is a last line without newline. Empty lines are left out."""
    whole = source.ends_in_newline() if source.size else True
    for number, (offset, line) in enumerate(source.lines(), start=1):
        if line and not line.isspace():
            yield number, offset, line, not whole and offset + len(line) >= source.size


def _schema_of(path: Path, line: bytes) -> int:
    try:
        head = loads(line)
    except RecordError:
        head = None
    if not isinstance(head, dict) or head.get("type") != "trace":
        raise TraceError(
            f"{path}: line 1: not a replayer trace (no header); `replayer import` reads other formats"
        )
    return check_schema(head.get("schema"), str(path))


def _parse(path: Path, number: int, line: bytes, schema: int, torn_allowed: bool = False) -> Record | None:
    try:
        return _build(line, schema)
    except RecordError as error:
        if torn_allowed:
            return None
        raise TraceError(f"{path}: line {number}: {error}") from None


def _build(line: bytes, schema: int) -> Record:
    if schema == SCHEMA:
        return build(tag_of(line), line)
    record = loads(line)
    if not isinstance(record, dict):
        raise RecordError("no record: expected an object")
    record = migrate(record, schema)
    return build(
        str(record.get("type")), {**record, "schema": SCHEMA} if record.get("type") == "trace" else record
    )


Converter = Callable[[JsonObject], JsonObject]

CONVERTERS: dict[int, Converter] = {}
"""Schema number -> the function that turns one record of that schema into one of the next."""


def check_schema(version: object, where: str) -> int:
    """Raises TraceError for a number from the future or none at all."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise TraceError(f"{where}: the header has no schema number")
    if version > SCHEMA:
        raise TraceError(
            f"{where}: schema {version} is newer than this replayer reads ({SCHEMA}): update replayer"
        )
    return version


def migrate(
    record: JsonObject,
    version: int,
    target: int = SCHEMA,
    converters: Mapping[int, Converter] = CONVERTERS,
) -> JsonObject:
    """A record of schema `version` in today's form. Raises TraceError when a link of the chain is missing."""
    for number in range(version, target):
        if number not in converters:
            raise TraceError(f"no converter from schema {number}: open the file with an older replayer")
        record = converters[number](record)
    return record
