"""Writing native traces: whole and atomic, or line by line while a session is being recorded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

from replayer.errors import TraceError
from replayer.traces.compact import Index
from replayer.traces.records import (
    End,
    TokenTurns,
    body_hash,
    dumps,
    encode,
    encode_item,
    encode_token_turns,
    item_body,
)
from replayer.traces.schema import (
    AnyItem,
    Context,
    Header,
    Thread,
    ToolRun,
    ToolSchema,
    ToolSet,
    Turn,
)
from replayer.traces.storage import pack, writing

_WRITTEN_AT_ONCE = 1 << 18


class TraceWriter:
    """Writes one trace; use it as a context manager.

    The file appears under its name only when the block ends without an exception, unless `live`: then every record
    is a line at once, and a reader sees all but a torn last one. A name that ends in `.zst` is compressed.
    `header` may be replaced until the end (not when live), for what is known only after the last record.
    Raises TraceError when the file cannot be written.
    """

    def __init__(self, path: str | Path, header: Header, *, live: bool = False) -> None:
        self.path = Path(path)
        self.header = header
        self._live = live
        self._broken = False
        self._items = Index()
        self._tool_sets: dict[str, ToolSet] = {}
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._next_item = 0
        self._next_turn = 0
        compressed = self.path.suffix == ".zst"
        if live and compressed:
            raise TraceError(f"{self.path}: a live trace is not compressed; leave out .zst")
        with writing(self.path):
            self._file: BinaryIO = self.path.open("wb", buffering=0) if live else _spool(self.path)
        self._compressed = compressed
        if live:
            self._put(encode(header))

    def add_item(self, item: AnyItem) -> int:
        """Stores an item unless an equal one is there; returns its id. The id that `item` carries is ignored."""
        return self._add(*item_body(item))

    def add_fields(self, kind: str, fields: Mapping[str, object]) -> int:
        """`add_item` for an item that was never built: its fields as its line holds them, defaults left out."""
        return self._add(kind, dumps(fields))

    def _add(self, kind: str, body: bytes) -> int:
        digest = body_hash(kind, body)
        number = self._items.add(digest)
        if number == self._next_item:
            self._put(encode_item(number, kind, body, digest.hex()))
            self._next_item += 1
        return number

    def add_tool_set(self, tools: Sequence[ToolSchema] | ToolSet) -> str:
        """Stores a tool set once; returns its id."""
        given = tools if isinstance(tools, ToolSet) else ToolSet(id="", tools=tuple(tools))
        digest = content_hash_of_tools(given)
        if digest not in self._tool_sets:
            known = replace(given, id=given.id or f"tools-{len(self._tool_sets) + 1}")
            self._tool_sets[digest] = known
            self._put(encode(known))
        return self._tool_sets[digest].id

    def add_turn(
        self, *, context: Context | Sequence[int], produced: Sequence[int] = (), **facts: Any
    ) -> int:
        """Appends one LLM call, of which `facts` are the other fields of Turn; returns its id.

        A plain list of item ids is a full context.
        """
        if not isinstance(context, Context):
            context = Context(append=tuple(context))
        return self.put_turn(Turn(id=self._next_turn, context=context, produced=tuple(produced), **facts))

    def put_turn(self, turn: Turn) -> int:
        """Appends a turn as it is, but with the next id; returns that."""
        if turn.id != self._next_turn:
            turn = replace(turn, id=self._next_turn)
        self._check(turn)
        self._put(encode(turn))
        self._next_turn += 1
        return turn.id

    def add_token_turns(self, turns: TokenTurns) -> None:
        """Appends turns of lengths and block hashes."""
        self._put(encode_token_turns(self._next_turn, turns))
        self._next_turn += len(turns.threads)

    def add_tool_run(self, run: ToolRun) -> None:
        self._put(encode(run))

    def add_thread(self, thread: Thread) -> None:
        self._put(encode(thread))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def close(self) -> None:
        """Finishes the file: the end record, then (unless live) the rename to its name."""
        if self._broken:
            self._file.close()
            return
        self._put(encode(End(items=self._next_item, turns=self._next_turn)))
        self._flush()
        if self._live:
            self._file.close()
            return
        try:
            with writing(self.path):
                self._assemble()
        finally:
            self.discard()

    def rest(self) -> None:
        """Gives back the file descriptor of a live trace until the next record."""
        if self._live:
            self._file.close()

    def discard(self) -> None:
        """Ends writing and leaves nothing half-written (a live trace stays as far as it came)."""
        self._file.close()

    def _check(self, turn: Turn) -> None:
        base = turn.context.base
        if base is not None and not 0 <= base < turn.id:
            raise TraceError(f"{self.path}: turn {turn.id} builds on turn {base}, which does not precede it")
        items = turn.context.append + turn.produced
        if items and not (min(items) >= 0 and max(items) < self._next_item):
            raise TraceError(f"{self.path}: turn {turn.id} names an item that is not in the trace")

    def _put(self, line: bytes) -> None:
        self._held.append(line)
        self._held_bytes += len(line)
        if self._live or self._held_bytes >= _WRITTEN_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        lines, self._held, self._held_bytes = self._held, [], 0
        with writing(self.path):
            self._append(b"".join(lines))

    def _append(self, data: bytes) -> None:
        """Writes all of it or, where a live trace's disk is full, none: a reader must not meet half a line."""
        if not self._live:
            self._file.write(data)
            return
        if self._file.closed:
            self._file = self.path.open("ab", buffering=0)
        before, rest = self._file.seek(0, os.SEEK_END), memoryview(data)
        try:
            while rest:  # a disk that is nearly full takes a part and says how much
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._broken = True
            self._file.truncate(before)
            raise

    def _assemble(self) -> None:
        """Header, then the spooled body, under a temporary name beside the target."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                self._write_to(out)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(name, 0o644)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise

    def _write_to(self, out: BinaryIO) -> None:
        head = encode(self.header)
        self._file.seek(0)
        if not self._compressed:
            out.write(head)
            shutil.copyfileobj(self._file, out, 1 << 20)
            return
        pack(chain((head,), iter(lambda: self._file.read(_WRITTEN_AT_ONCE), b"")), out)


def content_hash_of_tools(tools: ToolSet) -> str:
    """Equal tools in equal order have equal hashes, whatever their id."""
    return encode(replace(tools, id="")).decode()


def _spool(path: Path) -> BinaryIO:
    if path.is_dir():
        raise IsADirectoryError(0, "is a directory")
    return tempfile.TemporaryFile(dir=path.parent)
