"""Events of one chat completion to a reply: text by channel, calls, finish reason, usage, extras, arrival times."""

from __future__ import annotations

from array import array
from typing import Any

import orjson

from replayer.wire import extras
from replayer.wire.calls import CallAssembler
from replayer.wire.notes import Notes
from replayer.wire.payload import read_json
from replayer.wire.sse import SseSplitter, read_block
from replayer.wire.template import Template, learn
from replayer.wire.types import Channel, Delta, ToolCall

_loads = orjson.loads
_new = tuple.__new__


class Assembler:
    """Fed with body bytes; every attribute is what is known so far."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.reasoning: list[str] = []
        self.reasoning_field: str | None = None
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] | None = None
        self.extra: dict[str, Any] = {}
        self.arrivals = array("q")
        """Stamps of the events that carried text or a call."""
        self.done = False
        self.error: extras.EngineError | None = None
        self.notes = Notes()
        self._streamed = True
        self._role_seen = False
        self._deltas: list[Delta] = []
        self._splitter = SseSplitter()
        self._calls = CallAssembler(self.notes)
        self._once = True  # the chunk now read holds nothing that adds up
        self._template: Template | None = None
        self._slow = 0  # events with text that were read in full
        self._hits = -1  # events that templates had read when the last one was learnt
        self._patience = 0
        self._learn_after = 0

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, complete; what is wrong with them as a whole is noted now."""
        return self._calls.finish()

    def feed(self, data: bytes, at: int) -> list[Delta]:
        """Body bytes of a stream that arrived at `at`; returns the deltas that they complete."""
        return self._take_blocks(self._splitter.feed(data), at)

    def flush(self, at: int) -> list[Delta]:
        """The body ended: an event that lacks its blank line still counts."""
        return self._take_blocks(self._splitter.flush(), at)

    def whole(self, data: bytes, at: int) -> list[Delta]:
        """The body of a reply that was not streamed."""
        self._streamed = False
        self._role_seen = True
        chunk = self._take_payload(data, at, named_error=False)
        self.done = chunk is not None and bool(chunk.get("choices"))
        self.arrivals = array("q")
        return self._drain()

    def _take_blocks(self, blocks: list[bytes], at: int) -> list[Delta]:
        for block in blocks:
            template = self._template
            if (
                template is None
                or not block.startswith(template.prefix)
                or not block.endswith(template.suffix)
            ):
                self._take_block(block, at)
                continue
            try:
                text = _loads(block[template.start : template.stop])
            except orjson.JSONDecodeError:
                text = None
            if text.__class__ is not str or not text:
                self._take_block(block, at)
                continue
            template.pieces.append(text)
            self.arrivals.append(at)
            self._deltas.append(_new(Delta, (at, template.channel, text, template.call_index)))
        return self._drain()

    def _take_block(self, block: bytes, at: int) -> None:
        self._template = None
        if not block.startswith(b"data: ") or 10 in block:
            if event := read_block(block):
                self._take_event(event.data, at, event.event == "error")
            return
        known = len(self._deltas), len(self._calls), len(self.notes)
        self._once = True
        chunk = self._take_event(block[6:], at)
        known_now = len(self._deltas) - 1, len(self._calls), len(self.notes)
        plain = self._once and self.finish_reason is None and self.error is None
        if chunk is not None and plain and known == known_now:
            self._learn(block, chunk)

    def _learn(self, block: bytes, chunk: dict[str, Any]) -> None:
        """Learn from a chunk that gave one delta and nothing else; ever more rarely where it never pays off."""
        if self._learn_after > 0:
            self._learn_after -= 1
            return
        hits = len(self.arrivals) - self._slow
        self._patience = min(2 * self._patience + 1, 63) if hits == self._hits else 0
        self._learn_after = self._patience
        self._hits = hits
        delta = self._deltas[-1]
        pieces = {"content": self.content, "reasoning": self.reasoning}.get(delta.channel)
        if pieces is None:
            pieces = self._calls.pieces(delta.call_index)
        self._template = learn(block, chunk, delta, pieces)

    def _drain(self) -> list[Delta]:
        deltas, self._deltas = self._deltas, []
        return deltas

    def _take_event(self, data: bytes, at: int, named_error: bool = False) -> dict[str, Any] | None:
        if self.done:
            self.notes.add("data_after_done", "an event came after [DONE]")
        elif data == b"[DONE]":
            self.done = True
        else:
            return self._take_payload(data, at, named_error)
        return None

    def _take_payload(self, data: bytes, at: int, named_error: bool) -> dict[str, Any] | None:
        try:
            chunk, codes = read_json(data)
        except ValueError as error:
            chunk, codes = None, []
            self.notes.add("bad_event", f"not JSON ({error}): {_excerpt(data)}")
        for code in codes:
            self.notes.add(code, f"in {_excerpt(data)}")
        if named_error or (isinstance(chunk, dict) and ("error" in chunk or "message" in chunk)):
            self._take_error(chunk, data.decode("utf-8", "replace"), named_error)
        if isinstance(chunk, dict):
            self._take_chunk(chunk, at)
            return chunk
        if chunk is not None:
            self.notes.add("bad_event", f"not an object: {_excerpt(data)}")
        return None

    def _take_error(self, chunk: Any, text: str, named: bool) -> None:
        """Where the event is named `error`, all of its data is the error object."""
        if named and not (isinstance(chunk, dict) and "error" in chunk):
            chunk = {"error": chunk or text}
        self.error = extras.read_error(chunk, text) or self.error

    def _take_chunk(self, chunk: dict[str, Any], at: int) -> None:
        self._once &= extras.merge(self.extra, chunk, extras.ENVELOPE)
        self._take_usage(chunk.get("usage"))
        choices = chunk.get("choices") or ()
        if not isinstance(choices, (list, tuple)):
            self.notes.add("bad_field", "`choices` is not a list")
            return
        for choice in choices:
            if isinstance(choice, dict):
                self._take_choice(choice, at)
            else:
                self.notes.add("bad_field", "an element of `choices` is not an object")

    def _take_choice(self, choice: dict[str, Any], at: int) -> None:
        if choice.get("index") not in (None, 0, "0"):
            self.notes.add("other_choice", f"something came for choice {choice['index']!r}")
            return
        delta = choice.get("delta") if self._streamed else choice.get("message")
        if not (delta or self.arrivals):  # a stream of one whole message; later ones repeat what came
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._take_delta(delta, at)
        elif delta:
            self.notes.add("bad_field", "`delta` is not an object")
        self._once &= extras.merge(self.extra, choice, extras.CHOICE)
        if reason := choice.get("finish_reason"):  # some servers send "" until the end
            self.finish_reason = str(reason)
        self._take_usage(choice.get("usage"))

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.usage = usage or self.usage
        elif usage is not None:
            self.notes.add("bad_field", "`usage` is not an object")

    def _take_delta(self, delta: dict[str, Any], at: int) -> None:
        before = len(self._deltas)
        calls_before = len(self._calls)
        if delta.get("role"):
            self._role_seen = True
        self._take_texts(delta, at)
        if calls := delta.get("tool_calls"):
            self._take_calls(calls, at)
        elif function := delta.get("function_call"):
            self.notes.add("legacy_function_call", "`function_call` instead of `tool_calls`")
            self._take_calls([{"index": 0, "function": function}], at)
        self._once &= extras.merge(self.extra, delta, extras.DELTA)
        if len(self._deltas) > before or len(self._calls) > calls_before:
            self.arrivals.append(at)
            self._slow += 1
            if self.finish_reason is not None:
                self.notes.add(
                    "delta_after_finish", f"a delta came after finish reason {self.finish_reason!r}"
                )

    def _take_texts(self, delta: dict[str, Any], at: int) -> None:
        if (content := delta.get("content")) and (text := self._text(content, "content")):
            self.content.append(text)
            self._deltas.append(Delta(at, "content", text))
        spoken, field = delta.get("reasoning_content"), "reasoning_content"
        if other := delta.get("reasoning"):
            if spoken and spoken != other:
                self.notes.add("two_reasonings", "`reasoning_content` and `reasoning` differ in one delta")
            elif not spoken:
                spoken, field = other, "reasoning"
        if spoken and (text := self._text(spoken, field)):
            self.reasoning_field = field
            self.reasoning.append(text)
            self._deltas.append(Delta(at, "reasoning", text))

    def _text(self, value: Any, field: str) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            self.notes.add("content_parts", f"`{field}` is a list of parts")
            texts = [part.get("text") for part in value if isinstance(part, dict)]
            return "".join(text for text in texts if isinstance(text, str))
        self.notes.add("bad_field", f"`{field}` is not a string")
        return ""

    def _take_calls(self, items: Any, at: int) -> None:
        if not isinstance(items, list):
            self.notes.add("bad_field", "`tool_calls` is not a list")
            return
        if not self._role_seen:
            self.notes.add("call_before_role", "a call came before the role of the message")
        for number, item in enumerate(items):
            if not self._streamed and isinstance(item, dict):
                item = {**item, "index": number}  # a whole reply tells its calls apart by their places
            position, name, arguments = self._calls.feed(item)
            self._put(at, "tool_name", name, position)
            self._put(at, "tool_arguments", arguments, position)

    def _put(self, at: int, channel: Channel, text: str | None, position: int) -> None:
        if text:
            self._deltas.append(Delta(at, channel, text, position))


def _excerpt(data: bytes) -> str:
    return data[:200].decode("utf-8", "replace")
