"""`openai-verbatim`: items as the OpenAI chat format states them, nothing rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from replayer.dialects.base import Message
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
    ToolSchema,
    ToolSet,
    Turn,
    UserItem,
)


class OpenAIVerbatim:
    """Argument text, order and reasoning are sent exactly as recorded."""

    name: ClassVar[str] = "openai-verbatim"
    changes: ClassVar[tuple[str, ...]] = (
        "the text, reasoning and calls of one reply become one assistant message, reasoning as `reasoning_content`",
        "a compaction summary becomes a user message",
        "the error flag of a tool result has no place in the format and is left out",
    )

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        return [item for item in items if not isinstance(item, OpaqueItem)]

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        first = items[0]
        if isinstance(first, SystemItem):
            return {"role": "system", "content": first.text}
        if isinstance(first, UserItem):
            return {"role": "user", "content": wire_content(first.content)}
        if isinstance(first, CompactionItem):
            return {"role": "user", "content": first.text}
        if isinstance(first, ToolResultItem):
            return self.tool_message(first)
        return self.assistant_message(items)

    def tool_message(self, result: ToolResultItem) -> Message:
        return {"role": "tool", "tool_call_id": result.call_id, "content": wire_content(result.content)}

    def assistant_message(self, items: Sequence[AnyItem]) -> Message | None:
        text = "".join(item.text for item in items if isinstance(item, AssistantItem))
        calls = [self.call(item) for item in items if isinstance(item, ToolCallItem)]
        reasoning = "".join(item.text for item in items if isinstance(item, ReasoningItem))
        if not (text or calls or reasoning):
            return None
        message: Message = {"role": "assistant", "content": text if text or not calls else None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = calls
        return message

    def call(self, call: ToolCallItem) -> dict[str, Any]:
        return {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        return [definition(tool) for tool in tools.tools]

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": given.get("model", turn.model), "messages": None}
        if tools:
            body["tools"] = None
        body.update({key: value for key, value in given.items() if key not in body})
        return body


def definition(tool: ToolSchema) -> dict[str, Any]:
    """A tool in OpenAI's form."""
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def wire_content(content: Content) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else list(content)
