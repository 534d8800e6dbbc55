"""Hand-written exchanges of tests/exchanges as files: a request, and the reply as a stream or as one body."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import RequestFacts
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.tools.verdicts.verdict import Verdict
from replayer.wire.types import Reply

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


_OF_REQUEST = {field.name for field in dataclasses.fields(RequestFacts)}


def judged(reply: Reply, validator: Validator, **more: Any) -> Verdict:
    """The verdict, with facts of the request and further evidence by name."""
    asked = {key: more.pop(key) for key in list(more) if key in _OF_REQUEST}
    return judge(Case(reply, validator, RequestFacts(**asked), **more))


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


STOPS = {
    "messages": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"},
    "responses": {"stop": "completed", "tool_calls": "completed", "length": "max_output_tokens"},
}


def on_wire(body: dict[str, Any], wire: str) -> dict[str, Any]:
    """A chat request of `request` as a request of another wire."""
    tools = [tool["function"] for tool in body.get("tools") or []]
    texts = [part for message in body["messages"] for part in _history(message, wire)]
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 4096
    rest = {key: body[key] for key in ("model", "temperature") if key in body}
    choice = body.get("tool_choice")
    named = choice["function"]["name"] if isinstance(choice, dict) and "function" in choice else None
    if wire == "messages":
        kind = {"required": "any"}.get(choice, choice) if isinstance(choice, str) else None
        chosen = {"type": "tool", "name": named} if named else {"type": kind} if kind else None
        written = [
            {"name": t["name"], "description": "", "input_schema": t.get("parameters") or {}} for t in tools
        ]
        asked = {**rest, "max_tokens": limit, "messages": texts, "tools": written}
        return asked | ({"tool_choice": chosen} if chosen else {})
    flat = [{"type": "function", **tool} for tool in tools]
    chosen = {"type": "function", "name": named} if named else choice
    if isinstance(choice, dict) and "allowed_tools" in choice:
        chosen = {"type": "allowed_tools", **choice["allowed_tools"]}
    asked = {**rest, "max_output_tokens": limit, "input": texts, "tools": flat}
    return asked | ({"tool_choice": chosen} if chosen else {})


def _history(message: dict[str, Any], wire: str) -> list[dict[str, Any]]:
    """A chat message as messages or input items of another wire."""
    calls = message.get("tool_calls") or []
    if message["role"] == "tool":
        answer = {"output": message["content"], "call_id": message["tool_call_id"]}
        if wire == "responses":
            return [{"type": "function_call_output", **answer}]
        block = {"type": "tool_result", "tool_use_id": answer["call_id"], "content": answer["output"]}
        return [{"role": "user", "content": [block]}]
    if not calls:
        return [{"role": message["role"], "content": message["content"]}]
    if wire == "responses":
        return [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    blocks = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in calls
    ]
    return [{"role": "assistant", "content": blocks}]


def events(payloads: list[dict[str, Any]]) -> bytes:
    """Events as both wires write them."""
    return "".join(
        f"event: {payload['type']}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n"
        for payload in payloads
    ).encode()


def message_blocks(reply: dict[str, Any]) -> list[tuple[dict[str, Any], str, str]]:
    """(block as it begins, type of its deltas, its text)."""
    blocks = []
    if reply.get("reasoning"):
        blocks.append(({"type": "thinking", "thinking": ""}, "thinking_delta", reply["reasoning"]))
    if reply["content"]:
        blocks.append(({"type": "text", "text": ""}, "text_delta", reply["content"]))
    for call in reply.get("tool_calls", []):
        block = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}
        blocks.append((block, "input_json_delta", call["arguments"]))
    return blocks


DELTA_KEYS = {"thinking_delta": "thinking", "text_delta": "text", "input_json_delta": "partial_json"}


def messages_events(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a sound Messages stream."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    counts = {"input_tokens": 100, "output_tokens": 1}
    found: list[dict[str, Any]] = [{"type": "message_start", "message": {**start, "usage": counts}}]
    for index, (block, kind, whole_text) in enumerate(message_blocks(reply)):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces(whole_text) or [""]:
            delta = {"type": kind, DELTA_KEYS[kind]: piece}
            found.append({"type": "content_block_delta", "index": index, "delta": delta})
        found.append({"type": "content_block_stop", "index": index})
    reason = STOPS["messages"].get(reply["finish_reason"], reply["finish_reason"])
    end = {"stop_reason": reason, "stop_sequence": None}
    out = {"output_tokens": reply.get("completion_tokens") or 1}
    return [*found, {"type": "message_delta", "delta": end, "usage": out}, {"type": "message_stop"}]


def messages_whole(reply: dict[str, Any]) -> bytes | None:
    """As one body; None where that form cannot hold the reply: arguments that are no JSON object."""
    content = []
    for block, kind, whole_text in message_blocks(reply):
        if kind == "input_json_delta":
            try:
                block["input"] = json.loads(
                    whole_text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant
                )
                json.dumps(block["input"], ensure_ascii=False).encode()
            except ValueError:
                return None
            if not isinstance(block["input"], dict):
                return None
        else:
            block[DELTA_KEYS[kind]] = whole_text
        content.append(block)
    reason = STOPS["messages"].get(reply["finish_reason"], reply["finish_reason"])
    counts = {"input_tokens": 100, "output_tokens": reply.get("completion_tokens") or 1}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return json.dumps({**body, "stop_reason": reason, "stop_sequence": None, "usage": counts}).encode()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def response_items(reply: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.get("reasoning"):
        part = {"type": "reasoning_text", "text": reply["reasoning"]}
        items.append({"id": "rs_1", "type": "reasoning", "summary": [], "content": [part]})
    if reply["content"]:
        part = {"type": "output_text", "text": reply["content"], "annotations": []}
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "content": [part]})
    for number, call in enumerate(reply.get("tool_calls", [])):
        named = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
        items.append({"id": f"fc_{number}", "type": "function_call", "status": "completed", **named})
    return items


def response_object(reply: dict[str, Any]) -> dict[str, Any]:
    reason = STOPS["responses"].get(reply["finish_reason"], reply["finish_reason"])
    cut = reason not in ("completed", "failed")
    counts = {"input_tokens": 100, "output_tokens": reply.get("completion_tokens") or 1}
    return {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "incomplete" if cut else reason,
        "incomplete_details": {"reason": reason} if cut else None,
        "output": response_items(reply),
        "usage": counts | {"input_tokens_details": {"cached_tokens": 0}},
    }


DELTA_TYPES = {
    "reasoning": ("response.reasoning_text.delta", "content"),
    "message": ("response.output_text.delta", "content"),
    "function_call": ("response.function_call_arguments.delta", "arguments"),
}


def responses_events(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a sound Responses stream."""
    final = response_object(reply)
    begun = {**final, "status": "in_progress", "output": [], "usage": None}
    found: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(final["output"]):
        kind, key = DELTA_TYPES[item["type"]]
        whole_text = item["arguments"] if key == "arguments" else item["content"][0]["text"]
        empty = {**item, key: "" if key == "arguments" else []}
        where = {"output_index": index, "item_id": item["id"]}
        found.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        found += [{"type": kind, **where, "delta": piece} for piece in pieces(whole_text)]
        done = {"arguments" if key == "arguments" else "text": whole_text}
        found.append({"type": kind.removesuffix("delta") + "done", **where, **done})
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    end = "response.incomplete" if final["status"] == "incomplete" else "response.completed"
    found.append({"type": end, "response": final})
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


def responses_whole(reply: dict[str, Any]) -> bytes | None:
    return json.dumps(response_object(reply)).encode()
