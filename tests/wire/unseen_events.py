"""Streams and bodies that one wire alone can spoil: built event by event, after reports of clients and gateways."""

from __future__ import annotations

import json
from typing import Any

from tests.traces.vendor import cut
from tests.wire.unseen import CAT, HERMES, LS, Row

Event = dict[str, Any]
BASH, READ = ("Bash", LS), ("Read", CAT)


def sse(*events: Event | str, named: bool = True, end: str = "\n") -> bytes:
    """Events; a string stands as it is, on lines of its own."""
    found = []
    for event in events:
        if isinstance(event, str):
            found.append(event)
            continue
        head = f"event: {event['type']}{end}" if named and "type" in event else ""
        found.append(f"{head}data: {json.dumps(event, ensure_ascii=False)}{end}{end}")
    return "".join(found).encode()


# Messages


def begin(**usage: int) -> Event:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
    }
    return {
        "type": "message_start",
        "message": {**message, "usage": usage or {"input_tokens": 9, "output_tokens": 1}},
    }


def opened(index: int, **block: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **value: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **value}}


def stopped(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def text(index: int, words: str = "Hello there.") -> list[Event]:
    pieces = [delta(index, "text_delta", text=piece) for piece in cut(words)]
    return [opened(index, type="text", text=""), *pieces, stopped(index)]


def use(
    index: int, call: tuple[str, str] = BASH, pieces: list[str] | None = None, **more: Any
) -> list[Event]:
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": call[0], "input": {}, **more}
    parts = [
        delta(index, "input_json_delta", partial_json=p) for p in (cut(call[1]) if pieces is None else pieces)
    ]
    return [opened(index, **block), *parts, stopped(index)]


def ended(reason: str | None = "end_turn", **usage: int) -> list[Event]:
    stop = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9, **usage}},
        {"type": "message_stop"},
    ]


def whole_message(*blocks: Any, reason: str = "end_turn", **more: Any) -> bytes:
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    counts = {"input_tokens": 9, "output_tokens": 9}
    return json.dumps(
        {**body, "stop_reason": reason, "stop_sequence": None, "usage": counts, **more}
    ).encode()


