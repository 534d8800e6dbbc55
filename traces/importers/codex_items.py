"""Values of Codex's response items: contents, outputs, exit codes, usage."""

from __future__ import annotations

import re
from typing import Any

from replayer.traces.importers.values import as_dict, as_int, as_list, as_str, as_text, compact, parsed
from replayer.traces.schema import Content, Usage

_EXIT = re.compile(r"(?:Process exited with code|Exit code:|exited with code) (-?\d+)")


def exit_code(content: Content) -> int | None:
    """The exit status that Codex writes into a result: in its text, near the beginning, or (2025) as JSON around it."""
    text = joined(content)
    if text.startswith('{"output"'):
        return as_int(as_dict(as_dict(parsed(text)).get("metadata")).get("exit_code"))
    head = text[:400]
    found = _EXIT.search(head) if "xit" in head else None
    return int(found.group(1)) if found else None


def usage_of(value: Any) -> Usage | None:
    raw = as_dict(value)
    if not raw:
        return None
    return Usage(
        prompt_tokens=as_int(raw.get("input_tokens")),
        cached_tokens=as_int(raw.get("cached_input_tokens")),
        completion_tokens=as_int(raw.get("output_tokens")),
        reasoning_tokens=as_int(raw.get("reasoning_output_tokens")),
        raw=raw,
    )


def content_of(value: Any) -> Content:
    if isinstance(value, str) or value is None:
        return value or ""
    parts = []
    for part in as_list(value):
        fields = as_dict(part)
        if fields.get("type") == "input_image":
            parts.append({"type": "image_url", "image_url": {"url": as_str(fields.get("image_url"))}})
        else:
            text = fields.get("text", part if isinstance(part, str) else None)
            parts.append({"type": "text", "text": as_str(text) if isinstance(text, str) else as_text(part)})
    if len(parts) == 1 and parts[0]["type"] == "text":
        return as_str(parts[0]["text"])
    return tuple(parts)


def joined(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(as_str(part.get("text")) for part in content if part.get("type") == "text")


def output_content(item: dict[str, Any]) -> Content:
    if "tools" in item and "output" not in item:
        return compact(item["tools"])
    output = item.get("output")
    if isinstance(output, dict):
        return content_of(output.get("content", compact(output)))
    return content_of(output)
