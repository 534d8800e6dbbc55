"""Requests of the Messages and Responses APIs as items and back, exactly: what the items do not hold is in a form.

An *entry* is one message, or one input item; what stands in a field of its own (`system`, `instructions`, an `input`
that is a plain string) is an entry with that field as its only key. Forms are those of `chat`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import orjson

from replayer.traces.chat import Message, escaped, held, put, split
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    Content,
    OpaqueItem,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    UserItem,
)
from replayer.traces.wire_view import Entry, viewed
from replayer.wire.types import Json, Reply, Wire

LIST_OF: dict[Wire, str] = {"chat": "messages", "messages": "messages", "responses": "input"}
"""The body's field that holds the entries."""
ASIDE = ("system", "instructions", "input")
"""Fields of the body that hold an entry of their own."""
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"})
_MESSAGES_KEYS = frozenset(
    {"system", "anthropic_version", "thinking", "stop_sequences", "context_management"}
)


def wire_of(request: Mapping[str, object]) -> Wire:
    """The wire whose form a request body has; chat where nothing says another."""
    messages = request.get("messages")
    if not isinstance(messages, list):
        return "responses" if isinstance(request.get("input"), (str, list)) else "chat"
    if _MESSAGES_KEYS & request.keys() or any(map(_is_anthropic_tool, _list(request.get("tools")))):
        return "messages"
    parts = (part for m in messages if isinstance(m, dict) for part in _list(m.get("content")))
    blocks = any(isinstance(part, dict) and part.get("type") in _BLOCKS for part in parts)
    return "messages" if blocks else "chat"


def entries(request: Mapping[str, object], wire: Wire) -> list[Entry]:
    """The entries of a request in the order in which a model reads them."""
    found: list[Entry] = []
    if wire == "messages" and isinstance(request.get("system"), (str, list)):
        found.append({"system": request["system"]})
    if wire == "responses":
        found += [{key: request[key]} for key in ASIDE[1:] if isinstance(request.get(key), str)]
    return found + [entry for entry in _list(request.get(LIST_OF[wire])) if isinstance(entry, dict)]


def split_entry(entry: Entry, wire: Wire) -> tuple[list[AnyItem], str]:
    """The items of an entry (ids 0) and its form."""
    if wire == "chat":
        return split(entry)
    items: list[AnyItem] = []
    template = (_message if wire == "messages" else _input)(entry, items)
    if not items:
        items.append(OpaqueItem(id=0, record=entry))
        template = "@0.record"
    return items, orjson.dumps(template).decode()


def produced(reply: Reply) -> list[AnyItem]:
    """The items of a reply of Messages or Responses, equal to those of the entry that repeats it."""
    items: list[AnyItem] = []
    if reply.wire == "messages":
        _message({"role": "assistant", "content": list(reply.output)}, items)
        exact = iter(reply.tool_calls)
        return [_as_written(item, exact) for item in items]
    for stated in reply.output:
        _input(stated, items)
    return items


def _as_written(item: AnyItem, calls: Iterator[Json]) -> AnyItem:
    """A call with the argument text that the engine wrote, which its block gives as a value only."""
    if not isinstance(item, ToolCallItem):
        return item
    call = next(calls, None)
    if call is None:
        return item
    return ToolCallItem(id=0, call_id=item.call_id, name=item.name, arguments=call.arguments)


def _message(entry: Entry, items: list[AnyItem]) -> Json:
    """An entry of Messages."""
    if "system" in entry and len(entry) == 1:
        return {"system": _texts(entry["system"], items, _system)}
    role, content = entry.get("role"), entry.get("content")
    template = escaped(entry)
    say = _assistant if role == "assistant" else _system if role == "system" else _user
    if isinstance(content, str):
        return {**template, "content": say(content, items)}
    if isinstance(content, list):
        return {**template, "content": [_block(block, items, say) for block in content]}
    return template


Say = Callable[[str, list[AnyItem]], str]


