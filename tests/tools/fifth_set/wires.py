"""Events of the three wires as engines write them, sound or not."""

import json

from tests.tools.fourth_set.build import chunk, events

LS, PWD = '{"cmd": "ls"}', '{"cmd": "pwd"}'
PROTOCOL = "protocol:engine"
CHAT = {"wire": "chat"}
ON_M, ON_R = {"wire": "messages", "streamed": True}, {"wire": "responses", "streamed": True}


def deltas(*many: dict, finish: str = "tool_calls") -> str:
    """Return a chat stream of these deltas."""
    usage = chunk({}) | {
        "choices": [],
        "usage": {"prompt_tokens": 9, "completion_tokens": 40, "total_tokens": 49},
    }
    return events(
        chunk({"role": "assistant", "content": None}), *map(chunk, many), chunk({}, finish), usage, "[DONE]"
    )


def piece(index: object, arguments: object = "", *, id_: object = None, name: object = None) -> dict:
    """Return a delta of one piece of a call; a name opens it."""
    opened = {"id": id_, "type": "function"} if name is not None or id_ is not None else {}
    about = {"arguments": arguments} | ({"name": name} if name is not None else {})
    one = {"index": index, **opened, "function": about}
    return {"tool_calls": [{key: value for key, value in one.items() if key != "index" or value is not None}]}


def both(*pieces: dict) -> dict:
    """Return several pieces of calls in one delta."""
    return {"tool_calls": [piece["tool_calls"][0] for piece in pieces]}


def named(*payloads: dict) -> str:
    """Return events as Messages and Responses write them."""
    return "".join(
        f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in payloads
    )


def block(index: int, start: dict, *parts: dict, stop: bool = True) -> list[dict]:
    """Return the events of one block of Messages."""
    found = [{"type": "content_block_start", "index": index, "content_block": start}]
    found += [{"type": "content_block_delta", "index": index, "delta": part} for part in parts]
    return [*found, *([{"type": "content_block_stop", "index": index}] if stop else [])]


def text_block(index: int, text: str, **more: bool) -> list[dict]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, **more)


def use(index: int, name: str, *parts: str, id_: str = "", **more: bool) -> list[dict]:
    start = {"type": "tool_use", "id": id_ or f"toolu_{index}", "name": name, "input": {}}
    return block(
        index, start, *({"type": "input_json_delta", "partial_json": part} for part in parts), **more
    )


def message(*blocks: list[dict], reason: str | None = "tool_use", out: int = 20, stop: bool = True) -> str:
    """Return a Messages stream."""
    start = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    begun = {"type": "message_start", "message": start | {"usage": {"input_tokens": 9, "output_tokens": 0}}}
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": out},
    }
    return named(
        begun,
        *(one for many in blocks for one in many),
        *([end] if reason else []),
        *([{"type": "message_stop"}] if stop else []),
    )


def response(*items: dict, status: str = "completed", **more: object) -> dict:
    """Return a body of Responses."""
    counts = {"input_tokens": 9, "output_tokens": 20, "total_tokens": 29}
    return {
        "id": "r",
        "object": "response",
        "status": status,
        "model": "m",
        "output": list(items),
        "usage": counts,
    } | more


def item(name: str, arguments: str, id_: str = "call_1", **more: object) -> dict:
    return {
        "type": "function_call",
        "id": "fc_" + id_,
        "call_id": id_,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    } | more


def said(text: str) -> dict:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def flow(*middle: dict, last: dict) -> str:
    """Return a stream of Responses round these events."""
    begun = response(status="in_progress") | {"usage": None}
    return named(
        {"type": "response.created", "response": begun},
        *middle,
        {"type": "response.completed", "response": last},
    )


def item_events(at: int, of: dict, *parts: str) -> list[dict]:
    where = {"output_index": at, "item_id": of["id"]}
    return [
        {
            "type": "response.output_item.added",
            "output_index": at,
            "item": of | {"arguments": "", "status": "in_progress"},
        },
        *({"type": "response.function_call_arguments.delta", "delta": part, **where} for part in parts),
        {"type": "response.function_call_arguments.done", "arguments": of["arguments"], **where},
        {"type": "response.output_item.done", "output_index": at, "item": of},
    ]
