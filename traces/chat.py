"""OpenAI chat messages as items and back, exactly: what the items do not hold is kept in a form.

A form is the message's JSON with `@N.field` where item N of the message has the value (see schema.Context.forms).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import orjson

from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Content,
    OpaqueItem,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolSchema,
    UserItem,
)
from replayer.wire.types import Json, JsonObject, Reply

Message = JsonObject
_REASONING_KEYS = ("reasoning_content", "reasoning")

_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)

STYLES: dict[str, Callable[[Json], bytes]] = {
    "compact": orjson.dumps,
    "compact-ascii": lambda value: json.dumps(value, separators=(",", ":")).encode(),
    "spaced": lambda value: json.dumps(value, ensure_ascii=False).encode(),
    "spaced-ascii": lambda value: json.dumps(value).encode(),
    "compact-html": lambda value: orjson.dumps(value).decode().translate(_HTML).encode(),
    "compact-python": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
}
"""How clients space and escape JSON: name -> writer. `compact-html` is Go's; Python writes some numbers differently."""


def standard(items: Sequence[AnyItem]) -> Message | None:
    """The usual form of one message; None when it holds nothing to send."""
    first = items[0]
    if isinstance(first, SystemItem):
        return {"role": first.role, "content": first.text}
    if isinstance(first, UserItem):
        return {"role": "user", "content": wire_content(first.content)}
    if isinstance(first, CompactionItem):
        return {"role": "user", "content": first.text}
    if isinstance(first, ToolResultItem):
        return {"role": "tool", "tool_call_id": first.call_id, "content": wire_content(first.content)}
    return assistant_message(items)


def assistant_message(items: Sequence[AnyItem]) -> Message | None:
    """Text, reasoning and calls of one reply as one message."""
    text = "".join(item.text for item in items if isinstance(item, AssistantItem))
    calls = [tool_call(item) for item in items if isinstance(item, ToolCallItem)]
    reasoning = "".join(item.text for item in items if isinstance(item, ReasoningItem))
    if not (text or calls or reasoning) and not any(isinstance(item, AssistantItem) for item in items):
        return None
    return assistant(text if text or not calls else None, reasoning, calls)


def assistant(content: str | None, reasoning: str, calls: Sequence[JsonObject]) -> Message:
    """As a client sends a reply back; `calls` as `function_call` makes them."""
    message: Message = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def function_call(call_id: object, name: object, arguments: object) -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def message_of(reply: Reply) -> Message | None:
    """The assistant message of a reply; None when nothing was generated."""
    if not (reply.content or reply.reasoning or reply.tool_calls):
        return None
    calls = [function_call(call.id, call.name or "", call.arguments) for call in reply.tool_calls]
    return assistant(reply.content or None, reply.reasoning, calls)


def tool_call(call: ToolCallItem) -> JsonObject:
    """Functions take JSON: the text of a freeform call is its `input`."""
    arguments = orjson.dumps({"input": call.arguments}).decode() if call.freeform else call.arguments
    return function_call(call.call_id, call.name, arguments)


def definition(tool: ToolSchema) -> JsonObject:
    """A tool in OpenAI's usual form."""
    function: JsonObject = {key: getattr(tool, key) for key in ("name", "description", "parameters")}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


