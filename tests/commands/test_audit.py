"""`audit`: recorded turns judged without an engine, counted as the recordings hold them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.turn_detail import turn_detail
from replayer.journal.view import load
from replayer.traces.convert import convert
from replayer.traces.library import shipped
from replayer.traces.summary import Summary
from tests.traces import samples as made

RECORDINGS = Path(os.environ.get("REPLAYER_RECORDINGS", "/nonexistent"))


def _audit(tmp_path: Path, *files: str | Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "replayer",
        "audit",
        *map(str, files),
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _reply(number: int, text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    content = [{"type": "text", "text": text}, *({"type": "toolCall", **call} for call in calls)]
    usage = {"input": 10, "output": 5, "cacheRead": 100 * number, "cacheWrite": 0}
    message = {
        "role": "assistant",
        "content": content,
        "model": "claude-x",
        "usage": usage,
        "stopReason": "toolUse",
    }
    return {"type": "message", "timestamp": f"2026-05-01T10:00:{number:02}.000Z", "message": message}


def _session(texts: list[str], command: str = "ls") -> bytes:
    """A session of one call a reply; every call is the same and fails alike."""
    lines: list[dict[str, Any]] = [{"type": "session", "id": "s", "version": 1}]
    lines.append({"type": "message", "message": {"role": "user", "content": "Tidy"}})
    for number, text in enumerate(texts):
        call = {"id": f"c{number}", "name": "bash", "arguments": {"command": command}}
        lines.append(_reply(number, text, [call]))
        result = {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "bash", "isError": True,
                  "content": [{"type": "text", "text": "no such file"}]}  # fmt: skip
        lines.append({"type": "message", "message": result})
    return made.jsonl(lines)


def test_calls_failures_loops_and_collapses(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").write_bytes(_session([f"Try {n}" for n in range(7)]))
    (tmp_path / "collapse.jsonl").write_bytes(_session(["Fine", "So we go. " + "(Sigh) (Laughter) " * 300]))
    document = _audit(tmp_path, tmp_path / "loop.jsonl", tmp_path / "collapse.jsonl")
    [lane] = document["lanes"]
    assert (lane["lane"], lane["sessions"], lane["turns"]) == ("claude-x", 2, 9)
    assert (lane["tool_calls"]["total"], lane["tool_calls"]["failed_execution"]) == (9, 9)
    assert lane["repetition"]["collapsed_turns"] == 1 and lane["faults"] == {"collapsed": 1}
    sessions = {row["trace"]: row for row in document["per_session"]}
    assert sessions["loop"]["loops"] and not sessions["loop"]["collapsed"]
    assert (sessions["collapse"]["collapsed"], sessions["collapse"]["unusable"]) == (1, 1)
    [agent] = document["per_agent"]
    assert (agent["agent"], agent["sessions"], agent["calls"], agent["failed"]) == ("pi", 2, 9, 9)


def test_a_model_lacks_no_session_of_another_and_nobody_vouches_for_its_times(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two", "three")]
    for path, model in zip(files, ("x", "y", "y"), strict=True):
        path.write_bytes(_session(["Looking", "Done"]).replace(b"claude-x", model.encode()))
    _audit(tmp_path, *files)
    assert [
        (lane.model, lane.sessions_planned, lane.turns_planned) for lane in load(tmp_path / "run").lanes
    ] == [
        ("x", 1, 2),
        ("y", 2, 4),
    ]
    command = [sys.executable, "-m", "replayer", "report", str(tmp_path / "run")]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert plain.startswith("2 lanes: 6 of 6 turns were usable")
    for wrong in ("missing", "Can I trust the times?", "--enable-cache-report", "replayer resume", "--into"):
        assert wrong not in plain


def test_every_format_is_counted_as_its_import_counts_it(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    known: list[Summary] = []
    for number, sample in enumerate(made.samples(tmp_path / "scratch")):
        folder = tmp_path / "files" / f"{number}"
        folder.mkdir(parents=True)
        (folder / sample.file).write_bytes(sample.data)
        known += [o for o in convert(folder / sample.file, folder / "out") if isinstance(o, Summary)]
        for trace in (folder / "out").glob("*"):
            trace.unlink()
    command = [
        sys.executable,
        "-m",
        "replayer",
        "audit",
        str(tmp_path / "files"),
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300
    )  # one thread of a sample is damaged
    rows = json.loads(done.stdout)["per_session"]
    counted = [sum(row[key] for row in rows) for key in ("turns", "calls")]
    assert counted == [sum(s.turns for s in known), sum(s.tool_calls for s in known)]


def test_turns_of_a_subagent_open_on_the_screen(tmp_path: Path) -> None:
    (tmp_path / "claude.jsonl").write_bytes(made.jsonl(made.claude_session()))
    _audit(tmp_path, tmp_path / "claude.jsonl")
    view = load(tmp_path / "run")
    turns = [turn for lane in view.lanes for attempt in lane.attempts for turn in attempt.turns]
    details = [turn_detail(tmp_path / "run", view, "claude", 0, turn) for turn in turns]
    assert [detail.recorded_turn for detail in details] == turns
    assert all(detail.messages for detail in details)


def test_the_shipped_sessions(tmp_path: Path) -> None:
    document = _audit(tmp_path, *shipped())
    assert {row["trace"] for row in document["per_session"]} == set(shipped())
    assert sum(lane["repetition"]["collapsed_turns"] for lane in document["lanes"]) == 0


@pytest.mark.real  # opt-in, as tests/traces/test_recordings.py is: a group of CI holds no test that cannot run there
@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="REPLAYER_RECORDINGS names no folder")
def test_recordings_of_ones_own(tmp_path: Path) -> None:
    document = _audit(tmp_path, RECORDINGS)
    summaries = [json.loads(line) for line in subprocess.run(
        [sys.executable, "-m", "replayer", "import", str(RECORDINGS), "-o", str(tmp_path / "in"), "--json"],
        capture_output=True, text=True).stdout.splitlines()]  # fmt: skip
    rows = document["per_session"]
    for ours, theirs in (("turns", "turns"), ("calls", "tool_calls"), ("failed", "failed_results")):
        assert sum(row[ours] for row in rows) == sum(summary[theirs] for summary in summaries)
