"""`judge` on Messages and Responses: the hand-written exchanges of chat on the other wires, and the faults that only
one wire has, rebuilt from the descriptions of those who met them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from tests.tools import exchanges

Event = dict[str, Any]
FILES = ("families", "reasoning", "arguments", "sound", "endings")
WIRES: dict[str, tuple[Callable[[Any], list[Event]], Callable[[Any], bytes | None]]] = {
    "messages": (exchanges.messages_events, exchanges.messages_whole),
    "responses": (exchanges.responses_events, exchanges.responses_whole),
}


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Run `replayer judge --json` over bodies."""

    def run(request: dict[str, Any], response: bytes) -> dict[str, Any]:
        (tmp_path / "q").write_text(json.dumps(request))
        (tmp_path / "r").write_bytes(response)
        assert main(["judge", str(tmp_path / "q"), str(tmp_path / "r"), "--json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return run


WRITTEN = [
    pytest.param(exchange, id=f"{name}-{exchange['name']}")
    for name in FILES
    for exchange in exchanges.load(name)
    if not exchange.get("pair")
]


OTHERWISE: dict[tuple[str, str], tuple[set[tuple[str, str]], set[str]]] = {
    # wire, exchange: what it is there, streamed
    ("messages", "opening-brace-missing"): ({("arguments_not_json", "parser")}, set()),
    ("responses", "opening-brace-missing"): ({("arguments_not_json", "parser")}, set()),
    ("messages", "empty-though-needed"): ({("missing_parameter", "model")}, set()),
    ("messages", "no-arguments-empty-text"): (set(), set()),
    ("messages", "named-and-stop"): (set(), {"finish_contradicts"}),
}
"""Anthropic's way to state `{}` is a delta without text, and its forced calls end with `tool_use`. A call that lacks
its first characters lost them on the way."""


def expected(exchange: dict[str, Any], wire: str, stream: bool) -> tuple[set[tuple[str, str]], set[str]]:
    """Fatal faults and warnings. Responses has one finish reason for text and calls, so nothing contradicts it."""
    name = exchange["name"]
    if (wire, name) in OTHERWISE and (stream or name == "named-and-stop"):
        return OTHERWISE[wire, name]
    warnings = set(exchange["expect"]["warnings"])
    return set(exchange["expect"]["fatal"].items()), warnings - (
        {"finish_contradicts"} if wire == "responses" else set()
    )


@pytest.mark.parametrize("exchange", WRITTEN)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "no-stream"])
@pytest.mark.parametrize("wire", sorted(WIRES))
def test_written_exchange_on_another_wire(
    exchange: dict[str, Any], stream: bool, wire: str, judged: Callable[..., dict[str, Any]]
) -> None:
    reply = exchange["reply"]
    events, whole = WIRES[wire]
    body = exchanges.events(events(reply)) if stream else whole(reply)
    if body is None or (wire == "messages" and exchange["name"] == "not-among-the-allowed"):
        return  # the wire cannot state it
    document = judged(exchanges.on_wire(exchanges.request(exchange), wire), body)
    fatal, warnings = expected(exchange, wire, stream)
    assert {(f["class"], f["blame"]) for f in document["faults"] if f["fatal"]} == fatal, document["faults"]
    assert {f["class"] for f in document["faults"] if not f["fatal"]} == warnings, document["faults"]
    assert document["usable"] is (not fatal)
    assert (document["content"], document["reasoning"]) == (reply["content"], reply.get("reasoning", ""))


TWO = [
    {"id": "c1", "name": "Bash", "arguments": '{"command": "ls /tmp"}'},
    {"id": "c2", "name": "Read", "arguments": '{"file_path": "/tmp/a"}'},
]
CALLS = {"content": "I look.", "tool_calls": TWO, "finish_reason": "tool_calls", "completion_tokens": 60}
ONE = {**CALLS, "content": "", "tool_calls": TWO[:1]}
TEXT = {"content": "There are two files.", "finish_reason": "stop", "completion_tokens": 9}
THINKS = {**TEXT, "reasoning": "Two files, I think."}
Change = Callable[[list[Event]], list[Event]]


def without(*kinds: str, index: int | None = None) -> Change:
    return lambda events: [
        e for e in events if not (e["type"] in kinds and (index is None or e.get("index") == index))
    ]


def merged(events: list[Event]) -> list[Event]:
    """sglang #39782: all arguments in the first tool_use block, the others empty."""
    first = next(e["index"] for e in events if e.get("content_block", {}).get("type") == "tool_use")
    return [
        {**e, "index": first} if e.get("delta", {}).get("type") == "input_json_delta" else e for e in events
    ]


