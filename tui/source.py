"""Follows run folders for the screen: journal into a view, live feed into the text that streams now."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from replayer.compare import compare
from replayer.figures import lane_figures
from replayer.journal import read_from, writer_pid
from replayer.view import Fold, RunView, side_by_side

STREAM_KEPT = 8_000
"""Characters of a streaming reply that a column can show."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A run of one channel: content, reasoning, tool_name or tool_arguments."""

    channel: str
    call: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The newest reply of a lane, in pieces."""

    cell: str
    step: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """All that the screen shows at one moment."""

    views: tuple[RunView, ...]
    figures: dict[str, dict[str, Any]]
    """Figures by lane, as in `report --json`."""
    streams: dict[str, Stream]
    best: dict[str, str]
    """Per metric the lane that is better than every other by more than noise."""
    lag: float
    """Seconds that making this frame took."""

    @property
    def view(self) -> RunView:
        return self.views[0]


@dataclass(slots=True)
class _Live:
    """Reads one lane's feed; a feed that was rotated starts again from its beginning."""

    path: Path
    offset: int = 0
    inode: int = 0
    streams: dict[tuple[str, int], deque[Piece]] = field(default_factory=dict)
    newest: tuple[str, int] | None = None

    def poll(self) -> None:
        try:
            status = self.path.stat()
        except OSError:
            return
        if status.st_size < self.offset or status.st_ino != self.inode:
            self.offset, self.inode = 0, status.st_ino
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        key = (values["cell"], values["step"])
        if key not in self.streams:
            self.streams = {k: v for k, v in self.streams.items() if k[0] != key[0]}
            self.streams[key] = deque()
        pieces = self.streams[key]
        piece = Piece(values["channel"], values["call"], values["text"])
        if pieces and (pieces[-1].channel, pieces[-1].call) == (piece.channel, piece.call):
            piece = Piece(piece.channel, piece.call, (pieces.pop().text + piece.text)[-STREAM_KEPT:])
        pieces.append(piece)
        while len(pieces) > 200:
            pieces.popleft()
        self.newest = key

    def stream(self, pinned: str | None) -> Stream | None:
        key = next((k for k in self.streams if k[0] == pinned), self.newest)
        if key is None or key not in self.streams:
            return None
        return Stream(key[0], key[1], tuple(self.streams[key]))


class RunSource:
    """One run folder. `poll` reads what is new; call it from one thread only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pinned: dict[str, str] = {}
        self._fold = Fold()
        self._offset = 0
        self._live: dict[str, _Live] = {}
        self._figures: dict[str, dict[str, Any]] = {}
        self._best: dict[str, str] = {}
        self._figures_at = 0.0
        self._figures_cost = 0.0

    def poll(self) -> Frame:
        """Raises RunFolderError when the journal is damaged."""
        began = time.monotonic()
        changed = self._read()
        running = writer_pid(self.folder) is not None
        view = self._fold.view(run=self.folder.name, running=running, partial=True)
        if changed or not self._figures:
            self._refresh(view, force=not running)
        streams = self._streams(view)
        return Frame((view,), self._figures, streams, self._best, time.monotonic() - began)

    def _read(self) -> bool:
        before = self._offset
        for event, after in read_from(self.folder, self._offset):
            self._fold.apply(event, self._offset)
            self._offset = after
        return self._offset != before

    def _refresh(self, view: RunView, *, force: bool) -> None:
        """Figures cost some microseconds per step: on long runs they are refreshed less often."""
        now = time.monotonic()
        if not force and now - self._figures_at < 10 * self._figures_cost:
            return
        self._figures = {lane.name: lane_figures(lane) for lane in view.lanes}
        self._best = better_lanes(view)
        self._figures_at = time.monotonic()
        self._figures_cost = self._figures_at - now

    def _streams(self, view: RunView) -> dict[str, Stream]:
        streams = {}
        for lane in view.lanes:
            live = self._live.setdefault(lane.name, _Live(self.folder / "live" / f"{lane.name}.jsonl"))
            live.poll()
            stream = live.stream(self.pinned.get(lane.name))
            if stream is not None:
                streams[lane.name] = stream
        return streams


def merged(frames: Sequence[Frame]) -> Frame:
    """Several runs side by side: all their lanes in one frame."""
    return Frame(
        views=tuple(view for frame in frames for view in frame.views),
        figures={name: figures for frame in frames for name, figures in frame.figures.items()},
        streams={name: stream for frame in frames for name, stream in frame.streams.items()},
        best=frames[0].best if len(frames) == 1 else better_lanes(side_by_side([f.view for f in frames])),
        lag=sum(frame.lag for frame in frames),
    )


def better_lanes(view: RunView) -> dict[str, str]:
    """Per metric the one lane that is better than every other beyond noise."""
    wins: dict[str, dict[str, int]] = {}
    for pair in compare(view):
        p = pair.get("p_value_adjusted")
        decided = p < 0.05 if p is not None else pair["low"] > 0 or pair["high"] < 0
        if decided:
            b_better = (pair["difference"] > 0) == (pair["better"] == "higher")
            winner = pair["b"] if b_better else pair["a"]
            counts = wins.setdefault(pair["metric"], {})
            counts[winner] = counts.get(winner, 0) + 1
    others = len(view.lanes) - 1
    return {metric: lane for metric, counts in wins.items() for lane, n in counts.items() if n == others}
