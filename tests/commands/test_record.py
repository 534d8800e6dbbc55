"""`replayer record` as a process: what it says, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from replayer.cli import main
from replayer.traces.reader import Trace
from tests.traces.proxies import answering, asking, scripted, whole


async def _half(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    event = b'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(event), event))
    await writer.drain()
    await reader.readexactly(1)  # until the other side is gone
    return False


async def _start(*arguments: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "replayer", "record", *arguments)
    return await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def test_a_signal_in_mid_stream_keeps_what_had_come(tmp_path: Path) -> None:
    async with scripted(_half) as server:
        recorder = await _start("--upstream", server.url, "-o", str(tmp_path))
        assert recorder.stdout is not None
        first = (await recorder.stdout.readline()).decode()
        assert first.startswith("recording http://127.0.0.1:") and first.endswith("Ctrl-C ends it\n")
        port = first.split()[1].split(":")[2].partition("/")[0]
        second = await _start("--upstream", server.url, "-o", str(tmp_path), "--port", port)
        _, told = await second.communicate()
        assert (second.returncode, told.decode()) == (
            2,
            f"replayer: --port {port}: the port is in use; choose another\n",
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(asking("hi"))
        await reader.readuntil(b"half")
        recorder.send_signal(signal.SIGTERM)
        printed, errors = await recorder.communicate()
        writer.close()
    assert recorder.returncode == 0 and not errors
    assert b"turn 0: status 200, stream_broken: the recorder was stopped" in printed
    [path] = tmp_path.iterdir()
    with Trace.open(path) as trace:
        assert trace.complete and [trace.item(n).text for n in trace.turns[0].produced] == ["half"]  # type: ignore[union-attr]


async def test_collapses_and_invalid_calls_are_named_while_it_records(tmp_path: Path) -> None:
    """The second answer repeats itself, the first calls a tool that was not offered."""
    call = {"id": "c1", "type": "function", "function": {"name": "grep_v2", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "So we go. " + "(Sigh) (Laughter) " * 200},
    ]
    function = {"name": "grep", "parameters": {"type": "object", "properties": {}}}
    body = {"model": "m", "tools": [{"type": "function", "function": function}]}

    def answer(_: bytes) -> bytes:
        message = messages.pop(0)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return whole(
            orjson.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        )

    async with answering(answer) as url:
        recorder = await _start("--upstream", url, "-o", str(tmp_path))
        assert recorder.stdout is not None
        address = (await recorder.stdout.readline()).decode().split()[1]
        for number in range(2):
            asked = [{"role": "user", "content": f"question {number}"}]
            async with httpx.AsyncClient(trust_env=False) as client:
                await client.post(f"{address}/chat/completions", json={**body, "messages": asked})
        recorder.send_signal(signal.SIGTERM)
        printed, _ = await recorder.communicate()
    lines = printed.decode().splitlines()
    assert "NOT USABLE: unknown_tool ('grep_v2'" in lines[0]
    assert "NOT USABLE: collapsed (" in lines[1] and "(Sigh) (Laughter)" in lines[1]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--ca-file", "missing.pem"], "--ca-file missing.pem: cannot be read"),
        (["--redact-rules", "missing.txt"], "missing.txt: the rules cannot be read"),
    ],
)
def test_what_cannot_be_meant_gets_one_sentence(
    flags: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "--upstream", "https://127.0.0.1:9", "-o", str(tmp_path / "x"), *flags]) == 2
    printed = capsys.readouterr()
    assert says in printed.err and printed.err.count("\n") == 1 and not printed.out
