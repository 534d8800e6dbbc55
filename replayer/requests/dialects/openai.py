"""`openai-verbatim`: items as the OpenAI chat format states them, nothing rewritten.

Where a trace knows the exact bytes of its requests (recorded by the proxy or imported from request logs), they are
sent as they were: key order, spacing, extra keys and recorded parameters included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from replayer.requests.dialects.base import Message
from replayer.traces.chat import definition, standard
from replayer.traces.schema import AnyItem, OpaqueItem, ToolSet, Turn


class OpenAIVerbatim:
    """Argument text, order and reasoning are sent exactly as recorded."""

    name: ClassVar[str] = "openai-verbatim"
    exact: ClassVar[bool] = True
    merges_neighbours: ClassVar[bool] = False
    changes: ClassVar[tuple[str, ...]] = (
        "the text, reasoning and calls of one reply become one assistant message, reasoning as `reasoning_content`",
        "a compaction summary becomes a user message",
        "the error flag of a tool result has no place in the format and is left out",
    )

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        return [item for item in items if not isinstance(item, OpaqueItem)]

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        return standard(items)

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        if isinstance(tools.wire, list):
            return tools.wire
        return [definition(tool) for tool in tools.tools]

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        if turn.body is not None:
            return _as_sent(turn, turn.body.keys, given)
        body: dict[str, Any] = {"model": given.get("model", turn.model), "messages": None}
        if tools:
            body["tools"] = None
        body.update({key: value for key, value in given.items() if key not in body})
        return body


def _as_sent(turn: Turn, keys: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded keys in recorded order; a given value wins, and what is only given comes last."""
    recorded = {"model": turn.model, **turn.params}
    body = {key: None if key == "messages" else given.get(key, recorded.get(key)) for key in keys}
    for key, value in given.items():
        if key not in body and not (key == "stream" and value is False):
            body[key] = value
    return body
