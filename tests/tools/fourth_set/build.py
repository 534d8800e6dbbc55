"""What one labelled exchange is, and its bytes on each of the three wires, streamed or whole.

The labels are `class:blame`, with `|` between two that are equally right. `want` must be found, `may` can be: a warning that a careful reader could omit. Whatever
else is found is a false fault. `usable` follows from `want`, but for warnings, which say so themselves.
"""

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


def tool(name: str, required: str = "", *, strict: bool = False, **properties: Json) -> Json:
    """Return a function tool of the chat wire, with the required keys as words of one string."""
    schema: Json = {"type": "object", "properties": properties, "required": required.split()}
    if strict:
        schema["additionalProperties"] = False
    about: Json = {"name": name, "description": name.replace("_", " "), "parameters": schema}
    return {"type": "function", "function": about | ({"strict": True} if strict else {})}


STRING, INTEGER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TOOLS: list[Json] = [
    tool("bash", "command", command=STRING, timeout=INTEGER, background=FLAG),
    tool("read_file", "path", path=STRING, offset=INTEGER, limit={"type": "integer", "minimum": 1}),
    tool("edit_file", "path old new", path=STRING, old=STRING, new=STRING, replace_all=FLAG),
    tool("get_weather", "city", city=STRING, unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
    tool("list_sessions"),
    tool(
        "search_docs",
        "query",
        query={"type": "string", "minLength": 2},
        filters={
            "type": "object",
            "properties": {"lang": STRING, "since": {"type": "string", "format": "date"}},
        },
        top_k={"type": "integer", "maximum": 50},
    ),
    tool(
        "todo_write",
        "items",
        items={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": STRING, "status": {"enum": ["open", "done"]}},
                "required": ["title", "status"],
            },
        },
    ),
    tool("close_ticket", "ticket", strict=True, ticket=INTEGER),
]
WIRES = ("chat", "chat", "messages", "messages", "responses", "responses")


@dataclass(frozen=True)
class Call:
    """One delivered call: its name and the text of its arguments as the engine wrote it."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True)
class Case:
    """One exchange and its label."""

    def mistake(self, verdict: Json) -> str | None:
        """Return what is judged otherwise than labelled: faults that lack, or are too many, or usable or not."""
        found = {f"{fault['class']}:{fault['blame']}" for fault in verdict["faults"]}
        wanted = [set(each.split("|")) for each in self.want]
        allowed = set(self.may).union(*wanted)
        if all(found & each for each in wanted) and found <= allowed and verdict["usable"] == self.usable:
            return None
        return f"{self.name} ({self.wire}): {sorted(found)}, usable {verdict['usable']}; {verdict['faults']}"

    name: str
    want: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    usable: bool = True
    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    spent: int = 0
    user: str = "Please look after the repository."
    asked: Json = field(default_factory=dict)
    wire: str = ""
    streamed: bool | None = None
    raw: str = ""


def case(name: str, want: str = "", *, may: str = "", usable: bool | None = None, **fields: Any) -> Case:
    """Return a case whose labels are words; a case with a label that must be found is unusable unless it says so."""
    found = frozenset(want.split())
    judged = not found if usable is None else usable
    return Case(name, found, frozenset(may.split()), judged, **fields)


def on_wires(cases: list[Case]) -> list[Case]:
    """Return the cases, each without a wire of its own put on the next of the six, in order."""
    placed: list[Case] = []
    for number, each in enumerate(cases):
        wire = each.wire or WIRES[number % 6]
        streamed = number % 2 == 0 if each.streamed is None else each.streamed
        placed.append(Case(**{**each.__dict__, "wire": wire, "streamed": streamed}))
    return placed


def request_of(each: Case) -> Json:
    """Return the request body on the wire of the case; `asked` holds further keys as the chat wire names them."""
    asked = {"tools": TOOLS, "max_tokens": 4096} | each.asked
    body: Json = {"model": "m", "stream": each.streamed}
    tools = [tool.get("function", tool) for tool in asked.pop("tools") or ()]
    limit = asked.pop("max_tokens")
    messages = asked.pop("messages", [{"role": "user", "content": each.user}])
    if each.wire == "chat":
        chat = {"tools": [{"type": "function", "function": t} for t in tools]} if tools else {}
        return body | {"messages": messages, "max_tokens": limit} | chat | asked
    if each.wire == "messages":
        offered = [{"name": t["name"], "input_schema": t["parameters"]} for t in tools]
        return (
            body | {"messages": messages, "max_tokens": limit} | ({"tools": offered} if tools else {}) | asked
        )
    offered = [{"type": "function"} | t for t in tools]
    return (
        body | {"input": messages, "max_output_tokens": limit} | ({"tools": offered} if tools else {}) | asked
    )


def response_of(each: Case) -> bytes:
    """Return the bytes of the reply."""
    if each.raw:
        return each.raw.encode()
    return _WRITERS[each.wire, bool(each.streamed)](each).encode()


def _usage(each: Case) -> tuple[int, int]:
    written = len(each.content) + len(each.reasoning) + sum(len(call.arguments) for call in each.calls)
    return 412, each.spent or max(1, written // 4)


def _pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _ids(each: Case) -> list[str]:
    return [call.id or f"call_{number:02}ab77" for number, call in enumerate(each.calls)]


def _finish(each: Case) -> str:
    return each.finish or ("tool_calls" if each.calls else "stop")


def _chat_usage(each: Case) -> Json:
    prompt, completion = _usage(each)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def events(*documents: Json | str) -> str:
    """Return chat events, each a document or a line of its own."""
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in documents)
    return "".join(f"data: {line}\n\n" for line in lines)


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    """Return one chunk of a chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    } | more


