"""Events of OpenAI's Responses API: output items, each added, filled and done, and the final object of them all."""

from __future__ import annotations

from typing import ClassVar

import orjson

from replayer.wire import counts, extras
from replayer.wire.limits import LIMITS, check_aside, quoted
from replayer.wire.merged import holds_two_calls
from replayer.wire.parts import Block, BlockReader, Parts
from replayer.wire.response_items import (
    CALLS,
    as_sent_back,
    channel_of,
    first_call,
    text_of_item,
    text_or_empty,
    texts,
)
from replayer.wire.types import Channel, Json, JsonObject, Wire

_KEPT = frozenset(
    """
    id model status incomplete_details service_tier previous_response_id background store
    """.split()
)
"""What is kept of a response object; the rest repeats the request."""
_CHANNELS: dict[str, Channel] = {
    "response.output_text.delta": "content",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "tool_arguments",
    "response.custom_tool_call_input.delta": "tool_arguments",
}
_WHOLE_TEXT = {
    "response.output_text.done": "text",
    "response.reasoning_text.done": "text",
    "response.reasoning_summary_text.done": "text",
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_KIND_OF_CHANNEL: dict[Channel, tuple[str, ...]] = {
    "content": ("message",),
    "reasoning": ("reasoning",),
    "tool_arguments": ("function_call", "custom_tool_call"),
}
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_BOUNDS = ("response.content_part.", "response.reasoning_part.", "response.reasoning_summary_part.")
_SILENT = frozenset({"response.created", "response.in_progress", "response.queued"})
_TERMINAL = frozenset({"completed", "incomplete", "failed", "cancelled"})


class ResponsesReader(BlockReader):
    wire: ClassVar[Wire] = "responses"
    calls: ClassVar[frozenset[str]] = CALLS

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._by_id: dict[str, Block] = {}
        self._by_index: dict[int, Block] = {}
        self._sequence: int | None = None
        self._final: dict[int, JsonObject] = {}
        self._usage: JsonObject | None = None
        self._late = False
        """No item was streamed: what the final object holds did not arrive token by token."""

    def event(self, chunk: JsonObject, at: int) -> None:
        kind = chunk.get("type")
        self._check_sequence(chunk.get("sequence_number"))
        if not isinstance(kind, str):
            if chunk.get("object") == "response":  # the whole response in one event
                self._end(chunk, at)
            else:
                self._parts.unknown(chunk)
        elif (channel := _CHANNELS.get(kind)) is not None:
            self._delta(chunk, channel, at)
        elif kind in _WHOLE_TEXT:
            self._check_text(chunk, chunk.get(_WHOLE_TEXT[kind]), kind, at)
        elif kind == "response.output_item.added":
            self._add(chunk, at)
        elif kind == "response.output_item.done":
            self._item_done(chunk, at)
        elif kind in _ENDS or kind in _SILENT:
            self._take_response(chunk, kind, at)
        elif kind == "response.content_part.added":
            self._item_of(chunk, ("message", "reasoning")).parts += 1
        elif kind.startswith("response.refusal."):
            self._take_refusal(chunk.get("delta"))
        elif not kind.startswith(_BOUNDS) and kind != "error":
            self._parts.unknown(chunk)

    def whole(self, chunk: JsonObject, at: int) -> bool:
        if chunk.get("object") != "response" and not isinstance(chunk.get("output"), list):
            return False
        self._end(chunk, at)
        return chunk.get("status", "completed") in _TERMINAL

    def finish(self) -> None:
        parts = self._parts
        parts.content, parts.reasoning = self._texts("message"), self._texts("reasoning")
        parts.output = tuple([as_sent_back(item, self._final.get(item.index)) for item in self._blocks])
        for item in self._blocks:
            if item.kind == "function_call" and holds_two_calls(item.text):
                words = "the item holds the arguments of more than one call"
                self._notes.add("merged_arguments", words, item.position)

    def counted(self, number: int) -> None:
        self._sequence = number

    def holder(self, chunk: Json, channel: Channel) -> tuple[JsonObject, str | None]:
        known = _CHANNELS.get(str(chunk.get("type"))) == channel
        return chunk, "delta" if known and not chunk.get("logprobs") else None

    def _check_sequence(self, number: object) -> None:
        if type(number) is not int:
            return
        if self._sequence is not None and number != self._sequence + 1:
            words = f"sequence number {number} came after {self._sequence}"
            self._notes.add("sequence_gap", words)
        self._sequence = number

    def _take_response(self, chunk: JsonObject, kind: str, at: int) -> None:
        response = self._object(chunk.get("response"), "`response` of an event") or {}
        extras.merge(self._parts.extra, chunk, frozenset({"type", "response", "sequence_number", "error"}))
        if kind in _ENDS:
            self._end(response, at, kind.removeprefix("response."))
        else:
            self._keep(response)

    def _keep(self, response: JsonObject) -> None:
        extra = self._parts.extra
        extra.update({key: response[key] for key in _KEPT if response.get(key) is not None})

    def _end(self, response: JsonObject, at: int, named: str = "completed") -> None:
        parts = self._parts
        self._keep(response)
        output = response.get("output")
        self._take_final(output if isinstance(output, list) else [], at)
        status = str(response.get("status") or named)[: LIMITS.name]
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        parts.finish_reason = str(reason)[: LIMITS.name] if status == "incomplete" and reason else status
        if status == "failed":
            words = orjson.dumps(response.get("error") or {"message": "the response failed"}).decode()
            parts.error = extras.read_error({"error": response.get("error") or words}, words)
        self._take_usage(response.get("usage"))
        parts.done = status in _TERMINAL

    def _take_usage(self, usage: Json) -> None:
        if usage is None or self._object(usage, "`usage`") is None:
            return
        self._parts.extra["usage"] = usage
        self._parts.usage = counts.of_responses(usage)
        if self._parts.usage is None:
            self._notes.add("usage_zero", "usage is all zeros: not reported")

    def _take_final(self, output: list[Json], at: int) -> None:
        """The final object: compared with what was streamed, which is what clients act on; where nothing was, it is
        the reply."""
        streamed = list(self._blocks)
        if self._parts.streamed and output and not streamed:
            self._late = True
            self._notes.add("no_deltas", "the whole reply came in the last event")
        for number, stated in enumerate(output):
            if not isinstance(stated, dict):
                self._notes.add("bad_field", "an element of `output` is not an object")
            elif not streamed:
                self._take_item(stated, at)
            elif number < len(streamed) and streamed[number].kind == stated.get("type"):
                self._compare(streamed[number], stated, last=True)
            else:
                self._note_unannounced(stated, number)
        if len(output) < len(streamed):
            words = f"{len(streamed)} items were streamed, the final object has {len(output)}"
            self._notes.add("final_differs", words, first_call(streamed[len(output) :]))
        for item in streamed:
            if item.open:
                words = f"an output item of type {quoted(item.kind)} was never done"
                self._notes.add("item_not_done", words, item.position if item.position >= 0 else None)

    def _note_unannounced(self, stated: JsonObject, number: int) -> None:
        words = f"item {number} of the final object ({stated.get('type')}) is in no event"
        lost = str(stated.get("type")) in CALLS and not len(self._parts.calls)
        self._notes.add("call_not_streamed" if lost else "final_differs", words)

    def _compare(self, item: Block, stated: JsonObject, last: bool = False) -> None:
        """A streamed item beside the same item in the event that closes it or, `last`, in the final object."""
        self._final.setdefault(item.index, stated)
        self._check_ids(item, stated, last)
        final = text_of_item(stated)
        position = item.position if item.position >= 0 else None
        known_to_differ = self._notes.has("final_differs", position)
        if final is not None and not known_to_differ and final != item.text:
            self._notes.add(
                "final_differs", f"{item.kind}: the final object differs from the deltas", position
            )
        name = stated.get("name")
        if item.position >= 0 and isinstance(name, str):
            known = self._parts.calls.name(item.position, name)
            if known != name:
                words = f"the call is of {quoted(known)} in the events and of {name!r} later"
                self._notes.add("final_differs", words, item.position)

    def _check_ids(self, item: Block, stated: JsonObject, last: bool) -> None:
        """vLLM 0.21 makes new ids for the final object: a client uses either, never both."""
        before, now = item.at_start.get("id"), stated.get("id")
        if before and now and before != now:
            self._notes.add("item_id_changed", f"item {quoted(before)} is {now!r} in a later event")
        call_id = stated.get("call_id")
        if item.position >= 0 and isinstance(call_id, str) and call_id:
            known = self._parts.calls.identify(item.position, call_id)
            if known != call_id:
                words = f"the id changed from {quoted(known)} to {call_id!r}"
                self._notes.add("final_id_differs" if last else "changed_id", words, item.position)

    def _take_item(self, stated: JsonObject, at: int) -> None:
        """An item that came whole, in the final object or in a body."""
        item = self._open(stated, None, at)
        item.open = False
        self._final[item.index] = stated
        for text in texts(stated):
            self._fill(item, channel_of(item.kind), text, at)
        self._take_refusals(stated)

    def _add(self, chunk: JsonObject, at: int) -> None:
        stated = self._object(chunk.get("item"), "`item`")
        if stated is None:
            return
        index = chunk.get("output_index")
        if type(index) is int and (before := self._by_index.get(index)):
            costs = len(self._parts.calls) if {str(stated.get("type")), before.kind} & CALLS else None
            words = f"an item was added under output_index {index}, which was in use"
            self._notes.add("repeated_block", words, costs)
        item = self._open(stated, index, at)
        for text in texts(stated):
            self._fill(item, channel_of(item.kind), text, at)

    def _open(self, stated: JsonObject, index: object, at: int) -> Block:
        item = Block(str(stated.get("type")), stated, len(self._blocks))
        self._blocks.append(item)
        if named := _name_of(stated):
            self._by_id[named] = item
        if type(index) is int:
            self._by_index[index] = item
        if item.kind in CALLS:
            name = stated.get("name") if item.kind != "local_shell_call" else "local_shell"
            freeform = item.kind == "custom_tool_call"
            call_id = stated.get("call_id")
            item.position = self._parts.calls.open(call_id, name, item.pieces, freeform)
            self._parts.put(at, "tool_name", name if isinstance(name, str) else None, item.position)
            if isinstance(stated.get("arguments"), dict):
                self._notes.add("arguments_object", "`arguments` is not a string", item.position)
            self._arrived(at)
        return item

    def _arrived(self, at: int) -> None:
        if not self._late:
            self._parts.arrived(at)

    def _delta(self, chunk: JsonObject, channel: Channel, at: int) -> None:
        kinds = _KIND_OF_CHANNEL[channel]
        item = self._item_of(chunk, kinds)
        item.touched = True
        if item.kind not in kinds:
            words = f"{chunk['type']} came for an item of type {quoted(item.kind)}"
            self._notes.add("delta_type", words)
            item = self._stray(kinds[0])
        elif not item.open:
            self._notes.add("delta_after_stop", f"{chunk['type']} came for an item that was done")
        self._take_logprobs(chunk.get("logprobs"))
        place = chunk.get("content_index")
        if channel == "content" and type(place) is int and place > max(item.parts - 1, 0):
            self._notes.add("block_index_gap", f"text came for part {place}, of {item.parts} announced")
        if text := chunk.get("delta"):
            self._fill(item, channel, text, at)

    def _take_logprobs(self, logprobs: object) -> None:
        if isinstance(logprobs, list) and logprobs:
            self._parts.once = False
            extras.merge(self._parts.extra, {"logprobs": {"content": logprobs}}, frozenset())

    def _item_of(self, chunk: JsonObject, kinds: tuple[str, ...]) -> Block:
        """By item id, else by output index."""
        by_id = self._by_id.get(text_or_empty(chunk.get("item_id")))
        index = chunk.get("output_index")
        by_index = self._by_index.get(index) if type(index) is int else None
        if by_id is not None and by_index is not None and by_id is not by_index:
            words = f"{chunk['type']} names the item of one output_index and the id of another"
            self._notes.add("index_out_of_order", words, by_id.position if by_id.position >= 0 else None)
        if item := by_id or by_index:
            if by_id is None and chunk.get("item_id"):
                self._notes.add(
                    "item_id_changed", f"{chunk['type']} names the unknown item {chunk['item_id']!r}"
                )
            return item
        self._notes.add("delta_without_block", f"{chunk['type']} came for an item that was never added")
        return self._stray(kinds[0])

    def _check_text(self, chunk: JsonObject, text: object, kind: str, at: int) -> None:
        """A `….done` event repeats the text of its part; where no delta came, it is the text."""
        channel = _CHANNELS[kind.removesuffix("done") + "delta"]
        item = self._item_of(chunk, _KIND_OF_CHANNEL[channel])
        if not isinstance(text, str) or _end_with(item.pieces, text):
            return
        if not item.touched and item.kind in _KIND_OF_CHANNEL[channel]:
            self._fill(item, channel, text, at)
        else:
            position = item.position if item.position >= 0 else None
            self._notes.add("final_differs", f"{kind} differs from the deltas before it", position)

    def _item_done(self, chunk: JsonObject, at: int) -> None:
        stated = self._object(chunk.get("item"), "`item`")
        if stated is None:
            return
        by_id = self._by_id.get(_name_of(stated))
        index = chunk.get("output_index")
        item = by_id or (self._by_index.get(index) if type(index) is int else None)
        if item is None:
            words = "an output item was done that was never added"
            self._notes.add("item_not_added", words)
            item = self._open(stated, index, at)
        item.open = False
        self._final[item.index] = stated
        if not item.pieces:
            for text in texts(stated):
                self._fill(item, channel_of(item.kind), text, at)
        self._take_refusals(stated)
        self._compare(item, stated)

    def _take_refusal(self, text: object) -> None:
        if isinstance(text, str):
            self._parts.once = False
            refusal = self._parts.extra.get("refusal", "") + text
            self._parts.extra["refusal"] = check_aside(refusal, "the refusal")

    def _take_refusals(self, stated: JsonObject) -> None:
        content = stated.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "refusal" and part.get("refusal"):
                self._parts.extra["refusal"] = part["refusal"]


def _end_with(pieces: list[str], text: str) -> bool:
    """Whether all of them joined would: at a cost that goes by the text, which may come again and again."""
    last: list[str] = []
    left = len(text)
    for piece in reversed(pieces):
        if left <= 0:
            break
        last.append(piece)
        left -= len(piece)
    return "".join(reversed(last)).endswith(text)


def _name_of(stated: JsonObject) -> str:
    """What events call an item: its id, or, with llama.cpp before summer 2026, the id of the call, which has no other."""
    return text_or_empty(stated.get("id") or stated.get("call_id"))
