"""What is said of a run: the same words in every output, and nothing that its figures do not hold."""

import csv
import html
import io
import math
import re
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from replayer.journal.events import (
    LaneReady,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    TurnStarted,
)
from replayer.journal.log import JournalWriter
from replayer.journal.progress import attempts_so_far
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.report.csv import csv_report
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.junit import junit_report
from replayer.report.markdown import markdown_report
from replayer.report.table import print_report
from replayer.text import markdown as words
from tests.journals import rewrite
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, Any]] = {"a": {}, "b": {}}


def terminal(folder: Path, width: int = 200) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    print_report(run_figures(load(folder)), console)
    return console.export_text()


def finished(path: Path, *, faulty: int = 0, turns: int = 6) -> Folder:
    made = Folder(path, LANES, turns=turns)
    for turn in range(turns):
        made.turn("a", turn)
        made.turn("b", turn, faults=("unknown_tool",) if turn < faulty else ())
    for lane in LANES:
        made.add(SessionFinished(session=f"{lane}/session/0", attempt=1, outcome="done"))
    return made


def test_every_output_prints_the_same_sentences(tmp_path: Path) -> None:
    made = finished(tmp_path / "run", faulty=4)
    made.journal.close()
    found = run_figures(load(made.path)).conclusions
    evidence = gather([made.path])
    flat = " ".join(terminal(made.path, 4000).split())
    page = html.unescape(re.sub(r"<[^>]+>", "", html_report(evidence)))
    markdown = markdown_report(evidence)
    junit = junit_report(evidence)
    assert found.sentences()
    for sentence in found.sentences():
        assert sentence in flat
        assert sentence in page
        assert words(sentence) in markdown
        assert sentence in junit
    for said in (found.story.headline, *(answer.words for answer in found.story.below())):
        assert said in flat.partition("recorded history")[0], "the story stands before every figure"
        assert said.replace("`", "") in page.partition("Every figure")[0]
        assert words(said) in markdown.partition("\n|")[0]
    assert [lane.verdict for lane in found.lanes] == ["sound", "faults"]


def test_below_six_sessions_nobody_is_better(tmp_path: Path) -> None:
    made = finished(tmp_path / "run", faulty=6)
    made.journal.close()
    document = run_figures(load(made.path))
    assert not any(pair.decided or pair.winner for pair in document.comparisons)
    assert all(pair.p_value is None for pair in document.comparisons)
    every = " ".join(document.conclusions.sentences())
    assert "is better" not in every and "is worse" not in every
    assert "not tested, 1 session of at least 6" in every


def test_no_interval_has_no_width(tmp_path: Path) -> None:
    made = finished(tmp_path / "run", faulty=2)
    made.journal.close()
    for pair in run_figures(load(made.path)).comparisons:
        assert (pair.low is None) == (pair.high is None)
        assert pair.low is None or pair.high is None or pair.low < pair.high, pair.metric


