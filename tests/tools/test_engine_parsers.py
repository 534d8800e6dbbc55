"""`judge --parsers`: what an engine's package reads in a text. The package here is a stand-in with SGLang's interface."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from replayer.cli import main
from tests.tools import exchanges

PARSER = """
import json, re

class Call:
    def __init__(self, name, parameters):
        self.name, self.parameters = name, parameters

class FunctionCallParser:
    ToolCallParserEnum = {"hermes": 1, "none": 2, "sick": 3}

    def __init__(self, tools, name):
        assert tools[0].function["name"]
        self.name = name

    def parse_non_stream(self, text):
        if self.name == "sick":
            raise ValueError("cannot read this")
        found = re.findall(r"<tool_call>(.*?)</tool_call>", text, re.S) if self.name == "hermes" else []
        calls = [json.loads(one) for one in found]
        return "", [Call(call["name"], json.dumps(call["arguments"])) for call in calls]
"""
TOOL = """
class Tool:
    def __init__(self, type, function):
        self.function = function
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name, text in (
        ("sglang/srt/function_call", "function_call_parser.py", PARSER),
        ("sglang/srt/entrypoints/openai", "protocol.py", TOOL),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in [name for name in sys.modules if name.partition(".")[0] == "sglang"]:
        monkeypatch.delitem(sys.modules, module)


def test_each_parser_says_what_it_reads(
    package: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
    (tmp_path / "q").write_text(json.dumps(exchanges.request({})))
    (tmp_path / "r").write_bytes(exchanges.whole({"content": content, "finish_reason": "stop"}))
    assert main(["judge", str(tmp_path / "q"), str(tmp_path / "r"), "--parsers", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    read = {one["parser"]: one for one in document["parsers"]}
    assert read["sglang hermes"]["calls"] == [{"name": "Bash", "arguments": {"command": "ls"}, "valid": True}]
    assert read["sglang none"]["calls"] == [] and "cannot read" in read["sglang sick"]["failed"]
    assert document["parsers_summary"] == "1 of 3 parsers read a valid call here (sglang hermes)"
    assert document["faults"][0]["blame"] == "parser"


class ServedParsers(BaseHTTPRequestHandler):
    """As much of SGLang's server as parses: its own parser is qwen25, and it knows two."""

    def do_GET(self) -> None:
        self._answer({"tool_call_parser": "qwen25"} if self.path == "/server_info" else None)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["tools"][0]["function"]["name"]
        name, text = asked["tool_call_parser"], asked["text"]
        body = text.partition("<tool_call>")[2].partition("</tool_call>")[0] if name == "qwen25" else ""
        calls = [json.loads(body)] if body else []
        found = [
            {"tool_index": n, "name": call["name"], "parameters": json.dumps(call["arguments"])}
            for n, call in enumerate(calls)
        ]
        known = self.path == "/parse_function_call" and name in ("qwen25", "mistral")
        self._answer({"normal_text": "", "calls": found} if known else None)

    def _answer(self, document: object) -> None:
        self.send_response(500 if document is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ServedParsers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_running_servers_parsers_are_asked(
    served: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
    (tmp_path / "q").write_text(json.dumps(exchanges.request({})))
    (tmp_path / "r").write_bytes(exchanges.whole({"content": content, "finish_reason": "stop"}))
    asked = ["judge", str(tmp_path / "q"), str(tmp_path / "r"), "--json", "--parsers-of"]
    assert main([*asked, f"{served}/v1"]) == 0
    own, *others = json.loads(capsys.readouterr().out)["parsers"]
    assert own["parser"] == "served qwen25"
    assert own["calls"] == [{"name": "Bash", "arguments": {"command": "ls"}, "valid": True}]
    failed = {one["parser"]: one["failed"] for one in others}
    assert failed["served mistral"] is None
    assert failed["served hermes"] == "ValueError: HTTP 500"


def test_an_address_without_a_server_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text(json.dumps(exchanges.request({})))
    (tmp_path / "r").write_bytes(exchanges.whole({"content": "x", "finish_reason": "stop"}))
    assert (
        main(["judge", str(tmp_path / "q"), str(tmp_path / "r"), "--parsers-of", "http://127.0.0.1:9"]) == 2
    )
    assert "give its origin, such as http://host:30000" in capsys.readouterr().err
