"""`report --br`: read by the package that readers use, and equal to what `report --json` says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from replayer.cli import main
from tests.generate import long_session
from tests.report.runs import hostile_run

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "agent-reliability.schema.json").read_text())
package = pytest.importorskip("llmd_benchmark_report")


def test_every_report_loads_and_says_what_the_json_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, run, into = tmp_path / "s.trace.jsonl", tmp_path / "run", tmp_path / "br"
    long_session(trace, turns=6, tokens=600, seed=4)
    lanes = ["--max-lag", "60000", "--engine", "a=simulated,seed=1"]
    lanes += ["--engine", "b=simulated,seed=2,fault=unknown_tool@0.5"]
    assert main(["run", "--trace", str(trace), *lanes, "--out", str(run), "--plain"]) == 0
    capsys.readouterr()
    assert main(["report", str(run), "--br", str(into)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["report", str(run), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["lanes"]
    beside = json.loads((into / "agent_reliability.json").read_text())
    jsonschema.validate(beside, SCHEMA)
    assert len(beside["reports"]) == 2 and len(list(into.glob("*.yaml"))) == 2
    for lane, entry in zip(said, beside["reports"], strict=True):
        report = package.import_benchmark_report(str(into / entry["report"]))
        aggregate = report.results.request_performance.aggregate
        assert aggregate.requests.total == lane["turns"] == 6
        assert aggregate.latency.time_to_first_token.p95 == pytest.approx(lane["ttft_ms"]["p95"])
        assert aggregate.latency.request_latency.p50 == pytest.approx(lane["e2e_ms"]["p50"])
        assert report.scenario.stack[0].metadata.label == entry["lane"] == lane["lane"]
        assert report.results.session_performance.sessions.succeeded == 1
        block = entry["agent_reliability"]
        assert block["usable_turns"] == lane["usable_turn_rate"]
        assert block["faults_by_blame"] == lane["faults_by_blame"]
        assert block["prefix_reuse"]["expected"] == lane["prefix_cache"]["ideal"]
    assert beside["reports"][1]["agent_reliability"]["tool_calls"]["invalid"] > 0


def test_names_of_a_hostile_server_stay_inside(tmp_path: Path) -> None:
    run, into = hostile_run(tmp_path / "run", "http://127.0.0.1:9"), tmp_path / "br"
    assert main(["report", str(run), "--br", str(into)]) == 0
    jsonschema.validate(json.loads((into / "agent_reliability.json").read_text()), SCHEMA)
    for path in into.glob("*.yaml"):
        package.import_benchmark_report(str(path))
        assert "\x1b" not in path.read_text()
    (tmp_path / "file").write_text("mine")
    assert main(["report", str(run), "--br", str(tmp_path / "file")]) == 2
