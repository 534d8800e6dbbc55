"""Hand-written exchanges of tests/exchanges as files: a request, and the reply as a stream or as one body."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "exchanges"


def function(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


EDIT = {
    "type": "object",
    "properties": {"old": text(), "new": text()},
    "required": ["old", "new"],
    "additionalProperties": False,
}
TOOLS = [
    function(
        "Bash",
        {
            "type": "object",
            "properties": {"command": text(), "timeout": {"type": "integer"}},
            "required": ["command"],
        },
    ),
    function(
        "Read",
        {
            "type": "object",
            "properties": {"file_path": text(), "limit": {"type": "integer", "minimum": 1}},
            "required": ["file_path"],
        },
    ),
    function(
        "Edit",
        {
            "type": "object",
            "properties": {"path": text(), "edits": {"type": "array", "items": EDIT}},
            "required": ["path", "edits"],
            "additionalProperties": False,
        },
    ),
    function(
        "Plan",
        {
            "type": "object",
            "properties": {"status": text(enum=["open", "done"]), "day": text(pattern=r"^\d{4}-\d\d-\d\d$")},
            "required": ["status"],
        },
    ),
    function("List", {"type": "object", "properties": {"path": text()}}),
    function("Status", {"type": "object", "properties": {}}),
]


def load(name: str) -> list[dict[str, Any]]:
    exchanges: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text())["exchanges"]
    return exchanges


def request(exchange: dict[str, Any]) -> dict[str, Any]:
    """The request body: defaults, with what the exchange says otherwise; null takes a key away."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "List the files in /tmp."}],
        "tools": TOOLS,
        "tool_choice": "auto",
        "temperature": 0,
        "max_tokens": 400,
        **exchange.get("request", {}),
    }
    return {key: value for key, value in body.items() if value is not None}


def usage(reply: dict[str, Any]) -> dict[str, int] | None:
    tokens = reply.get("completion_tokens")
    return (
        {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens} if tokens else None
    )


def whole(reply: dict[str, Any]) -> bytes:
    """The reply as one body."""
    calls = [
        {"id": call["id"], "type": "function", "function": {k: call[k] for k in ("name", "arguments")}}
        for call in reply.get("tool_calls", [])
    ]
    message = {"role": "assistant", "content": reply["content"], "reasoning_content": reply.get("reasoning")}
    choice = {
        "index": 0,
        "message": {**message, **({"tool_calls": calls} if calls else {})},
        "finish_reason": reply["finish_reason"],
    }
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage(reply)}).encode()


def streamed(reply: dict[str, Any]) -> bytes:
    """The reply as a stream of small pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in pieces(reply.get("reasoning", ""))]
    deltas += [{"content": piece} for piece in pieces(reply["content"])]
    for index, call in enumerate(reply.get("tool_calls", [])):
        first = {"index": index, "id": call["id"], "type": "function", "function": {"name": call["name"]}}
        deltas.append({"tool_calls": [first]})
        for piece in pieces(call["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    choices = [{"delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"delta": {}, "finish_reason": reply["finish_reason"]})
    return sse(choices, usage(reply))


def sse(choices: list[dict[str, Any]], used: dict[str, int] | None = None, done: bool = True) -> bytes:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, **choice}]} for choice in choices]
    if used:
        chunks.append({"choices": [], "usage": used})
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n" if done else ""]).encode()


def pieces(whole_text: str, size: int = 5) -> list[str]:
    return [whole_text[start : start + size] for start in range(0, len(whole_text), size)]
