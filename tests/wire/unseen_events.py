"""Streams and bodies that one wire alone can spoil: built event by event, after reports of clients and gateways."""

from __future__ import annotations

import json
from typing import Any

from tests.traces.vendor import cut
from tests.wire.unseen import CAT, HERMES, LS, Row
from tests.wire.unseen_messages import BASH, HI, MESSAGES, READ, Event, sse

# Responses


def item(
    index: int, kind: str, name: str, stated: Event, empty: Event, pieces: list[str], **place: Any
) -> list[Event]:
    where = {"output_index": index, "item_id": stated["id"], **place}
    done = {"arguments": "arguments", "input": "input"}.get(name, "text")
    whole = "".join(pieces)
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**stated, **empty}},
        *({"type": f"response.{kind}.delta", **where, "delta": piece} for piece in pieces),
        {"type": f"response.{kind}.done", **where, done: whole},
        {"type": "response.output_item.done", "output_index": index, "item": stated},
    ]


def words(index: int = 0, said: str = HI, **more: Any) -> list[Event]:
    part = {"type": "output_text", "text": said, "annotations": []}
    stated = {
        "id": f"msg_{index}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **more,
    }
    return item(
        index,
        "output_text",
        "text",
        stated,
        {"content": [], "status": "in_progress"},
        cut(said),
        content_index=0,
    )


def function(index: int = 0, call: tuple[str, str] = BASH, **more: Any) -> list[Event]:
    stated = {
        "id": f"fc_{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{index}",
        "name": call[0],
        "arguments": call[1],
        **more,
    }
    return item(
        index,
        "function_call_arguments",
        "arguments",
        stated,
        {"arguments": "", "status": "in_progress"},
        cut(call[1]),
    )


def custom(index: int, call: str) -> list[Event]:
    stated = {
        "id": f"ctc_{index}",
        "type": "custom_tool_call",
        "call_id": f"call_{index}",
        "name": "apply_patch",
        "input": call,
    }
    return item(index, "custom_tool_call_input", "input", stated, {"input": ""}, cut(call))


def response(*output: Event, **more: Any) -> Event:
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "total_tokens": 18,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": list(output),
        "usage": usage,
        **more,
    }


def made(
    *events: Event,
    output: list[Event] | None = None,
    last: str = "completed",
    numbered: bool = True,
    **more: Any,
) -> list[Event]:
    """A whole stream around the events of its items."""
    stated = (
        [e["item"] for e in events if e.get("type") == "response.output_item.done"]
        if output is None
        else output
    )
    begun = {"type": "response.created", "response": {**response(), "status": "in_progress", "usage": None}}
    end = {"type": f"response.{last}", "response": response(*stated, **{"status": last, **more})}
    found = [begun, *events, end]
    return [{**event, "sequence_number": n} for n, event in enumerate(found)] if numbered else found


def without(events: list[Event], *ends: str) -> list[Event]:
    return [event for event in events if not event["type"].endswith(ends)]


def told(events: list[Event], kind: str, **more: Any) -> list[Event]:
    """Events of a kind with other fields, whose `item` is changed where `item_…` names one of its keys."""
    keys = {key[5:]: value for key, value in more.items() if key.startswith("item__")}
    keys = {key.lstrip("_"): value for key, value in keys.items()}
    rest = {key: value for key, value in more.items() if not key.startswith("item__")}
    return [
        {**e, **rest, **({"item": {**e["item"], **keys}} if keys else {})} if e["type"].endswith(kind) else e
        for e in events
    ]


