"""Output items of the Responses API, whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from replayer.wire.parts import Block, texts_of
from replayer.wire.types import Channel, JsonObject

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
"""Types of items that are calls."""


def texts(stated: JsonObject) -> Iterator[str]:
    """The texts of a whole item, in the order in which they would stream."""
    kind = str(stated.get("type"))
    if kind == "message":
        yield from texts_of(stated.get("content"))
    elif kind == "reasoning":
        yield from texts_of(stated.get("summary"))
        yield from texts_of(stated.get("content"))
    elif kind == "local_shell_call":
        yield orjson.dumps(stated.get("action") or {}).decode()
    else:
        text = stated.get("input" if kind == "custom_tool_call" else "arguments")
        if isinstance(text, str) and text and kind in CALLS:
            yield text
        elif isinstance(text, dict) and kind in CALLS:
            yield orjson.dumps(text).decode()


def text_of_item(stated: JsonObject) -> str | None:
    return "".join(texts(stated)) if stated.get("type") in (*CALLS, "message", "reasoning") else None


def channel_of(kind: str) -> Channel:
    return "content" if kind == "message" else "reasoning" if kind == "reasoning" else "tool_arguments"


def as_sent_back(item: Block, final: JsonObject | None) -> JsonObject:
    """The item as a client sends it back: as the event that closed it states it."""
    if final is not None:
        return final
    stated = {key: value for key, value in item.at_start.items() if key != "stray"}
    if item.kind in CALLS:
        stated["input" if item.kind == "custom_tool_call" else "arguments"] = item.text
    elif item.kind == "message":
        stated["content"] = [{"type": "output_text", "text": item.text, "annotations": []}]
    elif item.kind == "reasoning":
        stated["content"] = [{"type": "reasoning_text", "text": item.text}]
    return stated


def first_call(items: list[Block]) -> int | None:
    return next((item.position for item in items if item.position >= 0), None)


def text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""
