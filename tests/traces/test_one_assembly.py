"""The same bytes are the same reply everywhere: judge, import, run and record put one stream together alike."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from replayer.traces.chat import tool_schemas
from replayer.traces.reader import Trace
from replayer.traces.schema import Fidelity, Header, Source, ToolCallItem, UserItem
from replayer.traces.writer import TraceWriter

CALLS = [("call_a", "read_file", '{"path": "a.py"}'), ("call_b", "grep", '{"pattern": "x"}')]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {
        key: {"type": "string"}}, "required": [key]}}}
    for name, key in (("read_file", "path"), ("grep", "pattern"))
]  # fmt: skip
REQUEST = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Look"}], "tools": TOOLS}


def _stream() -> bytes:
    """Two calls that both stand at index 0, each argument text in two pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    for call_id, name, arguments in CALLS:
        function = {"name": name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})
        for piece in (arguments[:5], arguments[5:]):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    chunks: list[dict[str, Any]] = [{"id": "r", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
                                    for choice in choices]  # fmt: skip
    usage = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
    chunks.append({"id": "r", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage})
    return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


class _Engine(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = _stream()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def engine() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Engine)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def _replayer(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "replayer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def _calls(trace: Path) -> list[tuple[str, str, str]]:
    with Trace.open(trace) as opened:
        items = [opened.item(number) for number in opened.turns[0].produced]
    return [(i.call_id, i.name, i.arguments) for i in items if isinstance(i, ToolCallItem)]


def test_judge(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))
    (tmp_path / "answer.sse").write_bytes(_stream())
    verdict = json.loads(_replayer("judge", tmp_path / "request.json", tmp_path / "answer.sse", "--json"))
    assert [(c["id"], c["name"], c["arguments_raw"]) for c in verdict["tool_calls"]] == CALLS
    assert all(call["valid"] for call in verdict["tool_calls"])


@pytest.mark.parametrize("form", ["text", "lines", "chunks"])
def test_import(tmp_path: Path, form: str) -> None:
    """A log keeps the stream as text, as lines without blank ones between, or as a list of chunks."""
    text = _stream().decode()
    lines = [line for line in text.splitlines() if line]
    chunks = [json.loads(line[6:]) for line in lines if line != "data: [DONE]"]
    response = {"text": text, "lines": "\n".join(lines), "chunks": chunks}[form]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"request": REQUEST, "response": response}) + "\n")
    outcome = json.loads(_replayer("import", log, "-o", tmp_path / "out", "--json"))
    assert (outcome["tool_calls"], _calls(Path(outcome["trace"]))) == (2, CALLS)


def test_run(tmp_path: Path, engine: str) -> None:
    trace = tmp_path / "one.trace.jsonl"
    header = Header(trace_id="one", source=Source(format="test"), fidelity=Fidelity())
    with TraceWriter(trace, header) as writer:
        asked = writer.add_item(UserItem(id=0, content="Look"))
        writer.add_turn(context=[asked], tool_set=writer.add_tool_set(tool_schemas(TOOLS)))
    lane = f"a={engine},kind=openai,model=m"
    _replayer("run", "--trace", trace, "--engine", lane, "--plain", "--out", tmp_path / "run")
    events = [json.loads(line) for line in (tmp_path / "run/journal.jsonl").read_text().splitlines()]
    [calls] = [event["tool_calls"] for event in events if "tool_calls" in event and "arrivals" in event]
    assert [(call["id"], call["name"], call["arguments"]) for call in calls] == CALLS


def test_record(tmp_path: Path, engine: str) -> None:
    command = [sys.executable, "-m", "replayer", "record", "--upstream", engine, "-o", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as recorder:
        assert recorder.stdout is not None
        address = next(
            found[0] for line in recorder.stdout if (found := re.findall(r"recording (\S+)", line))
        )
        sent = urllib.request.Request(
            f"{address}/chat/completions", json.dumps(REQUEST).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(sent) as answer:
            assert answer.read() == _stream()
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)
    [trace] = tmp_path.glob("*.trace.jsonl")
    assert _calls(trace) == CALLS
