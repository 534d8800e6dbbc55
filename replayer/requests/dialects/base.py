"""The seam of a dialect: items in, messages out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from replayer.traces.chat import definition
from replayer.traces.grouping import Outputs, by_reply
from replayer.traces.schema import AnyItem, Item, ToolSet, Turn
from replayer.traces.sent_messages import sent_items
from replayer.wire.types import JsonObject, Wire

DialectName = Literal["openai-verbatim", "zed", "claude-code", "codex"]
Message = dict[str, Any]

OWN = "_own"
"""Key under which a chat message of a live reply keeps the blocks or items of its wire."""
STORED = "_stored"
"""Key under which a chat message of a live reply keeps the id by which its server has stored it."""
FREEFORM = "_freeform"
"""Key of a tool result whose call held text instead of JSON."""


class Dialect(Protocol):
    """Stateless. A message depends on its own items only, so that its bytes are made once and shared."""

    name: ClassVar[str]
    wire: ClassVar[Wire]
    exact: ClassVar[bool]
    """Messages are sent in the form in which the trace recorded them, where it did over this wire."""
    headers: ClassVar[Mapping[str, str]] = {}
    """What the client sends in the request's head."""
    marks_end: ClassVar[bool] = False
    """The message that ends a request is written otherwise than the same message within one (`last`)."""
    keeps_state: bool = False
    """The server stores the conversation: a request goes on from the last response (live history)."""
    drops_thinking: ClassVar[bool] = False
    """A new message of the user's removes earlier reasoning."""
    changes: ClassVar[tuple[str, ...]]
    """What this dialect changes against the recorded items, one sentence each."""

    _options: Mapping[str, str]

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = options or {}

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        """The items of one context as the client would send them (order, left-out items)."""

    def groups(self, items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
        """The items of each message. `outputs` are what recorded turns produced."""

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        """One message from the items of one group (all of one role); None when nothing is sent.

        What stands in a field of its own (`system`, `instructions`) is an object with that field as its only key.
        """

    def last(self, message: Message) -> Message:
        """The message as it is written where it ends a request."""
        return message

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        """Tool definitions in the client's order, in the form of the wire."""

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        """The body's keys in order; `messages` (`input`), `tools` and the like have the value None where they go.

        `given` has chat's names.
        """


def own_form(item: Item, written: Message, *, of_messages: bool) -> Message:
    """What a dialect wrote for an item, with the keys that its client gave it, where that client is of this wire."""
    own = item.own
    if not isinstance(own, dict) or ("tool_use_id" in own) != of_messages:
        return written
    return {key: written.get(key) if value is None else value for key, value in own.items()}


def in_order(
    given: Mapping[str, Any], defaults: Mapping[str, Any], order: Sequence[str], tools: bool
) -> dict[str, Any]:
    """Fields in a client's order: a given value wins over a default; what the client does not know comes last."""
    values = {**defaults, **given, "messages": None, "tools": None}
    body = {key: values[key] for key in order if key in values and (key != "tools" or tools)}
    body.update({key: value for key, value in given.items() if key not in body})
    return body


def is_off(options: Mapping[str, str], name: str) -> bool:
    return options.get(name) in ("off", "no", "false", "0")


class ChatForm(Dialect):
    """What the dialects of Chat Completions share."""

    wire: ClassVar[Wire] = "chat"

    def groups(self, items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
        """One message per recorded reply."""
        return by_reply(items, outputs)

    def tools(self, tools: ToolSet) -> list[JsonObject]:
        return [definition(tool) for tool in tools.tools]


class Verbatim(Dialect):
    """Items as an API states them, nothing rewritten; requests that were recorded over it go out as they were."""

    name: ClassVar[str] = "openai-verbatim"
    exact: ClassVar[bool] = True

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        return sent_items(list(items))