def _block(block: Json, items: list[AnyItem], say: Say) -> Json:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text" and isinstance(block.get("text"), str):
        return {**escaped(block), "text": say(block["text"], items)}
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        signature = block.get("signature")
        kept = {"signature": signature} if signature is not None else None
        return held(block, ReasoningItem(id=0, text=block["thinking"], opaque=kept), items, thinking="text")
    if kind == "redacted_thinking":
        return put(ReasoningItem(id=0, text="", opaque=block), items, "opaque")
    if kind == "tool_use" and isinstance(block.get("name"), str) and isinstance(block.get("input"), dict):
        call_id, value = _text(block.get("id")), block["input"]
        text = orjson.dumps(value).decode()
        call = ToolCallItem(id=0, call_id=call_id, name=block["name"], arguments=text, parsed=value)
        return held(block, call, items, id="call_id", name="name", input="parsed")
    if kind == "tool_result":
        content, failed = _result(block.get("content")), block.get("is_error") is True
        call_id = _text(block.get("tool_use_id"))
        result = ToolResultItem(id=0, call_id=call_id, content=content, is_error=failed)
        return held(block, result, items, tool_use_id="call_id", content="content")
    if isinstance(block, dict) and say is _user:
        return put(UserItem(id=0, content=(block,)), items, "content").replace("@", "@*")
    return escaped(block)


def _input(entry: Entry, items: list[AnyItem]) -> Json:
    """An entry of Responses: one input item."""
    if len(entry) == 1 and "instructions" in entry:
        return {"instructions": _system(entry["instructions"], items)}
    if len(entry) == 1 and "input" in entry:
        return {"input": _user(entry["input"], items)}
    kind = entry.get("type", "message")
    if kind == "message":
        says: dict[str, Say] = {"assistant": _assistant, "system": _system, "developer": _developer}
        say = says.get(str(entry.get("role")), _user)
        return {**escaped(entry), "content": _texts(entry.get("content"), items, say)}
    if kind in ("function_call", "custom_tool_call") and isinstance(entry.get("name"), str):
        return _call(entry, items, "input" if kind == "custom_tool_call" else "arguments")
    if kind in ("function_call_output", "custom_tool_call_output"):
        item = ToolResultItem(id=0, call_id=_text(entry.get("call_id")), content=_result(entry.get("output")))
        return held(entry, item, items, call_id="call_id", output="content")
    if kind == "reasoning":
        parts = [*_list(entry.get("summary")), *_list(entry.get("content"))]
        text = "".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
        return put(ReasoningItem(id=0, text=text, opaque=entry), items, "opaque")
    if kind == "local_shell_call" and isinstance(entry.get("action"), dict):
        action, call_id = entry["action"], _text(entry.get("call_id"))
        text = orjson.dumps(action).decode()
        call = ToolCallItem(id=0, call_id=call_id, name="local_shell", arguments=text, parsed=action)
        return held(entry, call, items, action="parsed")
    return put(OpaqueItem(id=0, record=entry), items, "record")


def _call(entry: Entry, items: list[AnyItem], key: str) -> Json:
    arguments = entry.get(key)
    call = ToolCallItem(
        id=0,
        call_id=_text(entry.get("call_id")),
        name=entry["name"],
        arguments=arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode(),
        freeform=key == "input",
    )
    return held(entry, call, items, name="name", call_id="call_id", **{key: "arguments"})


def _result(content: object) -> Content:
    """What a result says: text or parts; nothing where it has another form, which the entry's form then keeps."""
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        return tuple(content)
    return _text(content)


def _texts(content: Json, items: list[AnyItem], say: Say) -> Json:
    """Every text of a content list becomes an item of its own; of a user, other parts as well."""
    if isinstance(content, str):
        return say(content, items)
    return [_part(part, items, say) for part in content] if isinstance(content, list) else escaped(content)


def _part(part: Json, items: list[AnyItem], say: Say) -> Json:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**escaped(part), "text": say(part["text"], items)}
    if isinstance(part, dict) and say is _user:
        return put(UserItem(id=0, content=(part,)), items, "content").replace("@", "@*")
    return escaped(part)


def _system(text: str, items: list[AnyItem]) -> str:
    return put(SystemItem(id=0, text=text), items, "text")


def _developer(text: str, items: list[AnyItem]) -> str:
    return put(SystemItem(id=0, text=text, role="developer"), items, "text")


def _user(text: str, items: list[AnyItem]) -> str:
    return put(UserItem(id=0, content=text), items, "content")


def _assistant(text: str, items: list[AnyItem]) -> str:
    return put(AssistantItem(id=0, text=text), items, "text")


def _is_anthropic_tool(tool: object) -> bool:
    return isinstance(tool, dict) and "input_schema" in tool


def _list(value: object) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def chat_messages(request: Mapping[str, Json], wire: Wire) -> list[Message]:
    """The messages of a request as a chat template sees them."""
    if wire == "chat":
        return [message for message in request.get("messages") or () if isinstance(message, dict)]
    return viewed(entries(request, wire), wire)
