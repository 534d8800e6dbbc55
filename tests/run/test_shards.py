"""Runs that several processes drive: the same facts as one, whatever dies, whatever their clocks say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.events import (
    LoadEnded,
    LoadStarted,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    ShardClock,
    TelemetryRead,
    TurnStarted,
    VerdictGiven,
    Warned,
)
from replayer.journal.log import Reading, read
from replayer.journal.parts import parts
from tests.run.test_runs import assert_counted_once, replayer, report, without_clock

pytestmark = pytest.mark.slow
TRACES = ["--trace", "fix-failing-test", "--trace", "first-look"]
TURNS = 8 + 5
ENGINES = [
    "--engine", "a=simulated,tok_s=4000,fault=leaked_markup@1", "--engine", "b=simulated,kind=sglang",
]  # fmt: skip


def run(folder: Path, *more: str, processes: int = 2, engines: list[str] = ENGINES) -> dict[str, Any]:
    done = replayer("run", *TRACES, *engines, "--processes", str(processes), "--out", folder, "--json", *more)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_one_two_and_four_processes_send_the_same_and_report_the_same(tmp_path: Path) -> None:
    found = []
    for processes in (1, 2, 4):
        folder = tmp_path / str(processes) / "run"  # the run's name is in its prompts
        document = run(folder, "--repeat", "4", "--concurrency", "4", processes=processes)
        assert len(parts(folder)) == 1 + processes
        events = list(read(folder))
        sent = sorted((e.session, e.turn, e.body_sha256) for e in events if isinstance(e, TurnStarted))
        verdicts = sorted(
            (e.session, e.turn, e.usable, str(e.faults)) for e in events if isinstance(e, VerdictGiven)
        )
        assert len(document.pop("shards")) == processes
        found.append((sent, verdicts, without_clock(document)))
        assert len(sent) == len(verdicts) == 2 * 4 * TURNS
        told = [e.instance for e in events if isinstance(e, TelemetryRead)]
        assert told and {
            line.part for e, line in Reading(folder).events() if isinstance(e, TelemetryRead)
        } == {0}
    assert found[0] == found[1] == found[2]


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run of two processes that have both begun a turn."""
    folder = tmp_path / "run"
    command = ["run", *TRACES, "--engine", "a=simulated,tok_s=400", "--repeat", "4", "--concurrency", "4"]
    runner = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "replayer",
            *command,
            "--processes",
            "2",
            "--max-lag",
            "60000",
            "--out",
            folder,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if (folder / "journal.jsonl").exists() and len(parts(folder)) == 3:
            begun = {line.part for e, line in Reading(folder).events() if isinstance(e, TurnStarted)}
            if begun == {1, 2}:
                break
        time.sleep(0.05)
    else:
        raise AssertionError(f"{folder} never had turns of both shards")
    yield runner, folder
    runner.kill()
    runner.communicate()


def pids(folder: Path) -> dict[int, int]:
    return {event.shard: event.pid for event in read(folder) if isinstance(event, ShardClock)}


def resumed(folder: Path, *more: str) -> None:
    again = replayer("resume", folder, "--json", *more)
    assert again.returncode == 0, again.stderr
    assert report(folder)["incomplete_sessions"] == 0
    assert_counted_once(folder, turns=4 * TURNS)


def test_a_killed_shard_is_said_and_resumed(slow_run: tuple[subprocess.Popen[str], Path]) -> None:
    runner, folder = slow_run
    os.kill(pids(folder)[2], signal.SIGKILL)
    _, errors = runner.communicate(timeout=300)
    assert runner.returncode == 1
    assert "was killed by signal 9" in errors
    events = list(read(folder))
    assert [e.code for e in events if isinstance(e, Warned)].count("shard_lost") == 1
    assert isinstance(events[-1], RunFinished)
    assert f"of its sessions are unfinished: `replayer resume {folder}` goes on" in events[-1].reasons[0]
    sessions = {line.part for e, line in Reading(folder).events() if isinstance(e, SessionFinished)}
    assert 1 in sessions
    resumed(folder)


def test_shards_end_with_a_killed_coordinator(slow_run: tuple[subprocess.Popen[str], Path]) -> None:
    runner, folder = slow_run
    runner.kill()
    deadline = time.monotonic() + 60
    while any(map(alive, pids(folder).values())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids(folder).values()))
    assert report(folder)["state"] == "interrupted"
    resumed(folder)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_ends_all_of_them(slow_run: tuple[subprocess.Popen[str], Path]) -> None:
    runner, folder = slow_run
    runner.send_signal(signal.SIGTERM)
    _, errors = runner.communicate(timeout=300)
    assert runner.returncode == 130 and f"`replayer resume {folder}`" in errors
    assert not any(map(alive, pids(folder).values()))
    refused = replayer("resume", folder, "--shards", "3")
    assert refused.returncode == 2 and "shards are for ray" in refused.stderr
    resumed(folder, "--processes", "3")
    assert len(parts(folder)) == 1 + 2 + 3


SHIFTED = """
import os, sys, time
if "replayer.run.shards.shard" in " ".join(sys.orig_argv):
    by = 1_000_000_000 if os.getpid() % 2 else -1_000_000_000
    wall, wall_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: wall() + by / 1e9, lambda: wall_ns() + by
"""


def test_clocks_that_are_a_second_off_change_no_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SHIFTED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "run"
    run(folder, "--repeat", "2", "--concurrency", "2", engines=["--engine", "a=simulated,tok_s=2000"])
    events = list(read(folder))
    clocks = [event for event in events if isinstance(event, ShardClock)]
    assert {event.shard for event in clocks} == {1, 2}
    assert all(0.9e9 < abs(clock.ahead_ns) < 1.1e9 for clock in clocks)
    bound = 2 * max(clock.bound_ns for clock in clocks) / 1e9
    begin = next(event.wall for event in events if isinstance(event, RunStarted))
    turns = [event for event in events if isinstance(event, TurnStarted)]
    assert len(turns) == 2 * TURNS
    # The wall clock is asked just before the journal's: by what a busy machine does in between, and no second.
    off = [event.wall - begin - event.at / 1e9 for event in turns]
    assert max(off) - min(off) < bound + 0.4
    [lane] = report(folder)["lanes"]
    assert (
        lane["load"]["busy_s"] <= (max(event.at for event in events) - min(t.at for t in turns)) / 1e9 + bound
    )
    document = report(folder)
    assert [shard["shard"] for shard in document["shards"]] == [1, 2]
    assert all(0 < shard["clock_bound_ms"] < 50 for shard in document["shards"])


def test_a_load_keeps_as_many_alive_over_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    engine = ["--engine", "a=simulated,tok_s=3000"]
    run(folder, "--sessions", "5", "--duration", "3", processes=2, engines=engine)
    events = list(read(folder))
    [began] = [event for event in events if isinstance(event, LoadStarted)]
    [ended] = [event for event in events if isinstance(event, LoadEnded)]
    assert (began.sessions, ended.outcome) == (5, "duration")
    living, most = 0, 0
    for event in events:
        living += isinstance(event, SessionStarted)
        living -= isinstance(event, SessionFinished)
        most = max(most, living)
    assert most == 5 and living == 0
    started = [event.session for event in events if isinstance(event, SessionStarted)]
    assert len(started) == len(set(started)) > 5