_FREEFORM = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""A tool that is called with text, where only functions are known."""


def tool_schemas(definitions: object) -> tuple[ToolSchema, ...]:
    """Tools from OpenAI definitions (chat or responses form) or Anthropic ones; what has no name is left out."""
    found = []
    for entry in definitions if isinstance(definitions, list) else []:
        if not isinstance(entry, dict):
            continue
        inner = entry.get("function")
        function = inner if isinstance(inner, dict) else entry
        if isinstance(function.get("name"), str):
            found.append(tool_schema(function, _FREEFORM if entry.get("type") == "custom" else None))
    return tuple(found)


def tool_schema(function: Mapping[str, Json], usual: JsonObject | None = None) -> ToolSchema:
    """A definition that has a name; `usual` are the parameters where it gives none."""
    parameters = function.get("parameters", function.get("input_schema", usual))
    strict = function.get("strict")
    return ToolSchema(
        name=function["name"],
        description=str(function.get("description") or ""),
        parameters=parameters if isinstance(parameters, dict) else {},
        strict=strict if isinstance(strict, bool) else None,
    )


def wire_content(content: Content) -> str | list[JsonObject]:
    return content if isinstance(content, str) else list(content)


def split(message: Message) -> tuple[list[AnyItem], str]:
    """The items of a message (ids 0) and its form, empty where that is the standard one."""
    items: list[AnyItem] = []
    template = _template(message, items)
    if not items:
        items.append(OpaqueItem(id=0, record=message))
    usual = standard(items)
    if usual is not None and orjson.dumps(usual) == orjson.dumps(message):
        return items, ""
    return items, orjson.dumps(template).decode()


def fill(form: str, items: Sequence[AnyItem]) -> Json:
    """The message of a form, with the values of its items."""
    return _filled(orjson.loads(form), items)


def _filled(value: Json, items: Sequence[AnyItem]) -> Json:
    if isinstance(value, dict):
        return {key: _filled(part, items) for key, part in value.items()}
    if isinstance(value, list):
        return [part for element in value for part in _spliced(element, items)]
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    if value.startswith("@@"):
        return value[1:]
    number, _, name = value[1:].partition(".")
    found = getattr(items[int(number)], name)
    return list(found) if isinstance(found, tuple) else found


def _spliced(element: Json, items: Sequence[AnyItem]) -> Sequence[Json]:
    """`@*N.field` in a list stands for every element of that field."""
    if isinstance(element, str) and element.startswith("@*"):
        found: Sequence[Json] = _filled("@" + element[2:], items)
        return found
    return (_filled(element, items),)


def _template(message: Message, items: list[AnyItem]) -> Json:
    role = message.get("role")
    if role in ("system", "developer"):
        return _system(message, items, role)
    if role in ("tool", "function"):
        return _result(message, items)
    if role == "assistant":
        return _assistant(message, items)
    if role == "user" and _is_content(message.get("content")):
        said = UserItem(id=0, content=_content(message["content"]))
        return {**escaped(message), "content": put(said, items, "content")}
    return escaped(message)


def put(item: AnyItem, items: list[AnyItem], field: str) -> str:
    """Adds an item; returns what stands for its field in a form."""
    items.append(item)
    return f"@{len(items) - 1}.{field}"


def _system(message: Message, items: list[AnyItem], role: Json) -> Json:
    template: Message = escaped(message)
    if "content" in message:
        template["content"] = _texts(
            message["content"], lambda text: put(SystemItem(id=0, text=text, role=role), items, "text")
        )
    return template


def _result(message: Message, items: list[AnyItem]) -> Json:
    content, call_id, name = (message.get(key) for key in ("content", "tool_call_id", "name"))
    item = ToolResultItem(
        id=0,
        call_id=call_id if isinstance(call_id, str) else str(name or ""),
        content=_content(content) if _is_content(content) else orjson.dumps(content).decode(),
        name=name if isinstance(name, str) else None,
    )
    return held(message, item, items, tool_call_id="call_id", content="content")


def _assistant(message: Message, items: list[AnyItem]) -> Json:
    """Items in the order reasoning, text, calls, so that they equal those of the reply that the message repeats."""
    template = escaped(message)
    for key in _REASONING_KEYS:
        if isinstance(message.get(key), str) and message[key]:
            template[key] = put(ReasoningItem(id=0, text=message[key]), items, "text")
            break

    def text(value: str) -> str:
        return put(AssistantItem(id=0, text=value), items, "text")

    if message.get("content") or not (items or message.get("tool_calls") or message.get("function_call")):
        content = message.get("content")
        template["content"] = _texts(content, text) if content else template.get("content")
        if not content and isinstance(content, str):
            template["content"] = text(content)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        template["tool_calls"] = [_call(call, items) for call in calls]
    elif isinstance(message.get("function_call"), dict):
        function = message["function_call"]
        call = {"id": function.get("name"), "function": function}
        template["function_call"] = _call(call, items)["function"]
    return template


def _call(call: Json, items: list[AnyItem]) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return escaped(call)
    arguments = function.get("arguments")
    text = (
        arguments
        if isinstance(arguments, str)
        else orjson.dumps({} if arguments is None else arguments).decode()
    )
    call_id = call["id"] if isinstance(call.get("id"), str) else ""
    parsed = arguments if isinstance(arguments, dict) else None
    item = ToolCallItem(id=0, call_id=call_id, name=function["name"], arguments=text, parsed=parsed)
    field = "arguments" if parsed is None else "parsed"
    written = held(function, item, items, name="name", arguments=field)
    return {**_placed(call, item, len(items) - 1, {"id": "call_id"}), "function": written}


def held(entry: JsonObject, item: AnyItem, items: list[AnyItem], **fields: str) -> JsonObject:
    """Takes an item out of an entry. `fields`: by keys of the entry, those of the item that may hold the same; where one
    does, the form has its place."""
    items.append(item)
    return _placed(entry, item, len(items) - 1, fields)


def _placed(entry: JsonObject, item: AnyItem, number: int, fields: Mapping[str, str]) -> JsonObject:
    form: JsonObject = escaped(entry)
    for key, name in fields.items():
        value = getattr(item, name)
        if value is not None and entry.get(key) == (list(value) if isinstance(value, tuple) else value):
            form[key] = f"@{number}.{name}"
    return form


def _texts(content: Json, text: Callable[[str], str]) -> Json:
    """Content of system and assistant messages: every text becomes an item of its own."""
    if isinstance(content, str):
        return text(content)
    if not isinstance(content, list):
        return escaped(content)
    return [
        {**escaped(part), "text": text(part["text"])}
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else escaped(part)
        for part in content
    ]


def _is_content(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, dict) for part in value)
    )


def _content(value: Json) -> Content:
    return value if isinstance(value, str) else tuple(value)


def escaped(value: Json) -> Json:
    """A literal value of a form: a leading `@` is doubled."""
    if isinstance(value, dict):
        return {key: escaped(part) for key, part in value.items()}
    if isinstance(value, list):
        return [escaped(part) for part in value]
    return "@" + value if isinstance(value, str) and value.startswith("@") else value