def merged_in_one(events: list[Event]) -> list[Event]:
    """The same with one block only: the second call is never announced."""
    return [
        {**e, "index": 1} if e.get("delta", {}).get("type") == "input_json_delta" else e
        for e in events
        if not (e.get("index") == 2 and e["type"] != "content_block_delta")
    ]


def first_delta_dropped(kind: str) -> Change:
    """vllm PR #34053: the first chunk of the arguments is lost."""

    def change(events: list[Event]) -> list[Event]:
        is_one = [
            (e["type"] == kind and "partial_json" in (e.get("delta") or {}))
            or kind == e["type"] != "content_block_delta"
            for e in events
        ]
        first = is_one.index(True)
        return events[:first] + events[first + 1 :]

    return change


def deltas_dropped(events: list[Event]) -> list[Event]:
    return [e for e in events if e.get("delta", {}).get("type") != "input_json_delta"]


def doubled(kind: str) -> Change:
    return lambda events: [copy for e in events for copy in ([e, e] if e["type"] == kind else [e])]


def changed(kind: str, **more: Any) -> Change:
    return lambda events: [{**e, **more} if e["type"] == kind else e for e in events]


def same_index(events: list[Event]) -> list[Event]:
    return [{**e, "index": 0} if "index" in e else e for e in events]


def thinking_in_text(events: list[Event]) -> list[Event]:
    """litellm #33224: a thinking delta inside a text block."""
    stray = {"type": "thinking_delta", "thinking": "hm"}
    event = {"type": "content_block_delta", "index": 0, "delta": stray}
    return [*events[:2], event, *events[2:]]


def aborted(events: list[Event]) -> list[Event]:
    """vllm PR #52418: the tail of the arguments comes between reasoning, and the stream breaks off."""
    last = max(n for n, e in enumerate(events) if e["type"].endswith("arguments.delta"))
    stray = {"type": "response.reasoning_text.delta", "item_id": "fc_0", "output_index": 0, "delta": "hm"}
    return [*events[:last], stray]


def final(**more: Any) -> Change:
    return lambda events: [*events[:-1], {**events[-1], "response": {**events[-1]["response"], **more}}]


def nameless(events: list[Event]) -> list[Event]:
    text = json.dumps(events).replace('"name": "Bash", ', "")
    changed_events: list[Event] = json.loads(text)
    return changed_events


def arguments_cut(events: list[Event]) -> list[Event]:
    """openai/codex #29549: the arguments are "{" only."""
    text = json.dumps(events).replace(json.dumps(TWO[0]["arguments"])[1:-1], "{")
    kept: list[Event] = json.loads(text)
    deltas = [n for n, e in enumerate(kept) if e["type"].endswith("arguments.delta")]
    first = {**kept[deltas[0]], "delta": "{"}
    kept = [first if n == deltas[0] else e for n, e in enumerate(kept) if n not in deltas[1:]]
    return [{**e, "sequence_number": n} for n, e in enumerate(kept)]


def from_index_1(events: list[Event]) -> list[Event]:
    """Anthropic's clients find a block by its place: they throw, or lose its text."""
    return [{**e, "index": e["index"] + 1} if "index" in e else e for e in events]


def done_alone(events: list[Event]) -> list[Event]:
    """Items that come whole: what Codex reads, and enough for OpenAI's client."""
    kept = [e for e in events if e["type"].endswith(("created", "item.done", "completed"))]
    return [{**e, "sequence_number": n} for n, e in enumerate(kept)]


def another_name(events: list[Event]) -> list[Event]:
    text = json.dumps(events[-1]).replace('"name": "Bash"', '"name": "Read"')
    return [*events[:-1], json.loads(text)]


def stop_reason(reason: str | None) -> Change:
    return changed("message_delta", delta={"stop_reason": reason, "stop_sequence": None})


def with_event(at: int, **event: Any) -> Change:
    return lambda events: [*events[:at], event, *events[at:]]


def ended_as(status: str, reason: str | None = None) -> Change:
    def change(events: list[Event]) -> list[Event]:
        details = {"reason": reason} if reason else None
        response = {**events[-1]["response"], "status": status, "incomplete_details": details}
        return [*events[:-1], {**events[-1], "type": f"response.{status}", "response": response}]

    return change


KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>" + (
    '{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>'
)

