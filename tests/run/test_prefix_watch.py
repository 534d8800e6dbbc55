"""Prefix reuse in whole runs against simulated engines: per turn in the journal, per lane in the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from replayer.journal.events import SignalFinding
from replayer.journal.log import read
from replayer.traces import library


def run(
    folder: Path,
    *engines: str,
    mode: str = "recorded",
    trace: str = "fix-failing-test",
    extra: tuple[str, ...] = (),
) -> dict[str, Any]:
    lanes = [word for engine in engines for word in ("--engine", engine)]
    command = [sys.executable, "-m", "replayer", "run", "--trace", trace, *lanes, "--mode", mode]
    done = subprocess.run(
        [*command, *extra, "--out", str(folder), "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder.parent,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return {lane["lane"]: lane["prefix_cache"] for lane in report["lanes"]}


def findings(folder: Path, lane: str) -> list[dict[str, Any]]:
    events = [event for event in read(folder) if isinstance(event, SignalFinding)]
    return [e.finding for e in events if e.signal == "prefix_reuse" and e.session.startswith(f"{lane}/")]


def test_every_turn_has_its_ideal_and_what_was_reported(tmp_path: Path) -> None:
    report = run(tmp_path / "run", "a=simulated", "b=simulated,kind=sglang,block_size=1")
    for lane in "ab":
        found = findings(tmp_path / "run", lane)
        assert len(found) == 8
        assert [f["gap"] for f in found] == [0] * 8
        assert {f["cause"] for f in found} == {None}
        assert {f["token_source"] for f in found} == {"engine"}
        assert report[lane]["ideal"] == report[lane]["reported"] > 0.8
        assert report[lane]["verdict"].startswith("healthy")
    curve = report["a"]["curve"]
    assert [point["turn"] for point in curve] == list(range(8))
    assert curve[0]["ideal"] == 0
    assert curve[-1]["ideal"] > 0.9


def test_what_is_not_reported_is_named(tmp_path: Path) -> None:
    report = run(tmp_path / "run", "quiet=simulated,report_cached=false,report_metrics=false")["quiet"]
    assert (report["reported"], report["source"], report["cause"]) == (None, None, "not_reported")
    assert report["ideal"] > 0.8
    assert "not report" in report["verdict"]


def test_a_transform_that_rewrites_is_caught(tmp_path: Path) -> None:
    """A context manager that writes the time into the system prompt of every request."""
    Path(tmp_path, "manager.py").write_text(
        "import itertools\n"
        "minutes = itertools.count()\n"
        "def stamp(messages):\n"
        "    first = dict(messages[0], content=f'Now: 09:{next(minutes):02d}. ' + messages[0]['content'])\n"
        "    return [first, *messages[1:]]\n"
    )
    report = run(tmp_path / "run", "a=simulated", extra=("--transform", "manager:stamp"))["a"]
    assert report["cause"] == "clock_or_date"
    assert report["verdict"].startswith("every request since turn 2 differs ")
    assert "at message 0 (messages[0].content), character " in report["verdict"]
    second = findings(tmp_path / "run", "a")[1]
    assert "09:00" in second["excerpt_before"], (
        "it is asked once for each request: what is judged is what was sent"
    )
    assert "09:01" in second["excerpt_after"]


def test_live_sessions_reuse_what_was_generated(tmp_path: Path) -> None:
    report = run(tmp_path / "run", "a=simulated,block_size=1", mode="live")["a"]
    found = findings(tmp_path / "run", "a")
    assert {f["gap"] for f in found} <= {0, -1, 1}
    assert {f["cause"] for f in found} == {None}
    assert report["ideal"] > 0.8


def spaced_arguments(path: Path) -> Path:
    """The shipped session, had its model written JSON with line breaks."""
    lines = []
    for line in library.shipped()["fix-failing-test"].read_text("utf-8").splitlines():
        record = json.loads(line)
        if record.get("kind") == "tool_call":
            record["arguments"] = json.dumps(json.loads(record["arguments"]), indent=2, ensure_ascii=False)
            record.pop("hash", None)
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    path.write_text("".join(lines), "utf-8")
    return path


def test_a_client_that_writes_arguments_anew_is_caught_live(tmp_path: Path) -> None:
    trace = spaced_arguments(tmp_path / "spaced.trace.jsonl")
    lane = "a=simulated,block_size=1"
    honest = run(tmp_path / "verbatim", lane, mode="live", trace=str(trace))["a"]
    zed = run(tmp_path / "zed", lane, mode="live", trace=str(trace), extra=("--dialect", "zed"))["a"]
    assert honest["cause"] is None
    assert zed["cause"] == "arguments_reserialised"
    found = findings(tmp_path / "zed", "a")
    assert all(f["least"] <= f["reported_tokens"] <= f["most"] for f in found), (
        "no engine is asked for tokens between the turns of a live session: the range is stated"
    )
    assert max(f["most"] - f["least"] for f in found) <= 0.1 * max(f["prompt_tokens"] for f in found)
    assert ".function.arguments), character 2: " in zed["verdict"]


def test_a_stopped_reply_is_nobodys_fault_and_its_first_words_count(tmp_path: Path) -> None:
    """The reply says some of the recorded words before it collapses and is stopped: the engine has cached those."""
    report = run(tmp_path / "run", "a=simulated,block_size=1,fault=collapse", extra=("--repeat", "2"))["a"]
    found = findings(tmp_path / "run", "a")
    told = [f for f in found if f["reported_tokens"] is not None]
    assert 0 < len(told) < len(found)
    assert "not_reported" not in {f["cause"] for f in found}
    assert [f["disagreements"] for f in told] == [[]] * len(told)
    assert report["reported"] <= report["ideal"] + 0.002
    assert "does not report" not in report["verdict"]
