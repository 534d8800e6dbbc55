"""Every captured exchange of the three wires against a naive reading of its whole file.

REPLAYER_WIRES names a folder of more captures. The table of deviations names what each engine does otherwise than
its wire's protocol, and what becomes of it here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import Case, judge
from replayer.wire.reply import assemble
from replayer.wire.types import Delta, Reply
from tests.wire.captured import FIXTURES, Captured, all_bases, load, naive

BASES = all_bases()
STREAMS = [capture for capture in map(load, BASES) if capture.streamed and capture.wire]


def name(base: Path) -> str:
    return "/".join(base.parts[-2:])


def read(capture: Captured, body: Any = None) -> tuple[Reply, list[Delta]]:
    deltas: list[Delta] = []
    reply = assemble(
        capture.body if body is None else body,
        wire=capture.wire,
        status=capture.status,
        on_delta=lambda delta: deltas.append(delta),
    )
    return reply, deltas


def plain(reply: Reply, deltas: list[Delta]) -> dict[str, Any]:
    """What the naive reading knows of a reply."""
    usage = reply.usage or {}
    details = usage.get("prompt_tokens_details") or {}
    return {
        "content": reply.content,
        "reasoning": reply.reasoning,
        "calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls],
        "stop": reply.finish_reason,
        "usage": (usage.get("prompt_tokens"), details.get("cached_tokens"), usage.get("completion_tokens")),
        "order": [(delta.channel, delta.text) for delta in deltas],
    }


def is_generation(capture: Captured) -> bool:
    unfinished = b'"status":"queued"' in capture.body
    return capture.wire is not None and capture.status == 200 and bool(capture.body) and not unfinished


def ended(capture: Captured) -> bool:
    """Whether a stream's own last event stands in it."""
    return any(
        mark in capture.body
        for mark in (b"data: [DONE]", b"event: message_stop", b"event: response.completed")
    )


@pytest.mark.parametrize("base", BASES, ids=name)
def test_a_capture_equals_a_naive_reading(base: Path) -> None:
    capture = load(base)
    reply, deltas = read(capture)
    if is_generation(capture):
        assert plain(reply, deltas) == naive(capture)
        assert reply.streamed == capture.streamed and reply.wire == capture.wire
        assert (reply.fault is None) == (ended(capture) or not capture.streamed)
    elif capture.wire is not None:
        assert reply.fault is not None
    if len(capture.body) < 100_000:
        assert read(capture, capture.pieces) == (reply, deltas)


@pytest.mark.parametrize("base", BASES, ids=name)
def test_the_body_itself_shows_its_wire(base: Path) -> None:
    capture = load(base)
    if is_generation(capture):
        found = assemble(capture.body)
        assert (found.wire, found.content) == (capture.wire, read(capture)[0].content)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(STREAMS), st.data())
def test_splits_anywhere_and_other_line_ends_change_nothing(capture: Captured, data: st.DataObject) -> None:
    line_end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    body = capture.body.replace(b"\n", line_end)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=20)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert read(capture, pieces) == read(capture)


