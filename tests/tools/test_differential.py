"""A run that asks everything in both modes finds what the engine repairs and drops, and nothing where it does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main

FAULTS = {"sound": "", "repairs": "silent_repair@0.5", "drops": "silent_drop@0.5"}
PLAN = 'traces = ["fix-failing-test"]\n[limits]\nlag_ms = 60000.0\n'


def run(folder: Path, *flags: str) -> dict[str, list[dict[str, Any]]]:
    """The verdicts of each lane."""
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    engines = []
    for name, fault in FAULTS.items():
        planted = f",fault={fault}" if fault else ""
        engines += ["--engine", f"{name}=simulated,temperature=0,tok_s=20000{planted}"]
    command = ["run", str(folder / "plan.toml"), *engines, *flags, "--plain", "--out", str(folder / "run")]
    assert main(command) == 0
    events = [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_bytes().splitlines()]
    verdicts = [event for event in events if event["type"] == "verdict"]
    return {lane: [v for v in verdicts if v["session"].startswith(f"{lane}/")] for lane in FAULTS}


def classes(verdicts: list[dict[str, Any]]) -> set[str]:
    return {fault["klass"] for verdict in verdicts for fault in verdict["faults"]}


@pytest.mark.slow
def test_silent_repairs_and_drops_show_in_both_modes_only(tmp_path: Path) -> None:
    lanes = run(tmp_path / "both", "--differential")
    assert classes(lanes["sound"]) == set()
    assert classes(lanes["repairs"]) == {"silent_repair", "stream_differs"}
    assert classes(lanes["drops"]) == {"silent_drop", "stream_differs"}
    alone = run(tmp_path / "alone")
    assert classes([verdict for verdicts in alone.values() for verdict in verdicts]) <= {"empty_turn"}


PER_WIRE = [
    # fault, turns usable of four by wire: (streamed, not streamed)
    ("merged_calls", "messages", (0, 4)),
    pytest.param("first_delta_dropped", "messages", (0, 4), marks=pytest.mark.slow),
    pytest.param("merged_calls", "responses", (0, 4), marks=pytest.mark.slow),
    pytest.param("text_leaked", "responses", (0, 0), marks=pytest.mark.slow),
    pytest.param("stream_aborted", "messages", (0, 0), marks=pytest.mark.slow),
    pytest.param("stream_error", "responses", (0, 4), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("fault", "wire", "usable"), PER_WIRE)
def test_a_fault_of_one_wire_shows_in_the_table_of_wires_and_modes(
    fault: str, wire: str, usable: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.replace("fix-failing-test", "tools-stress"))
    engine = f"sim=simulated,temperature=0,tok_s=20000,fault={fault}:wire={wire}"
    flags = ["--engine", engine, "--max-turns", "4", "--wire", "all", "--differential", "--plain"]
    assert main(["run", str(tmp_path / "plan.toml"), *flags, "--out", str(tmp_path / "run")]) in (0, 1)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run"), "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert [lane["wire"] for lane in found["lanes"]] == ["chat", "messages", "responses"]
    assert found["differential"]["same_prompts"]
    for row in found["differential"]["rows"]:
        counts = tuple((row[mode]["usable"], row[mode]["n"]) for mode in ("streamed", "unstreamed"))
        assert counts == (tuple((n, 4) for n in usable) if row["wire"] == wire else ((4, 4), (4, 4)))
    (words,) = found["differential"]["words"]
    assert f"{wire} {usable[1]}/4, {wire} streamed {usable[0]}/4" in words and "sim, same prompt" in words
    assert not any("did not ask for" in warning["message"] for warning in found["warnings"])
    again = main(["report", str(tmp_path / "run"), "--rejudge", "--json"])
    assert again in (0, 1) and json.loads(capsys.readouterr().out)["differential"] == found["differential"]
