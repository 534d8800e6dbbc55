"""Repetition collapse, caught while a reply streams, on the client's side and on any engine.

`RepetitionDetector` watches one reply (protocol: `replayer.signals.base.Signal`); `scan` gives the same verdict at
the same offsets for text that is already there. Method, figures and limits: `docs/repetition.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replayer.signals.repetition_calls import RepeatedCalls
from replayer.signals.repetition_evidence import Evidence
from replayer.signals.repetition_finding import Finding
from replayer.signals.repetition_text import TURN, TextDetector
from replayer.wire.types import Delta, Reply

MAX_STREAMS = 64
CUT = "length"


class RepetitionDetector:
    """One reply. Memory is bounded, the cost of a delta does not depend on how much came before.

    `prompt_contains` tells whether a text stands in the prompt; `recorded` is the recorded reply of the turn, if
    there is one. Both only ever lower an alarm (repetition that was asked for) or back one up (`structure`).
    """

    name = "repetition"
    version = 2

    def __init__(
        self, prompt_contains: Callable[[str], bool] | None = None, recorded: str | None = None
    ) -> None:
        self._evidence = Evidence(prompt_contains, recorded)
        self._streams: dict[tuple[str, int], TextDetector] = {}
        self._calls = RepeatedCalls()
        self._channel, self._call_index = "content", -1
        self._stream = self._streams["content", -1] = TextDetector("content", -1, self._evidence)

    def feed(self, delta: Delta) -> list[dict[str, Any]]:
        _, channel, text, call_index = delta
        if channel != self._channel or call_index != self._call_index:
            return self._switch(delta)
        stream = self._stream
        stream.pending = pending = stream.pending + text
        return [] if len(pending) < TURN else [finding.to_dict() for finding in stream.advance()]

    def finish(self, reply: Reply) -> list[dict[str, Any]]:
        """Look at what is left of every stream."""
        found = self._calls.ended(self._stream) if self._channel == "tool_arguments" else []
        for stream in self._streams.values():
            found += stream.close(cut=reply.finish_reason == CUT)
        return [finding.to_dict() for finding in found]

    def _switch(self, delta: Delta) -> list[dict[str, Any]]:
        """Another channel or call goes on; a call that has not been seen before ends the one before it."""
        channel, call_index = delta.channel, delta.call_index
        if channel == "tool_name":
            return []
        found: list[Finding] = []
        stream = self._streams.get((channel, call_index))
        if stream is None:
            if channel == self._channel == "tool_arguments":
                found = self._calls.ended(self._stream)
            if len(self._streams) >= MAX_STREAMS:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[channel, call_index] = TextDetector(channel, call_index, self._evidence)
        self._channel, self._call_index, self._stream = channel, call_index, stream
        return [finding.to_dict() for finding in found] + self.feed(delta)


def scan(text: str, channel: str = "text", finish_reason: str | None = None) -> Finding | None:
    """Judge a whole text as if it had streamed: the collapse, else the first suspicion, else None.

    `channel`: `text` (or `content`), `reasoning`, or `code` for tool arguments. `finish_reason`: the engine's, if known.
    """
    stream = TextDetector("tool_arguments" if channel == "code" else channel)
    found = stream.feed(text) + stream.close(cut=finish_reason == CUT)
    return next((finding for finding in reversed(found)), None)