DEVIATIONS = [
    # engine/capture, what it shows, notes, (class, blame, fatal) of the verdict
    ("llama.cpp/messages-tool-text-and-call-stream", "block 1 begins before block 0 is stopped",
     {"blocks_overlap"}, {("protocol", "engine", False)}),
    ("llama.cpp/messages-tool-none-stream", "tool_choice none ignored", set(), {("choice_ignored", "engine", True)}),
    ("llama.cpp/messages-tool-cut-auto-stream", "cut in a call", set(), {("truncated", "budget", True)}),
    ("llama.cpp/messages-tool-cut-auto-nonstream", "cut in a call, input {}", set(),
     {("truncated", "budget", True)}),
    ("llama.cpp/responses-tool-cut-auto-stream", "cut, but status completed", set(),
     {("truncated", "budget", True)}),
    ("llama.cpp/responses-prefill-stream", "the final text includes the prefill", {"final_differs"},
     {("protocol", "engine", False)}),
    ("llama.cpp/closed-messages-stream", "closed by the client", set(), {("engine_error", "engine", True)}),
    ("llama.cpp/err-messages-too-long-stream", "an error on Messages in OpenAI's shape", set(),
     {("history_rejected", "input", True)}),
    ("vllm/messages-tool-named-stream", "end_turn after a forced call", set(),
     {("finish_contradicts", "engine", False)}),
    ("vllm/chat-tool-named-stream", "stop after a forced call, as OpenAI's API does", set(), set()),
    ("vllm/messages-tool-cut-auto-stream", "a tool_use block without a delta, cut", {"no_arguments"},
     {("truncated", "budget", True), ("protocol", "engine", False)}),
    ("vllm/messages-tool-cut-stream", "cut in a forced call", set(), {("truncated", "budget", True)}),
    ("vllm/messages-tool-cut-nonstream", "cut in a forced call: 500", set(), {("engine_error", "engine", True)}),
    ("vllm/messages-tool-required-nonstream", "cut call without a block", set(),
     {("truncated", "budget", True)}),
    ("vllm/messages-tool-none-stream", "tool_choice none ignored", set(), {("choice_ignored", "engine", True)}),
    ("vllm/err-messages-choice-no-tools", "stop_reason tool_use without a block", set(), {("truncated", "budget", True), ("finish_contradicts", "engine", False)}),
    ("vllm/responses-tool-regex-two-stream", "ids change between events and the final object",
     {"final_id_differs", "item_id_changed"}, set()),
    ("vllm/responses-tool-cut-stream", "completed, with status incomplete and a cut call",
     {"final_id_differs", "item_id_changed"}, {("truncated", "budget", True)}),
    ("vllm/responses-tool-required-stream", "the final object lacks the streamed call", {"final_differs"},
     {("truncated", "budget", True), ("protocol", "engine", False)}),
    ("vllm/responses-tool-none-stream", "a call in the events, text in the final object", {"final_differs"},
     {("choice_ignored", "engine", True), ("protocol", "engine", False)}),
    ("vllm/codex-9-second-turn-stream", "encrypted reasoning refused", set(), {("history_rejected", "input", True)}),
    ("vllm/reasoning-responses-background", "queued in the background", set(), {("engine_error", "engine", True)}),
    ("vllm/err-messages-unknown-model-stream", "an unknown model", set(), {("engine_error", "input", True)}),
    ("sglang/messages-tool-cut-stream", "cut call without a block", set(), {("truncated", "budget", True)}),
    ("sglang/messages-tool-cut-nonstream", "cut call as text", set(),
     {("truncated", "budget", True), ("leaked_markup", "parser", False)}),
    ("sglang/messages-tool-cut-auto-stream", "a tool_use block without a delta, cut", {"no_arguments"},
     {("truncated", "budget", True), ("protocol", "engine", False)}),
    ("sglang/responses-text-stream", "no deltas, usage of 0", {"no_deltas", "usage_zero"}, set()),
    ("sglang/responses-text-nonstream", "usage of 0 by chat's names", {"usage_zero"}, set()),
    ("sglang/err-messages-too-long-stream", "an empty 200", set(), {("engine_error", "engine", True)}),
    ("sglang/err-responses-too-long-stream", "the connection ends after two events", set(),
     {("engine_error", "engine", True)}),
    ("sglang/codex-1-full-stream", "500 for every tool on Responses", set(), {("engine_error", "engine", True)}),
    ("sglang/reasoning-messages-think-unclosed-stream", "reasoning dropped on the way", set(), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "shows", "notes", "faults"), DEVIATIONS, ids=[f"{row[0]}: {row[1]}" for row in DEVIATIONS]
)
def test_each_deviation_has_its_fault_or_note(
    file: str, shows: str, notes: set[str], faults: set[tuple[str, str, bool]] | None
) -> None:
    capture = load(FIXTURES / file)
    reply, _ = read(capture)
    assert {note.code for note in reply.notes} == notes
    request = read_request(capture.request or {"messages": []})  # of too long ones none is kept
    verdict = judge(Case(reply, Validator(request.tools), request))
    found = {(fault.klass, fault.blame, fault.fatal) for fault in verdict.faults}
    model = {fault for fault in found if fault[1] == "model"}  # SmolLM2's own mistakes are not the wire's
    if faults is None:
        assert not verdict.usable
    else:
        assert found - model == faults
