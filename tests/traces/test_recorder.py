"""The recording proxy between the official client and a simulated engine, over real HTTP."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from openai import AsyncOpenAI

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.simulated import SimulatedSpec, launch
from replayer.traces.reader import Trace
from replayer.traces.recording import Recording
from replayer.traces.secrets import redactor
from replayer.traces.summary import check
from replayer.traces.upstream import upstream
from tests.generate import long_session
from tests.traces.proxies import answering, proxy


async def _play(client: AsyncOpenAI, trace: Trace) -> None:
    """An agent's loop: the engine's own reply and the recorded results go into the next request."""
    history = RecordedHistory(trace)
    messages: list[Any] = history.messages(history.turns[0])
    for turn in history.turns:
        given: dict[str, Any] = {"model": "simulated", "messages": messages, "tools": history.tools(turn)}
        given |= {"temperature": 0.25, "max_tokens": 4000}
        if turn % 2:
            reply = await client.chat.completions.create(**given)
            message = reply.choices[0].message.model_dump(exclude_none=True)
        else:
            message = await _streamed(client, given)
        after = history.messages(turn + 1) if turn + 1 < len(trace.turns) else []
        results = [m["content"] for m in after[len(history.messages(turn)) :] if m["role"] == "tool"]
        calls = message.get("tool_calls", [])
        assert len(calls) == len(results)
        answers = [
            {"role": "tool", "tool_call_id": call["id"], "content": text}
            for call, text in zip(calls, results, strict=True)
        ]
        messages = [*messages, message, *answers]


async def _streamed(client: AsyncOpenAI, given: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    stream = await client.chat.completions.create(
        **given, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        for choice in chunk.choices:
            message["content"] += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(
                    part.index, {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    return {**message, "tool_calls": list(calls.values())} if calls else message


async def test_a_session_of_the_official_client_replays_byte_for_byte(tmp_path: Path) -> None:
    source = long_session(tmp_path / "source.jsonl", turns=30, tokens=12_000, seed=3)
    sent: list[bytes] = []
    engine = await launch(SimulatedSpec(trace=(str(source),)))
    with Trace.open(source) as trace:
        recording = Recording(tmp_path / "out")
        async with (
            proxy(engine.base_url, recording, sent) as url,
            AsyncOpenAI(base_url=url, api_key="sk-x" * 9) as client,
        ):
            await _play(client, trace)
        await engine.stop()
        [path] = recording.paths
        with Trace.open(path) as recorded:
            history = RecordedHistory(recorded)
            assert len(history.turns) == 30 == len(sent)
            for turn, body in zip(history.turns, sent, strict=True):
                stream = orjson.loads(body).get("stream", False)
                assert b"".join(history.request(turn, {}, stream=stream).body) == body
            assert any(
                len([i for i in history.recorded(t) if i.kind == "tool_call"]) > 1 for t in history.turns
            )
            assert recorded.complete
            times = recorded.turns[0].times
            assert times is not None and times.arrivals == tuple(sorted(times.arrivals)) and times.arrivals
            # What the reply brought is what the next request repeats: one item, not two.
            produced = [i for t in history.turns[:-1] for i in history.recorded(t) if i.kind != "reasoning"]
            assert {item.id for item in produced} <= set(recorded.context(history.turns[-1]))
        assert b"sk-x" not in path.read_bytes()
        assert check(path).turns == 30


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (b'HTTP/1.1 503 Busy\r\nContent-Length: 21\r\n\r\n{"error":"overloaded"}', 503, "overloaded"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'41\r\ndata: {"choices":[{"index":0,"delta":{"content":"half of it"}}]}\n\r\n',
            200,
            "stream_broken",
        ),
    ],
)
async def test_errors_and_broken_streams_are_recorded_as_such(
    tmp_path: Path, answer: bytes, status: int, kind: str
) -> None:
    recording = Recording(tmp_path)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    async with (
        answering(lambda _: answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        try:
            response = await client.post(f"{url}/chat/completions", json=body)
            assert response.status_code == status
        except httpx.RemoteProtocolError:
            assert kind == "stream_broken"
        while not recording.paths:
            await asyncio.sleep(0.01)
    with Trace.open(recording.paths[0]) as trace:
        assert trace.turns[0].finish_reason == "error"
        [failure] = [item.record["failure"] for item in trace.items() if item.kind == "opaque"]
        assert failure["kind"] == kind


async def test_bytes_pass_unchanged_and_a_message_without_an_end_is_a_failed_turn(tmp_path: Path) -> None:
    seen: list[bytes] = []
    events = b'event: message_start\ndata: {"type":"message_start"}\n\nevent: ping\ndata: {"type":"ping"}\n\n'
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s" % (
        len(events),
        events,
    )

    def answer(request: bytes) -> bytes:
        seen.append(request)
        return reply

    recording = Recording(tmp_path)
    body = b'{"model":"claude","messages":[{"role":"user","content":"h"}]}'
    async with (
        answering(answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        headers = {"x-api-key": "secret-key", "cookie": "a=b"}
        response = await client.post(f"{url}/messages?beta=1", content=body, headers=headers)
        assert response.content == events
    assert seen[0].endswith(b"\r\n\r\n" + body) and b"POST /v1/messages?beta=1" in seen[0]
    assert b"secret-key" in seen[0]
    text = recording.paths[0].read_text()
    assert "secret-key" not in text and "a=b" not in text
    with Trace.open(recording.paths[0]) as trace:
        failure = [item.record["failure"] for item in trace.items() if item.kind == "opaque"]
        assert trace.turns[0].finish_reason == "error" and failure[0]["kind"] == "stream_broken"
        sent = trace.turns[0].body
        assert sent is not None and (sent.wire, sent.style) == ("messages", "compact")


async def test_subagents_are_threads_and_other_conversations_other_traces(tmp_path: Path) -> None:
    prompt = "Look into the parser of this project."

    def answer(request: bytes) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if b"Fix it" in request and b'"role":"tool"' not in request:
            call = {"name": "spawn_agent", "arguments": orjson.dumps({"message": prompt}).decode()}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": call}],
            }
        body = orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            len(body),
            body,
        )

    recording = Recording(tmp_path)
    async with (
        answering(answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        for text in ("Fix it", prompt, "Something else entirely"):
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            assert (await client.post(f"{url}/chat/completions", json=body)).status_code == 200
    assert len(recording.paths) == 2
    with Trace.open(recording.paths[0]) as trace:
        assert [turn.thread for turn in trace.turns] == ["main", "thread-2"]
        [sub] = trace.threads
        assert sub.parent == "main" and sub.parent_call is not None
        assert trace.item(sub.parent_call).kind == "tool_call"


async def test_an_upstream_that_is_not_there_is_a_clear_answer(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    async with proxy("http://127.0.0.1:9", recording) as url, httpx.AsyncClient(timeout=60) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        response = await client.post(f"{url}/chat/completions", json=body)
        assert response.status_code == 502 and "cannot be reached" in response.json()["error"]["message"]
    with pytest.raises(TraceError, match="a URL like"):
        upstream("localhost:8000")


async def test_redaction_removes_secrets_and_home_paths(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("Project Falcon => the project\n")
    secret = "ghp_" + "a1B2" * 9
    text = f"cd /home/mary/work; export T={secret}  # Project Falcon"
    body = orjson.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    recording = Recording(tmp_path / "out", redactor(rules))
    async with (
        answering(lambda _: answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        ask = {"model": "m", "messages": [{"role": "user", "content": text}]}
        assert (await client.post(f"{url}/chat/completions", json=ask)).json()["choices"][0]["message"][
            "content"
        ] == text
    written = recording.paths[0].read_text()
    assert secret not in written and "mary" not in written and "Falcon" not in written
    assert "/home/user/work" in written
    rules.write_text("(unclosed\n")
    with pytest.raises(TraceError, match="line 1"):
        redactor(rules)


_KEY = "k3y-" + "Zq9" * 9


@pytest.mark.parametrize("path", ["chat/completions", "messages"])
@pytest.mark.parametrize(
    ("headers", "query", "field"),
    [
        ({"authorization": f"Bearer {_KEY}"}, "", None),
        ({"proxy-authorization": f"Basic {_KEY}"}, "", None),
        ({"x-api-key": _KEY}, "", None),
        ({"api-key": _KEY}, "", None),
        ({"cookie": f"a=b; session={_KEY}; c=d"}, "", None),
        ({}, f"?beta=1&key={_KEY}", None),
        ({}, "", "api_key"),
    ],
)
async def test_no_credential_is_written_wherever_it_hides(
    path: str, headers: dict[str, str], query: str, field: str | None, tmp_path: Path
) -> None:
    """The server repeats the key in what it says, as servers do in their errors."""
    said = {"role": "assistant", "content": f"the key {_KEY} is wrong", "reasoning_content": _KEY}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"k":"{_KEY}"}}'}}
    body = orjson.dumps({"choices": [{"index": 0, "message": {**said, "tool_calls": [call]}}]})
    failure = orjson.dumps({"error": {"message": f"no such key: {_KEY}"}})

    def answer(request: bytes) -> bytes:
        status, text = (b"401 No", failure) if b"fail" in request else (b"200 OK", body)
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        return head % (status, len(text)) + text

    recording = Recording(tmp_path)
    async with (
        answering(answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        for text in ("hi", "fail"):
            ask: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": f"{text} {_KEY}"}]}
            ask |= {field: _KEY} if field else {}
            response = await client.post(f"{url}/{path}{query}", json=ask, headers=headers)
            assert _KEY in response.text
    assert recording.paths
    for written in recording.paths:
        text = written.read_text()
        assert _KEY not in text and "[redacted credential]" in text


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed under /proc")
async def test_many_conversations_keep_few_files_open(tmp_path: Path) -> None:
    body = orjson.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}]})
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    recording = Recording(tmp_path)
    async with (
        answering(lambda _: answer) as server,
        proxy(server, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        for _ in range(2):
            for number in range(80):
                ask = {"model": "m", "messages": [{"role": "user", "content": f"conversation {number:03d}"}]}
                assert (await client.post(f"{url}/chat/completions", json=ask)).status_code == 200
        links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
        held = [link for link in links if str(tmp_path) in os.path.realpath(link)]
        assert len(held) <= 40
    assert len(recording.paths) == 80
    for path in recording.paths:
        assert check(path).turns == 2
        with Trace.open(path) as trace:
            assert trace.complete
