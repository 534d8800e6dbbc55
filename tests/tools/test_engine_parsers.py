"""`judge --parsers`: what an engine's package reads in a text. The package here is a stand-in with SGLang's interface."""

from __future__ import annotations

import json
import sys
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