HI = "Hello there."
PING: Event = {"type": "ping"}
SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "title": "T"}],
}
CITED = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "start_char_index": 0,
    "end_char_index": 1,
}
OVERLOADED: Event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
used = ended("tool_use")
MESSAGES = [
    Row("redacted thinking", sse(begin(), opened(0, type="redacted_thinking", data="Emw="), stopped(0), *text(1), *ended()), True, HI, [], "", ""),
    Row("a search of the server's own", sse(begin(), opened(0, **SERVER), delta(0, "input_json_delta", partial_json='{"query": "x"}'), stopped(0), opened(1, **FOUND), stopped(1), *text(2), *ended()), True, HI, [], "", ""),
    Row("an MCP call of the server's own", sse(begin(), opened(0, **{**SERVER, "type": "mcp_tool_use", "server_name": "s"}), stopped(0), opened(1, type="mcp_tool_result", tool_use_id="srvtoolu_1", is_error=False, content=[]), stopped(1), *text(2), *ended()), True, HI, [], "", ""),
    Row("citations", sse(begin(), opened(0, type="text", text="", citations=[]), delta(0, "citations_delta", citation=CITED), delta(0, "text_delta", text=HI), stopped(0), *ended()), True, HI, [], "", ""),
    Row("an empty text block before a call (claude-code #88536)", sse(begin(), opened(0, type="text", text=""), stopped(0), *use(1), *used), True, "", [BASH], ""),
    Row("text in an open call (sglang #24293)", sse(begin(), *use(0)[:-1], delta(0, "text_delta", text="Hm."), stopped(0), *used), True, None, [BASH], "", "protocol"),
    Row("arguments where the block begins", sse(begin(), *use(0, pieces=[], input=json.loads(LS)), *used), True, "", None, "", ""),
    Row("arguments at both ends", sse(begin(), *use(0, input=json.loads(LS)), *used), True, "", [BASH], ""),
    Row("arguments as an object", sse(begin(), opened(0, type="tool_use", id="t", name="Bash", input={}), delta(0, "input_json_delta", partial_json=json.loads(LS)), stopped(0), *used), True, None, None, "*"),
    Row("the end before the block's", sse(begin(), *text(0)[:-1], ended()[0], stopped(0), ended()[1]), True, HI, [], ""),
    Row("a ping before everything", sse(PING, begin(), PING, *text(0), PING, *ended()), True, HI, [], "", ""),
    Row("overloaded at once", sse(OVERLOADED), True, None, None, "engine_error/engine"),
    Row("overloaded behind a call", sse(begin(), *use(0), OVERLOADED), True, None, None, "engine_error/engine"),
    Row("a pause", sse(begin(), *text(0), *ended("pause_turn")), True, HI, [], ""),
    Row("a refusal", sse(begin(), *text(0, "I can"), *ended("refusal")), True, "I can", [], "*"),
    Row("a stop sequence", sse(begin(), *text(0), *ended("stop_sequence")), True, HI, [], "", ""),
    Row("data on two lines", sse(begin(), *text(0), *ended()).replace(b', "index"', b',\ndata: "index"'), True, HI, [], "", ""),
    Row("no names of events", sse(begin(), *text(0), *ended(), named=False), True, HI, [], "", ""),
    Row("one name for all events", sse(begin(), *text(0), *ended()).replace(b"event: content_block_delta", b"event: message"), True, HI, [], ""),
    Row("line ends of Windows and comments", sse(": keep-alive\r\n\r\n", begin(), *text(0), ": x\r\n\r\n", *ended(), end="\r\n"), True, HI, [], "", ""),
    Row("a byte order mark", b"\xef\xbb\xbf" + sse(begin(), *text(0), *ended()), True, HI, [], "", ""),
    Row("no space behind the colon", sse(begin(), *text(0), *ended()).replace(b"data: ", b"data:").replace(b"event: ", b"event:"), True, HI, [], "", ""),
    Row("[DONE] of another API", sse(begin(), *text(0), *ended(), "data: [DONE]\n\n"), True, HI, [], ""),
    Row("a call without a name", sse(begin(), *use(0, ("", LS)), *used), True, None, None, "*"),
    Row("a call with a null id", sse(begin(), *use(0, id=None), *used), True, "", [BASH], "", "bad_call_id"),
    Row("two calls of one id", sse(begin(), *use(0, id="t"), *use(1, READ, id="t"), *used), True, "", [BASH, READ], "bad_call_id/parser"),
    Row("two calls at once", sse(begin(), *(e for pair in zip(use(0), use(1, ("Bash", LS)), strict=True) for e in pair), *used), True, "", [BASH, BASH], "", "protocol"),
    Row("the tail under the other index", sse(begin(), *use(0)[:-1], *use(1, READ, cut(CAT)[:-2])[:-1], *(delta(0, "input_json_delta", partial_json=p) for p in cut(CAT)[-2:]), stopped(0), stopped(1), *used), True, None, None, "*"),
    Row("each delta twice", sse(begin(), *use(0, pieces=[p for p in cut(LS) for _ in "ab"]), *used), True, None, None, "*"),
    Row("deltas that add up", sse(begin(), *use(0, pieces=[LS[:n] for n in (5, 12, len(LS))]), *used), True, None, None, "*"),
    Row("an empty object first", sse(begin(), *use(0, pieces=["{}", *cut(LS)]), *used), True, None, None, "arguments_not_json/unknown"),
    Row("a brace too many", sse(begin(), *use(0, pieces=[*cut(LS), "}"]), *used), True, None, None, "*"),
    Row("JSON in a string", sse(begin(), *use(0, pieces=cut(json.dumps(LS))), *used), True, None, None, "*"),
    Row("cut in the middle (9router #3416)", sse(begin(), *use(0, pieces=cut(LS)[:-1]), *used), True, None, None, "*"),
    Row("text behind a call", sse(begin(), *use(0), *text(1), *used), True, HI, [BASH], "", ""),
    Row("counts at the end only", sse(begin(input_tokens=0, output_tokens=0), *text(0), *ended(input_tokens=50, cache_read_input_tokens=30)), True, HI, [], "", ""),
    Row("a null index", sse(begin(), *({**e, "index": None} for e in text(0)), *ended()), True, HI, [], ""),
    Row("a delta of an unknown type", sse(begin(), opened(0, type="text", text=""), delta(0, "emotion_delta", emotion="joy"), delta(0, "text_delta", text=HI), stopped(0), *ended()), True, HI, [], "", ""),
    Row("a block of an unknown type", sse(begin(), opened(0, type="container_upload", file_id="f"), stopped(0), *text(1), *ended()), True, HI, [], "", ""),
    Row("an event that is no JSON", sse(begin(), "data: {oops\n\n", *text(0), *ended()), True, HI, []),
    Row("stopped twice", sse(begin(), *text(0), stopped(0), *ended()), True, HI, [], ""),
    Row("ended twice", sse(begin(), *text(0), *ended(), *ended()), True, HI, [], ""),
    Row("an error as the body", json.dumps({"type": "error", "error": {"type": "api_error", "message": "boom"}}).encode(), False, None, None, "engine_error/engine"),
    Row("content of null", whole_message(content=None), False, "", [], "*"),
    Row("content as a string", whole_message(content="Hello"), False, None, None, "*"),
    Row("input as a string", whole_message({"type": "tool_use", "id": "t", "name": "Bash", "input": LS}, reason="tool_use"), False, "", [BASH], "", "protocol"),
    Row("input of null", whole_message({"type": "tool_use", "id": "t", "name": "Bash", "input": None}, reason="tool_use"), False, None, None, "*"),
    Row("input left out", whole_message({"type": "tool_use", "id": "t", "name": "Bash"}, reason="tool_use"), False, None, None, "*"),
    Row("two texts", whole_message({"type": "text", "text": "Hello "}, {"type": "text", "text": "there."}), False, HI, [], "", ""),
    Row("a call under end_turn", whole_message({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls -la"}}), False, "", None, "", "finish_contradicts"),
    Row("an empty body", b"", True, None, None, "*"),
    Row("a page", b"<html><body>502 Bad Gateway</body></html>", True, None, None, "*"),
]  # fmt: skip


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
