"""`report --rejudge`: today's rules over the raw facts of a run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journals import rewrite
from tests.run.test_runs import replayer, wait_for_turns

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


@pytest.mark.slow
def test_a_resumed_run_is_judged_again_with_the_reset_of_its_second_process(tmp_path: Path) -> None:
    """The turns that the killed process had in flight never end: the reset after them empties the cache all the same."""
    simulate = [sys.executable, "-m", "replayer", "simulate", "--port", "0", "--ttft-ms", "100"]
    with subprocess.Popen(simulate, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        lane = f"a={server.stdout.readline().strip()}"
        run = [sys.executable, "-m", "replayer", "run", "--trace", "first-look", "--engine", lane, "--repeat", "3",
               "--concurrency", "2", "--max-lag", "60000", "--out", str(tmp_path)]  # fmt: skip
        killed = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_turns(tmp_path, 3)
        killed.kill()
        killed.wait()
        resumed = replayer("resume", tmp_path, "--json")
        server.terminate()
    again = replayer("report", tmp_path, "--json", "--rejudge")
    caches = [json.loads(done.stdout)["lanes"][0]["prefix_cache"] for done in (resumed, again)]
    for cache in caches:
        del (
            cache["range"],
            cache["curve"],
        )  # what an estimate of tokens, instead of the server's own, makes wider
    assert caches[0] == caches[1]
