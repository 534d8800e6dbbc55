"""The cache planner: what a run would have reused with another pool, held against runs that really had it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main

TRACES = ("--trace", "fix-failing-test", "--trace", "first-look", "--trace", "tools-stress")


def measured(out: Path, pool: int, capsys: pytest.CaptureFixture[str], *flags: str) -> float:
    engine = f"a=simulated,tok_s=3000,ttft_ms=5,prefill_tok_s=100000,pool_tokens={pool}"
    words = ("--engine", engine, "--max-lag", "60000", "--out", str(out), "--json", "--plain")
    assert main(["run", *TRACES, *words, *flags]) == 0
    share = json.loads(capsys.readouterr().out)["lanes"][0]["prefix_cache"]["reported"]
    assert share is not None
    return float(share)


def planned(run: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["cache", str(run), "--json", *flags]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_a_run_is_simulated_with_its_own_cache_and_with_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    share = measured(tmp_path / "run", 60_000, capsys, "--max-turns", "8")
    plan = planned(
        tmp_path / "run", capsys, "--pool", "100%,2000,unlimited", "--block", "16,512", "--replicas", "1,2"
    )
    assert plan["measured"] == pytest.approx(share, abs=1e-9) and plan["pool_tokens"] == 60_000
    assert plan["simulated"]["reuse"] == pytest.approx(share, abs=0.02)
    found = {tuple(one["variant"].values()): one for one in plan["plans"]}
    assert len(found) == len(plan["plans"]) == 3 * 2 * 3, "two replicas with and without affinity"
    own = found[60_000, 16, 1, True]
    assert found[None, 16, 1, True]["reuse"] >= own["reuse"] > found[2000, 16, 1, True]["reuse"]
    assert found[None, 16, 1, True]["evicted_tokens"] == 0 < found[2000, 16, 1, True]["evicted_tokens"]
    assert found[60_000, 512, 1, True]["reuse"] < own["reuse"], "larger blocks find less"
    assert (
        found[60_000, 16, 2, False]["reuse"]
        < found[60_000, 16, 2, True]["reuse"]
        == pytest.approx(own["reuse"], abs=0.02)
    )


@pytest.mark.slow
def test_the_plan_for_half_and_double_the_pool_comes_true(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ("--sessions", "4", "--repeat", "4")
    share = {pool: measured(tmp_path / str(pool), pool, capsys, *load) for pool in (50_000, 100_000, 200_000)}
    plan = planned(tmp_path / "100000", capsys, "--pool", "50%,200%")
    for one in plan["plans"]:
        assert one["reuse"] == pytest.approx(share[one["variant"]["pool_tokens"]], abs=0.02) and one["known"]
        assert one["low"] == one["high"] == one["reuse"], (
            "a pool that holds the sessions leaves nothing to chance"
        )


@pytest.mark.slow
def test_a_pool_that_sessions_push_each_other_out_of_is_planned_with_its_spread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ("--sessions", "8", "--repeat", "2")
    half = measured(tmp_path / "half", 12_500, capsys, *load)
    measured(tmp_path / "run", 25_000, capsys, *load)
    [one] = planned(tmp_path / "run", capsys, "--pool", "50%")["plans"]
    assert one["low"] <= one["reuse"] <= one["high"] and one["low"] < one["high"]
    assert not one["known"], "of equal runs one in twenty lies eleven points from the others"
    assert one["low"] - 0.2 <= half <= one["high"] + 0.2


def test_what_cannot_be_planned_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(tmp_path / "run", 60_000, capsys, "--max-turns", "2")
    for words in (("--pool", "many"), ("--block", "0"), ("--lane", "b")):
        assert main(["cache", str(tmp_path / "run"), *words]) == 2
    assert "name one lane with --lane: a" in capsys.readouterr().err


def test_a_run_that_this_machine_paced_plans_nothing_that_hangs_on_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\ndef wait(messages):\n    time.sleep(0.02)\n    return messages\n"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        load = ("--sessions", "4", "--max-turns", "3", "--transform", "slow:wait")
        measured(tmp_path / "run", 20_000, capsys, *load)
    plan = planned(tmp_path / "run", capsys, "--pool", "3000,unlimited")
    assert "it set the pace" in plan["doubts"][0]
    [small, unlimited] = plan["plans"]
    assert small["evicted_share"] > 0.02 and not small["known"]
    assert unlimited["known"] and unlimited["low"] == unlimited["high"]
    assert main(["cache", str(tmp_path / "run"), "--pool", "3000"]) == 0
    assert "not known" in capsys.readouterr().out
