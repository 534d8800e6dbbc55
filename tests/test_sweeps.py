"""Sweeps and generated sessions as a user runs them, against simulated engines over real HTTP."""

import json
from pathlib import Path
from typing import Any

from replayer.events import CellStarted, StepFinished, StepStarted, VerdictGiven
from replayer.journal import read
from tests.test_runs import replayer

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


def test_prompts_and_answers_have_the_lengths_that_were_asked_for(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    lanes(plan, "--engine=a=simulated", "--engine=b=simulated", "--out", tmp_path / "run")
    events = list(read(tmp_path / "run"))
    assert {tuple((e.asked or {}).values()) for e in events if isinstance(e, StepStarted)} == {(200, 24)}
    usage = [e.usage or {} for e in events if isinstance(e, StepFinished)]
    assert {(u["prompt_tokens"], u["completion_tokens"]) for u in usage} == {(200, 24)}
    assert len(usage) == 16
    assert all(e.usable for e in events if isinstance(e, VerdictGiven)), "a set length is no cut"


def test_cells_done_before_are_not_done_again(tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text(PLAN)
    engine = "--engine=a=simulated"
    lanes(plan, engine, "--out", folder)
    assert list(lanes(plan, engine, "--into", folder)) == ["a+concurrency=1", "a+concurrency=2"]
    assert started(folder) == 4, "nothing was left to do"
    wider = lanes(plan, engine, "--into", folder, "--set", "matrix.concurrency=[1,2,4]", "--repeat", "2")
    assert {name: lane["cells"] for name, lane in wider.items()} == {
        "a+concurrency=1": 4,
        "a+concurrency=2": 4,
        "a+concurrency=4": 4,
    }
    assert started(folder) == 12


def started(folder: Path) -> int:
    return sum(isinstance(event, CellStarted) for event in read(folder))


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
            valid[event.cell[0]].append(event.schema_valid)
            assert event.usable is event.schema_valid
    assert valid["b"] == [True] * 10
    assert 0 < valid["a"].count(False) < 10
