"""Chunks of a chat completion (OpenAI's Chat Completions API)."""

from __future__ import annotations

from typing import ClassVar

from replayer.wire import extras
from replayer.wire.limits import LIMITS
from replayer.wire.parts import Parts
from replayer.wire.types import Channel, Delta, Json, JsonObject, Wire

_FIELDS: dict[Channel, tuple[str, ...]] = {
    "content": ("content",),
    "reasoning": ("reasoning_content", "reasoning"),
    "tool_arguments": ("arguments",),
}


class ChatReader:
    wire: ClassVar[Wire] = "chat"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._notes = parts.notes
        self._calls = parts.calls
        self._role_seen = False

    def event(self, chunk: JsonObject, at: int) -> None:
        parts = self._parts
        parts.once &= extras.merge(parts.extra, chunk, extras.ENVELOPE)
        self._take_usage(chunk.get("usage"))
        choices = chunk.get("choices") or ()
        if not isinstance(choices, (list, tuple)):
            self._notes.add("bad_field", "`choices` is not a list")
            return
        for choice in choices:
            if isinstance(choice, dict):
                self._take_choice(choice, at)
            else:
                self._notes.add("bad_field", "an element of `choices` is not an object")
        if parts.began is None and not parts.arrivals:
            parts.began = 0 if "prompt_progress" in chunk else at

    def whole(self, chunk: JsonObject, at: int) -> bool:
        self._role_seen = True
        self.event(chunk, at)
        return bool(chunk.get("choices"))

    def finish(self) -> None:
        """Chat states nothing that only the end shows."""

    def counted(self, number: int) -> None:
        """This wire has no sequence numbers."""

    def pieces(self, delta: Delta) -> list[str]:
        if delta.channel == "content":
            return self._parts.content
        return self._parts.reasoning if delta.channel == "reasoning" else self._calls.pieces(delta.call_index)

    def holder(self, chunk: Json, channel: Channel) -> tuple[JsonObject, str | None]:
        try:
            (choice,) = chunk["choices"]
            holder = choice["delta"]
            if channel == "tool_arguments":
                (call,) = holder["tool_calls"]
                holder = call["function"]
                if call.get("id") or holder.get("name"):  # an id or a name may begin another call
                    return holder, None
        except (KeyError, TypeError, ValueError):
            return {}, None
        present = [name for name in _FIELDS.get(channel, ()) if holder.get(name)]
        return holder, present[0] if len(present) == 1 else None

    def _take_choice(self, choice: JsonObject, at: int) -> None:
        parts = self._parts
        if choice.get("index") not in (None, 0, "0"):
            self._notes.add("other_choice", f"something came for choice {choice['index']!r}")
            return
        delta = choice.get("delta") if parts.streamed else choice.get("message")
        if not (delta or parts.arrivals):  # a stream of one whole message; later ones repeat what came
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._take_delta(delta, at)
        elif delta:
            self._notes.add("bad_field", "`delta` is not an object")
        parts.once &= extras.merge(parts.extra, choice, extras.CHOICE)
        if reason := choice.get("finish_reason"):  # some servers send "" until the end
            parts.finish_reason = str(reason)[: LIMITS.name]
        self._take_usage(choice.get("usage"))

    def _take_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._parts.usage = usage or self._parts.usage
        elif usage is not None:
            self._notes.add("bad_field", "`usage` is not an object")

    def _take_delta(self, delta: JsonObject, at: int) -> None:
        parts = self._parts
        before = len(parts.deltas), len(self._calls)
        if role := delta.get("role"):
            self._role_seen = True
            if role != "assistant":
                self._notes.add("bad_field", f"`role` of a reply is {role!r:.40}")
        self._take_texts(delta, at)
        if calls := delta.get("tool_calls"):
            self._take_calls(calls, at)
        elif function := delta.get("function_call"):
            self._notes.add("legacy_function_call", "`function_call` instead of `tool_calls`")
            self._take_calls([{"index": 0, "function": function}], at)
        parts.once &= extras.merge(parts.extra, delta, extras.DELTA)
        if (len(parts.deltas), len(self._calls)) != before:
            parts.arrived(at)

    def _take_texts(self, delta: JsonObject, at: int) -> None:
        parts = self._parts
        if (content := delta.get("content")) and (text := self._text(content, "content")):
            parts.content.append(text)
            parts.put(at, "content", text)
        spoken, field = delta.get("reasoning_content"), "reasoning_content"
        if other := delta.get("reasoning"):
            if spoken and spoken != other:
                self._notes.add("two_reasonings", "`reasoning_content` and `reasoning` differ in one delta")
            elif not spoken:
                spoken, field = other, "reasoning"
        if spoken and (text := self._text(spoken, field)):
            parts.reasoning_field = field
            parts.reasoning.append(text)
            parts.put(at, "reasoning", text)

    def _text(self, value: object, field: str) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            self._notes.add("content_parts", f"`{field}` is a list of parts")
            texts = [part.get("text") for part in value if isinstance(part, dict)]
            return "".join(text for text in texts if isinstance(text, str))
        self._notes.add("bad_field", f"`{field}` is not a string")
        return ""

    def _take_calls(self, items: object, at: int) -> None:
        if not isinstance(items, list):
            self._notes.add("bad_field", "`tool_calls` is not a list")
            return
        if not self._role_seen:
            self._notes.add("call_before_role", "a call came before the role of the message")
        for number, item in enumerate(items):
            if not self._parts.streamed and isinstance(item, dict):
                item = {
                    **item,
                    "index": number,
                }  # the calls of a whole reply are distinguished by their places
            position, name, arguments = self._calls.feed(item)
            self._parts.put(at, "tool_name", name, position)
            self._parts.put(at, "tool_arguments", arguments, position)
