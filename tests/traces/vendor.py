"""Answers in the shape in which the official APIs give them, written out by hand: a script of four turns of an agent.

Nothing of the product is used here, so that what passes through the recorder is not what replayer itself would write.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

Event = dict[str, Any]
PATCH = "*** Begin Patch\n*** Update File: a.py\n-x = 1\n+x = 2\n*** End Patch"
TURNS: list[dict[str, Any]] = [
    {"text": "I’ll read both.", "calls": [("read_file", '{"path": "a.py"}'), ("read_file", '{"path":"b/ü.py","limit":20}')]},
    {"thinks": "x must become 2.", "calls": [("edit", '{"path": "a.py", "old": "x = 1", "new": "x = 2\\n"}')]},
    {"thinks": "Run the tests.", "text": "Now the tests.", "calls": [("shell", '{ "argv": ["python", "-m", "unittest"], "timeout": 1e3 }')]},
    {"text": "All tests pass. 🎉"},
]  # fmt: skip
"""What the model does; arguments are the text as it is streamed."""


def cut(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def chat(turn: int, request: Event, reply: Event | None = None) -> list[Event]:
    said = TURNS[turn] if reply is None else reply
    head = {"id": f"chatcmpl-B{turn}", "object": "chat.completion.chunk", "created": 1795000000, "model": "m",
            "service_tier": "default", "system_fingerprint": "fp_44"}  # fmt: skip
    deltas: list[Event] = [
        {"role": "assistant", "content": None if said.get("calls") else "", "refusal": None}
    ]
    if reply is not None:  # OpenAI's own API shows no reasoning
        deltas += [{"reasoning_content": piece} for piece in cut(said.get("thinks", ""))]
    deltas += [{"content": piece} for piece in cut(said.get("text", ""))]
    for index, (name, arguments) in enumerate(said.get("calls", ())):
        function = {"name": name, "arguments": ""}
        deltas.append(
            {
                "tool_calls": [
                    {"index": index, "id": call_id(turn, index), "type": "function", "function": function}
                ]
            }
        )
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in cut(arguments)
        ]
    reason = "tool_calls" if said.get("calls") else "stop"
    chunks = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "logprobs": None, "finish_reason": reason})
    usage = {"prompt_tokens": 900 + turn, "completion_tokens": 40, "total_tokens": 940 + turn,
             "prompt_tokens_details": {"cached_tokens": 512 if turn else 0, "audio_tokens": 0},
             "completion_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    found = [{**head, "choices": [choice], "usage": None} for choice in chunks]
    return [*found, {**head, "choices": [], "usage": usage}]


def messages(turn: int, request: Event, reply: Event | None = None) -> list[Event]:
    said = TURNS[turn] if reply is None else reply
    blocks: list[tuple[Event, list[Event]]] = []
    if said.get("thinks"):
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in cut(said["thinks"])]
        signed = {"type": "signature_delta", "signature": f"EqQBCkYIARgCKkBn{turn}=="}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]))
    if said.get("text"):
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in cut(said["text"])])
        )
    for index, (name, arguments) in enumerate(said.get("calls", ())):
        block = {"type": "tool_use", "id": call_id(turn, index), "name": name, "input": {}}
        blocks.append(
            (block, [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(arguments)]])
        )
    cached = {"cache_creation_input_tokens": 300, "cache_read_input_tokens": 600 if turn else 0}
    counts = {"input_tokens": 4, **cached, "output_tokens": 1, "service_tier": "standard"}
    start = {"id": f"msg_01{turn}", "type": "message", "role": "assistant", "model": "m", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": counts}  # fmt: skip
    found: list[Event] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if said.get("calls") else "end_turn"
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 40},
    }
    return [*found, end, {"type": "message_stop"}]


def responses(turn: int, request: Event, reply: Event | None = None) -> list[Event]:
    items = output_items(
        turn,
        {tool["name"] for tool in request.get("tools", ()) if tool["type"] == "custom"},
        TURNS[turn] if reply is None else reply,
    )
    usage = {"input_tokens": 900 + turn, "input_tokens_details": {"cached_tokens": 512 if turn else 0},
             "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 9}, "total_tokens": 940 + turn}  # fmt: skip
    shown = {"id": f"resp_0{turn}{request.get('prompt_cache_key', '')}", "object": "response", "created_at": 1795000000, "error": None,
             "incomplete_details": None, "instructions": request.get("instructions"), "model": "m",
             "parallel_tool_calls": True, "previous_response_id": request.get("previous_response_id"),
             "store": request.get("store", True), "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
             "metadata": {}}  # fmt: skip
    begun = {**shown, "status": "in_progress", "output": [], "usage": None}
    found: list[Event] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(items):
        found += item_events(index, item)
    found.append(
        {
            "type": "response.completed",
            "response": {**shown, "status": "completed", "output": items, "usage": usage},
        }
    )
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


def output_items(turn: int, custom: set[str], said: Event) -> list[Event]:
    items: list[Event] = []
    if said.get("thinks"):
        summary = [{"type": "summary_text", "text": said["thinks"]}]
        items.append(
            {
                "id": f"rs_0{turn}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": f"gAAAAAB{turn}",
            }
        )
    if said.get("text"):
        part = {"type": "output_text", "text": said["text"], "annotations": [], "logprobs": []}
        items.append(
            {
                "id": f"msg_0{turn}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for index, (name, arguments) in enumerate(said.get("calls", ())):
        named = {"status": "completed", "call_id": call_id(turn, index), "name": name}
        if name in custom:
            items.append({"id": f"ctc_{turn}{index}", "type": "custom_tool_call", **named, "input": PATCH})
        else:
            items.append(
                {"id": f"fc_{turn}{index}", "type": "function_call", **named, "arguments": arguments}
            )
    return items


def item_events(index: int, item: Event) -> list[Event]:
    where = {"item_id": item["id"], "output_index": index}
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "reasoning":
        place = {**where, "summary_index": 0}
        part, name = {"type": "summary_text", "text": ""}, "response.reasoning_summary"
        text = item["summary"][0]["text"]
        deltas = [{"type": f"{name}_text.delta", **place, "delta": piece} for piece in cut(text)]
        return [
            {**added, "item": {**item, "summary": [], "encrypted_content": ""}},
            {"type": f"{name}_part.added", **place, "part": part}, *deltas,
            {"type": f"{name}_text.done", **place, "text": text},
            {"type": f"{name}_part.done", **place, "part": {**part, "text": text}}, done,
        ]  # fmt: skip
    if item["type"] == "message":
        place, part = {**where, "content_index": 0}, item["content"][0]
        text, empty = part["text"], {**part, "text": ""}
        deltas = [
            {"type": "response.output_text.delta", **place, "delta": p, "logprobs": []} for p in cut(text)
        ]
        return [
            {**added, "item": {**item, "status": "in_progress", "content": []}},
            {"type": "response.content_part.added", **place, "part": empty}, *deltas,
            {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part}, done,
        ]  # fmt: skip
    key, name = (
        ("input", "custom_tool_call_input") if "input" in item else ("arguments", "function_call_arguments")
    )
    deltas = [{"type": f"response.{name}.delta", **where, "delta": piece} for piece in cut(item[key])]
    return [{**added, "item": {**item, "status": "in_progress", key: ""}}, *deltas,
            {"type": f"response.{name}.done", **where, key: item[key]}, done]  # fmt: skip


def call_id(turn: int, index: int) -> str:
    return f"call_{turn}{index}Zq"


WRITERS = {b"/chat/completions": chat, b"/messages": messages, b"/responses": responses}
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_SEEN = re.compile(rb"(?:call_|resp_0)(\d)")


def stream(events: list[Event], *, named: bool) -> bytes:
    """The body of an event stream."""
    heads = [f"event: {event['type']}\n" if named else "" for event in events]
    datas = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events]
    text = "".join(f"{head}data: {data}\n\n" for head, data in zip(heads, datas, strict=True))
    return (text if named else f"{text}data: [DONE]\n\n").encode()


class Vendor:
    """Answers with the next turn of TURNS: the one behind the last that a request repeats, or goes on from."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def answer(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        path = head.split(b" ")[1].partition(b"?")[0]
        write = next((write for end, write in WRITERS.items() if path.endswith(end)), None)
        if write is None:
            models = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(models), models))
            return True
        self.bodies.append(body)
        turn = max((int(number) + 1 for number in _SEEN.findall(body)), default=0)
        sent = stream(write(turn, json.loads(body)), named=write is not chat)
        pieces = [sent[at : at + 97] for at in range(0, len(sent), 97)]
        writer.write(HEAD + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""]))
        return True
