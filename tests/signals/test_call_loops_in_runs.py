"""The session `flaky-service` polls a server, which is not a loop, and runs one command five times over, which is."""

import json
from pathlib import Path

import pytest

from replayer.cli import main

PLAN = 'traces = ["flaky-service"]\nmode = "{mode}"\ntools = "matched"\n[limits]\nlag_ms = 60000.0\n'


def findings(folder: Path, mode: str) -> list[tuple[str, str, int]]:
    """What the call loops of a run against an engine that plays the recorded assistant are."""
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN.format(mode=mode))
    engine = ["--engine", "a=simulated,tok_s=20000"]
    assert main(["run", str(folder / "plan.toml"), *engine, "--plain", "--out", str(folder / "run")]) == 0
    events = [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_bytes().splitlines()]
    found = [event["finding"] for event in events if event.get("signal") == "call_loops"]
    return [(finding["kind"], finding["level"], finding["length"]) for finding in found]


@pytest.mark.slow
def test_a_loop_is_found_where_the_engine_is_free_and_not_where_the_recording_has_it(tmp_path: Path) -> None:
    assert findings(tmp_path / "live", "live") == [("identical", "suspect", 3), ("identical", "loop", 5)]
    assert findings(tmp_path / "recorded", "recorded") == []
