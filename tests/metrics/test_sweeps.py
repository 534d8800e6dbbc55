"""Sweeps and generated sessions as a user runs them, against simulated engines over real HTTP."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.events import SessionStarted, TurnFinished, TurnStarted, VerdictGiven
from replayer.journal.log import read
from replayer.plan.load import make_plan
from tests.generate import long_session
from tests.run.test_runs import replayer

PLAN = """
order = "sequential"
[matrix]
concurrency = [1, 2]
[[workload]]
name = "chat"
sessions = 2
requests = 2
input_tokens = 200
output_tokens = 24
"""


def lanes(*arguments: str | Path) -> dict[str, dict[str, Any]]:
    done = replayer("run", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return {lane["lane"]: lane for lane in json.loads(done.stdout)["lanes"]}


@pytest.mark.slow
def test_prompts_and_answers_have_the_lengths_that_were_asked_for(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    lanes(plan, "--engine=a=simulated", "--engine=b=simulated", "--out", tmp_path / "run")
    events = list(read(tmp_path / "run"))
    assert {tuple((e.asked or {}).values()) for e in events if isinstance(e, TurnStarted)} == {(200, 24)}
    usage = [e.usage or {} for e in events if isinstance(e, TurnFinished)]
    assert {(u["prompt_tokens"], u["completion_tokens"]) for u in usage} == {(200, 24)}
    assert len(usage) == 16
    assert all(e.usable for e in events if isinstance(e, VerdictGiven)), "a set length is not a cut"


@pytest.mark.slow
def test_sessions_done_before_are_not_done_again(tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text(PLAN)
    engine = "--engine=a=simulated"
    lanes(plan, engine, "--out", folder)
    assert list(lanes(plan, engine, "--into", folder)) == ["a+concurrency=1", "a+concurrency=2"]
    assert started(folder) == 4, "nothing was left to do"
    wider = lanes(plan, engine, "--into", folder, "--set", "matrix.concurrency=[1,2,4]", "--repeat", "2")
    assert {name: lane["sessions"] for name, lane in wider.items()} == {
        "a+concurrency=1": 4,
        "a+concurrency=2": 4,
        "a+concurrency=4": 4,
    }
    assert started(folder) == 12


def started(folder: Path) -> int:
    return sum(isinstance(event, SessionStarted) for event in read(folder))


@pytest.mark.slow
def test_a_schema_is_asked_for_and_its_breach_is_found(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[workload]]\nname = "j"\nsessions = 10\ninput_tokens = 50\noutput_tokens = 100\n'
        'response_schema = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }\n'
    )
    lanes(
        plan,
        "--engine=a=simulated,fault=breaks_schema@0.5",
        "--engine=b=simulated",
        "--out",
        tmp_path / "run",
    )
    valid: dict[str, list[bool | None]] = {"a": [], "b": []}
    for event in read(tmp_path / "run"):
        if isinstance(event, VerdictGiven):
            valid[event.session[0]].append(event.schema_valid)
            assert event.usable is event.schema_valid
    assert valid["b"] == [True] * 10
    assert 0 < valid["a"].count(False) < 10


@pytest.mark.slow
def test_a_sweep_is_ranked_and_the_worst_setting_is_last(tmp_path: Path) -> None:
    """Two settings without faults are a tie in usable turns; the third breaks every second call."""
    for seed in range(12):
        long_session(tmp_path / f"s{seed}.trace.jsonl", turns=6, tokens=3_000, seed=seed)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'traces = ["*.trace.jsonl"]\n[matrix]\noptions.fault = ["unknown_tool@0", "bad_value@0", "unknown_tool@0.5"]\n'
        '[[lane]]\nname = "a"\nlaunch = "simulated"\n'
    )
    done = replayer("run", plan, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    ranking = json.loads(done.stdout)["ranking"]
    assert ranking["axes"] == ["fault"]
    worst = ranking["lanes"][-1]
    assert (worst["lane"], worst["rank"]) == ("a+fault=unknown_tool@0.5", 3)
    assert worst["usable"]["value"] < 0.9 < ranking["lanes"][0]["usable"]["value"]
    assert worst["lane"] not in ranking["conclusion"]
    copied = make_plan({"traces": ["t"], **tomllib.loads(worst["toml"])}).lane[0]
    assert copied.options == {"fault": "unknown_tool@0.5"}
    text = replayer("report", tmp_path / "run").stdout
    assert "Ranking" in text and "the settings to copy:" in text


@pytest.mark.slow
def test_several_models_are_set_beside_each_other(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("concurrency = [1, 2]", "concurrency = [1]"))
    for model in ("small", "large"):
        engines = [f"--engine={name}=simulated,tok_s=2000,model={model}" for name in ("x", "y")]
        lanes(plan, *engines, "--out", tmp_path / model)
    done = replayer("report", tmp_path / "small", tmp_path / "large", "--together", "--json")
    grid = json.loads(done.stdout)["models"]
    assert grid["engines"] == ["x", "y"]
    assert [(row["model"], sorted(row["sessions"])) for row in grid["rows"]] == [
        ("small", ["x", "y"]),
        ("large", ["x", "y"]),
    ]
    assert all(session["tpot_ms"] is not None for row in grid["rows"] for session in row["sessions"].values())
    text = replayer("report", tmp_path / "small", tmp_path / "large").stdout
    assert "Models and engines" in text and "small:x+concurrency=1" in text
    files = [tmp_path / "r.html", tmp_path / "r.md"]
    replayer("report", tmp_path / "small", tmp_path / "large", "--html", files[0], "--markdown", files[1])
    for path in files:
        assert all(words in path.read_text("utf-8") for words in ("Load", "Models and engines", "large"))
