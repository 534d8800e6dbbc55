"""The live feed of a lane: the text that streams now, by session."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from replayer.journal.parts import part_folder, parts

STREAM_KEPT = 8_000
"""Characters of a streaming reply that a column can show."""
_PIECES_KEPT = 200
_ENDED_KEPT = 64
"""Streams of a feed that are kept though their sessions have ended, or are not known to have begun."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A run of one channel: content, reasoning, tool_name or tool_arguments."""

    channel: str
    call: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The newest reply of a session, in pieces."""

    session: str
    turn: int
    pieces: tuple[Piece, ...]


@dataclass(slots=True)
class LiveText:
    """Reads one lane's feed; a feed that was rotated starts again from its beginning."""

    path: Path
    offset: int = 0
    inode: int = 0
    streams: dict[str, tuple[int, deque[Piece]]] = field(default_factory=dict)
    """By session: the turn that streams now, and what it said."""
    newest: str | None = None

    def poll(self) -> None:
        try:
            status = self.path.stat()
        except (OSError, ValueError):  # no feed, or a lane whose name is not a file name
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
            session, turn = str(values["session"]), int(values["turn"])
            piece = Piece(str(values["channel"]), int(values["call"]), str(values["text"]))
        except (ValueError, LookupError, TypeError):
            return  # the feed is disposable, and so is a line of it
        if session not in self.streams or self.streams[session][0] != turn:
            self.streams[session] = (turn, deque())
        pieces = self.streams[session][1]
        if pieces and (pieces[-1].channel, pieces[-1].call) == (piece.channel, piece.call):
            piece = Piece(piece.channel, piece.call, (pieces.pop().text + piece.text)[-STREAM_KEPT:])
        pieces.append(piece)
        while len(pieces) > _PIECES_KEPT:
            pieces.popleft()
        self.newest = session

    def forget_all_but(self, running: Container[str]) -> None:
        """A load has hundreds of thousands of sessions."""
        for session in list(self.streams)[:-_ENDED_KEPT]:
            if session not in running:
                del self.streams[session]

    def stream(self, session: str) -> Stream | None:
        found = self.streams.get(session)
        return None if found is None else Stream(session, found[0], tuple(found[1]))


class LiveTexts:
    """The feeds of a lane, where several processes drive its sessions; one otherwise."""

    def __init__(self, folder: Path, lane: str) -> None:
        self._folder, self._lane = folder, lane
        self._feeds: dict[int, LiveText] = {}
        self.newest: str | None = None
        """The session that spoke last."""

    def poll(self, running: Container[str]) -> None:
        for part in parts(self._folder):
            path = part_folder(self._folder, part) / "live" / f"{self._lane}.jsonl"
            feed = self._feeds.setdefault(part, LiveText(path))
            before = feed.offset
            feed.poll()
            feed.forget_all_but(running)
            if feed.offset != before:
                self.newest = feed.newest

    def stream(self, session: str) -> Stream | None:
        found = (feed.stream(session) for feed in self._feeds.values())
        return next((one for one in found if one is not None), None)