def test_an_interrupted_run_reports_what_it_finished(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    for turn in range(4):
        made.turn("a", turn, faults=("unknown_tool",) if turn == 2 else ())
    made.add(TurnStarted(**made.where("a", 4), recorded_turn=4, body_bytes=1, wall=1.0))
    made.journal.close()
    document = run_figures(load(made.path))
    lane = document.lanes[0]
    assert (lane.turns, lane.sessions, lane.partial_sessions, lane.missing_sessions) == (4, 0, 1, 1)
    assert lane.usable_turn_rate.value == 0.75 and lane.ttft_ms.n == 4
    a, b = document.conclusions.lanes
    assert a.verdict == b.verdict == "unfinished"
    assert a.missing == (
        "Partial: 0 of 1 sessions were replayed to their end, 1 partly (their finished turns are counted)."
    )
    root = ElementTree.fromstring(junit_report(gather([made.path])).encode())
    skipped = root.find("testsuite[@name='a']/testcase/skipped")
    assert skipped is not None and skipped.get("message") == "partial: 4 of 6 turns finished"


def test_requests_that_reached_no_engine_are_no_replies_and_their_sessions_are_run_again(
    tmp_path: Path,
) -> None:
    made = Folder(tmp_path / "run", LANES)
    gone = {
        "fault": {"kind": "unreachable", "message": "refused", "status": None, "body": None}, "usage": None,
        "usage_source": "none", "ttft_ns": None, "tool_calls": [], "content": "", "arrivals": "", "deltas": 0,
    }  # fmt: skip
    made.turn("a", 0)
    for turn in (1, 2, 3):
        made.turn("a", turn, faults=("engine_error",), **gone)
    made.add(SessionFinished(session="a/session/0", attempt=1, outcome="unreachable"))
    made.journal.close()
    lane = run_figures(load(made.path)).lanes[0]
    assert (lane.turns, lane.usable_turn_rate.n, lane.usable_turn_rate.value) == (1, 1, 1.0)
    assert (
        lane.errors == {"unreachable": 3} and lane.unreached_turns == 3 and "engine_error" not in lane.faults
    )
    assert (lane.sessions, lane.missing_sessions) == (0, 1)
    assert "a/session/0" not in attempts_so_far(made.path).done


def test_a_gate_that_allows_unusable_turns_keeps_junit_green(tmp_path: Path) -> None:
    for gate, red in (("usable_turn_rate < 0.5", False), ("usable_turn_rate < 0.9", True)):
        path = tmp_path / gate.replace(" ", "")
        made = finished(path, faulty=2)
        reasons = ["b: usable turns 66.7% (limit 90.0%)"] if red else []
        made.add(RunFinished(exit_code=int(red), reasons=reasons))
        made.journal.close()
        rewrite(path / "journal.jsonl", partial(gated, gate))
        root = ElementTree.fromstring(junit_report(gather([path])).encode())
        assert (root.get("failures"), root.get("errors")) == (str(int(red)), "0")
        told = root.find("testsuite[@name='b']/testcase/system-out")
        assert told is not None and "turn 1: unknown_tool" in (told.text or "")


def gated(gate: str, line: dict[str, Any]) -> dict[str, Any]:
    return line | {"plan": line["plan"] | {"fail_if": [gate]}} if line["type"] == "run_started" else line


def test_a_session_that_the_plan_cut_is_not_unfinished_work(tmp_path: Path) -> None:
    for limit, value in ((3, None), (None, 0.0)):
        path = tmp_path / f"run{limit}"
        path.mkdir()
        writer = JournalWriter(path)
        plan = {
            "traces": ["t"],
            "lane": [{"name": "a"}],
            "mode": "live",
            "tools": "sandbox",
            "repeat": 1,
            "max_turns": limit,
        }
        writer.append(RunStarted(run_id="r", wall=0, version="1", plan=plan, turns={"t": 3}))
        writer.append(LaneReady(lane="a", kind="vllm", model="m", base_url="", facts={}, settings={}))
        where = {"session": "a/t/0", "attempt": 1}
        writer.append(
            SessionStarted(
                **where,
                lane="a",
                trace="t",
                repeat=0,
                turns=3,
                mode="live",
                tools="sandbox",
                cache_reset="no",
            )
        )
        writer.append(SessionFinished(**where, outcome="budget", check={"passed": False}))
        writer.close()
        found = run_figures(load(path)).lanes[0].finished_sessions
        assert (found.value if found else None) == value


def test_a_collapse_that_was_left_running_wastes_to_its_end(tmp_path: Path) -> None:
    from replayer.journal.events import Alarm

    made = Folder(tmp_path / "run", LANES)
    finding = {"kind": "cycle", "level": "collapsed", "channel": "content", "call_index": -1, "onset": 400,
               "detected_at": 540, "period": 7, "unit": "(Sigh) ", "wasted_chars": 140, "confidence": 1.0, "note": None}  # fmt: skip
    made.add(TurnStarted(**made.where("a", 0), recorded_turn=0, body_bytes=1, wall=1.0))
    made.add(Alarm(**made.where("a", 0), signal="repetition", version=1, finding=finding, stopped=False))
    usage = {"prompt_tokens": 10, "cached_tokens": 0, "completion_tokens": 2000}
    made.turn("a", 0, start=False, content="x" * 8000, tool_calls=[], finish_reason="length", usage=usage,
              faults=("collapsed",))  # fmt: skip
    made.journal.close()
    found = run_figures(load(made.path)).lanes[0].repetition
    assert found.wasted_tokens == 1900, "of 8,000 characters 7,600 came after the onset"
    assert found.observed_turns == 1
    assert "1 left running" in terminal(made.path)


def test_deltas_of_one_chunk_are_no_latency(tmp_path: Path) -> None:
    from replayer.journal.packing import pack

    made = Folder(tmp_path / "run", LANES)
    arrivals = [50_000_000 + 10_000_000 * (n // 4) + n % 4 for n in range(40)]
    made.turn("a", 0, arrivals=pack(arrivals), deltas=40)
    made.journal.close()
    lane = run_figures(load(made.path)).lanes[0]
    assert lane.itl_ms.p50 == pytest.approx(10, rel=0.01)
    assert "per chunk" in terminal(made.path)


def test_a_reply_that_comes_in_one_read_has_no_speed(tmp_path: Path) -> None:
    """Forty tokens within 0.4 ms: 100,000 a second are no engine's. The others' speed is as without it."""
    from replayer.journal.packing import pack

    made, alone = (Folder(tmp_path / name, {"a": {}}) for name in ("run", "alone"))
    arrivals = [50_000_000 + 10_000 * n for n in range(40)]
    usage = {"prompt_tokens": 900, "cached_tokens": 0, "completion_tokens": 40}
    at_once = {
        "arrivals": pack(arrivals),
        "ttft_ns": arrivals[0],
        "total_ns": arrivals[-1],
        "deltas": 40,
        "usage": usage,
    }
    for turn in range(4):
        made.turn("a", turn, **(at_once if turn == 2 else {}))
        alone.turn("a", turn)
    alone.journal.close()
    made.journal.close()
    with_it, without = (run_figures(load(folder.path)).lanes[0] for folder in (made, alone))
    assert (with_it.ttft_ms.n, with_it.decode_tok_s.n, with_it.tpot_ms.n) == (4, 3, 3)
    assert with_it.decode_tok_s.value == pytest.approx(without.decode_tok_s.value, rel=0.02)
    assert (with_it.decode_tok_s.p99 or math.inf) < 1000
    rows = [row["decode_tok_s"] for row in csv.DictReader(io.StringIO(csv_report(gather([made.path]))))]
    assert [bool(speed) for speed in rows] == [True, True, False, True]
    shown = load(made.path).lanes[0].attempts[0].turns
    assert [turn for turn in shown if shown[turn].decode_tok_s is None] == [2], (
        "what the screen shows of a turn"
    )


def test_one_reply_that_makes_the_speed_is_named(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    made.turn("a", 0, total_ns=91_000_000_000)
    for turn in range(1, 6):
        made.turn("a", turn)
    made.journal.close()
    (lane, _) = run_figures(load(made.path)).conclusions.lanes
    assert "One reply (turn 1 of session) took 91.0 s" in lane.words


def test_turns_that_this_machine_stalled_are_in_no_time(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    for turn in range(4):
        made.turn("a", turn, lag_ns=6_000_000 if turn == 3 else 0)
    made.journal.close()
    lane = run_figures(load(made.path)).lanes[0]
    assert (lane.ttft_ms.n, lane.e2e_ms.n, lane.decode_tok_s.n, lane.stalled_turns) == (3, 3, 3, 1)
    assert lane.usable_turn_rate.n == 4
    assert "this machine was too busy during 1 turns: their times are left out" in terminal(made.path)


def test_long_model_names_leave_room_for_the_figures(tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        path = tmp_path / name
        made = finished(path)
        made.journal.close()
        long = f"some-organisation/a-very-long-name-of-a-model-with-all-its-quantisation-{name}"
        rewrite(
            path / "journal.jsonl",
            lambda line, long=long: line | {"model": long} if line["type"] == "lane_ready" else line,
        )
        paths.append(path)
    from replayer.journal.several_runs import load_several

    console = Console(width=100, record=True, file=io.StringIO())
    print_report(run_figures(load_several(paths)), console)
    table = console.export_text().partition("Models and engines")[2].partition("└")[0]
    assert len(table.splitlines()) < 30
    assert all(
        len(cell.strip()) > 1 for cell in re.findall(r"│([^│\n]+)", table) if cell.strip() not in ("", "–")
    )
