"""Values of Codex's response items: contents, outputs, exit codes, usage."""

from __future__ import annotations

import re
from itertools import accumulate

from replayer.traces.importers.pieces import content_of, counts_of, text_of
from replayer.traces.importers.values import as_dict, as_int, as_str, compact, parsed
from replayer.traces.schema import Content, Usage
from replayer.wire.types import JsonObject

_EXIT = re.compile(r"(?:Process exited with code|Exit code:|exited with code) (-?\d+)")


def exit_code(content: Content) -> int | None:
    """The exit status that Codex writes into a result: in its text, near the beginning, or (2025) as JSON around it."""
    text = text_of(content)
    if text.startswith('{"output"'):
        return as_int(as_dict(as_dict(parsed(text)).get("metadata")).get("exit_code"))
    head = text[:400]
    found = _EXIT.search(head) if "xit" in head else None
    return int(found.group(1)) if found else None


def usage_of(value: object) -> Usage | None:
    return counts_of(value, "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


def cuts(content: Content) -> tuple[int, ...]:
    """Where the parts of `joined` begin, without the first."""
    if isinstance(content, str):
        return ()
    lengths = [len(as_str(part.get("text"))) + 1 for part in content if part.get("type") == "text"]
    return tuple(accumulate(lengths[:-1]))


_USUAL = {
    "message": ("type", "role", "content"),
    "function_call": ("type", "name", "arguments", "call_id"),
    "custom_tool_call": ("type", "status", "call_id", "name", "input"),
    "function_call_output": ("type", "call_id", "output"),
    "custom_tool_call_output": ("type", "call_id", "output"),
}
"""Keys that the dialect `codex` writes, by type."""


def own_form(item: JsonObject) -> JsonObject | None:
    """The response item without what an item of a trace holds; None where the dialect writes it so of itself."""
    if tuple(item) == _USUAL.get(as_str(item.get("type"))):
        return None
    return {key: None if _is_held(item, key) else value for key, value in item.items()}


def _is_held(item: JsonObject, key: str) -> bool:
    value = item[key]
    if key == "content":
        simple = [{"type": "output_text", "text": text_of(content_of(value))}]
        return item.get("role") != "assistant" or value == simple
    return key in ("arguments", "input", "output") and isinstance(value, str | list)


def output_content(item: JsonObject) -> Content:
    if "tools" in item and "output" not in item:
        return compact(item["tools"])
    output = item.get("output")
    if isinstance(output, dict):
        return content_of(output.get("content", compact(output)))
    return content_of(output)
