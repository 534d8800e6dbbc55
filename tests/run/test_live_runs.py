"""Live mode and executed calls, in whole runs with a real sandbox."""

import json
from pathlib import Path

import pytest

from replayer.journal.events import SessionFinished, Substituted, ToolRunFinished
from replayer.journal.log import read
from tests.run.test_runs import replayer

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
SESSIONS = ["--trace", "fix-failing-test", "--trace", "django-reservations"]


@pytest.mark.parametrize("mode", ["recorded", "live"])
def test_an_engine_that_plays_the_recorded_assistant_gets_the_recorded_results(
    tmp_path: Path, mode: str
) -> None:
    done = replayer(
        "run", *SESSIONS, "--engine", "a=simulated", "--mode", mode, "--tools", "sandbox",
        "--out", tmp_path / "run", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = [event for event in read(tmp_path / "run") if isinstance(event, ToolRunFinished)]
    assert len(runs) > 100
    assert {run.against_recorded for run in runs} <= {"same", "equivalent"}
    if mode == "live":
        finished = [event for event in read(tmp_path / "run") if isinstance(event, SessionFinished)]
        assert [(event.outcome, event.check and event.check["passed"]) for event in finished] == [
            ("stopped", True)
        ] * 2
        rate = json.loads(done.stdout)["lanes"][0]["finished_sessions"]
        assert (rate["value"], rate["n"]) == (1.0, 2)


def test_every_planted_fault_is_found_answered_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    engine = "a=simulated,fault=missing_parameter@0.3,fault=unknown_tool@0.3"
    done = replayer(
        "run",
        "--trace",
        "fix-failing-test",
        "--engine",
        engine,
        "--mode",
        "live",
        "--tools",
        "sandbox",
        "--out",
        folder,
        "--json",
    )
    lane = json.loads(done.stdout)["lanes"][0]
    faults = lane["faults"]
    assert faults["missing_parameter"] and faults["unknown_tool"]
    assert lane["tool_calls"]["invalid"] == sum(faults.values())
    answers = [event for event in read(folder) if isinstance(event, ToolRunFinished)]
    assert len(answers) == lane["tool_calls"]["total"]
    unknown = [event for event in answers if event.output.startswith("No tool named")]
    assert len(unknown) == faults["unknown_tool"]
    assert all(event.detail["malformed"] for event in unknown)


def test_an_unusable_reply_can_be_replaced_by_the_recorded_turn(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'traces = ["fix-failing-test"]\nmode = "live"\ntools = "sandbox"\nmalformed = "substitute"\n'
        '[[lane]]\nname = "a"\nlaunch = "simulated"\noptions = { fault = ["arguments_not_json@0.5"] }\n'
    )
    done = replayer("run", plan, "--out", tmp_path / "run", "--json")
    lane = json.loads(done.stdout)["lanes"][0]
    reasons = [event.reason for event in read(tmp_path / "run") if isinstance(event, Substituted)]
    assert reasons == ["arguments_not_json"] * lane["substituted_turns"]
    assert lane["substituted_turns"] == lane["faults"]["arguments_not_json"] > 0
    assert lane["finished_sessions"]["value"] == 1.0
