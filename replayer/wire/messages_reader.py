"""Events of Anthropic's Messages API: content blocks, each opened, filled and stopped by its index."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import orjson

from replayer.wire import counts, extras
from replayer.wire.limits import LIMITS, check_aside, quoted
from replayer.wire.merged import holds_two_calls
from replayer.wire.parts import Block, BlockReader, Parts
from replayer.wire.payload import read_json
from replayer.wire.types import Channel, Json, JsonObject, Wire

_MESSAGE = frozenset({"content", "usage", "type", "role", "stop_reason", "stop_sequence", "error"})
"""Keys of a message that are read elsewhere or say nothing."""


class _Kind(NamedTuple):
    """A type of delta: the key of its text, the types of block it belongs to, and the channel it fills."""

    key: str
    blocks: tuple[str, ...]
    channel: Channel | None


_SERVER_TOOLS = ("server_tool_use", "mcp_tool_use")
_DELTAS = {
    "text_delta": _Kind("text", ("text",), "content"),
    "thinking_delta": _Kind("thinking", ("thinking",), "reasoning"),
    "input_json_delta": _Kind("partial_json", ("tool_use", *_SERVER_TOOLS), "tool_arguments"),
    "signature_delta": _Kind("signature", ("thinking",), None),
    "citations_delta": _Kind("citation", ("text",), None),
}
_TEXT_KEYS: dict[str, str] = {"text": "text", "thinking": "thinking"}


class MessagesReader(BlockReader):
    wire: ClassVar[Wire] = "messages"
    calls: ClassVar[frozenset[str]] = frozenset({"tool_use"})

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._by_index: dict[Json, Block] = {}
        self._begun = 0
        self._started = False
        self._ended = False
        self._usage: JsonObject = {}

    def event(self, chunk: JsonObject, at: int) -> None:
        kind = chunk.get("type")
        if kind == "content_block_delta":
            self._delta(chunk, at)
        elif kind == "content_block_start":
            self._start_block(chunk, at)
        elif kind == "content_block_stop":
            self._stop_block(chunk)
        elif kind == "message_start":
            self._start(chunk.get("message"))
            self._parts.began = at
        elif kind == "message_delta":
            self._end(chunk)
        elif kind == "message_stop":
            self._parts.done = True
            self._note_open_blocks()
        elif kind == "message":  # the whole message in one event
            self._started = True
            self.whole(chunk, at)
        elif kind not in ("ping", "error"):
            self._parts.unknown(chunk)

    def whole(self, chunk: JsonObject, at: int) -> bool:
        content = chunk.get("content")
        self._check_role(chunk)
        extras.merge(self._parts.extra, chunk, _MESSAGE)
        for number, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._whole_block(block, number, at)
            else:
                self._notes.add("bad_field", "an element of `content` is not an object")
        self._stop_reason(chunk)
        self._ended = True
        self._take_usage(chunk.get("usage"))
        return isinstance(content, list) and chunk.get("type") == "message"

    def finish(self) -> None:
        parts = self._parts
        parts.content, parts.reasoning = self._texts("text"), self._texts("thinking")
        parts.output = tuple([_stated(block) for block in self._blocks])
        for block in self._blocks:
            if block.kind == "tool_use":
                self._settle_call(block)
        if self._usage:
            parts.extra["usage"] = dict(self._usage)
            parts.usage = counts.of_messages(self._usage, self._ended)
            if self._ended and parts.usage is None:
                self._notes.add("usage_zero", "usage is all zeros: not reported")

    def counted(self, number: int) -> None:
        """This wire has no sequence numbers."""

    def holder(self, chunk: Json, channel: Channel) -> tuple[JsonObject, str | None]:
        delta = chunk.get("delta")
        kind = _DELTAS.get(str(delta.get("type"))) if isinstance(delta, dict) else None
        if kind is None or chunk.get("type") != "content_block_delta" or kind.channel != channel:
            return {}, None
        return delta, kind.key

    def _start(self, message: object) -> None:
        if self._started:
            self._notes.add("repeated_start", "a second `message_start` came")
        self._started = True
        if stated := self._object(message, "`message` of message_start"):
            self._check_role(stated)
            extras.merge(self._parts.extra, stated, _MESSAGE)
            self._take_usage(stated.get("usage"))

    def _check_role(self, message: JsonObject) -> None:
        if (role := message.get("role", "assistant")) != "assistant":
            self._notes.add("bad_field", f"`role` of a reply is {role!r:.40}")

    def _end(self, chunk: JsonObject) -> None:
        self._begin_check("message_delta")
        self._ended = True
        if delta := self._object(chunk.get("delta"), "`delta` of message_delta"):
            self._stop_reason(delta)
        self._take_usage(chunk.get("usage"))

    def _stop_reason(self, source: JsonObject) -> None:
        if reason := source.get("stop_reason"):
            self._parts.finish_reason = str(reason)[: LIMITS.name]
        if sequence := source.get("stop_sequence"):
            self._parts.extra["stop_sequence"] = sequence

    def _take_usage(self, usage: object) -> None:
        """Later counts win; a null never does."""
        if usage is not None and (stated := self._object(usage, "`usage`")):
            self._parts.once = False  # with a name of its own in every event they add up
            self._usage.update({key: value for key, value in stated.items() if value is not None})

    def _begin_check(self, event: str) -> None:
        if not self._started:
            self._started = True
            self._notes.add("late_start", f"{event} came before message_start")

    def _start_block(self, chunk: JsonObject, at: int) -> None:
        self._begin_check("content_block_start")
        stated = self._object(chunk.get("content_block"), "`content_block`")
        if stated is None:
            return
        index = chunk.get("index")
        if before := self._by_index.get(_key(index)):
            costs = len(self._parts.calls) if "tool_use" in (stated.get("type"), before.kind) else None
            self._notes.add("repeated_block", f"a block began under index {index!r}, which was in use", costs)
        elif type(index) is int and index != self._begun:
            self._notes.add("block_index_gap", f"block {index} began where block {self._begun} was due")
        elif any(block.open for block in self._blocks):
            self._notes.add("blocks_overlap", f"block {index!r} began before the one before it was stopped")
        self._begun += 1
        block = self._open(stated, index)
        if block.kind == "tool_use":
            self._announce(block, at)
        elif text := stated.get(_TEXT_KEYS.get(block.kind, "")):
            self._fill(block, _channel(block.kind), text, at)

    def _open(self, stated: JsonObject, index: object) -> Block:
        block = Block(str(stated.get("type")), stated, len(self._blocks))
        self._blocks.append(block)
        self._by_index[_key(index)] = block
        return block

    def _announce(self, block: Block, at: int) -> None:
        calls = self._parts.calls
        block.position = calls.open(block.at_start.get("id"), block.at_start.get("name"), block.pieces)
        name = block.at_start.get("name")
        self._parts.put(at, "tool_name", name if isinstance(name, str) else None, block.position)
        self._parts.arrived(at)

    def _delta(self, chunk: JsonObject, at: int) -> None:
        delta = self._object(chunk.get("delta"), "`delta`")
        if delta is None:
            return
        kind = _DELTAS.get(str(delta.get("type")))
        if kind is None:
            self._parts.unknown({**chunk, "type": f"content_block_delta/{delta.get('type')}"})
            return
        self._begin_check("content_block_delta")
        block = self._block_of(chunk.get("index"), kind)
        text = delta.get(kind.key)
        block.touched = True
        if block.kind not in kind.blocks:
            self._notes.add("delta_type", f"a {delta['type']} came in a block of type {quoted(block.kind)}")
            block = self._stray(kind.blocks[0])
        if kind.channel is None:
            self._parts.once = False
            self._aside(block, kind, text)
        elif text:
            self._fill(block, kind.channel, text, at)

    def _block_of(self, index: object, kind: _Kind) -> Block:
        block = self._by_index.get(_key(index))
        if block is None:
            self._notes.add("delta_without_block", f"a delta came for block {index!r}, which never began")
            block = self._open({"type": kind.blocks[0]}, index)
            if block.kind == "tool_use":
                block.position = self._parts.calls.open(None, None, block.pieces)
        elif not block.open:
            self._notes.add("delta_after_stop", f"a delta came for block {index!r}, which was stopped")
        return block

    def _fill(self, block: Block, channel: Channel, text: object, at: int) -> None:
        if block.kind in _SERVER_TOOLS and isinstance(text, str):
            block.pieces.append(text)
            self._last, self._parts.once = block, False
        else:
            super()._fill(block, channel, text, at)

    def _aside(self, block: Block, kind: _Kind, value: object) -> None:
        """What belongs to a block and is not text: a signature, a citation."""
        if kind.key == "signature" and isinstance(value, str):
            block.signature = check_aside(block.signature + value, "a signature")
        elif kind.key == "citation":
            block.at_start.setdefault("citations", [])
            if isinstance(block.at_start["citations"], list):
                block.at_start["citations"].append(value)

    def _stop_block(self, chunk: JsonObject) -> None:
        block = self._by_index.get(_key(chunk.get("index")))
        if block is None:
            index = chunk.get("index")
            self._notes.add("delta_without_block", f"block {index!r} was stopped, which never began")
        else:
            block.open = False

    def _note_open_blocks(self) -> None:
        for block in self._blocks:
            if block.open:
                self._notes.add(
                    "block_not_stopped", f"a block of type {quoted(block.kind)} was never stopped"
                )

    def _whole_block(self, stated: JsonObject, number: int, at: int) -> None:
        block = self._open(stated, number)
        block.open = False
        if block.kind == "tool_use":
            self._announce(block, at)
            given = stated.get("input")
            arguments = orjson.dumps({} if given is None else given).decode()
            if not isinstance(given, dict):
                self._notes.add("bad_field", "`input` of a tool_use block is not an object", block.position)
            self._fill(block, "tool_arguments", given if isinstance(given, str) else arguments, at)
        elif text := stated.get(_TEXT_KEYS.get(block.kind, "")):
            self._fill(block, _channel(block.kind), text, at)

    def _settle_call(self, block: Block) -> None:
        """The arguments of a streamed call, once all of them have come."""
        given = block.at_start.get("input")
        if not block.pieces:
            if given:
                block.pieces.append(orjson.dumps(given).decode())
            elif self._parts.streamed and not block.open:  # a call without arguments has one empty delta
                block.pieces.append("{}")
                if not block.touched:
                    words = "the block of the call was stopped without a delta"
                    self._notes.add("no_arguments", words, block.position)
        elif holds_two_calls(block.text):
            self._notes.add(
                "merged_arguments", "the block holds the arguments of more than one call", block.position
            )


def _key(index: object) -> Json:
    return index if isinstance(index, (int, str)) else None


def _channel(kind: str) -> Channel:
    return "content" if kind == "text" else "reasoning"


def _stated(block: Block) -> JsonObject:
    """The block as a client sends it back."""
    stated = {key: value for key, value in block.at_start.items() if key != "stray"}
    if key := _TEXT_KEYS.get(block.kind):
        stated[key] = block.text
        if block.signature:
            stated["signature"] = block.signature
    elif block.kind in ("tool_use", *_SERVER_TOOLS) and block.pieces:
        try:
            stated["input"] = read_json(block.text.encode())[0]
        except ValueError:
            stated["input"] = {}
    return stated
