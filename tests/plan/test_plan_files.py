"""The plans that ship: all are found by name, all are valid, and each runs on the simulated engine."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from replayer.errors import PlanError
from replayer.plan.load import load_plan, make_plan
from replayer.plan.shipped import find_plan, purpose, shipped
from tests.run.test_runs import replayer

NAMES = [
    "decode-length",
    "long-context",
    "shared-prefix",
    "single-request",
    "structured-output",
    "throughput-ramp",
    "variance",
]


def test_every_plan_is_valid_and_says_what_it_is_for() -> None:
    assert list(shipped()) == NAMES
    for path in shipped().values():
        plan = make_plan(load_plan(path) | {"lane": [{"name": "a", "launch": "simulated"}]})
        assert plan.workload and plan.slo and plan.order == "sequential"
        assert len(purpose(path)) > 40


def test_a_plan_is_found_by_name_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for wanted in ("throughput-ramp", "throughput-ramp.toml", "plans/throughput-ramp.toml"):
        assert find_plan(Path(wanted)) == shipped()["throughput-ramp"]
    own = tmp_path / "throughput-ramp.toml"
    own.write_text("")
    assert find_plan(Path("throughput-ramp.toml")) == Path("throughput-ramp.toml"), (
        "one's own file comes first"
    )


def test_the_command_line_says_which_plans_exist(tmp_path: Path) -> None:
    assert [json.loads(line)["plan"] for line in replayer("plans", "--json").stdout.splitlines()] == NAMES
    assert replayer("plans", "variance").stdout == shipped()["variance"].read_text("utf-8")
    missing = replayer(
        "run", "plans/throughput-rampe.toml", "--engine", "a=simulated", "--out", tmp_path / "run"
    )
    assert missing.returncode == 2
    assert "plans that ship: decode-length, long-context" in missing.stderr


SMALL = [
    "--set",
    "workload.sessions=6",
    "--set",
    "workload.requests=1",
    "--set",
    "cool_down=0",
    "--repeat",
    "2",
]


def document(plan: str, out: Path, *more: str) -> dict[str, Any]:
    done = replayer("run", plan, *SMALL, *more, "--out", out, "--json", cwd=out.parent, env=_environment())
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _environment() -> dict[str, str]:
    """The runs are started from another folder than the project's."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (".".join(["k"] * 1500) + " = [1]", "nested more than 64 tables deep"),
        ("\n".join(f"sampling.k{n} = [1]" for n in range(1500)), "characters; at most 200"),
        ("\n".join(f"sampling.k{n} = [1, 2]" for n in range(1500)), "far too many lanes"),
        ("a = " + "[" * 100_000, "nested too deep"),
    ],
    ids=["dotted", "many", "product", "brackets"],
)
def test_a_matrix_that_blows_up_is_one_sentence(matrix: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        f'traces = ["t"]\n[[lane]]\nname = "a"\nlaunch = "simulated"\n[matrix]\n{matrix}\n'
    )
    with pytest.raises(PlanError, match=said):
        make_plan(load_plan(tmp_path / "p.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("plan", NAMES)
def test_every_plan_runs_on_the_simulated_engine(plan: str, tmp_path: Path) -> None:
    more = {
        "throughput-ramp": ["--set", "matrix.concurrency=[1,2,4]"],
        "decode-length": ["--set", "matrix.max_tokens=[16,64]"],
        "long-context": ["--set", "workload.input_tokens=2048"],
    }
    found = document(plan, tmp_path / "run", "--engine", "a=simulated", *more.get(plan, []))
    for lane in found["lanes"]:
        load = lane["load"]
        assert load["requests"] == 12 and load["error_rate"]["value"] == 0
        assert load["ttft_ms"]["p50"] is not None and load["goodput"]["limits"]
        if plan == "structured-output":
            assert load["schema_valid"]["value"] == 1.0
        else:
            assert load["exact_prompts"]["value"] == load["exact_answers"]["value"] == 1.0
    assert len(found["variance"]) == len(found["lanes"])
    if plan == "shared-prefix":
        assert found["lanes"][0]["prefix_cache"]["reported"] == pytest.approx(0.0), "one request a session"


@pytest.mark.slow
def test_the_ramp_finds_the_planted_saturation_point(tmp_path: Path) -> None:
    """Two slots, and replies of a second in four tokens: sleeping, not computing. A neighbouring level will do."""
    found = document(
        "throughput-ramp", tmp_path / "run", "--repeat", "1", "--set", "workload.sessions=8",
        "--set", "workload.output_tokens=4", "--set", "matrix.concurrency=[1,2,4,8]",
        "--engine", "a=simulated,slots=2,tok_s=4",
    )  # fmt: skip
    (ramp,) = found["saturation"]
    assert ramp["ramp"] == "a" and ramp["saturated"]
    assert ramp["level"] in (1, 2, 4)
    assert 1.3 < ramp["knee"] < 3


@pytest.mark.slow
def test_lanes_that_were_asked_for_other_work_are_not_compared(tmp_path: Path) -> None:
    found = document(
        "decode-length", tmp_path / "run", "--set", "matrix.max_tokens=[8,16]", "--repeat", "1",
        "--engine", "a=simulated", "--engine", "b=simulated",
    )  # fmt: skip
    assert {(c["a"], c["b"]) for c in found["comparisons"]} == {
        ("a+max_tokens=8", "b+max_tokens=8"),
        ("a+max_tokens=16", "b+max_tokens=16"),
    }
    (pair,) = found["crossovers"]
    assert [level["length"] for level in pair["levels"]] == [8, 16]
    page, text = tmp_path / "r.html", tmp_path / "r.md"
    assert replayer("report", tmp_path / "run", "--html", page, "--markdown", text).returncode == 0
    assert "Time of a whole answer: a and b" in page.read_text("utf-8")
    assert "Answer lengths: a and b" in text.read_text("utf-8")
