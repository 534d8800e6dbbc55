"""The text that is streaming now, written about ten times a second for screens. Disposable."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson

from replayer.wire.types import Delta

INTERVAL = 0.1
"""Seconds between flushes."""
_ROTATE_BYTES = 1 << 20
_MAX_PENDING = 20_000
"""Characters kept per stream between flushes; a screen cannot show more."""


class LiveFeed:
    """Coalesces deltas per stream and writes `live/LANE.jsonl`: {session, turn, channel, call, text}."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pending: dict[str, dict[tuple[str, int, str, int], list[str]]] = {}
        self._written: dict[str, int] = {}

    def add(self, lane: str, session: str, turn: int, delta: Delta) -> None:
        streams = self._pending.setdefault(lane, {})
        key = (session, turn, delta.channel, delta.call_index)
        pieces = streams.get(key)
        if pieces is None:
            streams[key] = [delta.text]
        else:
            pieces.append(delta.text)

    async def run(self) -> None:
        """Flush until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            self.flush()

    def flush(self) -> None:
        pending, self._pending = self._pending, {}
        for lane, streams in pending.items():
            lines = b"".join(_line(key, pieces) for key, pieces in streams.items())
            self._append(lane, lines)

    def _append(self, lane: str, lines: bytes) -> None:
        size = self._written.get(lane, 0)
        mode = "ab" if size and size < _ROTATE_BYTES else "wb"
        path = self._folder / f"{lane}.jsonl"
        try:
            path.touch(0o600)
            with path.open(mode) as stream:
                stream.write(lines)
        except OSError:
            return  # the feed is disposable: a full disk ends the run through the journal, not here
        self._written[lane] = (size if mode == "ab" else 0) + len(lines)


def _line(key: tuple[str, int, str, int], pieces: list[str]) -> bytes:
    session, turn, channel, call = key
    text = "".join(pieces)[-_MAX_PENDING:]
    line = {"session": session, "turn": turn, "channel": channel, "call": call, "text": text}
    try:
        return orjson.dumps(line) + b"\n"
    except TypeError:
        line["text"] = text.encode(errors="replace").decode()
        return orjson.dumps(line) + b"\n"
