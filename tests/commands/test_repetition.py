"""`replayer repetition` as a user meets it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from replayer.cli import main
from replayer.traces.schema import AssistantItem, Fidelity, Header, Source, ToolCallItem, UserItem
from replayer.traces.writer import TraceWriter

LOOP = "The cause is an off-by-one error. " + "(Sigh) (Laughter) " * 60


def test_a_jsonl_file_gives_one_json_line_per_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(
        json.dumps({"name": "loop", "output": LOOP}) + "\n\n" + json.dumps({"text": "All tests pass."}) + "\n"
    )
    assert main(["repetition", str(file), "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (
        first["name"] == "loop" and first["collapsed"] and first["kind"] == "cycle" and first["period"] == 18
    )
    assert first["onset"] < first["detected_at"] and first["wasted_chars"] > 0 and "(Sigh)" in first["unit"]
    assert "name" not in second and not second["collapsed"] and second["kind"] is None


def test_a_text_file_and_standard_input_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "reply.txt"
    file.write_text(LOOP)
    main(["repetition", str(file), "--json"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOOP.encode())))
    main(["repetition", "-", "--json"])
    one, other = capsys.readouterr().out.splitlines()
    assert json.loads(one) == json.loads(other)


def test_the_unit_is_set_off_and_nothing_of_the_text_reaches_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reply.txt"
    file.write_text("\x1b]0;owned\x07" + "(Sigh) \x1b[31m(Laughter) " * 60)
    assert main(["repetition", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "collapsed: cycle" in shown and "(Laughter) (Sigh) ][" in shown
    assert "\x1b" not in shown and "\x07" not in shown


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("absent.txt", None, "No such file"),
        ("broken.jsonl", '{"text": "a"}\n{"text": \n', "line 2, is not JSON"),
        ("other.jsonl", '{"message": "a"}\n', "line 1, has neither"),
        ("list.jsonl", "[1]\n", "line 1, has neither"),
    ],
)
def test_bad_input_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, body: str | None, told: str
) -> None:
    file = tmp_path / name
    if body is not None:
        file.write_text(body)
    assert main(["repetition", str(file)]) == 2
    errors = capsys.readouterr().err
    assert told in errors and str(file) in errors and errors.count("\n") == 1


def test_channels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arguments.txt"
    file.write_text('{"content": "import os' + "\\n" * 400)
    assert main(["repetition", str(file), "--channel", "code", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["collapsed"]


def test_every_reply_of_a_trace_is_judged_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text, thinking and arguments are channels of their own."""
    header = Header(trace_id="t", source=Source(format="test"), fidelity=Fidelity())
    with TraceWriter(tmp_path / "t.jsonl", header) as writer:
        asked = writer.add_item(UserItem(id=0, content="Go"))
        said = writer.add_item(AssistantItem(id=0, text="So. " + "(Sigh) (Laughter) " * 200))
        call = writer.add_item(ToolCallItem(id=0, call_id="c", name="ls", arguments="{}"))
        writer.add_turn(context=[asked], produced=[said, call])
    assert main(["repetition", str(tmp_path / "t.jsonl"), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["name"], row["collapsed"]) for row in rows] == [
        ("turn 0 main assistant", True), ("turn 0 main tool_call", False)
    ]  # fmt: skip
