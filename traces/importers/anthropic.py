"""Anthropic message blocks as items, and Anthropic's usage; shared by the formats that store them."""

from __future__ import annotations

from typing import Any

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.values import as_dict, as_int, as_list, as_str, as_text
from replayer.traces.schema import Content, ReasoningItem, Usage


def assistant_block(builder: Builder, block: dict[str, Any]) -> int:
    """One block of a reply. Argument text is re-serialised, because the blocks hold the value only."""
    kind = block.get("type")
    if kind == "text":
        return builder.assistant(as_str(block.get("text")))
    if kind == "thinking":
        signature = block.get("signature")
        return builder.reasoning(
            as_str(block.get("thinking")), {"signature": signature} if signature else None
        )
    if kind == "redacted_thinking":
        return builder.add(ReasoningItem(id=0, text="", opaque={"redacted": block.get("data")}))
    if kind == "tool_use":
        return builder.call(
            as_str(block.get("id")), as_str(block.get("name")), as_text(block.get("input", {}))
        )
    return builder.opaque(block)


def content_of(value: Any) -> Content:
    """Text or the parts of a user message or a tool result, in OpenAI's form."""
    if isinstance(value, str) or value is None:
        return value or ""
    parts = [
        _part(as_dict(part)) if isinstance(part, dict) else _text(as_text(part)) for part in as_list(value)
    ]
    if isinstance(value, dict):
        parts = [_part(value)]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return as_str(parts[0]["text"])
    return tuple(parts)


def usage_of(value: Any) -> Usage | None:
    """Anthropic's `input_tokens` excludes what was read from or written to the cache."""
    raw = as_dict(value)
    if not raw:
        return None
    fresh = as_int(raw.get("input_tokens"))
    read = as_int(raw.get("cache_read_input_tokens"))
    written = as_int(raw.get("cache_creation_input_tokens"))
    if fresh is None and read is None and written is None:
        return Usage(raw=raw)
    total = (fresh or 0) + (read or 0) + (written or 0)
    return Usage(
        prompt_tokens=total, cached_tokens=read, completion_tokens=as_int(raw.get("output_tokens")), raw=raw
    )


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return _text(as_str(part.get("text")))
    source = as_dict(part.get("source"))
    if part.get("type") == "image" and source.get("type") == "base64":
        url = f"data:{as_str(source.get('media_type'), 'image/png')};base64,{as_str(source.get('data'))}"
        return {"type": "image_url", "image_url": {"url": url}}
    if part.get("type") == "image" and source.get("type") == "url":
        return {"type": "image_url", "image_url": {"url": as_str(source.get("url"))}}
    return _text(as_text(part))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
