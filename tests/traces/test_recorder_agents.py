"""Agent-like loops on the official SDKs against a scripted vendor, recorded, and replayed byte for byte."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from replayer.requests.history import RecordedHistory
from replayer.traces.passing import Passed
from replayer.traces.reader import Trace
from replayer.traces.recording import Recording
from replayer.wire.reply import assemble
from replayer.wire.types import Wire
from tests.traces.proxies import proxy, scripted
from tests.traces.vendor import PATCH, TURNS, Vendor, responses, stream

FIELDS = {"path": {"type": "string"}, "limit": {"type": "integer"}}
SCHEMAS: dict[str, dict[str, Any]] = {
    name: {"type": "object", "properties": fields, "required": list(fields)[:1]}
    for name, fields in {
        "read_file": FIELDS,
        "edit": {**FIELDS, "old": {"type": "string"}, "new": {"type": "string"}},
        "shell": {"argv": {"type": "array", "items": {"type": "string"}}, "timeout": {"type": "number"}},
    }.items()
}
RESULTS = {"read_file": "x = 1\n", "edit": "", "shell": "Ran 3 tests\n\nOK\n"}
EPHEMERAL = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
RULES = "You are a coding agent.\n\nProject rules: never change a test. ✅"
TASK = "Make x 2 in a.py — and b/ü.py."


async def chat_loop(url: str) -> None:
    client = AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0)
    history: list[Any] = [{"role": "developer", "content": RULES}, {"role": "user", "content": [{"type": "text", "text": TASK}]}]  # fmt: skip
    tools: Any = [{"type": "function", "function": {"name": n, "parameters": p, "strict": False}} for n, p in SCHEMAS.items()]  # fmt: skip
    for _ in TURNS:
        stream = client.chat.completions.stream(
            model="m", messages=history, tools=tools, parallel_tool_calls=True, temperature=1e-05,
            stream_options={"include_usage": True}, prompt_cache_key="session-1", max_completion_tokens=2048,
        )  # fmt: skip
        async with stream as events:
            async for _event in events:
                pass
            message = (await events.get_final_completion()).choices[0].message
        history.append(message.to_dict())
        for call in message.tool_calls or ():
            history.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.function.name]})
    await client.close()


async def messages_loop(url: str) -> None:
    """The cache is marked behind the system prompt, the tools, and at the end, which moves on with each turn."""
    client = AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="sk-x", max_retries=0)
    system: Any = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=abcde;"}, {"type": "text", "text": RULES, **EPHEMERAL}]  # fmt: skip
    tools: Any = [{"name": name, "description": "", "input_schema": schema} for name, schema in SCHEMAS.items()]  # fmt: skip
    tools[-1] = {**tools[-1], **EPHEMERAL}
    history: list[Any] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
    for _ in TURNS:
        *before, last = history
        marked = {**last, "content": [*last["content"][:-1], {**last["content"][-1], **EPHEMERAL}]}
        stream = client.messages.stream(
            model="m", max_tokens=32000, system=system, tools=tools, messages=[*before, marked],
            thinking={"type": "enabled", "budget_tokens": 4096}, metadata={"user_id": "user_1_session_2"},
            extra_headers={"anthropic-beta": "prompt-caching-scope-2026-01-05"},
        )  # fmt: skip
        async with stream as events:
            message = await events.get_final_message()
        history.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
        calls = [block for block in message.content if block.type == "tool_use"]
        history.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": RESULTS[call.name] or " "}]}
            for call in calls
        ]})  # fmt: skip
    await client.close()


async def responses_loop(url: str, *, chained: bool = False, key: str = "") -> None:
    """Whole history in each request, or what is new and `previous_response_id`."""
    client = AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0)
    tools: Any = [{"type": "function", "name": n, "parameters": p, "strict": False} for n, p in SCHEMAS.items() if n != "edit"]  # fmt: skip
    tools.append({"type": "custom", "name": "edit", "description": "A patch", "format": {"type": "text"}})
    given: Any = TASK if chained else [{"role": "user", "content": [{"type": "input_text", "text": TASK}]}]
    state: dict[str, Any] = {"store": chained}
    for _ in TURNS:
        stream = client.responses.stream(
            model="m", instructions=RULES, input=given, tools=tools, reasoning={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"], prompt_cache_key=key or "session1", **state,
        )  # fmt: skip
        async with stream as events:
            response = await events.get_final_response()
        results = []
        for item in response.output:
            if item.type in ("function_call", "custom_tool_call"):
                name, kind = item.name, f"{item.type}_output"  # type: ignore[union-attr]
                results.append({"type": kind, "call_id": item.call_id, "output": RESULTS[name]})  # type: ignore[union-attr]
        if chained:
            state, given = {"store": True, "previous_response_id": response.id}, results
        else:
            given = [*given, *(item.to_dict() for item in response.output), *results]
    await client.close()


async def chained_loop(url: str) -> None:
    await responses_loop(url, chained=True)


def without_parsed(items: list[Any]) -> Any:
    """What the SDK adds to what the server said."""
    kept = json.dumps(items)
    return json.loads(kept, object_hook=lambda o: {k: v for k, v in o.items() if not k.startswith("parsed")})


Loop = Callable[[str], Awaitable[None]]
LOOPS: list[tuple[Wire, Loop]] = [
    ("chat", chat_loop),
    ("messages", messages_loop),
    ("responses", responses_loop),
]


async def record(loop: Loop, folder: Path) -> tuple[Path, list[bytes]]:
    """The trace of an agent, and the bodies that the vendor received."""
    vendor, recording = Vendor(), Recording(folder)
    async with scripted(vendor.answer) as server, proxy(server.url, recording) as url:
        await loop(url)
    (path,) = recording.paths
    return path, vendor.bodies


async def replay(trace: Path, folder: Path, *args: str) -> tuple[list[bytes], list[dict[str, Any]]]:
    """The bodies that the vendor receives from `run`, and the verdicts."""
    vendor = Vendor()
    async with scripted(vendor.answer) as server:
        engine = f"a={server.url},kind=vllm,model=m"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "replayer", "run", "--plain", "--trace", str(trace), "--engine", engine,
            "--out", str(folder), *args, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        assert process.returncode in (0, 1), said.decode()
    lines = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    asked = [body for body in vendor.bodies if b"coding agent" in body]  # not the warm-up
    return asked, [event for event in lines if event["type"] == "verdict"]


@pytest.mark.parametrize(("wire", "loop"), LOOPS)
async def test_an_agent_of_an_official_sdk_is_recorded_exactly(
    wire: Wire, loop: Loop, tmp_path: Path
) -> None:
    path, sent = await record(loop, tmp_path)
    with Trace.open(path) as trace:
        history = RecordedHistory(trace).over("recorded")
        assert history.wire == wire and len(history.turns) == len(TURNS) == len(sent)
        for turn, body in zip(history.turns, sent, strict=True):
            assert b"".join(map(bytes, history.request(turn, {"model": "m"}).body)) == body
        calls = [item for item in trace.items() if item.kind == "tool_call"]
        texts = [
            PATCH if wire == "responses" and n == "edit" else a
            for turn in TURNS
            for n, a in turn.get("calls", ())
        ]
        assert [call.arguments for call in calls] == texts
        assert trace.turns[1].usage is not None and trace.turns[1].usage.cached_tokens == (
            600 if wire == "messages" else 512
        )


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "loop"), LOOPS)
async def test_an_agent_of_an_official_sdk_is_replayed_byte_for_byte(
    wire: Wire, loop: Loop, tmp_path: Path
) -> None:
    path, sent = await record(loop, tmp_path / "recorded")
    bodies, verdicts = await replay(path, tmp_path / "run")
    assert bodies == sent
    assert len(verdicts) == len(TURNS) and all(verdict["usable"] for verdict in verdicts)


@pytest.mark.slow
async def test_a_chain_of_stored_responses_replays_on_a_server_that_stored_none(tmp_path: Path) -> None:
    path, sent = await record(chained_loop, tmp_path / "recorded")
    bodies, verdicts = await replay(path, tmp_path / "run", "--wire", "all", "--order", "sequential")
    assert len(bodies) == 3 * len(sent) and not any(b"previous_response_id" in body for body in bodies)
    usable = Counter(verdict["session"].split("/")[0] for verdict in verdicts if verdict["usable"])
    # Over the other wires the vendor calls `edit` as a function; the recorded tool takes a text.
    assert usable == {"a+wire=chat": 3, "a+wire=messages": 3, "a+wire=responses": 4}
    for body, expected in zip(bodies[:4], (1, 4, 6, 8), strict=True):
        assert len(json.loads(body)["messages"]) == expected + 1


def test_a_chain_that_began_before_the_recording_is_said(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    asked = {"model": "m", "input": "Go on.", "previous_response_id": "resp_earlier"}
    reply = assemble(stream(responses(3, asked), named=True), wire="responses")
    request = json.dumps(asked).encode()
    recording.add(
        Passed(path="/v1/responses", request=request, status=200, reply=reply, wire="responses", wall=1.0)
    )
    assert "was not recorded (previous_response_id)" in next(recording.warnings())[1]
    recording.close()
    with Trace.open(recording.paths[0]) as trace:
        assert (
            b"".join(map(bytes, RecordedHistory(trace).over("recorded").request(0, {}, stream=False).body))
            == request
        )


async def test_a_chain_of_stored_responses_is_recorded_with_its_whole_history(tmp_path: Path) -> None:
    """As if the client had sent everything: the items are those of the whole history, in order."""
    path, sent = await record(chained_loop, tmp_path / "chained")
    whole, known = await record(responses_loop, tmp_path / "whole")
    assert [b"previous_response_id" in body for body in sent] == [False, True, True, True]
    with Trace.open(path) as chained, Trace.open(whole) as trace:
        history = RecordedHistory(chained).over("recorded")
        found = [b"".join(map(bytes, history.request(turn, {"model": "m"}).body)) for turn in history.turns]
        assert found[0] == sent[0] and len(found) == len(TURNS)
        for request, first, expected in zip(
            map(json.loads, found[1:]), map(json.loads, sent[1:]), map(json.loads, known[1:]), strict=True
        ):
            assert request["input"][1:] == without_parsed(expected["input"][1:])
            assert request["input"][0] == {"role": "user", "content": TASK}
            assert {k: v for k, v in request.items() if k != "input"} == {
                k: v for k, v in first.items() if k not in ("input", "previous_response_id")
            }
        for turn in history.turns[1:]:
            other = RecordedHistory(trace).over("recorded")
            assert history.messages(turn)[2:] == other.messages(turn)[2:]
