"""`import` and `trace` as a user meets them."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from replayer.cli import main
from replayer.traces.convert import convert
from tests.generate import long_session
from tests.traces import samples as made

KEYS = {
    "source",
    "format",
    "trace",
    "threads",
    "turns",
    "tool_calls",
    "failed_results",
    "max_prompt_tokens_estimate",
    "fidelity",
    "warnings",
}


def test_import_prints_one_json_line_per_trace(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "threads.db").write_bytes(made.zed_database(tmp_path))
    (tmp_path / "notes.txt").write_text("nothing to import\n")
    out = tmp_path / "out"
    code = main(
        ["import", str(tmp_path / "notes.txt"), str(tmp_path / "threads.db"), "-o", str(out), "--json"]
    )
    printed = capfdbinary.readouterr()
    lines = [orjson.loads(line) for line in printed.out.splitlines()]
    assert code == 2 and len(lines) == 3 and all(set(line) == KEYS for line in lines)
    assert b"no format that replayer knows" in printed.err and b"bad-1 is damaged" in printed.err
    assert sorted(path.name for path in out.iterdir()) == sorted(Path(line["trace"]).name for line in lines)


def test_import_lists_and_picks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "threads.db").write_bytes(made.zed_database(tmp_path))
    assert main(["import", str(tmp_path / "threads.db"), "--list"]) == 0
    assert "old-1  Find x" in capsys.readouterr().out
    out = tmp_path / "out"
    assert main(["import", str(tmp_path / "threads.db"), "--pick", "old-1", "-o", str(out)]) == 0
    assert [path.name for path in out.iterdir()] == ["threads-old-1.trace.jsonl"]
    assert main(["import"]) == 2
    assert main(["import", "--formats"]) == 0
    assert "claude-code\n" in capsys.readouterr().out


def test_a_folder_stands_for_the_recordings_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project" / "s1" / "subagents"
    project.mkdir(parents=True)
    lines = made.claude_session()
    sub = [line for line in lines if line.get("isSidechain")]
    (tmp_path / "project" / "s1.jsonl").write_bytes(made.jsonl([line for line in lines if line not in sub]))
    (project / "agent-ag1.jsonl").write_bytes(made.jsonl(sub))
    (tmp_path / "project" / "notes.txt").write_text("mine\n")
    assert main(["import", str(tmp_path / "project"), "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert "2 threads, 5 turns" in printed.out and "files of no known format: 1" in printed.err
    assert main(["import", str(project.parent.parent / "s1" / "nowhere")]) == 2


def test_a_folder_of_every_kind_of_recording(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Many JSON files beside each other are as many sessions; only events in files of their own are one."""
    folder = tmp_path / "all"
    for name in ("s1", "s2"):
        (folder / name / "events").mkdir(parents=True)
        for number, event in enumerate(made.openhands_v0()):
            (folder / name / "events" / f"{number}.json").write_bytes(orjson.dumps(event))
    for name, data in (("a.json", made.kv_cache()), ("b.json", made.kv_cache()), ("c.json", made.gemini())):
        (folder / name).write_bytes(orjson.dumps(data))
    (folder / "agent-lost.jsonl").write_bytes(made.jsonl(made.claude_session()))
    (folder / "threads.db").write_bytes(made.zed_database(tmp_path))
    (folder / "empty.json").write_bytes(b"")
    (folder / "again").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    assert main(["import", str(folder), "-o", str(tmp_path / "out"), "--json"]) == 2
    printed = capfdbinary.readouterr()
    found = [orjson.loads(line) for line in printed.out.splitlines()]
    assert sorted(line["format"] for line in found) == [
        "claude-code",
        "gemini-cli",
        "kv-cache-tester",
        "kv-cache-tester",
        "openhands-v0",
        "openhands-v0",
        *["zed-threads-db"] * 3,
    ]
    assert [line["turns"] for line in found if line["format"] == "openhands-v0"] == [2, 2]
    assert b"files of no known format: 1\n" in printed.err and b"bad-1 is damaged" in printed.err
    assert main(["import", "x" * 300]) == 2
    assert b"File name too long" in capfdbinary.readouterr().err


def test_trace_check_show_and_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = long_session(tmp_path / "long.jsonl", turns=6, tokens=3000)
    assert main(["trace", "check", str(path)]) == 0
    assert "sound; 1 threads, 6 turns" in capsys.readouterr().out
    assert main(["trace", "show", str(path), "--brief"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8
    assert main(["trace", "show", str(path)]) == 0
    assert "… " in capsys.readouterr().out
    target = tmp_path / "requests.jsonl"
    assert main(["trace", "export", str(path), "--to", "openai", "-o", str(target)]) == 0
    assert len(target.read_bytes().splitlines()) == 6


def test_trace_names_damage_and_hostile_text_stays_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = long_session(tmp_path / "long.jsonl", turns=3, tokens=2000)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"returns", b"returnz", 1))
    assert main(["trace", "check", str(path)]) == 2
    assert "not what its hash says" in capsys.readouterr().err
    path.write_bytes(whole[: len(whole) // 2])
    assert main(["trace", "check", str(path)]) == 0
    assert "cut" in capsys.readouterr().out
    evil = {"role": "assistant", "content": "\x1b]0;owned\x07 [/bold] \x9b31m"}
    source = tmp_path / "log.jsonl"
    source.write_bytes(made.jsonl([{"messages": [*made.ASK, evil]}]))
    [summary] = convert(source, tmp_path / "out")
    assert main(["trace", "show", str(summary.trace)]) == 0  # type: ignore[union-attr]
    shown = capsys.readouterr().out
    assert "[/bold]" in shown and "\x1b]" not in shown and "\x9b" not in shown
