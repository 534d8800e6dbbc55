"""Sessions that are kept alive, or that arrive by themselves; figures of the steady window, held against the journal."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from replayer.cli import main
from replayer.journal.events import (
    LoadEnded,
    Primed,
    RunStarted,
    SessionFinished,
    SessionStarted,
    TurnStarted,
)
from replayer.journal.log import read
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.metrics.steady import EQUAL
from replayer.plan.load_shape import LoadShape, coming
from replayer.simulated import Launched
from replayer.traces.library import find
from replayer.traces.reader import Trace
from tests.run.load_journal import Load
from tests.servers import Start

SHORT = ("--trace", "first-look", "--trace", "fix-failing-test")
ENGINE = ("--engine", "a=simulated,tok_s=2000,ttft_ms=5")


def run(out: Path, *arguments: str | Path, code: int = 0) -> None:
    words = ["run", "--plain", "--max-lag", "60000", "--out", str(out), *map(str, arguments)]
    assert main(words) == code


def lane(folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", str(folder), "--json", *flags]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["lanes"][0]
    return found


def check_against_the_journal(folder: Path, found: dict[str, Any], warm_up: float = 0.0) -> Load:
    """Every figure of the load that the report has, from the journal's own lines."""
    load, steady = Load(folder, "a"), found["steady"]
    window = load.window(warm_up)
    near = lambda value: pytest.approx(value, rel=1e-6, abs=1e-6)  # noqa: E731
    assert [tuple(span) for span in steady["window"]] == [(near(low), near(high)) for low, high in window]
    assert steady["window_s"] == near(sum(high - low for low, high in window))
    assert all(count == load.alive(at) for at, count in steady["alive"] if at < load.length)
    assert steady["started"] == len(load.sessions)
    assert steady["load"]["output_tok_s"] == near(load.output_tok_s(window))
    assert steady["load"]["requests"] == len(load.sent_within(window))
    by_turn = load.by_turn(window)
    assert [part["of"] for part in steady["by_turn"]] == [
        name for name in ("1", "2-5", "6-20", "21+") if name in by_turn
    ]
    for part in steady["by_turn"]:
        own = by_turn[part["of"]]
        assert part["turns"] == own["turns"]
        assert part["usable_turn_rate"]["value"] == near(own["usable"])
        assert (part["ttft_ms"]["p50"], part["ttft_ms"]["p95"]) == (near(own["p50"]), near(own["p95"]))
        assert part["prefix_reuse"] == near(own["reused"])
    return load


def to_law(times: list[float], rate: float) -> float:
    """Kolmogorov's distance of the gaps between times to those of a Poisson process."""
    law = sorted(1 - math.exp(-rate * (high - low)) for low, high in zip([0.0, *times], times, strict=False))
    n = len(law)
    return max(max((k + 1) / n - f, f - k / n) for k, f in enumerate(law))


def check_starts(load: Load, due: list[float]) -> None:
    """Sessions start when they were due and as late as is recorded. A pause of this machine between the two looks at
    the clock may part one of them from its time, never most of them."""
    asked = sorted(load.asked_at.values())
    assert asked, "some have come"
    assert median(abs(at - time) for at, time in zip(asked, due, strict=True)) < EQUAL


