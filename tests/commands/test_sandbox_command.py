"""`replayer sandbox` as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replayer.commands.sandbox import exit_code
from replayer.tools.sandbox.types import Ran

ROOT = Path(__file__).parents[2]


def replayer(*arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}
    command = [sys.executable, "-m", "replayer", "sandbox", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **more)


@pytest.mark.parametrize(
    ("code", "limit", "expected"),
    [(0, None, 0), (7, None, 7), (-9, None, 137), (None, "time", 124), (None, "memory", 125)],
)
def test_exit_codes(code, limit, expected):
    ran = Ran(
        exit_code=code, head=b"", tail=b"", dropped=0, timed_out=limit == "time", limit=limit, duration=0
    )
    assert exit_code(ran) == expected


def test_what_makes_no_sense_is_one_sentence():
    none, both, zero = (
        replayer("run"),
        replayer("run", "--workspace", ".", "--trace", "t", "--", "id"),
        replayer("run", "--timeout", "0", "--", "id"),
    )
    for done in (none, both, zero):
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "replayer sandbox run -- CMD" in none.stderr


@pytest.mark.sandbox
def test_check_says_what_was_tried_and_the_grade():
    done, text = replayer("check", "--json"), replayer("check")
    graded = json.loads(done.stdout)
    assert (done.returncode, graded["backend"], graded["grade"]) == (0, "bubblewrap", "full")
    assert all(
        set(one) == {"name", "expected", "observed", "held"} and one["held"] for one in graded["checks"]
    )
    verdict, memory = text.stdout.splitlines()[-2:]
    assert verdict == "isolation: full (bubblewrap)"
    assert memory == f"memory limit: {graded['memory']}"


@pytest.mark.sandbox
def test_run_takes_over_output_and_exit_code(tmp_path):
    (tmp_path / "a").write_text("from the folder\n")
    done = replayer("run", "--workspace", str(tmp_path), "--", "sh", "-c", "cat a; exit 5")
    slow = replayer("run", "--timeout", "0.3", "--", "sleep", "99")
    assert (done.returncode, done.stdout) == (5, "from the folder\n")
    assert slow.returncode == 124
    assert "stopped by the limit of time" in slow.stderr


@pytest.mark.sandbox
def test_without_isolation_nothing_runs_and_the_remedy_is_named(tmp_path):
    hidden = "import replayer.tools.sandbox.bubblewrap as b; b.binary = lambda: None; from replayer.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", hidden, "sandbox"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*command, "run", "--", "touch", str(tmp_path / "ran")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    checked = subprocess.run(
        [*command, "check"], capture_output=True, text=True, env=environment, check=False
    )
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "apt install bubblewrap" in ran.stderr
    assert not list(tmp_path.iterdir())
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (3, "isolation: none (bubblewrap)")
