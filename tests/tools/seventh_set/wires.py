"""Replies as the three wires write them, as a body and as the events of a stream."""

import json
from collections.abc import Callable
from typing import Any

from tests.tools.seventh_set.build import Call, Case, Json, pieces

HEX = "0123456789abcdef"


def _id(each: Case, number: int, one: Call) -> str | None:
    if one.id != "auto":
        return one.id
    seed = sum(map(ord, each.name)) * 7919 + number * 104729 + 12345
    prefix = {"messages": "toolu_"}.get(each.wire, "call_")
    return prefix + "".join(HEX[seed >> shift & 15] for shift in range(0, 32, 2))


def _spent(each: Case) -> int:
    text = each.content + each.reasoning + "".join(one.name + one.arguments for one in each.calls)
    return each.spent or len(text) // 4 + 3


def _finish(each: Case, called: str, plain: str) -> str:
    return each.finish or (called if each.calls else plain)


def _chat_usage(each: Case) -> Json:
    spent = _spent(each)
    return {"prompt_tokens": 812, "completion_tokens": spent, "total_tokens": 812 + spent}


def chat_body(each: Case) -> Json:
    message: Json = {"role": "assistant", "content": each.content or None}
    if each.reasoning:
        message["reasoning_content"] = each.reasoning
    if each.calls:
        message["tool_calls"] = [
            {
                "id": _id(each, number, one),
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for number, one in enumerate(each.calls)
        ]
    choice = {"index": 0, "message": message, "logprobs": None}
    choice["finish_reason"] = _finish(each, "tool_calls", "stop")
    head = {"id": "chatcmpl-7", "object": "chat.completion", "created": 1790000000, "model": "m"}
    return head | {"choices": [choice], "usage": _chat_usage(each)}


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-7", "object": "chat.completion.chunk", "model": "m", "choices": [choice]} | more


def chat_events(each: Case) -> list[Any]:
    events: list[Any] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in pieces(each.reasoning)]
    events += [chunk({"content": piece}) for piece in pieces(each.content)]
    for number, one in enumerate(each.calls):
        opened = {"index": number, "id": _id(each, number, one), "type": "function"}
        events.append(chunk({"tool_calls": [opened | {"function": {"name": one.name, "arguments": ""}}]}))
        events += [
            chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
            for piece in pieces(one.arguments)
        ]
    events.append(chunk({}, _finish(each, "tool_calls", "stop")))
    events.append(
        {"id": "chatcmpl-7", "object": "chat.completion.chunk", "choices": [], "usage": _chat_usage(each)}
    )
    return [*events, "[DONE]"]


STOPS = {"length": "max_tokens", "stop": "end_turn", "tool_calls": "tool_use"}


def _stop(each: Case) -> str:
    finish = _finish(each, "tool_use", "end_turn")
    return STOPS.get(finish, finish)


def messages_body(each: Case) -> Json:
    blocks: list[Json] = []
    if each.reasoning:
        blocks.append({"type": "thinking", "thinking": each.reasoning, "signature": "c2ln"})
    if each.content:
        blocks.append({"type": "text", "text": each.content})
    for number, one in enumerate(each.calls):
        blocks.append(
            {"type": "tool_use", "id": _id(each, number, one), "name": one.name, "input": one.value}
        )
    head = {"id": "msg_7", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    usage = {"input_tokens": 812, "output_tokens": _spent(each)}
    return head | {"stop_reason": _stop(each), "stop_sequence": None, "usage": usage}


def block(index: int, opened: Json, deltas: list[Json]) -> list[Any]:
    events: list[Any] = [{"type": "content_block_start", "index": index, "content_block": opened}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}]


def started(spent: int = 1) -> Json:
    message = {"id": "msg_7", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 812, "output_tokens": spent},
    }
    return {"type": "message_start", "message": message}


def ended(stop: str, spent: int) -> list[Any]:
    delta = {"stop_reason": stop, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": spent}},
        {"type": "message_stop"},
    ]


def messages_events(each: Case) -> list[Any]:
    events: list[Any] = [started(), {"type": "ping"}]
    index = 0
    if each.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(each.reasoning)]
        deltas.append({"type": "signature_delta", "signature": "c2ln"})
        events += block(index, {"type": "thinking", "thinking": ""}, deltas)
        index += 1
    if each.content:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(each.content)]
        events += block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for number, one in enumerate(each.calls):
        opened = {"type": "tool_use", "id": _id(each, number, one), "name": one.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(one.arguments)]
        events += block(index + number, opened, deltas)
    return events + ended(_stop(each), _spent(each))


def _items(each: Case) -> list[Json]:
    items: list[Json] = []
    if each.reasoning:
        items.append(
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": each.reasoning}],
            }
        )
    if each.content:
        part = {"type": "output_text", "text": each.content, "annotations": []}
        items.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        )
    for number, one in enumerate(each.calls):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": _id(each, number, one)}
        items.append(item | {"name": one.name, "arguments": one.arguments, "status": "completed"})
    return items


def responses_body(each: Case) -> Json:
    cut = each.finish in ("length", "max_tokens")
    body: Json = {"id": "resp_7", "object": "response", "created_at": 1790000000, "model": "m"}
    body |= {"status": "incomplete" if cut else "completed", "output": _items(each), "error": None}
    body["incomplete_details"] = {"reason": "max_output_tokens"} if cut else None
    spent = _spent(each)
    body["usage"] = {"input_tokens": 812, "output_tokens": spent, "total_tokens": 812 + spent}
    return body


def item_events(index: int, item: Json) -> list[Any]:
    kind = item["type"]
    opened = item | (
        {"arguments": "", "status": "in_progress"} if kind == "function_call" else {"content": []}
    )
    events: list[Any] = [{"type": "response.output_item.added", "output_index": index, "item": opened}]
    at = {"item_id": item["id"], "output_index": index}
    if kind == "function_call":
        word = "response.function_call_arguments"
        events += [{"type": f"{word}.delta", **at, "delta": piece} for piece in pieces(item["arguments"])]
        events.append({"type": f"{word}.done", **at, "arguments": item["arguments"]})
    elif kind in ("message", "reasoning"):
        word = "response.output_text" if kind == "message" else "response.reasoning_text"
        part, at = item["content"][0], at | {"content_index": 0}
        if kind == "message":
            events.append({"type": "response.content_part.added", **at, "part": part | {"text": ""}})
        events += [{"type": f"{word}.delta", **at, "delta": piece} for piece in pieces(part["text"])]
        events.append({"type": f"{word}.done", **at, "text": part["text"]})
        if kind == "message":
            events.append({"type": "response.content_part.done", **at, "part": part})
    return [*events, {"type": "response.output_item.done", "output_index": index, "item": item}]


def responses_events(each: Case) -> list[Any]:
    body = responses_body(each)
    empty = body | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[Any] = [{"type": "response.created", "response": empty}]
    events.append({"type": "response.in_progress", "response": empty})
    for index, item in enumerate(body["output"]):
        events += item_events(index, item)
    end = "incomplete" if body["status"] == "incomplete" else "completed"
    events.append({"type": f"response.{end}", "response": body})
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


BODIES: dict[str, Callable[[Case], Json]] = {
    "chat": chat_body,
    "messages": messages_body,
    "responses": responses_body,
}
EVENTS: dict[str, Callable[[Case], list[Any]]] = {
    "chat": chat_events,
    "messages": messages_events,
    "responses": responses_events,
}


def dumped(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)