def test_sessions_are_kept_alive_and_recycled_with_fresh_prompts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", *SHORT, *ENGINE, "--sessions", "3", "--duration", "1", "--ramp", "0.1")
    found = lane(tmp_path / "run", capsys)
    load = check_against_the_journal(tmp_path / "run", found)
    events = list(read(tmp_path / "run"))
    assert [event.outcome for event in events if isinstance(event, LoadEnded)] == ["duration"]
    assert load.length > 0.95
    starts = [event for event in events if isinstance(event, SessionStarted)]
    assert len({event.tag for event in starts}) == len(starts) > 3, "each has a mark of its own"
    assert max(load.alive(at / 100) for at in range(100)) == 3
    [first, *_] = found["steady"]["by_turn"]
    assert first["prefix_reuse"] == 0, "nothing is cached by accident"
    assert found["steady"]["arrivals"]["distance"] <= load.later_than(EQUAL)
    assert (found["missing_sessions"], found["steady"]["outcome"]) == (0, "duration")
    assert main(["report", str(tmp_path / "run"), "--markdown", str(tmp_path / "r.md")]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    for words in (capsys.readouterr().out, (tmp_path / "r.md").read_text()):
        assert "Load, steady window" in words and "By turn, steady window" in words


@pytest.mark.slow
def test_without_a_duration_each_session_is_replayed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", *SHORT, "--engine", "a=simulated", "--sessions", "2", "--repeat", "2")
    found = lane(tmp_path / "run", capsys)
    assert (found["sessions"], found["turns"]) == (4, 26)
    assert found["steady"]["outcome"] == "done"


@pytest.mark.slow
def test_sessions_arrive_at_random_or_as_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "p", *SHORT, *ENGINE, "--arrivals", "poisson:20", "--duration", "2", "--seed", "3")
    found = lane(tmp_path / "p", capsys)["steady"]
    check_against_the_journal(tmp_path / "p", lane(tmp_path / "p", capsys))
    load = Load(tmp_path / "p", "a")
    at = sorted(one["from"] for one in load.sessions.values())
    assert found["arrivals"]["distance"] == pytest.approx(to_law(at, 20), abs=1e-6)
    plan = LoadShape(arrivals="poisson:20", duration=2)
    drawn = islice(coming(plan, SHORT[1::2], seed=3, repeat=1), 60)
    due = [session.after or 0.0 for session in drawn]
    check_starts(load, due[: len(at)])
    assert to_law(due, 20) < 1.358 / math.sqrt(len(due)), "they come as a Poisson process of this rate"

    lines = [
        {"timestamp": 150 * number, "input_length": 600, "output_length": 4, "hash_ids": [0, number]}
        for number in range(8)
    ]
    (tmp_path / "moon.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["import", str(tmp_path / "moon.jsonl"), "-o", str(tmp_path)]) == 0
    run(tmp_path / "r", "--trace", tmp_path / "moon.trace.jsonl", *ENGINE, "--arrivals", "recorded")
    found = lane(tmp_path / "r", capsys)["steady"]
    check_starts(Load(tmp_path / "r", "a"), [0.15 * number for number in range(8)])
    assert (found["started"], found["ended"], found["arrivals"]["n"]) == (8, 8, 8)


@pytest.mark.slow
def test_a_session_may_start_at_a_seeded_turn_with_its_prefix_in_the_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (
        *SHORT,
        "--engine",
        "a=simulated",
        "--sessions",
        "4",
        "--start",
        "seeded",
        "--repeat",
        "3",
        "--seed",
        "1",
    )
    run(tmp_path / "run", *arguments)
    run(tmp_path / "again", *arguments)
    starts: dict[str, dict[str, int]] = {}
    for name in ("run", "again"):
        events = list(read(tmp_path / name))
        starts[name] = {e.session: e.first_turn for e in events if isinstance(e, SessionStarted)}
        primed = {e.session for e in events if isinstance(e, Primed)}
        assert primed == {session for session, turn in starts[name].items() if turn}
        for session, turn in starts[name].items():
            sent = [e.turn for e in events if isinstance(e, TurnStarted) and e.session == session]
            length = len(Trace.open(find(session.split("/")[1])).turns)
            assert sent == list(range(turn, length))
    assert starts["run"] == starts["again"] and len(set(starts["run"].values())) > 2
    found = lane(tmp_path / "run", capsys)
    assert found["turns"] == sum(1 for e in read(tmp_path / "run") if isinstance(e, TurnStarted)), (
        "priming is in no figure"
    )
    assert found["server"]["foreign_tokens"]["prompt"] == pytest.approx(0, abs=300), (
        "and not foreign to the server"
    )
    again = lane(tmp_path / "run", capsys, "--rejudge")
    assert again["prefix_cache"]["ideal"] == found["prefix_cache"]["ideal"], (
        "the cache learns from priming again"
    )


def test_a_pause_is_as_recorded_but_never_longer_than_the_cap(tmp_path: Path) -> None:
    run(
        tmp_path / "run",
        "--trace",
        "first-look",
        "--engine",
        "a=simulated",
        "--timing",
        "recorded",
        "--idle-cap",
        "0.2",
    )
    load = Load(tmp_path / "run", "a")
    turns = [turn for _, turn in sorted(load.turns.items())]
    recorded = Trace.open(find("first-look")).turns
    shorter = []
    for before, after, was, then in zip(turns, turns[1:], recorded, recorded[1:], strict=False):
        assert was.times and then.times and was.times.ended and then.times.started
        pause = after["sent"] - before["sent"] - before["total_ns"] / 1e9
        asked = then.times.started - was.times.ended
        assert asked > 0.3 and pause > 0.19
        shorter.append(pause < asked)
    assert any(shorter), "where this machine did not pause itself"


@pytest.mark.slow
async def test_a_load_whose_server_is_gone_ends_and_says_so(tmp_path: Path, start: Start) -> None:
    server: Launched = await start(tok_s=300)
    words = (
        "run", "--plain", *SHORT, "--engine", f"a={server.base_url}", "--sessions", "2", "--duration", "60",
        "--server-timeout", "2", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    going = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "replayer", *words, stderr=asyncio.subprocess.PIPE
    )
    journal = tmp_path / "run" / "journal.jsonl"
    while not (journal.exists() and b'"turn_finished"' in journal.read_bytes()):
        await asyncio.sleep(0.1)
    await server.stop()
    _, errors = await asyncio.wait_for(going.communicate(), 300)
    assert b"its server is gone" in errors and going.returncode == 1
    (lane,) = run_figures(load(tmp_path / "run")).conclusions.lanes
    assert lane.verdict == "unfinished" and "since its server was gone" in lane.words
    events = list(read(tmp_path / "run"))
    assert [event.outcome for event in events if isinstance(event, LoadEnded)] == ["server_gone"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--arrivals", "poisson:0"), "closed, recorded or poisson:RATE"),
        (("--sessions", "2", "--duration", "5", "--repeat", "2"), "recycles its sessions"),
        (("--sessions", "2", "--duration", "5", "--load-warm-up", "5"), "not shorter than its duration"),
        (("--set", "load.sesions=3"), "did you mean 'sessions'"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(
    flags: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", *SHORT, *ENGINE, *flags, code=2)
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_a_load_that_was_cut_off_is_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "run", *SHORT, *ENGINE, "--sessions", "2", "--duration", "1")
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    ended = next(n for n, line in enumerate(lines) if b'"load_ended"' in line)
    journal.write_bytes(b"".join(lines[: ended - 3]))
    assert main(["resume", str(tmp_path / "run"), "--plain"]) == 0
    found = lane(tmp_path / "run", capsys)
    assert found["steady"]["outcome"] == "duration" and found["steady"]["load_s"] > 0.9
    assert found["steady"]["load"]["requests"] > 5


@pytest.mark.slow
def test_shipped_sessions_for_a_while_with_recorded_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("fix-failing-test", "flaky-service", "front-end-change", "tools-stress", "first-look")
    traces = [word for name in names for word in ("--trace", name)]
    flags = ("--sessions", "8", "--duration", "10", "--timing", "scaled:0.1", "--load-warm-up", "1")
    run(tmp_path / "run", *traces, *ENGINE, *flags)
    found = lane(tmp_path / "run", capsys)
    load = check_against_the_journal(tmp_path / "run", found, warm_up=1)
    steady, late = found["steady"], sum(one["late"] for one in load.sessions.values()) / 1e9
    assert steady["alive_mean"] + late / steady["window_s"] > 7.9, (
        "none is missing but while this machine is late"
    )
    assert steady["window_s"] + late > 8.5
    assert steady["arrivals"]["distance"] <= load.later_than(EQUAL)
    replacing = sorted(load.asked_at.values())[8:]
    room = sorted(one["to"] for one in load.sessions.values() if one["to"] is not None)
    check_starts(load, [0.0] * 8 + room[: len(replacing)])
    outcomes = [e.outcome for e in read(tmp_path / "run") if isinstance(e, SessionFinished)]
    assert 4 <= outcomes.count("cut") <= 8 and load.asked == 8
    opening = next(e for e in read(tmp_path / "run") if isinstance(e, RunStarted))
    assert opening.coverage[0].startswith("load: 8 sessions alive on each lane for 10 s")
