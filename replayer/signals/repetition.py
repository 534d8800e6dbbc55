"""Repetition collapse, caught while a reply streams, on the client's side and on any engine.

`RepetitionDetector` watches one reply (protocol: `replayer.signals.base.Signal`); `scan` gives the same verdict at
the same offsets for text that is already there. Method, figures and limits: `docs/repetition.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replayer.signals.repetition_evidence import Evidence
from replayer.signals.repetition_finding import Finding
from replayer.signals.repetition_text import STEP, TextDetector
from replayer.wire.types import Delta, Reply

MAX_STREAMS = 64


class RepetitionDetector:
    """One reply. Memory is bounded, the cost of a delta does not depend on how much came before.

    `prompt_contains` tells whether a text stands in the prompt; `recorded` is the recorded reply of the step, if
    there is one. Both only ever lower an alarm (repetition that was asked for) or back one up (`structure`).
    """

    name = "repetition"
    version = 1

    def __init__(
        self, prompt_contains: Callable[[str], bool] | None = None, recorded: str | None = None
    ) -> None:
        self._evidence = Evidence(prompt_contains, recorded)
        self._streams: dict[tuple[str, int], TextDetector] = {}
        self._switch("content", -1)

    def feed(self, delta: Delta) -> list[dict[str, Any]]:
        _, channel, text, call_index = delta
        if channel != self._channel or call_index != self._call_index:
            self._switch(channel, call_index)
        stream = self._stream
        stream.pending.append(text)
        stream.size += len(text)
        if stream.size < STEP:
            return []
        return [finding.to_dict() for finding in stream.advance()]

    def finish(self, reply: Reply) -> list[dict[str, Any]]:
        """Look at what is left of every stream."""
        return [finding.to_dict() for stream in self._streams.values() for finding in stream.close()]

    def _switch(self, channel: str, call_index: int) -> None:
        self._channel, self._call_index = channel, call_index
        stream = self._streams.get((channel, call_index))
        if stream is None:
            if len(self._streams) >= MAX_STREAMS:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[channel, call_index] = TextDetector(channel, call_index, self._evidence)
        self._stream = stream


def scan(text: str, channel: str = "text") -> Finding | None:
    """Judge a whole text as if it had streamed: the collapse, else the first suspicion, else None.

    `channel`: `text` (or `content`), `reasoning`, or `code` for tool arguments.
    """
    stream = TextDetector("tool_arguments" if channel == "code" else channel)
    found = stream.feed(text) + stream.close()
    return next((finding for finding in reversed(found)), None)
