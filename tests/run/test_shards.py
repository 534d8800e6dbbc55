"""Runs that several processes drive: the same facts as one, whatever dies, whatever their clocks say."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    TurnFinished,
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
    """By so many processes; 0: an ordinary run."""
    many = ["--processes", str(processes)] if processes else []
    done = replayer("run", *TRACES, *engines, *many, "--out", folder, "--json", *more)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_one_two_and_four_processes_send_the_same_and_report_the_same(tmp_path: Path) -> None:
    found = []
    for processes in (0, 1, 2, 4):
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
    (ordinary, *same), *others = found
    assert others[0] == others[1] == others[2]
    assert same == list(others[0][1:])
    # Alone in the emptied cache, the first session of a lane needs no salt: an ordinary run sends it without.
    differ = {before[0] for before, after in zip(ordinary, others[0][0], strict=True) if before != after}
    assert differ <= {"a/fix-failing-test/0", "b/fix-failing-test/0"}


def test_a_pool_that_all_sessions_fill_is_said_to_be_too_small_by_each_process(tmp_path: Path) -> None:
    """Eight sessions of 4,000 tokens on a pool of 8,000: a process that drives four of them has half of it."""
    command = [
        "run",
        "--trace",
        "flaky-service",
        "--engine",
        "a=simulated,pool_tokens=8000",
        "--max-turns",
        "8",
    ]
    command += ["--repeat", "8", "--concurrency", "8", "--processes", "2", "--json"]
    done = replayer(*command, "--out", tmp_path / "run")
    (lane,) = json.loads(done.stdout)["lanes"]
    found = lane["prefix_cache"]
    assert found["cause"] == "eviction", found
    assert found["evicted"] > 0


@contextmanager
def under_way(folder: Path, processes: int, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A run of several processes that have all begun a turn."""
    command = ["run", *TRACES, "--repeat", "4", "--max-lag", "60000", "--processes", str(processes), *more]
    runner = subprocess.Popen(
        [sys.executable, "-m", "replayer", *command, "--out", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if (folder / "journal.jsonl").exists() and len(parts(folder)) == 1 + processes:
            begun = {line.part for e, line in Reading(folder).events() if isinstance(e, TurnStarted)}
            if begun == set(range(1, 1 + processes)):
                break
        time.sleep(0.05)
    else:
        raise AssertionError(f"{folder} never had turns of all shards")
    yield runner
    runner.kill()
    runner.communicate()


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    folder = tmp_path / "run"
    with under_way(folder, 2, "--engine", "a=simulated,tok_s=400", "--concurrency", "4") as runner:
        yield runner, folder


def pids(folder: Path) -> dict[int, int]:
    return {event.shard: event.pid for event in read(folder) if isinstance(event, ShardClock)}


def resumed(folder: Path, *more: str) -> None:
    again = replayer("resume", folder, "--json", *more)
    assert again.returncode == 0, again.stderr
    assert report(folder)["incomplete_sessions"] == 0
    assert_counted_once(folder, turns=4 * TURNS)


FULL = """
import errno, os, sys
if "replayer.run.shards.shard" in " ".join(sys.orig_argv):
    write = os.write
    def limited(fd, data):
        if os.fstat(fd).st_size > 8000 and os.readlink(f"/proc/self/fd/{fd}").endswith("shards/5/journal.jsonl"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)
    os.write = limited
"""


def test_whatever_ends_shards_is_said_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One goes on; of four the process is killed, stands still, loses the process that reads its sockets, has a full disk."""
    (tmp_path / "sitecustomize.py").write_text(FULL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "run"
    more = ["--engine", "a=simulated,tok_s=200", "--concurrency", "5", "--process-timeout", "6"]
    with under_way(folder, 5, *more) as runner:
        process = pids(folder)
        os.kill(process[2], signal.SIGKILL)
        os.kill(process[3], signal.SIGSTOP)
        os.kill(receiver_of(process[4]), signal.SIGKILL)
        _, errors = runner.communicate(timeout=300)
    assert runner.returncode == 1
    events = list(read(folder))
    lost = sorted(e.message for e in events if isinstance(e, Warned) and e.code == "shard_lost")
    whys = [
        f"shard 2 (process {process[2]} on {socket.gethostname()}) was killed by signal 9",
        f"shard 3 (process {process[3]} on {socket.gethostname()}) said nothing for 6 s and was ended",
        f"shard 4 (process {process[4]} on {socket.gethostname()}) gave up: the receiving process was killed by signal 9",
        f"shard 5 (process {process[5]} on {socket.gethostname()}) gave up: {folder}/shards/5/journal.jsonl cannot be "
        f"written: No space left on device; free some space, then `replayer resume {folder}`",
    ]
    assert lost == whys and all(why in errors for why in whys)
    assert not any(map(alive, process.values()))
    assert isinstance(events[-1], RunFinished) and len(events[-1].reasons) == 4
    assert all(f"unfinished: `replayer resume {folder}` goes on" in reason for reason in events[-1].reasons)
    assert not any(e.fault for e in events if isinstance(e, TurnFinished)), (
        "what we did is not an engine's fault"
    )
    sessions = {line.part for e, line in Reading(folder).events() if isinstance(e, SessionFinished)}
    assert 1 in sessions
    monkeypatch.delenv("PYTHONPATH")
    resumed(folder)


def receiver_of(pid: int) -> int:
    [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_a_shard_that_never_comes_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(ABSENT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "run"
    engine = ["--engine", "a=simulated,tok_s=4000"]
    run(folder, "--concurrency", "2", "--process-timeout", "2", engines=engine)
    events = list(read(folder))
    lost = [e.message for e in events if isinstance(e, Warned) and e.code == "shard_lost"]
    assert lost == ["shard 1 said nothing for 10 s and was ended"]
    assert sum(isinstance(e, TurnFinished) for e in events) == TURNS


ABSENT = """
import io, sys, time
if "replayer.run.shards.shard" in " ".join(sys.orig_argv):
    said = sys.stdin.readline()
    if '"number": 1,' in said:
        time.sleep(1000)
    sys.stdin = io.StringIO(said)
"""


FAR = """
import sys, time
if "replayer.run.shards.shard" in " ".join(sys.orig_argv):
    wall_ns = time.time_ns
    def far():
        if sys._getframe(1).f_code.co_name == "obey":
            time.sleep(0.12)
        return wall_ns()
    time.time_ns = far
"""


def test_a_clock_that_is_not_known_well_is_refused_and_then_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a line of 120 ms leaves of a clock: 60 ms either way."""
    (tmp_path / "sitecustomize.py").write_text(FAR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "run"
    engine = ["--engine", "a=simulated,tok_s=4000", "--repeat", "2", "--concurrency", "2", "--max-turns", "1"]
    refused = replayer("run", *TRACES, *engine, "--processes", "2", "--out", folder)
    assert refused.returncode == 2 and "(limit 50 ms)" in refused.stderr and "--max-clock" in refused.stderr
    assert not any(isinstance(event, TurnStarted) for event in read(folder))
    allowed = replayer("resume", folder, "--max-clock", "5000", "--max-lag", "60000")
    assert allowed.returncode == 0, allowed.stderr
    monkeypatch.delenv("PYTHONPATH")
    warned = [e.message for e in read(folder) if isinstance(e, Warned) and e.code == "clock"]
    assert len(warned) == 2 and all("is known within" in words for words in warned)
    assert all(shard["clock_bound_ms"] > 60 for shard in report(folder)["shards"])


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
    assert all(abs(abs(clock.ahead_ns) - 1_000_000_000) <= clock.bound_ns for clock in clocks)
    bound = 2 * max(clock.bound_ns for clock in clocks) / 1e9
    begin = next(event.wall for event in events if isinstance(event, RunStarted))
    turns = [event for event in events if isinstance(event, TurnStarted)]
    assert len(turns) == 2 * TURNS
    # The wall clock is asked just before the journal's: by what a busy machine does in between, and no second.
    off = sorted(event.wall - begin - event.at / 1e9 for event in turns)
    assert abs(off[len(off) // 4] - off[-len(off) // 4]) < bound + 0.4, "of most turns, so of both shards"
    [lane] = report(folder)["lanes"]
    assert (
        lane["load"]["busy_s"] <= (max(event.at for event in events) - min(t.at for t in turns)) / 1e9 + bound
    )
    document = report(folder)
    assert [shard["shard"] for shard in document["shards"]] == [1, 2]
    assert all(shard["clock_bound_ms"] > 0 for shard in document["shards"])


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


def test_what_is_left_goes_to_whoever_is_done_first(tmp_path: Path) -> None:
    """Of 32 sessions twelve are dealt to each of two shards: one that stands still is not waited for."""
    folder = tmp_path / "run"
    given = ["--engine", "a=simulated,tok_s=400", "--concurrency", "4", "--repeat", "16", "--max-turns", "2"]
    with under_way(folder, 2, *given) as runner:
        still = pids(folder)[1]
        os.kill(still, signal.SIGSTOP)
        deadline = time.monotonic() + 50
        while (taken := _ended_by(folder).count(2)) < 17 and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(still, signal.SIGCONT)
        assert taken >= 17
        _, errors = runner.communicate(timeout=300)
        assert runner.returncode == 0, errors
    assert len(_ended_by(folder)) == 32
    assert len({event.session for event in read(folder) if isinstance(event, SessionStarted)}) == 32


def _ended_by(folder: Path) -> list[int]:
    """The shard of each session that has ended."""
    return [line.part for event, line in Reading(folder).events() if isinstance(event, SessionFinished)]
