"""`claude-code`: an approximation of Claude Code's requests in OpenAI's format (it really speaks Anthropic's).

What decides about prefix reuse is kept: arguments written again from values, and thinking that is sent only within the
tool loop that follows the last user message, so that a new user message changes what stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import orjson

from replayer.requests.dialects.base import ChatForm, Message, in_order
from replayer.traces.chat import standard
from replayer.traces.schema import (
    AnyItem,
    CompactionItem,
    OpaqueItem,
    ReasoningItem,
    ToolCallItem,
    Turn,
    UserItem,
)
from replayer.wire.types import JsonObject

_ORDER = ("model", "messages", "tools", "max_tokens", "temperature", "stream", "stream_options")


class ClaudeCode(ChatForm):
    name: ClassVar[str] = "claude-code"
    exact: ClassVar[bool] = False
    drops_thinking: ClassVar[bool] = True
    changes: ClassVar[tuple[str, ...]] = (
        "arguments are parsed and written again as compact JSON, `{}` where they do not parse",
        "thinking of replies before the last user message is left out, later thinking is `reasoning_content`",
        "max_tokens is 32000 and temperature 1 unless set",
    )

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        asked = [n for n, item in enumerate(items) if isinstance(item, UserItem | CompactionItem)]
        last = asked[-1] if asked else -1
        return [
            item
            for n, item in enumerate(items)
            if not isinstance(item, OpaqueItem) and not (isinstance(item, ReasoningItem) and n < last)
        ]

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        message = standard(items)
        written = iter([_arguments(item) for item in items if isinstance(item, ToolCallItem)])
        for call in (message or {}).get("tool_calls", ()):
            call["function"]["arguments"] = next(written)
        return message

    def fields(self, turn: Turn, given: Mapping[str, object], tools: bool) -> JsonObject:
        return in_order(given, {"model": turn.model, "max_tokens": 32_000, "temperature": 1}, _ORDER, tools)


def _arguments(call: ToolCallItem) -> str:
    value = call.parsed if call.parsed is not None else {"input": call.arguments} if call.freeform else {}
    return orjson.dumps(value).decode()
