"""The live feed of a lane: the text that streams now, by cell."""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import orjson

STREAM_KEPT = 8_000
"""Characters of a streaming reply that a column can show."""
_PIECES_KEPT = 200


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A run of one channel: content, reasoning, tool_name or tool_arguments."""

    channel: str
    call: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The newest reply of a cell, in pieces."""

    cell: str
    step: int
    pieces: tuple[Piece, ...]


@dataclass(slots=True)
class LiveText:
    """Reads one lane's feed; a feed that was rotated starts again from its beginning."""

    path: Path
    offset: int = 0
    inode: int = 0
    streams: dict[str, tuple[int, deque[Piece]]] = field(default_factory=dict)
    """By cell: the step that streams now, and what it said."""
    newest: str | None = None

    def poll(self) -> None:
        try:
            status = self.path.stat()
        except (OSError, ValueError):  # no feed, or a lane whose name is no file name
            return
        if status.st_size < self.offset or status.st_ino != self.inode:
            self.offset, self.inode = 0, status.st_ino
        with contextlib.suppress(OSError), self.path.open("rb") as stream:
            stream.seek(self.offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            values = orjson.loads(line)
            cell, step = str(values["cell"]), int(values["step"])
            piece = Piece(str(values["channel"]), int(values["call"]), str(values["text"]))
        except (ValueError, LookupError, TypeError):
            return  # the feed is disposable, and so is a line of it
        if cell not in self.streams or self.streams[cell][0] != step:
            self.streams[cell] = (step, deque())
        pieces = self.streams[cell][1]
        if pieces and (pieces[-1].channel, pieces[-1].call) == (piece.channel, piece.call):
            piece = Piece(piece.channel, piece.call, (pieces.pop().text + piece.text)[-STREAM_KEPT:])
        pieces.append(piece)
        while len(pieces) > _PIECES_KEPT:
            pieces.popleft()
        self.newest = cell

    def stream(self, cell: str | None) -> Stream | None:
        found = self.streams.get(cell) if cell is not None else None
        return Stream(cell, found[0], tuple(found[1])) if cell is not None and found is not None else None
