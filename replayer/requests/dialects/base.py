"""The seam of a dialect: items in, messages out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from replayer.traces.schema import AnyItem, ToolSet, Turn

DialectName = Literal["openai-verbatim", "zed", "claude-code", "codex"]
Message = dict[str, Any]


class Dialect(Protocol):
    """Stateless. A message depends on its own items only, so that its bytes are made once and shared."""

    name: ClassVar[str]
    exact: ClassVar[bool]
    """Messages are sent in the form in which the trace recorded them, where it did."""
    merges_neighbours: ClassVar[bool]
    """Neighbouring items of one role are one message, not one per recorded reply."""
    changes: ClassVar[tuple[str, ...]]
    """What this dialect changes against the recorded items, one sentence each."""

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        """The items of one context as the client would send them (order, left-out items)."""

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        """One message from the items of one group (all of one role); None when nothing is sent."""

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        """OpenAI tool definitions in the client's order."""

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        """The body's keys in order; `messages` and `tools` appear with the value None where they go."""


def in_order(
    given: Mapping[str, Any], defaults: Mapping[str, Any], order: Sequence[str], tools: bool
) -> dict[str, Any]:
    """Fields in a client's order: a given value wins over a default; what the client does not know comes last."""
    values = {**defaults, **given, "messages": None, "tools": None}
    body = {key: values[key] for key in order if key in values and (key != "tools" or tools)}
    body.update({key: value for key, value in given.items() if key not in body})
    return body