GENERIC = {"id": "msg_g", "type": "message", "role": "assistant", "content": [{"type": "text", "text": ""}]}
PATCH = "*** Begin Patch\n*** Add File: ü\n+{}\n*** End Patch"
WITH_PATCH = {"tools": [{"type": "custom", "name": "apply_patch", "description": ""}]}
SEARCH = {
    "id": "ws_0",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
SEARCHED: list[Event] = [{"type": "response.output_item.added", "output_index": 0, "item": SEARCH}, {"type": "response.web_search_call.in_progress", "item_id": "ws_0", "output_index": 0}, {"type": "response.web_search_call.completed", "item_id": "ws_0", "output_index": 0}, {"type": "response.output_item.done", "output_index": 0, "item": SEARCH}]  # fmt: skip
PLAIN = made(*function())
RESPONSES = [
    Row("the router's call, never done (sglang #12653)", sse(*made(*without(function(), "item.done"), output=[GENERIC])), True, None, [BASH], "protocol/engine"),
    Row("parts from index 1 (vllm #45742)", sse(*made(*told(words(), "text.delta", content_index=1))), True, HI, [], "protocol/engine"),
    Row("a patch", sse(*made(*custom(0, PATCH))), True, "", [("apply_patch", PATCH)], "", "", WITH_PATCH),
    Row("text, then a patch", sse(*made(*words(), *custom(1, PATCH))), True, HI, [("apply_patch", PATCH)], "", "", WITH_PATCH),
    Row("a search of the server's own", sse(*made(*SEARCHED, *words(1))), True, HI, [], "", ""),
    Row("a refusal", sse(*made({"type": "response.refusal.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "No."}, output=[{"id": "m", "type": "message", "content": [{"type": "refusal", "refusal": "No."}]}])), True, "", [], ""),
    Row("arguments where the item begins", sse(*made(*told(without(function(), "delta", "arguments.done"), "added", item__arguments=LS))), True, "", [BASH], "", ""),
    Row("arguments at the item's end", sse(*made(*without(function(), "delta", "arguments.done"))), True, "", [BASH], "", ""),
    Row("arguments without deltas", sse(*made(*without(function(), "delta"))), True, "", [BASH], "", ""),
    Row("arguments.done of other arguments", sse(*made(*told(function(), "arguments.done", arguments="{}"))), True, "", [BASH], "", "protocol"),
    Row("the item's end of other arguments", sse(*made(*told(function(), "item.done", item__arguments="{}"))), True, None, None, "", "protocol"),
    Row("two calls under one index", sse(*made(*function(0), *({**e, "output_index": 0} for e in function(1, READ)))), True, None, [BASH, READ], "*"),
    Row("two items of one id", sse(*made(*function(0), *told(told(told(function(1, READ), "", item_id="fc_0"), "added", item__id="fc_0"), "item.done", item__id="fc_0"))), True, "", [BASH, READ], ""),
    Row("no ids of items", sse(*made(*({k: v for k, v in e.items() if k != "item_id"} for e in [*words(), *function(1)]))), True, HI, [BASH], "", ""),
    Row("no indexes", sse(*made(*({k: v for k, v in e.items() if k != "output_index"} for e in [*words(), *function(1)]))), True, HI, [BASH], "", ""),
    Row("no numbers", sse(*made(*words(), *function(1), numbered=False)), True, HI, [BASH], "", ""),
    Row("numbers that begin again", sse(*PLAIN[:3], *({**e, "sequence_number": n} for n, e in enumerate(PLAIN[3:]))), True, "", [BASH], "", "protocol"),
    Row("numbers from 1", sse(*({**e, "sequence_number": n + 1} for n, e in enumerate(PLAIN))), True, "", [BASH], ""),
    Row("completed twice", sse(*PLAIN, {**PLAIN[-1], "sequence_number": len(PLAIN)}), True, "", [BASH], ""),
    Row("completed and incomplete (vllm)", sse(*made(*words(), status="incomplete", incomplete_details={"reason": "max_output_tokens"})), True, HI, [], "truncated/budget", ""),
    Row("failed after text", sse(*made(*words(), last="failed", error={"code": "server_error", "message": "boom"})), True, HI, None, "engine_error/engine"),
    Row("an error event", sse(*made(*words())[:4], {"type": "error", "code": "server_error", "message": "boom", "param": None, "sequence_number": 4}), True, None, None, "engine_error/engine"),
    Row("nothing at all", sse(*made()), True, "", [], "empty_turn/unknown"),
    Row("ended behind a call", sse(*PLAIN[:-1]), True, "", None, "engine_error/engine"),
    Row("queued", sse({"type": "response.queued", "response": {**response(), "status": "queued"}, "sequence_number": 0}), True, None, None, "*"),
    Row("[DONE] of another API", sse(*PLAIN, "data: [DONE]\n\n"), True, "", [BASH], ""),
    Row("a call as text", sse(*made(*words(0, HERMES))), True, HERMES, [], "leaked_markup/parser"),
    Row("an empty name", sse(*made(*function(0, ("", LS)))), True, None, None, "*"),
    Row("no call id", sse(*made(*function(0, call_id=None))), True, "", [BASH], "", "bad_call_id"),
    Row("one call id for two", sse(*made(*function(0), *function(1, READ, call_id="call_0"))), True, "", [BASH, READ], "bad_call_id/parser"),
    Row("a name with its namespace", sse(*made(*function(0, ("functions.Bash", LS)))), True, None, None, "unknown_tool/model"),

    Row("each delta twice", sse(*made(*(c for e in function() for c in ([e, e] if e["type"].endswith("delta") else [e])))), True, None, None, "*"),
    Row("text behind its item's end", sse(*made(*words(), {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_0", "content_index": 0, "delta": " More."})), True, None, [], "", "protocol"),
    Row("a comment and an answer", sse(*made(*words(0, "I look. ", phase="commentary"), *words(1, phase="final_answer"))), True, "I look. " + HI, [], "", ""),
    Row("line ends of Windows", sse(*PLAIN, end="\r\n"), True, "", [BASH], "", ""),
    Row("no names of events", sse(*PLAIN, named=False), True, "", [BASH], "", ""),
    Row("reasoning under its first name", sse(*made({"type": "response.reasoning.delta", "output_index": 0, "item_id": "r", "delta": "Hm."}, *words())), True, HI, [], ""),
    Row("two calls at once", sse(*made(*(e for pair in zip(function(0), function(1, ("Bash", LS)), strict=True) for e in pair))), True, "", [BASH, BASH], ""),
    Row("the tail in the other call", sse(*made(*function(0)[:-2], *told(function(1, READ), "delta", item_id="fc_0", output_index=0), *function(0)[-2:])), True, None, None, "*"),
    Row("a shell call", sse(*made(output=[{"id": "lsh", "type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}])), True, "", None, "", None, {"tools": [{"type": "local_shell"}]}),
    Row("an empty object first", sse(*made(*told(function(0, ("Bash", "{}" + LS)), "never"))), True, None, None, "arguments_not_json/unknown"),
    Row("JSON in a string", sse(*made(*function(0, ("Bash", json.dumps(LS))))), True, None, None, "*"),
    Row("arguments as an object", json.dumps(response({"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": json.loads(LS)})).encode(), False, "", None, "", "protocol"),
    Row("arguments of null", json.dumps(response({"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": None})).encode(), False, "", None, "*"),
    Row("content as a string", json.dumps(response({"id": "m", "type": "message", "role": "assistant", "content": HI})).encode(), False, None, [], "*"),
    Row("in progress", json.dumps(response(status="in_progress")).encode(), False, None, None, "*"),
    Row("two parts", json.dumps(response({"id": "m", "type": "message", "content": [{"type": "output_text", "text": "Hello "}, {"type": "output_text", "text": "there."}]})).encode(), False, HI, [], "", ""),
    Row("cut", json.dumps(response({"id": "m", "type": "message", "content": [{"type": "output_text", "text": HI}]}, status="incomplete", incomplete_details={"reason": "max_output_tokens"})).encode(), False, HI, [], "truncated/budget", ""),
    Row("filtered", json.dumps(response(status="incomplete", incomplete_details={"reason": "content_filter"})).encode(), False, None, [], "engine_error/engine"),
    Row("failed", json.dumps(response(status="failed", error={"code": "server_error", "message": "boom"})).encode(), False, None, None, "engine_error/engine"),
    Row("an answer of chat", json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": HI}, "finish_reason": "stop"}]}).encode(), False, None, None, "*"),
    Row("an empty body", b"", True, None, None, "*"),
]  # fmt: skip


# Chat


def chunk(finish: str | None = None, index: int = 0, **delta_fields: Any) -> Event:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": index, "delta": delta_fields, "finish_reason": finish}],
    }


def called(
    index: int | None = 0,
    name: str | None = None,
    arguments: Any = None,
    ident: str | None = None,
    **more: Any,
) -> Event:
    function: Event = {} if name is None else {"name": name}
    function |= {} if arguments is None else {"arguments": arguments}
    given: Event = {"function": function, **more} | ({} if index is None else {"index": index})
    return chunk(tool_calls=[given | ({} if ident is None else {"id": ident, "type": "function"})])


def args(text_of: str = LS, index: int | None = 0, **more: Any) -> list[Event]:
    return [called(index, arguments=piece, **more) for piece in cut(text_of)]


def talk(*events: Event | str, finish: str | None = "tool_calls", done: bool = True) -> bytes:
    end = [chunk(finish)] if finish else []
    return sse(
        chunk(role="assistant", content=None), *events, *end, "data: [DONE]\n\n" if done else "", named=False
    )


def whole_chat(finish: str = "stop", **message: Any) -> bytes:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


A, B = called(0, "Bash", "", "a"), called(1, "Read", "", "b")
SAY = [chunk(content=piece) for piece in cut(HI)]
BOOM = {"error": {"message": "boom", "type": "server_error", "code": 500}}
CHAT = [
    Row("no index (sglang #5661)", talk(called(None, "Bash", LS, "a")), True, None, [BASH], "", "bad_call_index"),
    Row("the name alone, then the arguments (vllm #9693)", talk(called(0, "Bash", ident="a"), *args()), True, None, [BASH], "", ""),
    Row("null beside everything", talk(A, *({**e, "usage": None} for e in args(id=None))), True, None, [BASH], "", ""),
    Row("id and name in each delta", talk(A, *args(id="a", name="Bash")), True, None, [BASH], ""),
    Row("two calls under index 0", talk(A, *args(), called(0, "Read", "", "b"), *args(CAT)), True, None, [BASH, READ], "", "bad_call_index"),
    Row("no index and no id for the rest", talk(called(None, "Bash", "", "a"), *args(index=None)), True, None, [BASH], "", "bad_call_index"),
    Row("two calls in turns", talk(A, B, *(e for pair in zip(args(), args(LS.replace("ls", "la"), 1), strict=True) for e in pair)), True, None, [BASH, ("Read", LS.replace("ls", "la"))], "missing_parameter/model"),
    Row("two calls in one delta", talk(chunk(tool_calls=[{"index": n, "id": i, "type": "function", "function": {"name": c[0], "arguments": c[1]}} for n, i, c in ((0, "a", BASH), (1, "b", READ))])), True, None, [BASH, READ], "", ""),
    Row("no reason, but [DONE] (vllm #27572)", talk(*SAY, finish=None), True, HI, [], "", "protocol"),
    Row("stop with a call", talk(A, *args(), finish="stop"), True, None, [BASH], "", "finish_contradicts"),
    Row("calls without one", talk(*SAY), True, HI, [], "", "finish_contradicts"),
    Row("nothing", talk(finish="stop"), True, "", [], "empty_turn/unknown", ""),
    Row("reasoning under both names", talk(chunk(reasoning="Hm.", reasoning_content="Hm."), *SAY, finish="stop"), True, HI, [], ""),
    Row("text behind the reason", talk(*SAY, chunk("stop"), chunk(content=" More."), finish=None), True, HI + " More.", [], "", "protocol"),
    Row("text of another choice", talk(*SAY, chunk(index=1, content="Other."), finish="stop"), True, HI, [], "", "protocol"),
    Row("an error in the middle", talk(*SAY, BOOM, finish=None, done=False), True, None, None, "engine_error/engine"),
    Row("an error, then [DONE]", talk(*SAY, BOOM, finish=None), True, None, None, "engine_error/engine"),
    Row("an error under its name", talk(*SAY, f"event: error\ndata: {json.dumps(BOOM)}\n\n", finish=None, done=False), True, None, None, "engine_error/engine"),
    Row("comments of a gateway", talk(": OPENROUTER PROCESSING\n\n", *SAY, ": OPENROUTER PROCESSING\n\n", finish="stop"), True, HI, [], "", ""),
    Row("content in parts", talk(chunk(content=[{"type": "text", "text": HI}]), finish="stop"), True, HI, [], ""),
    Row("empty lists of calls", talk(*(chunk(content=p, tool_calls=[]) for p in cut(HI)), finish="stop"), True, HI, [], "", ""),
    Row("null lists of calls", talk(*(chunk(content=p, tool_calls=None, function_call=None) for p in cut(HI)), finish="stop"), True, HI, [], "", ""),
    Row("a refusal", talk(chunk(refusal="No."), finish="stop"), True, "", [], ""),
    Row("filtered", talk(*SAY, finish="content_filter"), True, HI, [], "engine_error/engine"),
    Row("aborted (sglang)", talk(*SAY, finish="abort"), True, HI, [], "engine_error/engine"),
    Row("cut in a call", talk(A, *args()[:-1], finish="length"), True, None, None, "truncated/budget"),
    Row("cut in a call, said to be whole", talk(A, *args()[:-1]), True, None, None, "*"),
    Row("a brace too many", talk(A, *args(LS + "}")), True, None, None, "*"),
    Row("an empty object first", talk(A, called(0, arguments="{}"), *args()), True, None, None, "arguments_not_json/unknown"),
    Row("JSON in a string", talk(A, *args(json.dumps(LS))), True, None, None, "*"),
    Row("each delta twice", talk(A, *(e for e in args() for _ in "ab")), True, None, None, "*"),
    Row("arguments as an object", talk(called(0, "Bash", json.loads(LS), "a")), True, None, None, "", "protocol"),
    Row("Python's words", talk(A, *args('{"command": "ls", "timeout": None}')), True, None, None, "*"),
    Row("a key twice", talk(A, *args('{"command": "ls", "command": "la"}')), True, None, None, "*"),
    Row("an empty name", talk(called(0, "", "", "a"), *args()), True, None, None, "*"),
    Row("no id", talk(called(0, "Bash", LS)), True, None, [BASH], "", "bad_call_id"),
    Row("one id for two", talk(called(0, "Bash", LS, "a"), called(1, "Read", CAT, "a")), True, None, [BASH, READ], "bad_call_id/parser"),
    Row("index from 1", talk(called(1, "Bash", LS, "a")), True, None, [BASH], ""),
    Row("the answer in one event", sse({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": HI}, "finish_reason": "stop"}]}, "data: [DONE]\n\n", named=False), True, HI, [], ""),
    Row("a body for a stream", whole_chat(content=HI), True, HI, [], ""),
    Row("a stream for a body", talk(*SAY, finish="stop"), False, HI, [], ""),
    Row("an event that is no JSON", talk(*SAY, "data: {oops\n\n", finish="stop"), True, HI, []),
    Row("ended in the middle", talk(*SAY, finish=None, done=False), True, HI, None, "engine_error/engine"),
    Row("ended without [DONE]", talk(*SAY, finish="stop", done=False), True, HI, [], "", "protocol"),
    Row("a tag of thought in the text", talk(chunk(content="<think>Hm.</think>\n"), *SAY, finish="stop"), True, None, [], ""),
    Row("the call within the thought", talk(chunk(content="<think>" + HERMES + "</think>"), finish="stop"), True, None, [], "*"),
    Row("no message", json.dumps({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop"}]}).encode(), False, None, None, "*"),
    Row("no choice", json.dumps({"object": "chat.completion", "choices": []}).encode(), False, None, None, "*"),
    Row("a legacy call", whole_chat("function_call", function_call={"name": "Bash", "arguments": LS}), False, None, [BASH], ""),
    Row("content in parts, whole", whole_chat(content=[{"type": "text", "text": HI}]), False, HI, [], ""),
    Row("arguments as an object, whole", whole_chat("tool_calls", tool_calls=[{"id": "a", "type": "function", "function": {"name": "Bash", "arguments": json.loads(LS)}}]), False, None, None, "", "protocol"),
    Row("an empty body", b"", True, None, None, "*"),
]  # fmt: skip
OF_WIRE = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}
