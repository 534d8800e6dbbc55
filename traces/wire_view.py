"""Requests of the Messages and Responses APIs as chat messages and tools: what a chat template makes of them.

A view loses what no template sees (`cache_control`, ids of items, signatures). It serves what compares prompts and
sorts requests; what is sent is made from forms, or by a dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from replayer.traces.chat import Message, assistant, definition, function_call, tool_schemas
from replayer.wire.types import JsonObject, Wire

Entry = JsonObject


def viewed(found: Iterable[Entry], wire: Wire) -> list[Message]:
    """The chat messages of entries."""
    messages: list[Message] = []
    for entry in found:
        for message in (_of_message if wire == "messages" else _of_input)(entry):
            _append(messages, message)
    return messages


def chat_tools(request: Mapping[str, object], wire: Wire) -> list[JsonObject]:
    """The tools of a request as a chat template sees them."""
    offered = request.get("tools")
    if wire == "chat":
        return offered if isinstance(offered, list) else []
    return [definition(tool) for tool in tool_schemas(offered)]


def cache_marks(request: Mapping[str, object], first: int = 0) -> tuple[str, ...]:
    """Where a request of Messages says up to where its prompt is to be cached; no template shows these marks. `first` is
    the number of its first message."""
    messages = request.get("messages")
    return tuple(
        f"messages[{number}].content[{place}]"
        for number, message in enumerate(messages if isinstance(messages, list) else (), first)
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for place, block in enumerate(message["content"])
        if isinstance(block, dict) and block.get("cache_control")
    )


def _append(messages: list[Message], message: Message) -> None:
    """What a model says in several pieces is one message."""
    last = messages[-1] if messages else None
    if last is None or last["role"] != "assistant" or message["role"] != "assistant":
        messages.append(message)
        return
    for key in ("content", "reasoning_content"):
        if message.get(key):
            last[key] = (last.get(key) or "") + message[key]
    if message.get("tool_calls"):
        last["tool_calls"] = [*last.get("tool_calls", ()), *message["tool_calls"]]


def _of_message(entry: Entry) -> Iterable[Message]:
    if "system" in entry and len(entry) == 1:
        yield {"role": "system", "content": _joined(entry["system"])}
        return
    role, content = str(entry.get("role")), entry.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if not isinstance(content, list):
        yield {"role": role, "content": content if isinstance(content, str) else ""}
    elif role == "assistant":
        yield _assistant(blocks)
    else:
        yield from _user(role, blocks)


def _user(role: str, blocks: list[JsonObject]) -> Iterable[Message]:
    """Tool results are messages of their own; what stands between them is the user's."""
    said: list[JsonObject] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            if said:
                yield {"role": role, "content": _content(said)}
                said = []
            yield _result(block.get("tool_use_id"), block.get("content"))
        else:
            said.append(block)
    if said:
        yield {"role": role, "content": _content(said)}


def _assistant(blocks: list[JsonObject]) -> Message:
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    thinking = "".join(str(block.get("thinking") or "") for block in blocks)
    uses = (block for block in blocks if block.get("type") == "tool_use")
    calls = [_call(use.get("id"), use.get("name"), orjson.dumps(use.get("input")).decode()) for use in uses]
    return assistant(text or None, thinking, calls)


def _of_input(entry: Entry) -> Iterable[Message]:
    if len(entry) == 1 and "instructions" in entry:
        yield {"role": "system", "content": entry["instructions"]}
        return
    if len(entry) == 1 and "input" in entry:
        yield {"role": "user", "content": entry["input"]}
        return
    kind = entry.get("type", "message")
    if kind == "message":
        role, content = str(entry.get("role")), entry.get("content")
        if role == "assistant":
            yield assistant(_joined(content) or None, "", [])
        elif isinstance(content, list):
            yield {"role": role, "content": _content([part for part in content if isinstance(part, dict)])}
        else:
            yield {"role": role, "content": content}
    elif kind == "reasoning":
        yield assistant(None, _joined(entry.get("content")) or _joined(entry.get("summary")), [])
    elif kind in ("function_call", "custom_tool_call"):
        arguments = str(entry.get("arguments", entry.get("input")) or "")
        yield assistant(None, "", [_call(entry.get("call_id"), entry.get("name"), arguments)])
    elif kind == "local_shell_call":
        action = orjson.dumps(entry.get("action")).decode()
        yield assistant(None, "", [function_call(entry.get("call_id"), "local_shell", action)])
    elif kind.endswith("_output"):
        yield _result(entry.get("call_id"), entry.get("output"))


def _call(call_id: object, name: object, arguments: str) -> JsonObject:
    return function_call(call_id, str(name or ""), arguments)


def _result(call_id: object, content: object) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": _joined(content)}


def _content(parts: list[JsonObject]) -> object:
    """One text where there is nothing but text, else parts in chat's form."""
    if all(isinstance(part.get("text"), str) for part in parts):
        texts = [part["text"] for part in parts]
        return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]
    return [_part(part) for part in parts]


def _part(part: JsonObject) -> JsonObject:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict):
        given = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": given}}
    if part.get("type") == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    return part


def _joined(content: object) -> str:
    """The text of a string or of a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))
