"""Repetition collapse in whole runs against a simulated engine: journalled at once, stopped, text kept, tokens counted."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from replayer.cli import main
from replayer.journal.events import Alarm, TurnFinished
from replayer.journal.log import read
from tests.run.test_headers import Server

LIMIT = 400


def run(folder: Path, *extra: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "replayer", "run", "--trace", "fix-failing-test", "--json"]
    lane = ["--engine", "a=simulated,fault=collapse,tok_s=2000", "--out", str(folder)]
    done = subprocess.run(
        [*command, *lane, *extra], capture_output=True, text=True, timeout=300, cwd=folder.parent
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return dict(report["lanes"][0]["repetition"])


def test_a_collapse_is_stopped_and_what_that_saved_is_bounded(tmp_path: Path) -> None:
    figures = run(tmp_path / "run", "--max-tokens", str(LIMIT), "--repeat", "2")
    events = list(read(tmp_path / "run"))
    alarms = {(e.session, e.turn): e for e in events if isinstance(e, Alarm)}
    finished = {(e.session, e.turn): e for e in events if isinstance(e, TurnFinished)}
    stopped = {key: finished[key] for key, alarm in alarms.items() if alarm.stopped}
    ran_on = {key: finished[key] for key, alarm in alarms.items() if not alarm.stopped}
    assert figures["collapsed_turns"] == len(alarms) == 16
    assert figures["stopped_turns"] == len(stopped) > len(ran_on) > 0
    for key, turn in stopped.items():
        alarm = alarms[key]
        assert turn.stopped_by_us == alarm.signal == "repetition"
        assert len(turn.content) > alarm.finding["onset"] > 0, (
            "the text is kept, the sound part before the onset too"
        )
    assert {turn.finish_reason for turn in ran_on.values()} == {"length"}
    spent = [(turn.usage or {}).get("completion_tokens") or turn.deltas for turn in stopped.values()]
    assert figures["saved_tokens_at_most"] == sum(LIMIT - tokens for tokens in spent) > 0


def test_without_a_limit_nobody_knows_what_was_saved(tmp_path: Path) -> None:
    assert run(tmp_path / "run", "--max-turns", "3")["saved_tokens_at_most"] is None


def test_a_loop_far_inside_one_huge_delta_is_found_where_it_is(tmp_path: Path) -> None:
    """Signals look at megabytes in pieces, so that a reply's limit can fall between two of them."""
    sound = " ".join(f"{number:x}" for number in random.Random(4).choices(range(1 << 40), k=20_000))
    with Server() as server:
        server.says = sound + " and so it goes on" * 200
        engine = f"a=http://127.0.0.1:{server.port}/v1"
        words = ["--trace", "first-look", "--max-turns", "1", "--engine", engine, "--max-lag", "60000"]
        main(["run", "--plain", *words, "--out", str(tmp_path / "run")])
    alarms = [event for event in read(tmp_path / "run") if isinstance(event, Alarm)]
    assert alarms[-1].finding["level"] == "collapsed" and alarms[-1].stopped
    assert all(len(sound) <= alarm.finding["onset"] < len(sound) + 40 for alarm in alarms)
