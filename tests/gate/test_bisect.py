"""`replayer bisect` through its command, with a real gate command on simulated versions."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.cli import main
from replayer.errors import PlanError
from replayer.gate.bisect import Answer, State, cut, narrowed

VERSIONS = [f"0.{number}" for number in range(16)]
COUNTING = """
import pathlib, sys
version, log, first_bad, *skipped = sys.argv[1:]
with pathlib.Path(log).open("a") as stream:
    stream.write(version + "\\n")
if version in skipped:
    sys.exit(3)
sys.exit(int(float(version.removeprefix("0.")) >= int(first_bad)))
"""


def bisect(tmp_path: Path, first_bad: int, *skipped: str) -> list[str]:
    script = tmp_path / "gate.py"
    script.write_text(COUNTING)
    where = [
        "--no-install",
        "--versions",
        ",".join(VERSIONS),
        "--state",
        str(tmp_path / "state.json"),
        "--json",
    ]
    command = [sys.executable, str(script), "{version}", str(tmp_path / "log"), str(first_bad), *skipped]
    return ["bisect", "--good", "engine==0.0", "--bad", "engine==0.15", *where, "--", *command]


@pytest.mark.parametrize("first_bad", [1, 7, 15])
def test_the_planted_version_is_found_in_five_starts(
    first_bad: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(bisect(tmp_path, first_bad)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad"] == f"0.{first_bad}" and found["last_good"] == f"0.{first_bad - 1}"
    assert len((tmp_path / "log").read_text().split()) <= 5


def test_an_interrupted_search_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after a kill in the middle: what the state file holds is not tried again."""
    assert main(bisect(tmp_path, 11)) == 0
    state = json.loads((tmp_path / "state.json").read_text())
    assert sys.executable not in str(state), "the words of a command may hold a key"
    tried = list(state["answers"])
    state["answers"] = {value: state["answers"][value] for value in tried[:2]}
    (tmp_path / "state.json").write_text(json.dumps(state))
    (tmp_path / "log").unlink()
    capsys.readouterr()
    assert main(bisect(tmp_path, 11)) == 0
    assert json.loads(capsys.readouterr().out)["first_bad"] == "0.11"
    assert (tmp_path / "log").read_text().split() == tried[2:]


def test_what_does_not_start_is_skipped_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(bisect(tmp_path, 8, "0.7", "0.8")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad"] is None and found["candidates"] == ["0.7", "0.8", "0.9"]
    assert {one["value"]: one["why"] for one in found["tried"] if one["answer"] == "skipped"} == {
        "0.7": "exit code 3", "0.8": "exit code 3",
    }  # fmt: skip


def test_another_search_is_not_mixed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(bisect(tmp_path, 3)) == 0
    assert main(bisect(tmp_path, 4)) == 2
    assert "of another bisection" in capsys.readouterr().err


@given(st.integers(1, 30), st.sets(st.integers(1, 29)), st.data())
def test_the_answer_holds_whatever_is_skipped(last: int, skipped: set[int], data: st.DataObject) -> None:
    first_bad = data.draw(st.integers(1, last))
    state = State(values=[str(number) for number in range(last + 1)], command="x")

    def attempt(value: str) -> tuple[Answer, str]:
        number = int(value)
        return ("skipped", "") if number in skipped else ("bad" if number >= first_bad else "good", "")

    with tempfile.TemporaryDirectory() as folder:
        found = narrowed(state, Path(folder) / "state.json", attempt)
    assert str(first_bad) in found.candidates
    unskipped = [value for value in found.candidates[:-1] if int(value) not in skipped]
    assert not unskipped


def test_released_versions_are_cut_from_good_to_bad() -> None:
    released = ["0.1", "0.2", "0.3", "0.10"]
    assert cut(released, "p", "0.2", "0.10") == ["0.2", "0.3", "0.10"]
    assert cut(released, "p", "0.3", "0.1") == ["0.3", "0.2", "0.1"]
    with pytest.raises(PlanError, match="has no version 9"):
        cut(released, "p", "0.1", "9")
