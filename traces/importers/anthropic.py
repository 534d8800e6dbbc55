"""Anthropic message blocks as items, and Anthropic's usage; shared by the formats that store them."""

from __future__ import annotations

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.pieces import usage_of as counted
from replayer.traces.importers.values import as_dict, as_str, as_text
from replayer.traces.schema import Usage
from replayer.wire.types import JsonObject


def assistant_block(builder: Builder, block: JsonObject) -> int:
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
        return builder.reasoning("", {"redacted": block.get("data")})
    if kind == "tool_use":
        return builder.call(
            as_str(block.get("id")), as_str(block.get("name")), as_text(block.get("input", {}))
        )
    return builder.opaque(block)


def usage_of(value: object) -> Usage | None:
    return counted(
        as_dict(value),
        fresh="input_tokens",
        output="output_tokens",
        read="cache_read_input_tokens",
        written="cache_creation_input_tokens",
    )
