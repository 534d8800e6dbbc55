"""Reports of journals that hold more than this version knows, and of lanes whose speed falls into bands."""

from pathlib import Path
from typing import Any

from replayer.journal.events import (
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
)
from replayer.journal.log import JournalWriter
from replayer.journal.packing import pack
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.markdown import markdown_report


def one_lane(folder: Path, speeds: list[float], prefix: dict[str, Any]) -> Path:
    """A run of one session: a reply of 101 tokens at each speed (tokens/s), and a prefix finding with each."""
    folder.mkdir()
    writer = JournalWriter(folder)
    plan = {"traces": ["t"], "lane": [{"name": "a"}], "mode": "recorded", "tools": "recorded", "repeat": 1}
    writer.append(RunStarted(run_id="r", wall=0, version="9", plan=plan, turns={"t": len(speeds)}))
    writer.append(
        SessionStarted(session="a/t/0", attempt=1, lane="a", trace="t", repeat=0, turns=len(speeds), mode="recorded",
                    tools="recorded", cache_reset="yes")
    )  # fmt: skip
    for number, speed in enumerate(speeds):
        where: dict[str, Any] = {"session": "a/t/0", "attempt": 1, "turn": number}
        writer.append(TurnStarted(**where, recorded_turn=number, body_bytes=1, wall=float(number)))
        gap = int(1e9 / speed)
        arrivals = [10**6 + gap * at for at in range(101)]
        writer.append(
            TurnFinished(**where, content="x", reasoning="", tool_calls=[], finish_reason="stop", usage_source="usage",
                         usage={"prompt_tokens": 100, "cached_tokens": 10, "completion_tokens": 101}, done=True,
                         fault=None, retries=0, headers_ns=1, ttft_ns=arrivals[0], total_ns=arrivals[-1],
                         arrivals=pack(arrivals), deltas=101)
        )  # fmt: skip
        writer.append(VerdictGiven(**where, usable=True, faults=[]))
        finding = {"key": f"a/t/0/{number}", "prompt_tokens": 100, "ideal_tokens": 90} | prefix
        writer.append(SignalFinding(**where, signal="prefix_reuse", version=99, finding=finding))
    writer.append(SessionFinished(session="a/t/0", attempt=1, outcome="done"))
    writer.append(RunFinished(exit_code=0))
    writer.close()
    return folder


def test_an_unknown_cause_is_shown_as_it_is(tmp_path: Path) -> None:
    run = one_lane(
        tmp_path / "run", [100.0] * 3, {"cause": "gremlins", "lost_tokens": 80, "moon_phase": "full"}
    )
    prefix = run_figures(load(run)).lanes[0].prefix_cache
    assert prefix.cause == "gremlins"
    assert prefix.verdict == (
        "every request since turn 1 falls short: gremlins; 80 of 100 prompt tokens are recomputed each turn."
    )
    assert "Chief cause: gremlins" in html_report(gather([run]))


def test_bands_are_named_and_drawn(tmp_path: Path) -> None:
    run = one_lane(
        tmp_path / "run", [60.0 + n % 3 / 10 if n % 2 else 120.0 + n % 3 / 10 for n in range(24)], {}
    )
    words = "Its decode speed falls into separate bands around 60 and 120 tok/s"
    assert words in markdown_report(gather([run]))
    page = html_report(gather([run]))
    assert words in page and "2 speed bands" in page
