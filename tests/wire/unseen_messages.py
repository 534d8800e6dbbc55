"""Streams and bodies that Messages alone can spoil: built event by event, after reports of clients and gateways."""

from __future__ import annotations

import json
from typing import Any

from tests.traces.vendor import cut
from tests.wire.unseen import CAT, LS, Row

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
