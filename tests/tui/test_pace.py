"""The time that a lane still needs."""

import re
from pathlib import Path

import pytest

from replayer.journal.events import RunResumed, SessionStarted
from replayer.journal.view import load
from replayer.tui.pace import duration_words, seconds_left
from tests.run.test_runs import replayer
from tests.tui.pictures import Folder, app_on, picture, settled


def test_the_pause_before_a_resume_is_no_work(tmp_path: Path) -> None:
    """A turn takes 0.75 s here; the run is gone on with an hour later."""
    made = Folder(tmp_path / "run", {"a": {}}, turns=10)
    for turn in range(3):
        made.turn("a", turn)
    lane = load(made.path).lanes[0]
    before = seconds_left(lane)
    made.at += 3_600_000_000_000
    made.add(RunResumed(wall=made.at / 1e9, version="0", turns={"session": 10}))
    made.add(
        SessionStarted(
            session="a/session/0", attempt=2, lane="a", trace="session", repeat=0, turns=10,
            mode="recorded", tools="recorded", cache_reset="yes",
        )
    )  # fmt: skip
    made.attempt = 2
    made.turn("a", 0)
    assert seconds_left(load(made.path).lanes[0]) is None, "one turn tells no pace"
    for turn in (1, 2):
        made.turn("a", turn)
    assert seconds_left(load(made.path).lanes[0]) == before


@pytest.mark.slow
async def test_the_screen_says_how_long_each_lane_still_needs(tmp_path: Path) -> None:
    """A lane's turns take 0.75 s each; one turn tells no pace."""
    made = Folder(tmp_path / "run", {"a": {}, "b": {}, "c": {}}, turns=100)
    for lane, turns in (("a", 3), ("b", 1), ("c", 21)):
        for turn in range(turns):
            made.turn(lane, turn)
    app = app_on(made.path)
    async with app.run_test(size=(150, 40)) as pilot:
        await settled(pilot)
        shown = picture(app)
    assert re.findall(r"(\d+)/100 turns (?:· 0/1 sessions )?· ([^·]+) left", shown) == [
        ("3", "1 min 13 s"),
        ("1", "–"),
        ("21", "59 s"),
    ]


@pytest.mark.slow
def test_plain_progress_says_how_long_the_lane_still_needs(tmp_path: Path) -> None:
    """A reply waits 0.5 s for its first token, so that n turns need n halves at least; a machine that is busy needs more."""
    engine = "a=simulated,ttft_ms=500,tok_s=50000"
    command = [
        "run",
        "--trace",
        "flaky-service",
        "--max-turns",
        "12",
        "--engine",
        engine,
        "--max-lag",
        "60000",
    ]
    done = replayer(*command, "--out", tmp_path / "run", "--plain")
    lines = re.findall(r"\] (\d+)/12 turns(?:, (\d+) s left)?$", done.stderr, re.MULTILINE)
    assert lines[-1] == ("12", "")
    said = [(int(finished), int(left)) for finished, left in lines if left]
    assert said and all(0 < finished < 12 and left >= (12 - finished) // 2 for finished, left in said)


def test_durations_in_words() -> None:
    assert [duration_words(seconds) for seconds in (45, 200, 7500)] == ["45 s", "3 min 20 s", "2 h 05 min"]
