"""`openai-verbatim`: items as the OpenAI chat format states them, nothing rewritten.

Where a trace knows the exact bytes of its requests (recorded by the proxy or imported from request logs), they are
sent as they were: key order, spacing, extra keys and recorded parameters included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from replayer.requests.dialects.base import ChatForm, Message, Verbatim
from replayer.traces.chat import standard
from replayer.traces.requests import fields_as_sent, sent_over, tools_as_sent
from replayer.traces.schema import AnyItem, ToolSet, Turn


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
