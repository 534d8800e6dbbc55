"""Runs that stop once their metric is decided, runs against a baseline run, and lanes against themselves."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from replayer.journal.events import StoppedEarly
from replayer.journal.log import read
from tests.generate import long_session
from tests.run.test_runs import replayer

SESSIONS = 14
LANE = "{}=simulated,seed={},fault=unknown_tool@{}"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One session at a time, so that the order in which sessions end is always the same."""
    folder = tmp_path_factory.mktemp("sessions")
    for number in range(SESSIONS):
        long_session(folder / f"s{number:02}.trace.jsonl", turns=6, tokens=1200, seed=number)
    path = folder / "plan.toml"
    path.write_text('traces = ["s*.trace.jsonl"]\norder = "interleaved"\n')
    return path


def ran(plan: Path, out: Path, *engines: str, more: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    lanes = [word for engine in engines for word in ("--engine", engine)]
    done = replayer("run", plan, *lanes, "--out", out, "--json", *more)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


STOP = ("--stop-when-decided", "usable_turn_rate")


@pytest.mark.slow
def test_a_large_difference_stops_the_run_and_the_report_says_so(plan: Path, tmp_path: Path) -> None:
    engines = LANE.format("good", 1, 0), LANE.format("bad", 2, 0.6)
    code, document = ran(plan, tmp_path / "run", *engines, more=STOP)
    assert code == 0
    (stop,) = [event for event in read(tmp_path / "run") if isinstance(event, StoppedEarly)]
    sessions = [lane["sessions"] for lane in document["lanes"]]
    assert max(sessions) < SESSIONS
    assert stop.sessions_left == document["incomplete_sessions"] == 2 * SESSIONS - sum(sessions)
    assert document["stopped_early"] == stop.reason
    pair = next(pair for pair in document["comparisons"] if pair["metric"] == "usable_turn_rate")
    assert pair["sequential"] and pair["decided"]
    assert -1 <= pair["low"] < pair["high"] < 0
    assert f"usable turns decided after {pair['n_sessions']} sessions: bad is worse than good" in stop.reason
    told = replayer("report", tmp_path / "run").stdout
    assert "stopped early" in told and "have no complete attempt" not in told
    junit = tmp_path / "junit.xml"
    replayer("report", tmp_path / "run", "--junit", junit)
    conditions = ElementTree.parse(junit).findall("testsuite[@name='conditions']/testcase")
    assert not [case for case in conditions if {"failure", "error"} & {part.tag for part in case}]
    again = replayer("resume", tmp_path / "run", "--json")
    assert [lane["sessions"] for lane in json.loads(again.stdout)["lanes"]] == sessions


@pytest.mark.slow
def test_equal_lanes_are_replayed_to_the_end(plan: Path, tmp_path: Path) -> None:
    engines = LANE.format("a", 1, 0.3), LANE.format("b", 2, 0.3)
    _, document = ran(plan, tmp_path / "run", *engines, more=STOP)
    assert [lane["sessions"] for lane in document["lanes"]] == [SESSIONS, SESSIONS]
    assert document["stopped_early"] is None
    assert not [event for event in read(tmp_path / "run") if isinstance(event, StoppedEarly)]


@pytest.mark.slow
def test_a_regression_against_last_nights_run_breaks_the_build(plan: Path, tmp_path: Path) -> None:
    rule = ("--fail-if", "usable_turn_rate drops by > 0.02", "--baseline", str(tmp_path / "before"))
    assert ran(plan, tmp_path / "before", LANE.format("a", 1, 0.1))[0] == 0
    assert ran(plan, tmp_path / "same", LANE.format("a", 2, 0.1), more=rule)[0] == 0
    code, document = ran(plan, tmp_path / "worse", LANE.format("a", 2, 0.6), more=rule)
    assert code == 1
    assert document["reasons"][0].startswith("a is worse than before:a in usable turns: −")
    replayer("report", tmp_path / "worse", "--junit", tmp_path / "junit.xml")
    failure = ElementTree.parse(tmp_path / "junit.xml").find("testsuite[@name='conditions']/testcase/failure")
    assert failure is not None and "before:a" in (failure.text or "")
    compared = replayer("compare", tmp_path / "worse", "--baseline", tmp_path / "before")
    assert "a is worse than before:a in usable turns" in compared.stdout.replace("\n", " ")


@pytest.mark.slow
def test_a_lane_is_compared_with_itself(plan: Path, tmp_path: Path) -> None:
    ran(plan, tmp_path / "run", LANE.format("a", 1, 0.3), LANE.format("b", 1, 0.3), more=("--aa",))
    pairs = json.loads(
        replayer("compare", tmp_path / "run", "--json", "--metric", "usable_turn_rate").stdout
    )["pairs"]
    assert [(pair["a"], pair["b"], pair["aa"]) for pair in pairs] == [
        ("a", "a.again", True), ("a", "b", False), ("b", "b.again", True)
    ]  # fmt: skip
    alone = json.loads(replayer("compare", tmp_path / "run", "--json", "--aa").stdout)["pairs"]
    assert {pair["aa"] for pair in alone} == {True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--stop-when-decided", "usabel_turns"), "is not a metric"),
        (STOP, "there is only one"),
        (("--baseline", "nowhere"), "does not exist"),
    ],
)
def test_what_cannot_be_decided_is_named(
    plan: Path, tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    done = replayer("run", plan, "--engine", "a=simulated", "--out", tmp_path / "run", *flags)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "run").exists()
