"""A run of 100,000 turns, a fifth of them broken: every fault is in the page, and the page stays under 10 MB."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.events import (
    RunStarted,
    SessionFinished,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
)
from replayer.journal.log import JournalWriter
from replayer.journal.packing import pack
from replayer.report.evidence import gather
from replayer.report.html import html_report

SESSIONS, TURNS = 100, 500
FAULT = {"klass": "unknown_tool", "blame": "model", "message": "no tool of that name was offered; nearest is 'grep'",
         "fatal": True, "call_index": 0, "path": ""}  # fmt: skip
TEXT = "\n".join(f"line {number} of an answer that is as long as answers are" for number in range(25))


def large_run(folder: Path) -> Path:
    folder.mkdir()
    writer = JournalWriter(folder)
    traces = {f"t{number:03}": TURNS for number in range(SESSIONS)}
    plan: dict[str, Any] = {
        "traces": list(traces),
        "lane": [{"name": name} for name in "ab"],
        "mode": "recorded",
    }
    writer.append(
        RunStarted(
            run_id="large", wall=0, version="1", plan=plan | {"tools": "recorded", "repeat": 1}, turns=traces
        )
    )
    arrivals = pack([2_000_000, 9_000_000, 20_000_000])
    for lane in "ab":
        for trace in traces:
            key = {"session": f"{lane}/{trace}/0", "attempt": 1}
            writer.append(SessionStarted(**key, lane=lane, trace=trace, repeat=0, turns=TURNS, mode="recorded",
                                         tools="recorded", cache_reset="yes"))  # fmt: skip
            for turn in range(TURNS):
                where = {**key, "turn": turn}
                bad = lane == "b" and turn % 5 < 2
                usage = {"prompt_tokens": 1000 + turn, "cached_tokens": 900, "completion_tokens": 40}
                writer.append(TurnStarted(**where, recorded_turn=turn, body_bytes=1, wall=float(turn)))
                writer.append(
                    TurnFinished(**where, content=TEXT, reasoning="", tool_calls=[], finish_reason="stop", usage=usage,
                                 usage_source="usage", done=True, fault=None, retries=0, headers_ns=1, ttft_ns=2_000_000,
                                 total_ns=50_000_000, arrivals=arrivals, deltas=3)
                )  # fmt: skip
                writer.append(VerdictGiven(**where, usable=not bad, faults=[FAULT] if bad else []))
            writer.append(SessionFinished(**key, outcome="done"))
    writer.close()
    return folder


@pytest.mark.slow
def test_a_hundred_thousand_turns_stay_under_ten_megabytes(tmp_path: Path) -> None:
    page = html_report(gather([large_run(tmp_path / "run")]))
    assert len(page.encode()) < 10_000_000
    data = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )  # type: ignore[index]
    assert sum(row[4] == 2 for row in data["rows"]) == SESSIONS * TURNS * 2 // 5
    assert data["left_out"] == 2 * SESSIONS * TURNS - len(data["rows"]) > 0
    quotes = [quote for quote in data["quotes"].values() if quote.get("faults")]
    assert len(quotes) == SESSIONS * TURNS * 2 // 5
    assert sum("said" in quote for quote in quotes) > 2_000
