"""The simulated engine's tokenizer and chat template.

A token is 4 bytes of UTF-8 text, its id those bytes read as a little-endian unsigned 32-bit integer; the last
token of a *segment* (the head, text, call or end of a message) is filled up with NUL bytes. So ids decode back to
the exact text, a prompt that grows by whole messages keeps its tokens, and what was generated has the same
tokens when it comes back as history. Counts come out at about 4 characters per token.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import orjson

from replayer.wire.types import JsonObject

WIDTH = 4
"""Bytes per token."""


def encode(text: str) -> bytes:
    """The tokens of one segment, packed: 4 bytes each."""
    data = text.encode("utf-8", "surrogatepass")
    return data + b"\0" * (-len(data) % WIDTH)


def ids(packed: bytes) -> list[int]:
    values = array("I")
    values.frombytes(packed)
    return values.tolist()


def decode(numbers: Iterable[int]) -> str:
    return array("I", numbers).tobytes().replace(b"\0", b"").decode("utf-8", "replace")


def call_markup(name: str | None, arguments: str) -> str:
    """A call as the model writes it (Hermes style, as in the captured runs)."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>\n'


def content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "<image>") for part in content if isinstance(part, dict))
    return ""


def segments(messages: Sequence[JsonObject], tools: object) -> Iterator[str]:
    """The chat template: what the model is shown, piece by piece."""
    if tools:
        yield "<|im_start|>tools\n"
        yield orjson.dumps(tools).decode()
        yield "<|im_end|>\n"
    for message in messages:
        yield f"<|im_start|>{message.get('role')}\n"
        yield from _body(message)
        yield "<|im_end|>\n"
    yield "<|im_start|>assistant\n"


def _body(message: JsonObject) -> Iterator[str]:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str):
        yield f"<think>{reasoning}</think>"
    yield content_text(message.get("content"))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield call_markup(function.get("name"), str(function.get("arguments", "")))


def render(messages: Sequence[JsonObject], tools: object) -> bytes:
    return b"".join(encode(segment) for segment in segments(messages, tools))
