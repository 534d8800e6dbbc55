"""A run folder whose model, engine and tools say the worst that can be said to a page."""

from pathlib import Path
from typing import Any

from replayer.journal.events import (
    Alarm,
    LaneReady,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
    Warned,
)
from replayer.journal.log import JournalWriter
from replayer.journal.packing import pack


def hostile_text(canary: str) -> str:
    """Each piece would run, load or overflow if a page took it as more than text."""
    return (
        f"</pre></title></style></svg><script>parent.ran=1;document.title='ran'</script>"
        f"<img src='{canary}/image' onerror=\"document.title='ran'\"><link rel=stylesheet href='{canary}/sheet'>"
        f"<iframe src='{canary}/frame'></iframe><svg onload=\"document.title='ran'\"></svg>"
        f"<meta http-equiv=refresh content='0;url={canary}/refresh'>"
        f'" onmouseover="x" \' \x1b[2J\x1b]0;ran\x07 \u202egnp.exe\u202c {{{{7*7}}}} ' + "W" * 3000
    )


def hostile_run(folder: Path, canary: str, turns: int = 6) -> Path:
    """Two lanes; every turn of the second one is broken, and one collapses."""
    bad = hostile_text(canary)
    folder.mkdir()
    writer = JournalWriter(folder)
    lanes = [{"name": name} for name in ("good", "bad")]
    plan: dict[str, Any] = {
        "traces": ["t"],
        "lane": lanes,
        "mode": "recorded",
        "tools": "recorded",
        "repeat": 1,
    }
    writer.append(
        RunStarted(
            run_id="hostile", wall=0, version="1", plan=plan, turns={"t": turns}, environment={"host": bad}
        )
    )
    for name in ("good", "bad"):
        writer.append(
            LaneReady(
                lane=name, kind=bad, model=bad, base_url=bad, facts={"version": bad}, settings={"x": bad}
            )
        )
        _session(writer, name, turns, bad)
    writer.append(Warned(message=bad))
    writer.append(RunFinished(exit_code=1, reasons=[bad]))
    writer.close()
    return folder


def _session(writer: JournalWriter, lane: str, turns: int, bad: str) -> None:
    session = f"{lane}/t/0"
    writer.append(
        SessionStarted(session=session, attempt=1, lane=lane, trace="t", repeat=0, turns=turns, mode="recorded",
                    tools="recorded", cache_reset="yes")
    )  # fmt: skip
    for turn in range(turns):
        _turn(writer, {"session": session, "attempt": 1, "turn": turn}, lane == "good", bad)
    writer.append(SessionFinished(session=session, attempt=1, outcome="done"))


def _turn(writer: JournalWriter, where: dict[str, Any], good: bool, bad: str) -> None:
    writer.append(TurnStarted(**where, recorded_turn=where["turn"], body_bytes=10, wall=float(where["turn"])))
    if not good and where["turn"] == 0:
        finding = {"kind": "cycle", "level": "collapsed", "channel": "content", "call_index": -1, "onset": 40,
                   "detected_at": 80, "period": 20, "unit": bad[:20], "wasted_chars": 40, "confidence": 1.0, "note": None}  # fmt: skip
        writer.append(Alarm(**where, signal="repetition", version=1, finding=finding, stopped=True))
    usage = {"prompt_tokens": 100, "cached_tokens": 10 * where["turn"], "completion_tokens": 40}
    calls = [{"index": 0, "id": "1", "name": bad, "arguments": bad}]
    writer.append(
        TurnFinished(**where, content=bad, reasoning=bad, tool_calls=calls, finish_reason=bad, usage=usage,
                     usage_source="usage", done=True, fault=None, retries=0, headers_ns=1, ttft_ns=2_000_000,
                     total_ns=50_000_000, arrivals=pack([2_000_000, 9_000_000, 20_000_000, 48_000_000]), deltas=4)
    )  # fmt: skip
    fault = {
        "klass": "unknown_tool",
        "blame": "model",
        "message": bad,
        "fatal": True,
        "call_index": 0,
        "path": bad,
    }
    writer.append(VerdictGiven(**where, usable=good, faults=[] if good else [fault]))
    key = f"{where['session']}/{where['turn']}"
    ideal, reported = 12 * where["turn"], 10 * where["turn"]
    prefix = {"key": key, "prompt_tokens": 100, "ideal_tokens": ideal, "shared": ideal, "expected": ideal,
              "reported_tokens": reported, "source": "usage", "gap": ideal - reported, "cause": "clock_or_date",
              "lost_tokens": ideal - reported, "detail": bad, "excerpt_before": bad, "excerpt_after": bad}  # fmt: skip
    writer.append(SignalFinding(**where, signal="prefix_reuse", version=1, finding=prefix))
