"""A run that a Ray cluster drives: two nodes on this machine, a shard on each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.events import ShardClock, TurnStarted, Warned
from replayer.journal.log import Reading, read
from tests.run.test_runs import assert_counted_once, replayer, report

TRACE = "fix-failing-test"


def test_ray_is_imported_by_nothing_that_does_not_ask_for_it() -> None:
    code = "import sys, replayer.run.shards.on_ray, replayer.run.runner; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "150")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_shard_and_a_node_die_and_nothing_is_lost_or_double(cluster: Any, tmp_path: Path) -> None:
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
