"""Items as the messages of Anthropic's Messages API: plainly, and as Claude Code writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import orjson

from replayer.requests.dialects.base import OWN, Message, Verbatim, in_order, is_off, own_form
from replayer.requests.dialects.given import for_messages
from replayer.traces.grouping import Outputs, from_model
from replayer.traces.requests import fields_as_sent, sent_over
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Content,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolSet,
    Turn,
    UserItem,
)
from replayer.wire.types import Wire

_MAX_TOKENS = 32_000
"""The API wants a limit; Claude Code's own."""
_BILLING = "x-anthropic-billing-header"
_CACHE = {"type": "ephemeral"}
_BETAS = "claude-code-20250219,interleaved-thinking-2025-05-14"


class MessagesVerbatim(Verbatim):
    wire: ClassVar[Wire] = "messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}
    changes: ClassVar[tuple[str, ...]] = (
        "system items at the beginning become `system`, later ones a user message",
        "tool results and user texts between two replies become one user message",
        "arguments are sent as values, `{}` where they do not parse",
        "a compaction summary becomes a user message",
    )
    _order: ClassVar[tuple[str, ...]] = (
        *("model", "max_tokens", "system", "messages", "tools", "tool_choice"),
        *("temperature", "stream"),
    )

    def groups(self, items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
        """The system's items, then what the user's side and the model say in turns."""
        head = next((n for n, item in enumerate(items) if not isinstance(item, SystemItem)), len(items))
        if head:
            yield items[:head]
        begin = head
        for position in range(head + 1, len(items) + 1):
            if position == len(items) or from_model(items[position]) != from_model(items[begin]):
                yield items[begin:position]
                begin = position

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        if all(isinstance(item, SystemItem) for item in items):
            return {"system": self._system([item.text for item in items if isinstance(item, SystemItem)])}
        if from_model(items[0]):
            blocks = [block for item in items if (block := _said(item)) is not None]
            return {"role": "assistant", "content": blocks} if blocks else None
        blocks = [block for item in items for block in _heard(item)]
        only = blocks[0].get("text") if len(blocks) == 1 and isinstance(items[0], UserItem) else None
        return {"role": "user", "content": only if only is not None else blocks}

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        if isinstance(tools.wire, list) and all(_is_own(tool) for tool in tools.wire):
            return tools.wire
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters or {"type": "object"},
            }
            for tool in tools.tools
        ]

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        values = for_messages(given)
        if sent_over(turn) == "messages":
            return fields_as_sent(turn, values, tools)
        return in_order(values, self._defaults(turn), self._order, tools)

    def _defaults(self, turn: Turn) -> dict[str, Any]:
        return {"model": turn.model, "max_tokens": _MAX_TOKENS, "system": None}

    def _system(self, texts: list[str]) -> Any:
        return "\n\n".join(texts)