def _chat_stream(each: Case) -> str:
    chunks: list[Json] = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"reasoning_content": piece}) for piece in _pieces(each.reasoning)]
    chunks += [chunk({"content": piece}) for piece in _pieces(each.content)]
    for number, (call, id_) in enumerate(zip(each.calls, _ids(each), strict=True)):
        named = {"name": call.name, "arguments": ""}
        chunks.append(
            chunk({"tool_calls": [{"index": number, "id": id_, "type": "function", "function": named}]})
        )
        for piece in _pieces(call.arguments):
            chunks.append(chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}))
    chunks.append(chunk({}, _finish(each)))
    counted = chunk({}) | {"choices": [], "usage": _chat_usage(each)}
    return events(*chunks, counted, "[DONE]")


def _chat_whole(each: Case) -> str:
    calls = [
        {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call, id_ in zip(each.calls, _ids(each), strict=True)
    ]
    message: Json = {"role": "assistant", "content": each.content or None}
    message |= {"reasoning_content": each.reasoning} if each.reasoning else {}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": _finish(each)}
    about = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps(about | {"choices": [choice], "usage": _chat_usage(each)}, ensure_ascii=False)


def _stop_reason(each: Case) -> str:
    return {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}.get(
        _finish(each), _finish(each)
    )


def _blocks(each: Case) -> list[tuple[Json, Json, str]]:
    """Return each block of Messages: as it starts, the delta's kind and key, and its text."""
    blocks: list[tuple[Json, Json, str]] = []
    if each.reasoning:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        blocks.append((start, {"type": "thinking_delta", "key": "thinking"}, each.reasoning))
    if each.content:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "key": "text"}, each.content))
    for call, id_ in zip(each.calls, _ids(each), strict=True):
        start = {"type": "tool_use", "id": id_, "name": call.name, "input": {}}
        blocks.append((start, {"type": "input_json_delta", "key": "partial_json"}, call.arguments))
    return blocks


def _named(kind: str, **more: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | more, ensure_ascii=False)}\n\n"


