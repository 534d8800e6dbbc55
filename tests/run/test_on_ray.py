"""A run that a Ray cluster drives: two nodes on this machine, a shard on each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.events import LaneReady, ShardClock, TurnStarted, Warned
from replayer.journal.log import Reading, read
from replayer.traces.library import shipped
from tests.run.test_runs import assert_counted_once, replayer, report, without_clock

TRACE = "fix-failing-test"


def test_ray_is_imported_by_nothing_that_does_not_ask_for_it() -> None:
    code = "import sys, replayer.run.shards.on_ray, replayer.run.runner; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_answers_is_refused() -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    command = [sys.executable, "-m", "replayer", "prefix", TRACE, "--ray", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 3 and f"no Ray cluster at {address}" in done.stderr


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("RAY_raylet_start_wait_time_s", "150")
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield from started()


def started() -> Iterator[Any]:
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    made = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "resources": {"engine": 1}}
    )
    made.add_node(num_cpus=1, resources={"engine": 1})
    yield made
    made.shutdown()


def begun(folder: Path, shards: set[int]) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        there = (folder / "journal.jsonl").exists()
        events = Reading(folder).events() if there else ()
        if shards <= {line.part for event, line in events if isinstance(event, TurnStarted)}:
            return
        time.sleep(0.1)
    raise AssertionError(f"{folder} never had turns of {shards}")


PLAN = """
traces = ["fix-failing-test"]
repeat = 2
concurrency = 2
max_turns = 3
[limits]
lag_ms = 60000
"""
LANE = """
[[lane]]
name = "{name}"
url = "http://{{host}}:{{port}}/v1"
command = ["{python}", "-m", "replayer", "simulate", "--trace", "fix-failing-test", "--host", "{{host}}",
  "--port", "{{port}}"]
resources = {{ engine = 1 }}
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_files_are_audited_to_the_same_report(cluster: Any, tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "torn.jsonl"]
    for name, file in zip((TRACE, "first-look"), files, strict=False):
        shutil.copyfile(shipped()[name], file)
    files[-1].write_text("no session\n")
    found = {}
    for how in (["--processes", "1"], ["--ray", cluster.address]):
        command = [
            sys.executable,
            "-m",
            "replayer",
            "audit",
            *files,
            *how,
            "--out",
            tmp_path / how[0],
            "--json",
        ]
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 2 and "torn.jsonl" in done.stderr, done.stderr
        found[how[0]] = without_clock(json.loads(done.stdout))
    assert found["--processes"] == found["--ray"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_servers_start_where_their_resources_are_and_the_third_waits(cluster: Any, tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text(PLAN + "".join(LANE.format(name=name, python=sys.executable) for name in "abc"))
    done = replayer("run", plan, "--ray", cluster.address, "--shards", "2", "--out", folder)
    assert done.returncode == 0, done.stderr
    placed = [(event, line.part) for event, line in Reading(folder).events()]
    ready = {event.lane: event.at for event, _ in placed if isinstance(event, LaneReady)}
    turns = [(event.session[0], part, event.at) for event, part in placed if isinstance(event, TurnStarted)]
    assert len(turns) == 3 * 2 * 3
    drivers = {lane: {part for of, part, _ in turns if of == lane} for lane in "abc"}
    assert len(drivers["a"]) == len(drivers["b"]) == len(drivers["c"]) == 1, "each by the shard beside it"
    assert drivers["a"] != drivers["b"], "two servers do not fit on one node"
    ends = {lane: max(at for of, _, at in turns if of == lane) for lane in "ab"}
    assert max(ready["a"], ready["b"]) < min(at for *_, at in turns)
    assert ready["c"] > max(ends.values()), "it waits until a node is free"
    assert {path.stem for path in folder.glob("engines/*.log") if path.read_text()} == {"a", "b", "c"}

    alone = replayer("resume", folder, "--processes", "2")
    assert alone.returncode == 2 and "only a Ray cluster gives" in alone.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_shard_and_a_node_die_and_nothing_is_lost_or_double(cluster: Any, tmp_path: Path) -> None:
    """The last of this file: the cluster has one node less."""
    folder = tmp_path / "run"
    command = ["run", "--trace", TRACE, "--engine", "a=simulated,tok_s=150", "--repeat", "6"]
    command += ["--concurrency", "2", "--ray", cluster.address, "--shards", "2", "--max-lag", "60000"]
    runner = subprocess.Popen([sys.executable, "-m", "replayer", *command, "--out", folder])
    begun(folder, {1, 2})
    pids = {event.shard: event.pid for event in read(folder) if isinstance(event, ShardClock)}
    os.kill(pids[2], signal.SIGKILL)
    assert runner.wait(300) == 1
    assert [e.code for e in read(folder) if isinstance(e, Warned)].count("shard_lost") == 1

    runner = subprocess.Popen([sys.executable, "-m", "replayer", "resume", folder])
    begun(folder, {3, 4})
    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
    assert runner.wait(300) == 1
    cluster.wait_for_nodes(60)

    done = replayer("resume", folder)
    assert done.returncode == 0, done.stderr
    assert report(folder)["incomplete_sessions"] == 0
    assert_counted_once(folder, turns=6 * 8)
