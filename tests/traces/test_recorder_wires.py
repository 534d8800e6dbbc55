"""The recording proxy between the official clients and simulated engines on Messages and Responses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from replayer.requests.history import RecordedHistory
from replayer.simulated import SimulatedSpec, launch
from replayer.traces.reader import Trace
from replayer.traces.recording import Recording
from tests.traces.proxies import asking, proxy, said, scripted, whole

TOOL = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
SYSTEM = [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=abcde;"},
    {"type": "text", "text": "You are a coding agent. é", "cache_control": {"type": "ephemeral"}},
]


async def messages_loop(url: str) -> None:
    """Four turns as an agent makes them: streamed, with tools, the cache marked at the end."""
    client = AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="sk-x", max_retries=0)
    history: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Read a.py, please."}]}]
    for number in range(4):
        marked = [*history[:-1], _marked(history[-1])]
        async with client.messages.stream(
            model="sim",
            max_tokens=400,
            system=SYSTEM,  # type: ignore[arg-type]
            messages=marked,
            tools=[{"name": "read_file", "description": "Read", "input_schema": TOOL}],
            metadata={"user_id": "u_1"},
        ) as stream:
            message = await stream.get_final_message()
        history.append({"role": "assistant", "content": [b.to_dict() for b in message.content]})
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": "x = 1"} for c in calls]
        history.append(
            {"role": "user", "content": [*results, {"type": "text", "text": f"Go on ({number})."}]}
        )
    await client.close()


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    *before, last = message["content"]
    return {**message, "content": [*before, {**last, "cache_control": {"type": "ephemeral"}}]}


async def responses_loop(url: str) -> None:
    client = AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0)
    history: list[Any] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py, please."}]}
    ]
    for number in range(4):
        async with client.responses.stream(
            model="sim",
            instructions="You are a coding agent.",
            input=list(history),
            tools=[{"type": "function", "name": "read_file", "parameters": TOOL, "strict": False}],
            store=False,
            include=["reasoning.encrypted_content"],
            prompt_cache_key="key",
            max_output_tokens=400,
        ) as stream:
            response = await stream.get_final_response()
        for item in response.output:
            history.append(item.to_dict())
            if item.type == "function_call":
                history.append(
                    {"type": "function_call_output", "call_id": item.call_id, "output": f"x = {number}"}
                )
        history.append({"type": "message", "role": "user", "content": f"Go on ({number})."})
    await client.close()


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llamacpp"])
@pytest.mark.parametrize(("wire", "loop"), [("messages", messages_loop), ("responses", responses_loop)])
async def test_a_session_of_the_official_client_replays_byte_for_byte(
    kind: str, wire: Any, loop: Any, tmp_path: Path
) -> None:
    sent: list[bytes] = []
    recording = Recording(tmp_path)
    engine = await launch(SimulatedSpec(kind=kind, model="sim"))
    async with proxy(engine.base_url, recording, sent) as url:
        await loop(url)
    await engine.stop()
    recording.close()
    (path,) = recording.paths
    with Trace.open(path) as trace:
        history = RecordedHistory(trace).over("recorded")
        assert history.wire == wire and len(history.turns) == 4 == len(sent)
        for turn, body in zip(history.turns, sent, strict=True):
            given = orjson.loads(body)
            request = history.request(turn, {"model": "sim"}, stream=bool(given.get("stream")))
            assert b"".join(map(bytes, request.body)) == body
        assert all(turn.produced and turn.usage for turn in trace.turns)
        assert any(item.kind == "tool_call" for item in trace.items())


async def _closing(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answers, then closes without having said that it would."""
    writer.write(whole(said(request[-24:].decode("utf-8", "replace"))))
    return False


async def test_a_server_that_closes_after_each_answer_loses_no_request(tmp_path: Path) -> None:
    recording = Recording(tmp_path)

    async def many(client: httpx.AsyncClient, url: str, name: int) -> None:
        for number in range(50):
            body = asking(f"request {name} {number}").partition(b"\r\n\r\n")[2]
            answer = await client.post(f"{url}/chat/completions", content=body)
            assert answer.status_code == 200 and answer.json()["choices"]

    async with (
        scripted(_closing) as server,
        proxy(server.url, recording, idle_seconds=30) as url,
        httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=4)) as client,
    ):
        await asyncio.gather(*(many(client, url, name) for name in range(4)))
    assert len(server.requests) == 200
    turns = 0
    for path in recording.paths:
        with Trace.open(path) as trace:
            turns += len(trace.turns)
            assert all(turn.finish_reason == "stop" for turn in trace.turns)
    assert turns == 200
