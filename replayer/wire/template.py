"""The fast path: chunks that equal an earlier one in every byte but the text.

Nearly all chunks of a stream are such. Where a chunk starts and ends like one that was read in full, decoding the
JSON string between is the whole of the work, at about a fifth of the cost. `learn` proves that this is the same as
reading it in full: the bytes with another string in that place parse to the same object with that string in place
of the text, so they do with any string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from replayer.wire.types import Channel, Delta

_FIELDS: dict[Channel, tuple[str, ...]] = {
    "content": ("content",),
    "reasoning": ("reasoning_content", "reasoning"),
    "tool_arguments": ("arguments",),
}
_PROBE = "\x01 another text \x02"
_STRING = rb'"(?:%s)"\s*:\s*("(?:[^"\\]|\\.)*")'
_PATTERNS = {
    channel: re.compile(_STRING % "|".join(names).encode(), re.DOTALL) for channel, names in _FIELDS.items()
}


@dataclass(frozen=True, slots=True)
class Template:
    """Bytes before and after the JSON string of the text, which goes to `pieces`."""

    prefix: bytes
    suffix: bytes
    channel: Channel
    call_index: int
    pieces: list[str]
    start: int
    stop: int


def learn(block: bytes, chunk: dict[str, Any], delta: Delta, pieces: list[str]) -> Template | None:
    """The template of a `data: ` block whose `chunk` gave one `delta`; None where there is no safe one."""
    holder, field = _holder(chunk, delta.channel)
    if field is None or holder.get(field) != delta.text:
        return None
    for match in _PATTERNS[delta.channel].finditer(block):
        prefix, suffix = block[: match.start(1)], block[match.end(1) :]
        if _is_proven(prefix, suffix, chunk, delta):
            return Template(
                prefix, suffix, delta.channel, delta.call_index, pieces, len(prefix), -len(suffix)
            )
    return None


def _is_proven(prefix: bytes, suffix: bytes, chunk: dict[str, Any], delta: Delta) -> bool:
    try:
        other = orjson.loads(prefix[6:] + orjson.dumps(_PROBE) + suffix)
    except orjson.JSONDecodeError:
        return False
    holder, field = _holder(other, delta.channel)
    if field is None or holder.get(field) != _PROBE:
        return False
    holder[field] = delta.text
    return bool(other == chunk)


def _holder(chunk: Any, channel: Channel) -> tuple[dict[str, Any], str | None]:
    """The object that holds the text of a chunk with one choice, and its key; a key of None where it is unsafe:
    the same bytes with another text could then mean more than that text."""
    try:
        (choice,) = chunk["choices"]
        holder = choice["delta"]
        if channel == "tool_arguments":
            (call,) = holder["tool_calls"]
            holder = call["function"]
            if call.get("id") or holder.get("name"):  # an id or a name may begin another call
                return holder, None
    except (KeyError, TypeError, ValueError):
        return {}, None
    present = [name for name in _FIELDS.get(channel, ()) if holder.get(name)]
    return holder, present[0] if len(present) == 1 else None