def _messages_stream(each: Case) -> str:
    prompt, completion = _usage(each)
    about: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    about |= {
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": prompt, "output_tokens": 0},
    }
    text = _named("message_start", message=about)
    for number, (start, kind, written) in enumerate(_blocks(each)):
        text += _named("content_block_start", index=number, content_block=start)
        for piece in _pieces(written):
            delta = {"type": kind["type"], kind["key"]: piece}
            text += _named("content_block_delta", index=number, delta=delta)
        text += _named("content_block_stop", index=number)
    ended = {"stop_reason": _stop_reason(each), "stop_sequence": None}
    text += _named("message_delta", delta=ended, usage={"output_tokens": completion})
    return text + _named("message_stop")


def _messages_whole(each: Case) -> str:
    prompt, completion = _usage(each)
    content: list[Json] = []
    for start, kind, written in _blocks(each):
        key = "input" if start["type"] == "tool_use" else kind["key"]
        content.append(start | {key: json.loads(written) if key == "input" else written})
    about: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    about |= {"stop_reason": _stop_reason(each), "stop_sequence": None}
    usage = {"input_tokens": prompt, "output_tokens": completion}
    return json.dumps(about | {"usage": usage}, ensure_ascii=False)


def _items(each: Case) -> list[Json]:
    """Return the whole items of a Responses reply."""
    items: list[Json] = []
    state = "incomplete" if _finish(each) == "length" else "completed"
    if each.reasoning:
        thought = [{"type": "reasoning_text", "text": each.reasoning}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": [], "content": thought})
    if each.content:
        part = {"type": "output_text", "text": each.content, "annotations": []}
        items.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": state, "content": [part]}
        )
    for number, (call, id_) in enumerate(zip(each.calls, _ids(each), strict=True)):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": id_, "name": call.name}
        items.append(item | {"arguments": call.arguments, "status": state})
    return items


def _responses_body(each: Case, items: list[Json], *, ended: bool) -> Json:
    prompt, completion = _usage(each)
    cut = _finish(each) == "length"
    body: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": items}
    body |= {"status": ("incomplete" if cut else "completed") if ended else "in_progress", "error": None}
    body |= {"incomplete_details": {"reason": "max_output_tokens"} if cut and ended else None}
    usage = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    return body | ({"usage": usage} if ended else {})


def _responses_whole(each: Case) -> str:
    return json.dumps(_responses_body(each, _items(each), ended=True), ensure_ascii=False)


def _responses_stream(each: Case) -> str:
    items = _items(each)
    text = _named("response.created", response=_responses_body(each, [], ended=False), sequence_number=0)
    for number, item in enumerate(items):
        at = {"output_index": number}
        text += _named("response.output_item.added", item=_empty(item), **at)
        text += _item_deltas(item, number)
        text += _named("response.output_item.done", item=item, **at)
    last = "response.incomplete" if _finish(each) == "length" else "response.completed"
    return text + _named(last, response=_responses_body(each, items, ended=True))


def _empty(item: Json) -> Json:
    cleared = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    return item | cleared | ({"status": "in_progress"} if "status" in item else {})


def _item_deltas(item: Json, number: int) -> str:
    at: Json = {"output_index": number, "item_id": item["id"]}
    if item["type"] == "function_call":
        kind, whole = "response.function_call_arguments", item["arguments"]
        text = "".join(_named(f"{kind}.delta", delta=piece, **at) for piece in _pieces(whole))
        return text + _named(f"{kind}.done", arguments=whole, **at)
    part = item["content"][0]
    at |= {"content_index": 0}
    kind = "response.output_text" if item["type"] == "message" else "response.reasoning_text"
    text = _named("response.content_part.added", part=part | {"text": ""}, **at)
    text += "".join(_named(f"{kind}.delta", delta=piece, **at) for piece in _pieces(part["text"]))
    return text + _named(f"{kind}.done", text=part["text"], **at)


_WRITERS = {
    ("chat", True): _chat_stream,
    ("chat", False): _chat_whole,
    ("messages", True): _messages_stream,
    ("messages", False): _messages_whole,
    ("responses", True): _responses_stream,
    ("responses", False): _responses_whole,
}
