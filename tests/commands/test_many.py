"""Many files by several processes: the same results as by one."""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replayer.traces.library import shipped
from tests.run.test_runs import without_clock

pytestmark = pytest.mark.slow


def replayer(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "replayer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    """Two files have one name, so that the second trace must take another."""
    found = []
    for place, name in enumerate(["fix-failing-test", "first-look", "flaky-service"]):
        folder = tmp_path / str(place)
        folder.mkdir()
        found.append(folder / ("same.jsonl" if place else "other.jsonl"))
        shutil.copyfile(shipped()[name], found[-1])
    return found


def test_import_writes_the_same_traces(tmp_path: Path, corpus: list[Path]) -> None:
    lines = {}
    for n in (1, 3):
        out = tmp_path / f"out{n}"
        lines[n] = replayer("import", *corpus, "-o", out, "--processes", str(n), "--json")
    assert lines[1].replace("out1", "out3") == lines[3]
    names = sorted(path.name for path in (tmp_path / "out1").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "out3").iterdir()) and len(names) == 3
    same, *others = filecmp.cmpfiles(tmp_path / "out1", tmp_path / "out3", names, shallow=False)
    assert same == names and others == [[], []]


def test_audit_reports_the_same(tmp_path: Path, corpus: list[Path]) -> None:
    one, two = (
        json.loads(replayer("audit", *corpus, "--processes", n, "--out", tmp_path / n / "run", "--json"))
        for n in "12"
    )
    assert without_clock(one) == without_clock(two)


def test_runs_are_judged_again_to_the_same_report(tmp_path: Path) -> None:
    runs = [tmp_path / "a", tmp_path / "b"]
    engine = "a=simulated,fault=leaked_markup@1"
    replayer("run", "--trace", "first-look", "--engine", engine, "--max-lag", "60000", "--out", runs[0])
    shutil.copytree(runs[0], runs[1])
    one, two = (replayer("report", *runs, "--rejudge", "--processes", n, "--json") for n in "12")
    assert one == two and len(one.splitlines()) >= 2


def test_prefix_analyses_each_file_for_itself(corpus: list[Path]) -> None:
    one, two = (replayer("prefix", *corpus, "--json", "--processes", n) for n in "12")
    assert one == two and [json.loads(line)["file"] for line in one.splitlines()] == list(map(str, corpus))
