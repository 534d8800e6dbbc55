"""Whole runs, as a user starts them: from the shell, against simulated engines over real HTTP."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from replayer.journal.events import SessionFinished, SessionStarted, TurnFinished
from replayer.journal.log import read
from tests.generate import long_session

TRACE = "fix-failing-test"


def replayer(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replayer", *map(str, arguments)]
    if arguments[0] == "run":
        command += ["--max-lag", "60000"]  # how busy the machine is, is not what these tests are about
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **more)


def report(*arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(replayer("report", *arguments, "--json").stdout)
    return document


CLOCK = (
    "run",
    "load",
    "kv",
    "bands",
    "band_fit",
    "speed",
    "gpu",
    "telemetry",
    "energy",
    "server",
    "stamped_by",
    "stalled_turns",
)


TIMED = ("_ms", "tok_s", "per_s", "kv_peak", "deltas_per_chunk")
"""Parts of the keys of figures that a clock, or what telemetry happened to see, decides."""


def _is_timed(item: Any) -> bool:
    """A comparison of times, or a sentence about times."""
    if isinstance(item, dict):
        return any(part in str(item.get("metric", "")) for part in TIMED) or _is_timed(item.get("words"))
    return isinstance(item, str) and ("time to first" in item or "time between" in item or " tok/s" in item)


def without_clock(value: Any) -> Any:
    """A report less what a clock decides: times, speeds, and what telemetry happened to see when."""
    if isinstance(value, dict):
        return {
            key: without_clock(item)
            for key, item in value.items()
            if key not in CLOCK and not any(part in key for part in TIMED)
        }
    if isinstance(value, list):
        return [without_clock(item) for item in value if not _is_timed(item)]
    return value


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    long = long_session(tmp_path / "sixty.trace.jsonl", turns=60, tokens=20_000, seed=1)
    big = long_session(tmp_path / "big.trace.jsonl", turns=12, tokens=100_000, seed=2)
    return ["--trace", TRACE, "--trace", str(long), "--trace", str(big)]


ENGINES = [
    "--max-lag",
    "60000",
    "--engine",
    "a=simulated,tok_s=4000,fault=leaked_markup@1",
    "--engine",
    "b=simulated,kind=sglang,tok_s=4000",
]


@pytest.mark.slow
def test_a_killed_run_is_resumed_to_the_same_report(tmp_path: Path, traces: list[str]) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert replayer("run", *traces, *ENGINES, "--out", undisturbed).returncode == 0
    command = [sys.executable, "-m", "replayer", "run", *traces, *ENGINES, "--out", str(killed)]
    runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_turns(killed, 30)
    runner.kill()
    runner.wait()
    assert report(killed)["state"] == "interrupted"
    resumed = replayer("resume", killed, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert without_clock(report(killed)) == without_clock(report(undisturbed))
    assert_counted_once(killed, turns=2 * (8 + 60 + 12))


def wait_for_turns(folder: Path, turns: int) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        path = folder / "journal.jsonl"
        if path.exists() and path.read_bytes().count(b'"type":"turn_finished"') >= turns:
            return
        time.sleep(0.02)
    raise AssertionError(f"{folder} never had {turns} turns")


def assert_counted_once(folder: Path, *, turns: int) -> None:
    """A session that was cut short ran again from its first turn; every session has one complete attempt."""
    events = list(read(folder))
    started = [(e.session, e.attempt) for e in events if isinstance(e, SessionStarted)]
    complete = {e.session: e.attempt for e in events if isinstance(e, SessionFinished)}
    assert len(started) > len(complete), "the kill came too late to cut a session short"
    assert len([e for e in events if isinstance(e, SessionFinished)]) == len(complete)
    counted = [
        (e.session, e.turn)
        for e in events
        if isinstance(e, TurnFinished) and complete[e.session] == e.attempt
    ]
    assert len(counted) == len(set(counted)) == turns


def test_ctrl_c_leaves_a_complete_journal_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "replayer", "run", "--trace", TRACE, "--out", str(folder)]
    runner = subprocess.Popen(
        [*command, "--engine", "slow=simulated,tok_s=50"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell's background job ignores it
    )
    wait_for_turns(folder, 1)
    runner.send_signal(signal.SIGINT)
    _, errors = runner.communicate(timeout=300)
    assert runner.returncode == 130
    assert f"replayer resume {folder}" in errors
    assert "Traceback" not in errors
    assert [e for e in read(folder) if isinstance(e, TurnFinished)]


@pytest.mark.slow
def test_stop_ends_a_run_in_the_background(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "replayer", "run", "--trace", TRACE, "--out", str(folder)]
    runner = subprocess.Popen(
        [*command, "--engine", "slow=simulated,tok_s=50"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_turns(folder, 1)
    assert "stopped; `replayer resume" in replayer("stop", folder).stderr
    assert runner.wait(300) == 130
    assert "nothing is writing this run" in replayer("stop", folder).stderr


@pytest.mark.slow
def test_turns_of_earlier_processes_count_in_the_progress(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    given = ("--trace", "first-look", "--engine", "a=simulated", "--max-turns", "2")
    assert "2/2 turns" in replayer("run", *given, "--out", folder, "--plain").stderr
    assert "4/4 turns" in replayer("run", "--into", folder, "--repeat", "2", "--plain").stderr


@pytest.mark.slow
def test_into_adds_a_lane_to_an_earlier_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert replayer("run", "--trace", TRACE, "--engine", "a=simulated", "--out", folder).returncode == 0
    assert replayer("run", "--into", folder, "--engine", "b=simulated,kind=sglang").returncode == 0
    lanes = report(folder)["lanes"]
    assert [(lane["lane"], lane["sessions"], lane["turns"]) for lane in lanes] == [("a", 1, 8), ("b", 1, 8)]
    assert (
        "keeps the mode of that run"
        in replayer("run", "--into", folder, "--mode", "live", "--engine", "c=simulated").stderr
    )


def test_exclusive_lanes_run_one_after_another(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'traces = ["{TRACE}"]\n'
        '[[lane]]\nname = "a"\nlaunch = "simulated"\nexclusive = "gpu0"\n'
        '[[lane]]\nname = "b"\nlaunch = "simulated"\nexclusive = "gpu0"\n'
    )
    assert replayer("run", plan, "--out", tmp_path / "run").returncode == 0
    order = [e.session for e in read(tmp_path / "run") if isinstance(e, SessionStarted | SessionFinished)]
    assert order == ["a/fix-failing-test/0"] * 2 + ["b/fix-failing-test/0"] * 2


@pytest.mark.slow
def test_interleaved_sessions_alternate(tmp_path: Path) -> None:
    done = replayer(
        "run", "--trace", TRACE, "--engine", "a=simulated", "--engine", "b=simulated",
        "--repeat", "2", "--order", "interleaved", "--out", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 0
    started = [e.lane for e in read(tmp_path / "run") if isinstance(e, SessionStarted)]
    assert started == ["a", "b", "b", "a"]


def test_runs_lists_what_there_is(tmp_path: Path) -> None:
    environment = os.environ | {"REPLAYER_RUNS": str(tmp_path)}
    assert "no run under" in replayer("runs", env=environment).stderr
    replayer("run", "--trace", TRACE, "--engine", "a=simulated", "--out", tmp_path / "first")
    line = json.loads(replayer("runs", "--json", env=environment).stdout)
    assert (line["state"], line["sessions_done"], line["sessions"]) == ("finished", 1, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--trace", "missing.jsonl", "--engine", "a=simulated"], 2, "missing.jsonl"),
        (["--trace", __file__, "--engine", "a=simulated"], 2, "test_runs.py"),
        (["--trace", TRACE, "--engine", "a=http://127.0.0.1:9/v1"], 3, "cannot be reached"),
        (["--trace", TRACE, "--engine", "a=simulated,temprature=1"], 2, "nearest known one is 'temperature'"),
        (["--trace", TRACE, "--engine", "a=simulated,temperature=hot"], 2, "temperature must be number"),
        (["--trace", TRACE, "--engine", "a"], 2, "is not NAME=URL"),
        (["--trace", TRACE], 2, "no engine to replay against"),
        (["--engine", "a=simulated"], 2, "no trace to replay"),
        (["--trace", TRACE, "--engine", "a=simulated", "--map", "x"], 2, "is not OLD=NEW"),
        (["nowhere.toml"], 2, "plan file nowhere.toml does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(["run", *arguments, "--out", str(tmp_path / "run")]) == code
    out, errors = capsys.readouterr()
    assert out == ""
    assert words in errors
    assert errors.count("\n") == 1, errors
    assert not (tmp_path / "run").exists()


def test_a_newer_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.trace.jsonl"
    header = {"type": "trace", "schema": 99, "trace_id": "x", "source": {"format": "x"}, "fidelity": {}}
    path.write_text(json.dumps(header) + "\n")
    done = replayer("run", "--trace", path, "--engine", "a=simulated", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "update replayer" in done.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = replayer("run", "--trace", TRACE, "--engine", "a=simulated", "--out", tmp_path / "file" / "run")
    assert done.returncode == 2
    assert "cannot be made: Not a directory" in done.stderr


def test_a_wrong_key_and_an_unknown_model_are_told_before_anything_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "replayer", "simulate", "--port", "0", "--api-key", "right"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        engine = f"a={server.stdout.readline().strip()},api_key_env=KEY"
        for key, more, code, words in [
            ("wrong", "", 3, "refuses this API key"),
            ("right", ",model=gpt-7", 2, "does not list the model 'gpt-7'"),
        ]:
            done = replayer(
                "run", "--trace", TRACE, "--engine", engine + more, "--out", tmp_path / "run",
                env=os.environ | {"KEY": key},
            )  # fmt: skip
            assert (done.returncode, words in done.stderr) == (code, True), done.stderr
            assert not (tmp_path / "run").exists()
        server.terminate()


@pytest.mark.slow
def test_a_full_disk_ends_the_run_in_one_sentence(tmp_path: Path) -> None:
    """A file size limit stands for the full disk."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000)); "
        "from replayer.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = [
        "run",
        "--trace",
        TRACE,
        "--engine",
        "a=simulated",
        "--concurrency",
        "4",
        "--repeat",
        "1000",
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2, done.stderr
    assert "journal.jsonl cannot be written: File too large; free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert [e for e in read(tmp_path / "run") if isinstance(e, TurnFinished)]


def test_too_many_engine_errors_and_missing_promises_break_the_run(tmp_path: Path) -> None:
    done = replayer("run", "--trace", TRACE, "--engine", "a=simulated,fault=500", "--out", tmp_path / "a")
    assert done.returncode == 1
    assert "8 of 8 turns ended in an engine error" in done.stdout
    done = replayer("run", "--trace", TRACE, "--engine", "a=simulated,fault=no_done", "--out", tmp_path / "b")
    assert done.returncode == 1
    assert "streams ended without [DONE]" in done.stdout
