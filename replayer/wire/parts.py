"""What a reply is made of so far: filled by the reader of one wire, read when the reply is complete."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import ClassVar, Protocol

from replayer.wire import extras
from replayer.wire.calls import CallAssembler
from replayer.wire.limits import LIMITS, check_parts, quoted
from replayer.wire.notes import Notes
from replayer.wire.types import Channel, Delta, JsonObject, Wire


class Parts:
    """One reply under assembly; every attribute is what is known so far."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.reasoning: list[str] = []
        self.reasoning_field: str | None = None
        self.finish_reason: str | None = None
        self.usage: JsonObject | None = None
        self.extra: JsonObject = {}
        self.output: tuple[JsonObject, ...] = ()
        self.arrivals = array("q")
        """Stamps of the events that carried text or a call."""
        self.began: int | None = None
        """Stamp of the event that opened the stream and carried neither; 0 where it came during prefill."""
        self.done = False
        self.error: extras.EngineError | None = None
        self.notes = Notes()
        self.calls = CallAssembler(self.notes)
        self.deltas: list[Delta] = []
        self.streamed = True
        self.once = True
        """The event now read holds nothing that adds up, so that reading it again changes nothing but the text."""

    def put(self, at: int, channel: Channel, text: str | None, position: int = -1) -> None:
        if text:
            self.deltas.append(Delta(at, channel, text, position))

    def arrived(self, at: int) -> None:
        """The event that came at `at` carried text or a call."""
        if self.streamed:
            self.arrivals.append(at)
            if self.finish_reason is not None:
                self.notes.add(
                    "delta_after_finish", f"a delta came after finish reason {quoted(self.finish_reason)}"
                )

    def unknown(self, event: JsonObject) -> None:
        """Keep the first event of a type that the protocol does not have, and count them."""
        kind = str(event.get("type"))
        known = self.extra.setdefault("unknown_events", {})
        entry = known.setdefault(kind, {"count": 0, "first": event})
        entry["count"] += 1
        self.once = False
        self.notes.add("unknown_event", f"an event of the unknown type {kind!r}")


class WireReader(Protocol):
    """Events of one wire to `Parts`."""

    wire: ClassVar[Wire]

    def event(self, chunk: JsonObject, at: int) -> None:
        """One event of a stream."""

    def whole(self, chunk: JsonObject, at: int) -> bool:
        """The body of a reply that was not streamed; returns whether it is one."""

    def finish(self) -> None:
        """Nothing more comes: settle what only the end shows. Doing it twice changes nothing."""

    def counted(self, number: int) -> None:
        """An event with this sequence number was read elsewhere."""

    def pieces(self, delta: Delta) -> list[str]:
        """The list that the text of the latest delta went to."""

    def holder(self, chunk: object, channel: Channel) -> tuple[JsonObject, str | None]:
        """The object of a chunk that holds the text of its one delta, and its key; None as key where another text
        in that place could mean more than that text."""


class Block:
    """One content block or output item: what was stated when it began, and its text as it came."""

    __slots__ = ("at_start", "index", "kind", "open", "parts", "pieces", "position", "signature", "touched")

    def __init__(self, kind: str, at_start: JsonObject, index: int) -> None:
        check_parts(index)
        self.kind = kind[: LIMITS.name]
        self.at_start = at_start
        self.index = index
        self.open = True
        self.parts = 0
        """Content parts that were announced."""
        self.pieces: list[str] = []
        self.position = -1
        """Of the call in `Reply.tool_calls`."""
        self.signature = ""
        self.touched = False
        """A delta came, be it empty."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class BlockReader:
    """What the readers share whose replies are lists: of content blocks, or of output items."""

    calls: ClassVar[frozenset[str]]
    """Types of block that are calls."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._notes = parts, parts.notes
        self._blocks: list[Block] = []
        self._last: Block | None = None

    def pieces(self, delta: Delta) -> list[str]:
        return self._last.pieces if self._last is not None else []

    def _texts(self, kind: str) -> list[str]:
        return [text for block in self._blocks if block.kind == kind for text in block.pieces]

    def _object(self, value: object, name: str) -> JsonObject | None:
        if isinstance(value, dict):
            return value
        self._notes.add("bad_field", f"{name} is not an object")
        return None

    def _stray(self, kind: str) -> Block:
        """A block of its own for text that belongs to none, so that the channels stay apart."""
        if self._blocks and self._blocks[-1].kind == kind and self._blocks[-1].at_start.get("stray"):
            return self._blocks[-1]
        block = Block(kind, {"type": kind, "stray": True}, len(self._blocks))
        block.open = False
        self._blocks.append(block)
        if kind in self.calls:
            block.position = self._parts.calls.open(None, None, block.pieces)
        return block

    def _fill(self, block: Block, channel: Channel, text: object, at: int) -> None:
        if not isinstance(text, str):
            self._notes.add("bad_field", f"the text of a block of type {quoted(block.kind)} is not a string")
            return
        block.pieces.append(text)
        self._last = block
        self._parts.put(at, channel, text, block.position)
        self._arrived(at)

    def _arrived(self, at: int) -> None:
        self._parts.arrived(at)


def texts_of(parts: object) -> Iterable[str]:
    """The texts in a list of content parts."""
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
