"""Calls are visible while they stream, and a tool that was never offered is known with its first argument."""

from __future__ import annotations

from replayer.tools.toolsets import load
from replayer.tools.verdicts.partial import CallWatch
from replayer.tools.verdicts.schema_check import Validator
from replayer.wire.reply import assemble
from replayer.wire.types import Delta
from tests.tools import exchanges


def stream(name: str, arguments: str) -> bytes:
    call = {"id": "a", "name": name, "arguments": arguments}
    return exchanges.streamed({"content": "", "tool_calls": [call], "finish_reason": "tool_calls"})


def test_arguments_grow() -> None:
    watch = CallWatch(Validator(load("zed").tools))
    seen = []

    def look(delta: Delta) -> None:
        assert watch.feed(delta) == []
        seen.append(watch.calls[0].value)

    assemble(stream("read_file", '{"path": "src/a.py", "start_line": 12}'), stream=True, on_delta=look)
    assert {"path": "src/a"} in seen
    assert seen[-1] == {"path": "src/a.py", "start_line": 12}
    assert watch.calls[0].name == "read_file"


def test_an_unknown_tool_is_told_once_and_early() -> None:
    watch = CallWatch(Validator(load("zed").tools))
    told = []

    def look(delta: Delta) -> None:
        told.append([fault.klass for fault in watch.feed(delta)])

    assemble(stream("reed_file", '{"path": "src/a.py"}'), stream=True, on_delta=look)
    assert told.index(["unknown_tool"]) == 1
    assert sum(map(len, told)) == 1
