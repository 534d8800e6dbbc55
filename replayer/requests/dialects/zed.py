"""`zed`: the chat completion that the Zed editor's agent sends to an OpenAI-compatible server.

After `into_open_ai` and `to_request` of Zed as of 2026 (crates open_ai and agent).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import orjson

from replayer.requests.dialects.base import ChatForm, Message, in_order
from replayer.requests.dialects.zed_schema import subset
from replayer.traces.chat import definition, function_call
from replayer.traces.grouping import Outputs, by_role
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Content,
    OpaqueItem,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolSet,
    Turn,
    UserItem,
)
from replayer.wire.types import JsonObject

_ORDER = tuple(
    """
    model messages stream stream_options max_completion_tokens stop temperature tool_choice
    parallel_tool_calls tools prompt_cache_key reasoning_effort
    """.split()
)
_EMPTY_RESULT = "<Tool returned an empty string>"


class Zed(ChatForm):
    name: ClassVar[str] = "zed"
    exact: ClassVar[bool] = False
    changes: ClassVar[tuple[str, ...]] = (
        "arguments are parsed and written again as compact JSON, `{}` where they do not parse",
        "thinking is sent as ordinary text of the assistant, as a content part of its own",
        "calls without a result are left out; empty results become `<Tool returned an empty string>`",
        "neighbouring user messages are one message; blank user text is left out",
        "tools are sorted by name, without `strict`, their schemas cut to what Zed's subset has",
        "the body has Zed's fields in Zed's order; temperature is 1.0 unless set",
    )

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        answered = {item.call_id for item in items if isinstance(item, ToolResultItem)}
        return [
            item
            for item in items
            if not isinstance(item, OpaqueItem)
            and (not isinstance(item, ToolCallItem) or item.call_id in answered)
        ]

    def groups(self, items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
        """Neighbouring items of one role are one message."""
        return by_role(items)

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        first = items[0]
        if isinstance(first, SystemItem):
            return {"role": "system", "content": first.text}
        if isinstance(first, ToolResultItem):
            return {"role": "tool", "content": _result(first.content), "tool_call_id": first.call_id}
        if isinstance(first, UserItem | CompactionItem):
            parts = [part for item in items for part in _parts(item) if not _is_blank(part)]
            return {"role": "user", "content": _content(parts)} if parts else None
        return _assistant(items)

    def tools(self, tools: ToolSet) -> list[JsonObject]:
        return [
            definition(replace(tool, parameters=subset(tool.parameters), strict=None))
            for tool in sorted(tools.tools, key=lambda tool: tool.name)
        ]

    def fields(self, turn: Turn, given: Mapping[str, object], tools: bool) -> JsonObject:
        given = dict(given)
        if "max_tokens" in given:
            given["max_completion_tokens"] = given.pop("max_tokens")
        if not tools:
            given.pop("parallel_tool_calls", None)
        defaults: JsonObject = {"model": turn.model, "temperature": 1.0}
        if given.get("stream", True):
            defaults["stream_options"] = {"include_usage": True}
        return in_order(given, defaults, _ORDER, tools)


def _assistant(items: Sequence[AnyItem]) -> Message | None:
    texts = [item.text for item in items if isinstance(item, AssistantItem | ReasoningItem) and item.text]
    calls = [_call(item) for item in items if isinstance(item, ToolCallItem)]
    if not texts and not calls:
        return None
    content = _content([{"type": "text", "text": text} for text in texts]) if texts else None
    message: Message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = calls
    return message


def _call(call: ToolCallItem) -> JsonObject:
    value = call.arguments if call.freeform else {} if call.parsed is None else call.parsed
    return function_call(call.call_id, call.name, orjson.dumps(value).decode())


def _parts(item: AnyItem) -> list[JsonObject]:
    if isinstance(item, CompactionItem):
        return [{"type": "text", "text": item.text}]
    content = item.content if isinstance(item, UserItem) else ""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _is_blank(part: JsonObject) -> bool:
    return part.get("type") == "text" and not str(part.get("text", "")).strip()


def _content(parts: list[JsonObject]) -> str | list[JsonObject]:
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0]["text"])
    return parts


def _result(content: Content) -> str | list[JsonObject]:
    if isinstance(content, str):
        return content if content.strip() else _EMPTY_RESULT
    return _content(list(content))