class ClaudeCodeMessages(MessagesVerbatim):
    """Claude Code's own form: blocks everywhere, the cache marked behind the system prompt and at the end.

    Options: `attribution=off` leaves out the billing block, whose value changes with every request; `cache=off` all
    `cache_control`.
    """

    name: ClassVar[str] = "claude-code"
    marks_end: ClassVar[bool] = True
    headers: ClassVar[Mapping[str, str]] = {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": _BETAS,
        "x-app": "cli",
    }
    changes: ClassVar[tuple[str, ...]] = (
        "system blocks and the last message carry `cache_control`",
        "tool results and user texts between two replies become one user message",
        "`metadata`, `max_tokens` 32000 and temperature 1 stand in where the recording lacks them",
    )
    _order: ClassVar[tuple[str, ...]] = (
        *("model", "messages", "system", "tools", "tool_choice", "metadata", "max_tokens", "thinking"),
        *("temperature", "context_management", "output_config", "stream"),
    )

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        message = super().message(items)
        if message is not None and isinstance(message.get("content"), str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        return message

    def last(self, message: Message) -> Message:
        content = message.get("content")
        if not isinstance(content, list) or not content or is_off(self._options, "cache"):
            return message
        return {**message, "content": [*content[:-1], {**content[-1], "cache_control": _CACHE}]}

    def _defaults(self, turn: Turn) -> dict[str, Any]:
        recorded = {key: turn.params[key] for key in self._order if key in turn.params}
        defaults = {**super()._defaults(turn), **recorded}
        if "thinking" not in defaults:
            defaults.setdefault("temperature", 1)
        return defaults

    def _system(self, texts: list[str]) -> Any:
        kept = [t for t in texts if not (is_off(self._options, "attribution") and t.startswith(_BILLING))]
        marked = [n for n, text in enumerate(kept) if not text.startswith(_BILLING)][-2:]
        marked = [] if is_off(self._options, "cache") else marked
        return [
            {"type": "text", "text": text} | ({"cache_control": _CACHE} if n in marked else {})
            for n, text in enumerate(kept)
        ]


def _is_own(tool: Any) -> bool:
    return isinstance(tool, dict) and "function" not in tool and tool.get("type") != "function"


def _said(item: AnyItem) -> dict[str, Any] | None:
    """One item of a reply as a block."""
    if isinstance(item, AssistantItem):
        return {"type": "text", "text": item.text} if item.text else None
    if isinstance(item, ToolCallItem):
        value = (
            item.parsed
            if isinstance(item.parsed, dict)
            else {"input": item.arguments}
            if item.freeform
            else {}
        )
        return {"type": "tool_use", "id": item.call_id, "name": item.name, "input": value}
    if isinstance(item, ReasoningItem):
        opaque = item.opaque if isinstance(item.opaque, dict) else {}
        if opaque.get("redacted") or opaque.get("type") == "redacted_thinking":
            return {"type": "redacted_thinking", "data": opaque.get("redacted") or opaque.get("data")}
        if not item.text and not opaque.get("signature"):
            return None
        return {"type": "thinking", "thinking": item.text, "signature": str(opaque.get("signature") or "")}
    return None


def _heard(item: AnyItem) -> Iterator[dict[str, Any]]:
    """One item of the user's side as blocks."""
    if isinstance(item, ToolResultItem):
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": item.call_id}
        block["content"] = item.content if isinstance(item.content, str) else list(_parts(item.content))
        yield own_form(item, block | ({"is_error": True} if item.is_error else {}), of_messages=True)
    elif isinstance(item, UserItem):
        yield from _parts(item.content)
    elif isinstance(item, CompactionItem | SystemItem):
        yield {"type": "text", "text": item.text}


def _parts(content: Content) -> Iterator[dict[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for part in content:
        url = part.get("image_url", {}).get("url", "") if isinstance(part.get("image_url"), dict) else None
        if part.get("type") in ("input_text", "output_text"):
            yield {"type": "text", "text": part.get("text", "")}
        elif url is None:
            yield part
        elif url.startswith("data:"):
            kind, _, data = url.removeprefix("data:").partition(";base64,")
            yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        else:
            yield {"type": "image", "source": {"type": "url", "url": url}}


def as_messages_body(messages: Sequence[Message]) -> tuple[Any, list[Message]]:
    """`system` and `messages` of the API for chat messages that replayer put together itself (live mode, a
    transform). A message that still has its own form keeps it."""
    system = [str(m.get("content") or "") for m in messages if m.get("role") in ("system", "developer")]
    found: list[Message] = []
    for message in messages:
        if message.get("role") in ("system", "developer"):
            continue
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = message.get(OWN) or list(_chat_blocks(message))
        if found and found[-1]["role"] == role:
            found[-1] = {"role": role, "content": [*found[-1]["content"], *blocks]}
        elif blocks:
            found.append({"role": role, "content": blocks})
    return "\n\n".join(system), found


def _chat_blocks(message: Message) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if message.get("role") == "tool":
        yield {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": content or ""}
        return
    if content:
        yield from _parts(content if isinstance(content, str) else tuple(content))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        try:
            value = orjson.loads(function.get("arguments") or "{}")
        except orjson.JSONDecodeError:
            value = {}
        value = value if isinstance(value, dict) else {}
        yield {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": value}