KNOWN: list[tuple[str, str, dict[str, Any], Change, set[tuple[str, str]], set[str]]] = [
    # wire, fault, reply, how its events are changed, fatal faults, warnings
    ("messages", "two calls in one block", CALLS, merged,
     {("arguments_not_json", "parser"), ("missing_parameter", "parser")}, {"protocol"}),
    ("messages", "two calls in the only block", CALLS, merged_in_one, {("arguments_not_json", "parser")}, {"protocol"}),
    ("messages", "first delta of arguments dropped", ONE, first_delta_dropped("content_block_delta"),
     {("arguments_not_json", "parser")}, set()),
    ("messages", "all arguments dropped", ONE, deltas_dropped, {("missing_parameter", "parser")}, {"protocol"}),
    ("messages", "block index reused", CALLS, same_index, {("protocol", "engine")}, set()),
    ("messages", "block index reused by text", THINKS, same_index, set(), {"protocol"}),
    ("messages", "block never stopped", TEXT, without("content_block_stop"), set(), {"protocol"}),
    ("messages", "content block not found", TEXT, without("content_block_start"), {("protocol", "engine")}, set()),
    ("messages", "message_start twice", TEXT, doubled("message_start"), {("protocol", "engine")}, set()),
    ("messages", "no message_start", TEXT, without("message_start"), {("protocol", "engine")}, set()),
    ("messages", "thinking inside a text block", TEXT, thinking_in_text, set(), {"protocol"}),
    ("messages", "tool_use without a block", {**TEXT, "finish_reason": "tool_calls"}, list, set(), {"finish_contradicts"}),
    ("messages", "nothing but tool_use", {**TEXT, "content": "", "finish_reason": "tool_calls"}, list,
     {("empty_turn", "unknown")}, {"finish_contradicts"}),
    ("messages", "no message_stop", TEXT, without("message_stop"), set(), {"protocol"}),
    ("messages", "broken off", TEXT, without("message_stop", "message_delta"), {("engine_error", "engine")}, set()),
    ("messages", "call as text", {**TEXT, "content": KIMI}, list, {("leaked_markup", "parser")}, set()),
    ("messages", "without a name", ONE, nameless, {("protocol", "engine")}, set()),
    ("messages", "blocks from index 1", TEXT, from_index_1, {("protocol", "engine")}, set()),
    ("messages", "calls from index 1", CALLS, from_index_1, {("protocol", "engine")}, set()),
    ("messages", "an error in the middle", TEXT,
     lambda es: [*es[:4], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
     {("engine_error", "engine")}, set()),
    ("messages", "context window exceeded", TEXT, stop_reason("model_context_window_exceeded"),
     {("truncated", "budget")}, set()),
    ("messages", "a stop for no block", TEXT, with_event(5, type="content_block_stop", index=7),
     {("protocol", "engine")}, set()),
    ("messages", "no stop reason", TEXT, stop_reason(None), set(), {"protocol"}),
    ("messages", "pings and events of a vendor", CALLS, lambda es: with_event(3, type="ping")(
        with_event(5, type="vendor_metrics")(es)), set(), set()),
    ("messages", "counts twice", TEXT, doubled("message_delta"), set(), set()),
    ("messages", "sound", CALLS, list, set(), set()),
    ("responses", "call as text", {**TEXT, "content": KIMI}, list, {("leaked_markup", "parser")}, set()),
    ("responses", "stream aborted among arguments", ONE, aborted, {("engine_error", "engine")}, set()),
    ("responses", "arguments are { only", ONE, arguments_cut, {("arguments_not_json", "unknown")}, set()),
    ("responses", "first delta of arguments dropped", ONE,
     first_delta_dropped("response.function_call_arguments.delta"),
     {("arguments_not_json", "parser")}, {"protocol"}),
    ("responses", "item never done", ONE, without("response.output_item.done"), {("protocol", "engine")}, {"protocol"}),
    ("responses", "item without a name", ONE, nameless, {("protocol", "engine")}, set()),
    ("responses", "final object lacks the call", ONE, final(output=[]), set(), {"protocol"}),
    ("responses", "a call in the final object only", CALLS,
     without("response.function_call_arguments.delta"), set(), {"protocol"}),
    ("responses", "gap in the sequence", TEXT, without("response.in_progress"), set(), {"protocol"}),
    ("responses", "delta without an item", TEXT, without("response.output_item.added"), {("protocol", "engine")}, {"protocol"}),
    ("responses", "failed", {**TEXT, "content": "", "finish_reason": "failed"},
     final(status="failed", error={"code": "server_error", "message": "the model crashed"}),
     {("engine_error", "engine")}, set()),
    ("responses", "items done and never added", TEXT, done_alone, set(), {"protocol"}),
    ("responses", "a call done and never added", ONE, done_alone, set(), {"protocol"}),
    ("responses", "another name in the final object", ONE, another_name, set(), {"protocol"}),
    ("responses", "filtered", TEXT, ended_as("incomplete", "content_filter"), {("engine_error", "engine")}, set()),
    ("responses", "cancelled", TEXT, ended_as("cancelled"), {("engine_error", "engine")}, set()),
    ("responses", "cut", TEXT, ended_as("incomplete", "max_output_tokens"), {("truncated", "budget")}, set()),
    ("responses", "no final event", CALLS, lambda es: es[:-1], {("engine_error", "engine")}, set()),
    ("responses", "nothing but the final event", CALLS, lambda es: es[-1:], set(), set()),
    ("responses", "sound", CALLS, list, set(), set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "fault", "reply", "change", "fatal", "warnings"), KNOWN, ids=[f"{k[0]}: {k[1]}" for k in KNOWN]
)
def test_known_fault_of_a_wire(
    wire: str,
    fault: str,
    reply: dict[str, Any],
    change: Change,
    fatal: set[tuple[str, str]],
    warnings: set[str],
    judged: Callable[..., dict[str, Any]],
) -> None:
    body = exchanges.events(change(WIRES[wire][0](reply)))
    document = judged(exchanges.on_wire(exchanges.request({}), wire), body)
    assert {(f["class"], f["blame"]) for f in document["faults"] if f["fatal"]} == fatal, document["faults"]
    assert {f["class"] for f in document["faults"] if not f["fatal"]} == warnings, document["faults"]


REFUSALS = [
    # llama.cpp #23465, vllm PR #52418's neighbour, vLLM 0.21.0 and llama.cpp as captured, dynamo #14550
    ('{"error":{"code":400,"message":"Output of tool call should be \'Input text\'","type":"invalid_request_error"}}',
     "history_rejected", "input"),
    ('{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: tool_use_id not found"}}',
     "history_rejected", "input"),
    ('{"error":{"message":"Encrypted content is not supported.","type":"BadRequestError","code":400}}',
     "history_rejected", "input"),
    ('{"type":"error","error":{"type":"api_error","message":"Failed to apply prompt template"}}',
     "engine_error", "engine"),
    ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "engine_error", "engine"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "fault", "blame"), REFUSALS)
