"""`report --rejudge`: today's rules over the raw facts of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journals import rewrite
from tests.run.test_runs import replayer

FAULTS = (
    "missing_parameter:turn=0", "leaked_markup:turn=1", "collapse:turn=2:at=40", "bad_call_id:turn=3", "500:turn=4",
    "silent_drop:turn=5", "truncated:turn=6",
)  # fmt: skip


def tampered(event: dict[str, Any]) -> dict[str, Any]:
    """As an older version might have judged: no fault ever found, no collapse noticed."""
    if event["type"] == "verdict":
        event |= {"usable": True, "faults": []}
    if event["type"] == "alarm":
        event["finding"] = event["finding"] | {"level": "noted"}
    return event


def without_expectation(document: dict[str, Any]) -> dict[str, Any]:
    """A report less how much reuse was possible: judged again, an estimate of tokens knows the whole run's usage."""
    for lane in document["lanes"]:
        cache = lane["prefix_cache"]
        lane["prefix_cache"] = {
            key: cache[key] for key in ("reported", "source", "cause", "causes", "evicted")
        }
        del lane["figures"]["prefix_ideal"]
        for row in (*lane["by_prompt"], *lane["by_turn"]):
            del row["prefix_ideal"]
    for lane in document["conclusions"]["lanes"]:
        assert lane.pop("reuse") in lane["words"]
        lane["words"] = lane["words"].partition(" Its prefix cache")[0]
    for answer in document["conclusions"]["story"]["answers"]:
        answer["words"] = answer["words"].partition(" (best possible")[0]
    return document


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["recorded", "live"])
def test_todays_rules_find_what_an_older_version_missed(tmp_path: Path, mode: str) -> None:
    run = tmp_path / "run"
    engine = "a=simulated,kind=sglang," + ",".join(f"fault={fault}" for fault in FAULTS)
    replayer("run", "--trace", "django-reservations", "--engine", engine, "--mode", mode, "--tools", "recorded",
             "--max-turns", "9", "--differential", "--out", run, "--plain")  # fmt: skip
    before = json.loads(replayer("report", run, "--json").stdout)
    assert before["lanes"][0]["faults"]
    same = replayer("report", run, "--json", "--rejudge")
    turns = before["lanes"][0]["turns"]
    assert same.stderr == f"run: {turns} replies judged again, 0 verdicts changed\n"
    assert without_expectation(json.loads(same.stdout)) == without_expectation(before)
    rewrite(run / "journal.jsonl", tampered)
    older = json.loads(replayer("report", run, "--json").stdout)
    assert not older["lanes"][0]["faults"]
    again = replayer("report", run, "--json", "--rejudge", "--html", tmp_path / "page.html")
    assert "0 verdicts changed" not in again.stderr
    assert json.loads(again.stdout)["lanes"][0]["faults"] == before["lanes"][0]["faults"]
    assert json.loads(replayer("report", run, "--json").stdout) == older


@pytest.mark.slow
def test_an_audit_is_judged_again_from_its_traces(tmp_path: Path) -> None:
    run = tmp_path / "audited"
    replayer("audit", "first-look", "--out", run)
    before = replayer("report", run, "--json").stdout
    again = replayer("report", run, "--json", "--rejudge")
    assert again.stderr == "audited: 5 replies judged again, 0 verdicts changed\n"
    assert json.loads(again.stdout) == json.loads(before)
    rewrite(
        run / "journal.jsonl",
        lambda event: event | {"usable": False} if event["type"] == "verdict" else event,
    )
    assert "5 verdicts changed" in replayer("report", run, "--rejudge", "--json").stderr
