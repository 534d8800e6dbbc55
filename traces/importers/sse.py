"""The reply inside a recorded event stream: chat-completion chunks put together."""

from __future__ import annotations

import re
from typing import Any

from replayer.traces.importers.values import as_dict, as_int, as_str, dicts, loads

_LINE_END = re.compile(r"\r\n|\r|\n")


def events(text: str) -> list[Any]:
    """The JSON payloads of an event stream; anything else in it is left out."""
    found = []
    for line in _LINE_END.split(text):  # `splitlines` also cuts at U+2028, which JSON may hold as it is
        if line.startswith("data:"):
            payload = line[5:].strip()
            if payload and payload != "[DONE]":
                try:
                    found.append(loads(payload))
                except ValueError:
                    continue
    return found


def assembled(chunks: list[Any]) -> dict[str, Any]:
    """A chat completion from its chunks, in the form of a whole response."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    finish = None
    for chunk in map(as_dict, chunks):
        whole.update(
            {k: v for k, v in chunk.items() if k in ("id", "model", "created", "usage") and v is not None}
        )
        for choice in dicts(chunk.get("choices"))[:1]:
            finish = choice.get("finish_reason") or finish
            _add(message, calls, as_dict(choice.get("delta")))
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    return whole


def _add(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: dict[str, Any]) -> None:
    for key in ("content", "reasoning_content", "reasoning"):
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]
    for call in dicts(delta.get("tool_calls")):
        index = as_int(call.get("index")) or 0
        function = as_dict(call.get("function"))
        known = calls.setdefault(
            index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        known["id"] = as_str(call.get("id")) or known["id"]
        known["function"]["name"] += as_str(function.get("name"))
        known["function"]["arguments"] += as_str(function.get("arguments"))
