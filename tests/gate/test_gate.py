"""`replayer gate` through its command: what turns red, what stays green, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from replayer.cli import main
from tests.generate import long_session
from tests.journals import lines_of, write_lines

SOUND, BROKEN = "a=simulated,seed=1", "a=simulated,seed=2,fault=unknown_tool@0.9"


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("traces")
    paths = [folder / f"s{number}.trace.jsonl" for number in range(8)]
    for number, path in enumerate(paths):
        long_session(path, turns=3, tokens=500, seed=number)
    return [word for path in paths for word in ("--trace", str(path))]


@pytest.fixture(scope="module")
def baseline(traces: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline")
    words = [
        "gate",
        "init",
        "--against",
        str(folder / "g.json"),
        "--out",
        str(folder / "run"),
        "--engine",
        SOUND,
    ]
    assert main([*words, *traces, "--no-times"]) == 0
    return folder / "g.json"


def gate(baseline: Path, traces: list[str], tmp_path: Path, *words: str) -> int:
    where = ["--against", str(baseline), "--out", str(tmp_path / "run"), "--no-times"]
    return main(["gate", *where, *traces, *words])


def test_the_same_engine_is_green_and_a_broken_one_is_red(
    baseline: Path,
    traces: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert gate(baseline, traces, tmp_path / "one", "--engine", SOUND) == 0
    assert "green" in capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    junit = tmp_path / "gate.xml"
    assert gate(baseline, traces, tmp_path / "two", "--engine", BROKEN, "--junit", str(junit)) == 1
    said = capsys.readouterr().out
    assert "red: a is worse than" in said and "::error title=replayer gate::" in said
    assert "unknown_tool" in said and "replayer repro" in said
    suite = ElementTree.parse(junit).getroot()
    assert suite.get("failures") == "1"
    assert "usable turns" in (tmp_path / "summary.md").read_text()


def test_what_a_margin_allows_is_green(baseline: Path, traces: list[str], tmp_path: Path) -> None:
    assert gate(baseline, traces, tmp_path, "--engine", BROKEN, "--margin", "usable_turn_rate=99") == 0


def test_a_run_that_did_not_end_is_not_green(
    baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its server died in the last session: the sessions before are as good as ever."""
    run = shutil.copytree(baseline.parent / "run", tmp_path / "run")
    lines = lines_of(run / "journal.jsonl")
    last = max(n for n, line in enumerate(lines) if line["type"] == "session_finished")
    write_lines(run / "journal.jsonl", lines[:last])
    words = ["gate", "--from", str(run), "--no-times", "--against", str(baseline)]
    assert main([*words, "--junit", str(tmp_path / "gate.xml")]) == 2
    assert "not decided: sessions of run that did not come to their end: 1" in capsys.readouterr().out
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("errors") == "1"
    assert main([*words[:1], "init", *words[1:]]) == 2
    assert "a baseline needs a whole run" in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_broken_already_cannot_be_green(
    traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--against", str(tmp_path / "g.json"), "--no-times"]
    engine = "a=simulated,fault=unknown_tool@1,fault=empty_turn@1"
    assert main(["gate", "init", *words, *traces, "--engine", engine, "--out", str(tmp_path / "run")]) == 0
    assert main(["gate", *words, "--from", str(tmp_path / "run")]) == 2
    assert "cannot get worse by more than is allowed" in capsys.readouterr().out


@pytest.mark.slow
def test_part_of_the_turns_and_other_sampling_are_not_passed_over(
    baseline: Path, traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(baseline, traces, tmp_path / "one", "--engine", SOUND, "--max-turns", "1") == 2
    assert "differ in max_turns" in capsys.readouterr().err
    assert gate(baseline, traces, tmp_path / "two", "--engine", f"{SOUND},temperature=0.3") == 0
    said = capsys.readouterr().out
    assert "changed: a: temperature not set → 0.3" in said and "size: a: 24 turns of 8 sessions" in said


def test_a_baseline_holds_counts_and_no_conversation(baseline: Path) -> None:
    text = baseline.read_text()
    assert len(text) < 200_000
    found = json.loads(text)
    assert found["traces"] and found["lanes"][0]["attempts"]
    assert "content" not in text and "messages" not in text


def test_few_sessions_are_no_gate(
    traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "gate",
        "init",
        "--against",
        str(tmp_path / "g.json"),
        "--out",
        str(tmp_path / "run"),
        "--engine",
        SOUND,
    ]
    assert main([*words, *traces[:4], "--no-times"]) == 2
    assert "at least 6 different sessions, this run has 2" in capsys.readouterr().err
    assert not (tmp_path / "g.json").exists()


def test_other_traces_are_refused(
    baseline: Path, traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(baseline, traces[:14], tmp_path, "--engine", SOUND) == 2
    assert "s7" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "{}", '{"replayer_gate": 9}', "[1]", '{"replayer_gate":1,"lanes":[{"a":1}]}']
)
def test_a_file_that_is_no_baseline_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "g.json").write_text(text)
    assert main(["gate", "--against", str(tmp_path / "g.json"), "--engine", SOUND]) == 2
    assert "is not a baseline of a gate" in capsys.readouterr().err


def test_times_need_several_runs(
    traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run says nothing of what times differ from run to run: said, and never counted as passed."""
    words = ["--against", str(tmp_path / "g.json"), "--engine", SOUND, *traces]
    assert main(["gate", "init", *words, "--runs", "1", "--out", str(tmp_path / "first")]) == 0
    capsys.readouterr()
    assert main(["gate", *words, "--out", str(tmp_path / "second"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert any(
        "time to first token" in words and "of at least 3 runs" in words for words in found["untested"]
    )
    assert [pair["metric"] for pair in found["pairs"]] == ["usable_turn_rate"]