def test_a_refusal_of_any_wire(
    body: str, fault: str, blame: str, judged: Callable[..., dict[str, Any]]
) -> None:
    document = judged(exchanges.on_wire(exchanges.request({}), "responses"), body.encode())
    assert [(f["class"], f["blame"]) for f in document["faults"]] == [(fault, blame)]


def test_a_custom_tool_is_called_with_text(judged: Callable[..., dict[str, Any]]) -> None:
    """Codex's apply_patch: the input is a patch, not JSON."""
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": patch}
    where = {"output_index": 0, "item_id": "ctc_1"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}},
        {"type": "response.custom_tool_call_input.delta", **where, "delta": patch},
        {"type": "response.custom_tool_call_input.done", **where, "input": patch},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": exchanges.response_object(TEXT) | {"output": [item]}},
    ]
    request = {"model": "m", "input": "go", "tools": [{"type": "custom", "name": "apply_patch"}]}
    document = judged(request, exchanges.events(events))
    assert document["usable"] and document["faults"] == []
    assert document["tool_calls"] == [
        {"id": "c", "name": "apply_patch", "arguments_raw": patch, "arguments": patch, "valid": True}
    ]
    unknown = judged({**request, "tools": []}, exchanges.events(events))
    assert [fault["class"] for fault in unknown["faults"]] == ["unknown_tool"]


def test_one_prompt_over_several_wires_and_modes_is_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """sglang #39782: right over chat and not streamed, wrong over streamed Messages."""
    bodies = {
        "chat": [exchanges.streamed(CALLS), exchanges.whole(CALLS)],
        "messages": [
            exchanges.events(merged(exchanges.messages_events(CALLS))), exchanges.messages_whole(CALLS)
        ],
        "responses": [b'{"error":{"message":"no tools here","code":500}}'],
    }  # fmt: skip
    named = []
    for wire, answers in bodies.items():
        for mode, answer in zip((True, False), answers, strict=False):
            request = exchanges.request({})
            asked = exchanges.on_wire(request, wire) if wire != "chat" else request
            files = tmp_path / f"{wire}-{mode}.json", tmp_path / f"{wire}-{mode}.answer"
            files[0].write_text(json.dumps({**asked, "stream": mode}))
            files[1].write_bytes(answer or b"")
            named.append([str(path) for path in files])
    (first, other), also = named[:2], [word for files in named[2:] for word in ("--also", *files)]
    assert main(["judge", *first, "--pair", other[1], *also, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["differential"]
    counts = {
        row["wire"]: [(row[mode]["usable"], row[mode]["n"]) for mode in ("streamed", "unstreamed")]
        for row in found["rows"]
    }
    assert counts == {"chat": [(1, 1), (1, 1)], "messages": [(0, 1), (1, 1)], "responses": [(0, 1), (0, 0)]}
    assert found["words"] == [
        "same prompt: chat 1/1, chat streamed 1/1, messages 1/1, messages streamed 0/1, responses streamed 0/1"
    ]
    assert main(["judge", *first, *also]) == 0
    assert "messages streamed 0/1" in " ".join(capsys.readouterr().out.split())
