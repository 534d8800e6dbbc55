"""The time that a lane still needs."""

from pathlib import Path

from replayer.journal.events import RunResumed, SessionStarted
from replayer.journal.view import load
from replayer.tui.pace import duration_words, seconds_left
from tests.tui.pictures import Folder


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


def test_durations_in_words() -> None:
    assert [duration_words(seconds) for seconds in (45, 200, 7500)] == ["45 s", "3 min 20 s", "2 h 05 min"]
