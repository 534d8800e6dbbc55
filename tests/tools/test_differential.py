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
