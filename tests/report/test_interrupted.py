"""A run that is cut at any moment: report, JSON and screen agree with what the journal holds of finished turns."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy
import orjson
import pytest

from replayer.journal.view import load
from replayer.metrics.catalogue import METRICS
from replayer.metrics.figures import run_figures
from replayer.tui.source import RunSource
from tests.generate import long_session
from tests.run.test_runs import replayer, report


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for number in range(2):
        long_session(folder / f"s{number}.trace.jsonl", turns=8, tokens=900, seed=number)
    (folder / "plan.toml").write_text('traces = ["s*.trace.jsonl"]\nrepeat = 2\n')
    lanes = (
        "--engine=a=simulated,fault=unknown_tool@0.3",
        "--engine=b=simulated,kind=sglang,fault=wrong_type@0.2",
    )
    done = replayer("run", folder / "plan.toml", *lanes, "--out", folder / "run", "--json")
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.mark.parametrize("moment", range(10))
def test_report_screen_and_journal_agree_at_a_random_moment(whole: Path, tmp_path: Path, moment: int) -> None:
    text = (whole / "journal.jsonl").read_bytes()
    first = text.index(b'"turn_finished"')
    cut = random.Random(moment).randrange(first, len(text))
    folder = tmp_path / "cut"
    folder.mkdir()
    (folder / "journal.jsonl").write_bytes(text[:cut])
    events = [orjson.loads(line) for line in text[:cut].split(b"\n")[:-1]]
    document = report(folder)
    frame = RunSource(folder).poll()
    for lane in document["lanes"]:
        name = lane["lane"]
        mine = [event for event in events if str(event.get("session", "")).startswith(f"{name}/")]
        turns = [event for event in mine if event["type"] == "turn_finished"]
        faults = Counter(
            klass
            for event in mine
            if event["type"] == "verdict"
            for klass in {fault["klass"] for fault in event["faults"]}
        )
        assert (lane["turns"], lane["faults"]) == (len(turns), dict(sorted(faults.items())))
        times = [e["ttft_ns"] / 1e6 for e in turns if e["ttft_ns"] is not None and e["lag_ns"] <= 5_000_000]
        for place, share in (("p50", 0.5), ("p95", 0.95)):
            expected = float(numpy.quantile(times, share)) if times else None
            assert lane["ttft_ms"][place] == pytest.approx(expected)
        shown = frame.figures[name]
        assert json.loads(orjson.dumps(dict(shown.figures))) == lane["figures"]
        ended = {event["session"] for event in mine if event["type"] == "session_finished"}
        started = {event["session"] for event in turns}
        assert (lane["sessions"], lane["partial_sessions"]) == (len(ended), len(started - ended))
        said = next(one for one in document["conclusions"]["lanes"] if one["lane"] == name)
        assert (said["verdict"] == "unfinished") == (len(ended) < 4 or not turns)
        assert said["words"] == frame.conclusions[name].words
    assert set(METRICS) == set(document["lanes"][0]["figures"])
    assert run_figures(load(folder)).state == document["state"]
