"""Chat messages as comparable data: canonical bytes for whole messages, named texts for their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from replayer.text import kept_json
from replayer.wire.types import Json, JsonObject

Message = Mapping[str, Json] | bytes
"""An OpenAI chat message, parsed or as its JSON."""

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")


class Field(NamedTuple):
    """One text of a message. `path` is relative to the message: `content`, `tool_calls[0].function.arguments`."""

    path: str
    text: str


def as_bytes(message: Message) -> bytes:
    return message if isinstance(message, bytes) else kept_json(message)


def parsed(message: Message) -> JsonObject:
    value = orjson.loads(message) if isinstance(message, bytes) else dict(message)
    return value if isinstance(value, dict) else {}


def role_of(message: Message) -> str:
    """The role, without parsing the message where it stands first, as clients write it."""
    if isinstance(message, bytes) and message.startswith(b'{"role":"'):
        return message[9 : message.index(b'"', 9)].decode("utf-8", "replace")
    return str(parsed(message).get("role", ""))


def fields(message: Message) -> list[Field]:
    """The texts of a message in the order in which chat templates write them."""
    value = parsed(message)
    found = [Field("role", str(value.get("role", "")))]
    found += [Field(key, _text(value[key])) for key in _REASONING if value.get(key) is not None]
    found += _content(value.get("content"))
    calls = value.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        found += _call(f"tool_calls[{number}]", call)
    known = {"role", "content", "tool_calls", *_REASONING}
    found += [Field(key, _text(item)) for key, item in value.items() if key not in known and item is not None]
    return found


def is_reasoning(path: str) -> bool:
    return path in _REASONING


def excerpt(text: str, offset: int, reach: int = 60) -> str:
    return text[max(0, offset - reach) : offset + reach]


def _content(content: object) -> list[Field]:
    if content is None or content == "":
        return []
    if not isinstance(content, list) or len(content) == 1:
        return [Field("content", _part(content[0]) if isinstance(content, list) else _text(content))]
    return [Field(f"content[{n}]", _part(part)) for n, part in enumerate(content)]


def _part(part: object) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return _text(part)


def _call(path: str, call: object) -> Iterator[Field]:
    if not isinstance(call, dict):
        yield Field(path, _text(call))
        return
    function = call.get("function")
    if isinstance(function, dict):
        yield Field(f"{path}.function.name", _text(function.get("name", "")))
        yield Field(f"{path}.function.arguments", _text(function.get("arguments", "")))
    yield Field(f"{path}.id", _text(call.get("id", "")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def tool_names(tools: Sequence[object]) -> list[str]:
    names = []
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, dict) else {}
        names.append(str(function.get("name", "")) if isinstance(function, dict) else "")
    return names
