"""`codex`: an approximation of the Codex CLI's requests in OpenAI's chat format (it really speaks /responses)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from replayer.requests.dialects.base import ChatForm, Message, in_order
from replayer.traces.chat import standard
from replayer.traces.schema import AnyItem, OpaqueItem, ReasoningItem, SystemItem, Turn
from replayer.wire.types import JsonObject

_ORDER = tuple(
    """
    model messages tools tool_choice parallel_tool_calls reasoning_effort stream stream_options
    """.split()
)


class Codex(ChatForm):
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
        return in_order(given, defaults, _ORDER, tools)
