"""Run folders and traces made before sessions and turns had these names: they report what they reported then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replayer.cli import main
from replayer.traces.reader import Trace

FOLDER = Path(__file__).parents[1] / "old_runs" / "schema-1-two-lanes"
COUNTS = json.loads((FOLDER / "counts.json").read_text("utf-8"))
"""What `report --json` printed when the run was made, in the words of that time."""


def test_an_old_run_reports_the_same_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(FOLDER), "--json"]) == 0
    lanes = json.loads(capsys.readouterr().out)["lanes"]
    assert [lane["lane"] for lane in lanes] == [old["lane"] for old in COUNTS]
    for lane, old in zip(lanes, COUNTS, strict=True):
        assert (lane["sessions"], lane["turns"]) == (old["cells"], old["steps"])
        assert lane["repetition"]["collapsed_turns"] == old["collapsed"]
        assert {name: lane["tool_calls"][name] for name in old["tool_calls"]} == old["tool_calls"]
        for name in ("prompt", "cached", "completion"):
            assert lane["tokens"][name] == old["tokens"][name]
        for key in ("usable_turn_rate", "faults", "errors"):
            assert {name: lane[key][name] for name in old[key]} == old[key]


def test_an_old_trace_is_read_whole() -> None:
    trace = Trace.open(FOLDER / "traces" / "fix-failing-test" / "trace.jsonl")
    assert trace.complete
    assert (len(trace.turns), trace.item_count) == (8, sum(1 for _ in trace.items()))
