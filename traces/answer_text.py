"""An answer as one text, recorded or replayed alike, so that the two can be compared.

`call_text` writes a call of a name and its argument text: the report and the screen each write calls their own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem, ToolResultItem

if TYPE_CHECKING:
    from replayer.wire.types import Json

CallText = Callable[[str | None, str | None], str]


def replayed_text(reply: Mapping[str, Json], call_text: CallText) -> str:
    """Thoughts, words, calls of a journalled reply."""
    parts = [reply.get("reasoning") or "", reply.get("content") or ""]
    parts += [call_text(call.get("name"), call.get("arguments")) for call in reply.get("tool_calls", ())]
    return "\n".join(part.strip("\n") for part in parts if part)


def recorded_text(items: Iterable[AnyItem], call_text: CallText) -> str:
    """The same of a recorded answer. Another kind of item leaves its name."""
    return "\n".join(filter(None, (_text(item, call_text) for item in items)))


def _text(item: AnyItem, call_text: CallText) -> str:
    match item:
        case AssistantItem() | ReasoningItem():
            return item.text.strip("\n")
        case ToolCallItem():
            return call_text(item.name, item.arguments)
        case ToolResultItem():
            return ""
        case _:
            return f"({item.kind})"
