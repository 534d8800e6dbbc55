"""A report names what was planted in a lane, and of two equal lanes nothing. Times are left out: they are not seeded.

`benchmarks/findings.py` does the same over a hundred runs, times included.
"""

import json
from pathlib import Path

import pytest

from tests.generate import long_session
from tests.run.test_runs import replayer

pytestmark = pytest.mark.slow
TIMED = {"ttft_ms.p50", "ttft_ms.p95", "itl_ms.p50", "decode_tok_s"}
NAMED = ("repeated themselves", "Chief cause", "separate bands", "Engine errors")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    for number in range(14):
        long_session(folder / f"s{number:02}.trace.jsonl", turns=6, tokens=1200, seed=number)
    (folder / "plan.toml").write_text('traces = ["s*.trace.jsonl"]\n')
    return folder / "plan.toml"


def summary(plan: Path, run: Path, a: str, b: str) -> tuple[str, set[str]]:
    """The summary as Markdown, and the metrics other than times in which the lanes differ."""
    lanes = ("--engine", f"a=simulated,seed=1,{a}", "--engine", f"b=simulated,seed=2,{b}")
    done = replayer("run", plan, *lanes, "--out", run, "--json")
    pairs = json.loads(done.stdout)["comparisons"]
    replayer("report", run, "--markdown", run / "report.md")
    differing = {pair["metric"] for pair in pairs if pair["decided"]} - TIMED
    page = (run / "report.md").read_text()
    return "\n".join(line for line in page.splitlines() if line.startswith(("- ", "**"))), differing


def test_nothing_is_said_of_equal_lanes(plan: Path, tmp_path: Path) -> None:
    words, differing = summary(plan, tmp_path / "run", "fault=unknown_tool@0.1", "fault=unknown_tool@0.1")
    assert differing == set()
    assert not [named for named in NAMED[:2] if named in words]
    assert "a and b, usable turns: no difference seen" in words


def test_collapse_and_a_lost_prefix_are_named(plan: Path, tmp_path: Path) -> None:
    words, differing = summary(
        plan,
        tmp_path / "run",
        "fault=unknown_tool@0.1",
        "pool_tokens=0,fault=unknown_tool@0.1,fault=collapse@0.4:at=20",
    )
    of_b = next(line for line in words.splitlines() if line.startswith("- b answered"))
    of_a = next(line for line in words.splitlines() if line.startswith("- a answered"))
    for named in NAMED[:2]:
        assert named in of_b and named not in of_a
    assert {"usable_turn_rate", "collapsed_rate", "prefix_hit_rate"} <= differing
    assert "b is worse than a in usable turns: −" in words
