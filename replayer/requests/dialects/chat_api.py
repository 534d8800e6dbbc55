"""Items as the messages of OpenAI's Chat Completions: plainly, and as Claude Code and Codex would write them.

Where a trace knows the exact bytes of its requests (recorded by the proxy or imported from request logs), the plain
form sends them as they were: key order, spacing, extra keys and recorded parameters included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import orjson

from replayer.requests.dialects.base import ChatForm, Message, Verbatim, in_order
from replayer.traces.chat import standard
from replayer.traces.requests import fields_as_sent, sent_over, tools_as_sent
from replayer.traces.schema import (
    AnyItem,
    CompactionItem,
    OpaqueItem,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolSet,
    Turn,
    UserItem,
)
from replayer.wire.types import JsonObject

_CLAUDE_CODE = ("model", "messages", "tools", "max_tokens", "temperature", "stream", "stream_options")
_CODEX = tuple(
    """
    model messages tools tool_choice parallel_tool_calls reasoning_effort stream stream_options
    """.split()
)


class OpenAIVerbatim(Verbatim, ChatForm):
    """Argument text, order and reasoning are sent exactly as recorded."""

    changes: ClassVar[tuple[str, ...]] = (
        "the text, reasoning and calls of one reply become one assistant message, reasoning as `reasoning_content`",
        "a compaction summary becomes a user message",
        'freeform calls carry their text as {"input": …}',
        "the error flag of a tool result has no place in the format and is left out",
    )

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        return standard(items)

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        others = isinstance(tools.wire, list) and any("name" in tool for tool in tools.wire)
        return super().tools(tools) if others else tools_as_sent(tools)

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        return fields_as_sent(turn if sent_over(turn) == "chat" else replace(turn, body=None), given, tools)


class ClaudeCode(ChatForm):
    """An approximation of Claude Code's requests in OpenAI's format (it really speaks Anthropic's).

    What decides about prefix reuse is kept: arguments written again from values, and thinking that is sent only within
    the tool loop that follows the last user message, so that a new user message changes what stands before it.
    """

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
        return in_order(
            given, {"model": turn.model, "max_tokens": 32_000, "temperature": 1}, _CLAUDE_CODE, tools
        )


def _arguments(call: ToolCallItem) -> str:
    value = call.parsed if call.parsed is not None else {"input": call.arguments} if call.freeform else {}
    return orjson.dumps(value).decode()


class Codex(ChatForm):
    """An approximation of the Codex CLI's requests in OpenAI's chat format (it really speaks /responses)."""

    name: ClassVar[str] = "codex"
    exact: ClassVar[bool] = False
    changes: ClassVar[tuple[str, ...]] = (
        "developer messages are sent as system messages, which chat templates know",
        'freeform calls (`apply_patch`) carry their text as {"input": …}',
        "reasoning is left out: what the recording holds of it is encrypted or a summary",
        "tool_choice is auto and parallel_tool_calls true where tools are offered",
    )

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        return [item for item in items if not isinstance(item, OpaqueItem | ReasoningItem)]

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        if isinstance(items[0], SystemItem):
            return {"role": "system", "content": items[0].text}
        return standard(items)

    def fields(self, turn: Turn, given: Mapping[str, object], tools: bool) -> JsonObject:
        defaults: JsonObject = {"model": turn.model}
        if tools:
            defaults |= {"tool_choice": "auto", "parallel_tool_calls": True}
        if "reasoning_effort" in turn.params:
            defaults["reasoning_effort"] = turn.params["reasoning_effort"]
        return in_order(given, defaults, _CODEX, tools)
