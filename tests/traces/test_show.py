"""`trace show` as it stands on a terminal of 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from replayer.cli import main
from replayer.traces.convert import convert
from replayer.traces.passing import Passed
from replayer.traces.recording import Recording
from replayer.traces.summary import Summary
from tests.traces import samples as made

EVIL = "\x1b]0;owned\x07\x9b31m\u202e [/bold] 漢字 🙂\rback\x08"


def _call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    ask = [{"role": "user", "content": [{"type": "text", "text": f"Look: {EVIL}"}, picture]}]
    edit = _call(1, "edit_file", json.dumps({"path": "a.py", "content": "x = 1\n" * 40, "lines": [1, 2]}))
    calls = {"role": "assistant", "content": None, "tool_calls": [edit, edit, _call(2, f"run{EVIL}", "{bad")]}
    results = [{"role": "tool", "tool_call_id": "c1", "content": "y" * 9000}]
    again = {"role": "user", "content": "Go back"}
    lines = [
        {"request": made.request(ask), "response": made.completion(calls, 1_234_567)},
        {"request": made.request([*ask, calls, *results]), "response": made.completion(made.DONE, 9)},
        {"request": made.request([*ask, calls, again]), "start_time": 1e9, "end_time": 1e9 + 2.25},
    ]
    path = tmp_path / "log.jsonl"
    path.write_bytes(made.jsonl(lines))
    [summary] = convert(path, tmp_path / "out")
    assert isinstance(summary, Summary)
    return summary.trace


def _shown(
    trace: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *flags: str
) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["trace", "show", trace, *flags]) == 0
    text = capsys.readouterr().out
    assert not any((ord(char) < 32 and char != "\n") or char in "\x7f\x9b\u202e" for char in text)
    return text.rstrip("\n").split("\n")


def test_what_is_long_is_folded_and_fits(
    trace: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _shown(trace, capsys, monkeypatch)
    assert max(map(cell_len, lines)) == 80
    assert any("1,234,567 tok · 3 out (1 cached)" in line for line in lines)
    assert "call       edit_file" in lines and "           path: a.py" in lines
    # 44 rows, twelve shown: name, path, content and nine of its lines.
    assert [line.strip() for line in lines if line.strip().startswith("…")] == [
        "… 32 more lines",
        "… 8,241 more characters",
    ]
    assert any("[/bold] 漢字 🙂" in line for line in lines) and "           <image_url>" in lines
    assert "2 items of the context before are not sent any more" in lines
    whole = _shown(trace, capsys, monkeypatch, "--full")
    assert not any("more" in line.split("…")[-1] for line in whole if "…" in line) and len(whole) > 180


def test_brief_is_one_line_a_turn(
    trace: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _shown(trace, capsys, monkeypatch, "--brief")
    assert len(lines) == 5 and max(map(cell_len, lines)) <= 80
    assert "edit_file ×2, run" in lines[2] and "One file." in lines[3] and "2.2 s" in lines[4]


def test_a_thread_that_is_not_there_is_named(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("show", "export"):
        assert main(["trace", action, trace, "--thread", "sub"]) == 2
        printed = capsys.readouterr()
        assert "no such thread (it has: main)" in printed.err and not printed.out


def test_what_only_passed_is_shown_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    recording.add(
        Passed(
            path="/v1/messages",
            request=b'{"model":"m"}',
            status=200,
            wall=1.0,
            seconds=1.25,
            raw=f"event: x\n{EVIL}".encode(),
            broken="the client closed the connection",
        )
    )
    recording.close()
    lines = _shown(str(recording.paths[0]), capsys, monkeypatch)
    assert lines[2].startswith("── /v1/messages · status 200 · ") and "1.2 s" in lines[2]
    assert lines[3:5] == ['request    {"model":"m"}', "answer     event: x"]
