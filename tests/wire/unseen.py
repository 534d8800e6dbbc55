"""Exchanges of the three wires in the shapes of official APIs, engines and gateways, written before the readers saw them.

A row is (name, body, what a client gets, faults that make it unusable, warnings). `*` stands for some such fault.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from replayer.wire.types import Wire
from tests.traces import vendor

Event = dict[str, Any]
Said = dict[str, Any]
LS, CAT = '{"command": "ls -la"}', '{"file_path": "/tmp/a", "limit": 20}'
KIMI = '<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>'
HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'
QWEN = "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"


class Row(NamedTuple):
    name: str
    body: bytes
    stream: bool
    content: str | None = None
    calls: list[tuple[str, str]] | None = None
    fatal: str = ""
    warns: str | None = None
    """None: any."""
    asked: Said | None = None


def said(text: str = "", *calls: tuple[str, str], thinks: str = "", end: str = "", faults: str = "", warns: str = "") -> Said:  # fmt: skip
    return {"text": text, "calls": calls, "thinks": thinks, "end": end, "faults": faults, "warns": warns}


REPLIES: dict[str, Said] = {
    "text with emoji": said("Fertig – 完了 🎉\r\n• ok"),
    "markup in a fence": said("Write it so:\n```\n<tool_call>{}</tool_call>\n```\nThat is all."),
    "quotes and newlines": said("", ("Bash", json.dumps({"command": "printf '%s\\n' \"a\\\"b\"\n\ttrue"}))),
    "escaped surrogates": said("", ("Bash", '{"command": "echo \\ud83d\\ude00 \\u00e9"}')),
    "a seam within a string": said("", ("Bash", '{"command": "echo \'{\\"a\\":1}{\\"b\\":2}\' }{"}')),
    "line separators": said("", ("Bash", '{"command": "a\u2028b\u2029c\u0085d"}')),
    "nested edits": said("", ("Edit", '{"path":"a","edits":[{"old":"x","new":""},{"old":"{","new":"}"}]}')),
    "two of one tool": said("Both.", ("Read", CAT), ("Read", '{"file_path":"b"}')),
    "four at once": said("", *([("Bash", LS), ("Read", CAT)] * 2)),
    "thought, then a call": said("", ("Bash", LS), thinks="I need <b>the</b> files…"),
    "thought, text, two calls": said("I look.", ("Bash", LS), ("List", '{"path": "."}'), thinks="Hm."),
    "no parameters": said("", ("Status", "{}")),
    "optional ones only": said("", ("List", "{}")),
    "spaces before a call": said("\n\n", ("Bash", LS)),
    "much text": said("The quick brown fox. " * 3 + "".join(f"Line {n} holds {n * n}.\n" for n in range(400))),
    "a missing parameter": said("", ("Read", '{"limit": 3}'), faults="missing_parameter/model"),
    "a wrong type": said("", ("Bash", '{"command": ["ls"]}'), faults="wrong_type/model"),
    "outside the enum": said("", ("Plan", '{"status": "DONE"}'), faults="bad_value/model"),
    "outside the pattern": said("", ("Plan", '{"status":"done","day":"1.2.26"}'), faults="bad_value/model"),
    "below the minimum": said("", ("Read", '{"file_path":"a","limit":0}'), faults="bad_value/model"),
    "an unknown tool": said("", ("bash", LS), faults="unknown_tool/model"),
    "an invented key": said("", ("Edit", '{"path":"a","edits":[],"dry":true}'), faults="unexpected_parameter/model"),
    "deep inside": said("", ("Edit", '{"path":"a","edits":[{"old":"x"}]}'), faults="missing_parameter/model"),
    "one of two is wrong": said("", ("Bash", LS), ("Read", "{}"), faults="missing_parameter/model"),
    "Hermes as text": said(HERMES, faults="leaked_markup/parser"),
    "Kimi as text": said("I look." + KIMI, faults="leaked_markup/parser"),
    "Qwen as text": said(QWEN, faults="leaked_markup/parser"),
    "Hermes in the thought": said("", thinks="So: " + HERMES, faults="call_in_reasoning/parser"),
    "cut text": said("And then the", end="cut", faults="truncated/budget"),
    "cut thought": said("", thinks="And then the", end="cut", faults="truncated/budget"),
    "nothing": said("", faults="empty_turn/unknown"),
    "a thought only": said("", thinks="Done.", faults="empty_turn/unknown"),
    "spaces only": said(" \n", faults="empty_turn/unknown"),
}  # fmt: skip


def ends(reply: Said, wire: Wire) -> str:
    names = {"chat": ("length", "tool_calls", "stop"), "messages": ("max_tokens", "tool_use", "end_turn")}
    cut, called, stopped = names.get(wire, ("incomplete", "completed", "completed"))
    return cut if reply["end"] == "cut" else called if reply["calls"] else stopped


def official(wire: Wire, reply: Said) -> list[Event]:
    """The events of the official API, ended as the reply says."""
    write = {"chat": vendor.chat, "messages": vendor.messages, "responses": vendor.responses}[wire]
    events = write(0, {}, {key: reply[key] for key in ("text", "thinks", "calls") if reply[key]})
    end = ends(reply, wire)
    for event in events:
        if wire == "chat" and event["choices"] and event["choices"][0]["finish_reason"]:
            event["choices"][0]["finish_reason"] = end
        elif event.get("type") == "message_delta":
            event["delta"]["stop_reason"] = end
        elif event.get("type") == "response.completed" and end == "incomplete":
            event["type"] = "response.incomplete"
            event["response"] |= {"status": end, "incomplete_details": {"reason": "max_output_tokens"}}
    return events


def whole(wire: Wire, reply: Said) -> bytes:
    """The same as one body."""
    calls = [(f"call_0{n}Zq", name, arguments) for n, (name, arguments) in enumerate(reply["calls"])]
    if wire == "responses":
        return json.dumps(official(wire, reply)[-1]["response"], ensure_ascii=False).encode()
    if wire == "messages":
        blocks = (
            [{"type": "thinking", "thinking": reply["thinks"], "signature": "x="}] if reply["thinks"] else []
        )
        blocks += [{"type": "text", "text": reply["text"]}] if reply["text"] else []
        blocks += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in calls]
        usage = {"input_tokens": 9, "cache_read_input_tokens": 0, "output_tokens": 40}
        return json.dumps({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks,
                           "stop_reason": ends(reply, wire), "stop_sequence": None, "usage": usage}).encode()  # fmt: skip
    message: Said = {
        "role": "assistant",
        "content": reply["text"] or None,
        "refusal": None,
        "annotations": [],
    }
    message |= {"reasoning_content": reply["thinks"]} if reply["thinks"] else {}
    listed = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    message |= {"tool_calls": listed} if listed else {}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": ends(reply, wire)}
    usage = {"prompt_tokens": 9, "completion_tokens": 40, "total_tokens": 49}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def shared(wire: Wire) -> list[Row]:
    found = []
    for name, reply in REPLIES.items():
        events = vendor.stream(official(wire, reply), named=wire != "chat")
        for stream, body in ((True, events), (False, whole(wire, reply))):
            calls = list(reply["calls"])
            if wire == "messages" and not stream:  # values come, not texts
                calls = [
                    (n, json.dumps(json.loads(a), ensure_ascii=False, separators=(",", ":")))
                    for n, a in calls
                ]
            found.append(Row(name, body, stream, reply["text"], calls, reply["faults"], reply["warns"]))
    return found
