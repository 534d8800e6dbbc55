"""Repetition collapse, caught while a reply streams, on the client's side and on any engine.

`RepetitionDetector` watches replies (protocol: `replayer.signals.base.Signal`); `scan` gives the same verdict at
the same offsets for text that is already there. Method, figures and limits: `docs/repetition.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replayer.signals.base import Expected, Signal
from replayer.signals.repetition.evidence import Evidence
from replayer.signals.repetition.finding import UNIT_CHARS, Finding
from replayer.signals.repetition.stream import TextDetector
from replayer.wire.types import Channel, Delta, Reply

MAX_STREAMS = 64
CUT = "length"
SUSPECT_CALLS = 5
LOOP_CALLS = 8
LEAST_ARGUMENTS = 8
"""Empty or nearly empty arguments are the same for good reasons."""


class RepeatedCalls:
    """Receives each call's arguments once the next call begins."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._count = 0
        self._wasted = 0

    def ended(self, call: TextDetector) -> list[Finding]:
        key = call.digest()
        if key[0] < LEAST_ARGUMENTS:
            self._last, self._count, self._wasted = None, 0, 0
            return []
        if key != self._last:
            self._last, self._count, self._wasted = key, 1, 0
            return []
        self._count += 1
        self._wasted += key[0]
        if self._count not in (SUSPECT_CALLS, LOOP_CALLS):
            return []
        return [
            Finding(
                kind="calls",
                level="collapsed" if self._count == LOOP_CALLS else "suspect",
                channel="tool_arguments",
                call_index=call.call_index,
                onset=0,
                detected_at=key[0],
                period=None,
                unit=call.newest(UNIT_CHARS),
                wasted_chars=self._wasted,
                confidence=1.0,
                note=f"{self._count} calls in a row with the same arguments",
            )
        ]


class RepetitionDetector(Signal):
    """One reply at a time. Memory is bounded, the cost of a delta does not depend on how much came before.

    Evidence only ever lowers an alarm (repetition that was asked for) or backs one up (`structure`).
    """

    name = "repetition"
    version = 12

    _stream: TextDetector

    def __init__(self, expected: Expected | None = None) -> None:
        self.begin(expected or Expected())

    def begin(self, expected: Expected) -> None:
        self._evidence = Evidence(expected.prompt_contains, expected.recorded)
        self._streams: dict[tuple[str, int], TextDetector] = {}
        self._calls = RepeatedCalls()
        self._channel, self._call_index = "", -1
        self._text_channel = ""
        """The channel that goes on where it is no call's, which one comparison tells."""

    def observe(self, delta: Delta) -> Sequence[Finding]:
        if delta.channel != self._text_channel and not self._goes_on(delta):
            return self._switch(delta)
        stream = self._stream
        stream.pending = pending = stream.pending + delta.text
        return () if len(pending) < stream.stride else stream.advance()

    def _goes_on(self, delta: Delta) -> bool:
        return delta.channel == self._channel and delta.call_index == self._call_index

    def end(self, reply: Reply) -> Sequence[Finding]:
        """Look at what is left of every stream."""
        found = self._calls.ended(self._stream) if self._channel == "tool_arguments" else []
        for stream in self._streams.values():
            found += stream.close(cut=reply.finish_reason == CUT)
        return found

    def _switch(self, delta: Delta) -> Sequence[Finding]:
        """Another channel or call goes on; a call that has not been seen before ends the one before it."""
        channel, call_index = delta.channel, delta.call_index
        if channel == "tool_name":
            return ()
        found: list[Finding] = []
        stream = self._streams.get((channel, call_index))
        if stream is None:
            if channel == self._channel == "tool_arguments":
                found = self._calls.ended(self._stream)
            if len(self._streams) >= MAX_STREAMS:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[channel, call_index] = TextDetector(channel, call_index, self._evidence)
        self._channel, self._call_index, self._stream = channel, call_index, stream
        self._text_channel = channel if call_index < 0 else ""
        return [*found, *self.observe(delta)]


PIECE = 512
"""Characters that a whole reply is fed in; how the engine cut its deltas is not kept."""


def deltas_of(reply: Reply) -> Iterator[Delta]:
    """A reply that is already there, as if it streamed."""
    texts: list[tuple[Channel, str, int]] = [
        ("reasoning", reply.reasoning, -1),
        ("content", reply.content, -1),
    ]
    texts += [("tool_arguments", call.arguments, call.index) for call in reply.tool_calls]
    for channel, text, index in texts:
        for start in range(0, len(text), PIECE):
            yield Delta(0, channel, text[start : start + PIECE], index)


def scan_reply(reply: Reply, expected: Expected) -> list[Finding]:
    """What is found in a reply that is already there."""
    detector = RepetitionDetector(expected)
    found = [finding for delta in deltas_of(reply) for finding in detector.observe(delta)]
    return [*found, *detector.end(reply)]


def scan(text: str, channel: str = "text", finish_reason: str | None = None) -> Finding | None:
    """Judge a whole text as if it had streamed: the collapse, else the first suspicion, else None.

    `channel`: `text` (or `content`), `reasoning`, or `code` for tool arguments. `finish_reason`: the engine's, if known.
    """
    stream = TextDetector("tool_arguments" if channel == "code" else channel)
    found = stream.feed(text) + stream.close(cut=finish_reason == CUT)
    return found[-1] if found else None
