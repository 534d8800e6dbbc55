"""Contents, Anthropic's blocks and token counts, in the forms in which most formats write them."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.values import as_dict, as_int, as_str, as_text, dicts
from replayer.traces.schema import Content, Usage
from replayer.wire.types import JsonObject


def own_result(block: JsonObject) -> JsonObject | None:
    """A tool_result block without its content, where a client writes other keys, or in another order, than usual."""
    if tuple(block) in (_RESULT[:3], _RESULT):
        return None
    return {key: None if key == "content" else value for key, value in block.items()}


_RESULT = ("type", "tool_use_id", "content", "is_error")


def content_of(value: object) -> Content:
    """Text or the parts of a message or a result, in OpenAI's form: from Anthropic's, Gemini's, Codex's or ATIF's."""
    if isinstance(value, str) or value is None:
        return value or ""
    if not isinstance(value, list | dict):
        return as_text(value)
    return of_parts([_part(part) for part in (value if isinstance(value, list) else [value])])


def of_parts(parts: Sequence[JsonObject]) -> Content:
    """A text that stands alone is the content."""
    return as_str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else tuple(parts)


def blocks_of(content: object) -> list[JsonObject]:
    """The blocks of a message, which may be one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def text_of(content: Content) -> str:
    """The texts of a content, one a line."""
    if isinstance(content, str):
        return content
    return "\n".join(as_str(part.get("text")) for part in content if part.get("type") == "text")


def counts_of(value: object, prompt: str, cached: str, completion: str, reasoning: str) -> Usage | None:
    """Counts of a source whose input includes what was cached, by the names of its fields. None without any."""
    raw = as_dict(value)
    if not raw:
        return None
    return Usage(
        prompt_tokens=as_int(raw.get(prompt)),
        cached_tokens=as_int(raw.get(cached)),
        completion_tokens=as_int(raw.get(completion)),
        reasoning_tokens=as_int(raw.get(reasoning)),
        raw=raw,
    )


def usage_of(raw: JsonObject, *, fresh: str, output: str, read: str, written: str = "") -> Usage | None:
    """Counts of a source whose input excludes what was read from or written to the cache. None without any input."""
    counts = [as_int(raw.get(key)) for key in (fresh, read, written) if key]
    if not raw or all(count is None for count in counts):
        return Usage(raw=raw) if raw else None
    total = sum(count or 0 for count in counts)
    return Usage(
        prompt_tokens=total, cached_tokens=counts[1], completion_tokens=as_int(raw.get(output)), raw=raw
    )


def assistant_block(builder: Builder, block: JsonObject) -> int:
    """One Anthropic block of a reply. Argument text is re-serialised, because the blocks hold the value only."""
    kind = block.get("type")
    if kind == "text":
        return builder.assistant(as_str(block.get("text")))
    if kind == "thinking":
        signature = block.get("signature")
        return builder.reasoning(
            as_str(block.get("thinking")), {"signature": signature} if signature else None
        )
    if kind == "redacted_thinking":
        return builder.reasoning("", {"redacted": block.get("data")})
    if kind == "tool_use":
        return builder.call(
            as_str(block.get("id")), as_str(block.get("name")), as_text(block.get("input", {}))
        )
    return builder.opaque(block)


def anthropic_usage(value: object) -> Usage | None:
    return usage_of(
        as_dict(value),
        fresh="input_tokens",
        output="output_tokens",
        read="cache_read_input_tokens",
        written="cache_creation_input_tokens",
    )


def _part(part: object) -> JsonObject:
    fields = as_dict(part)
    if url := _image(fields):
        return {"type": "image_url", "image_url": {"url": url}}
    text = fields.get("text", part if isinstance(part, str) else None)
    if isinstance(text, str) or fields.get("type") == "text":
        return {"type": "text", "text": as_str(text)}
    return {"type": "text", "text": as_text(part)}


def _image(part: JsonObject) -> str:
    """The URL of an image part; empty for any other."""
    kind, source, inline = part.get("type"), as_dict(part.get("source")), as_dict(part.get("inlineData"))
    if inline:
        return _data_url(inline.get("mimeType"), inline.get("data"))
    if kind == "input_image":
        return as_str(part.get("image_url"))
    if kind != "image":
        return ""
    if source.get("type") == "base64":
        return _data_url(source.get("media_type"), source.get("data"))
    if "data" in part:
        return _data_url(part.get("mimeType"), part["data"])
    return as_str(source.get("url")) or as_str(source.get("path"))


def _data_url(media: object, data: object) -> str:
    return f"data:{as_str(media) or 'image/png'};base64,{as_str(data)}"
