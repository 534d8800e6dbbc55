"""A long run's older facts are packed: they take a fraction of the memory, and say exactly the same."""

from __future__ import annotations

import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from replayer.journal.events import RunFinished, SessionFinished, SessionStarted
from replayer.journal.log import Reading
from replayer.journal.sealed import Attempts, Keeping, Sealed, unsealed
from replayer.journal.view import Fold, fold_from, load
from replayer.metrics.figures import run_figures
from replayer.tui import source
from replayer.tui.outcomes import Outcomes, by_session
from replayer.tui.rest import Rest
from replayer.tui.source import RunSource
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, float]] = {"a": {}, "b": {}}
SESSIONS, TURNS = 60, 8


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Folder(tmp_path_factory.mktemp("long") / "run", LANES, turns=TURNS, repeat=SESSIONS)
    for made.repeat in range(SESSIONS):
        for lane in LANES:
            for turn in range(TURNS):
                faults = ("leaked_markup", "wrong_type") if (turn + made.repeat) % 5 == 0 else ()
                made.turn(lane, turn, faults=faults)
            made.add(SessionFinished(session=f"{lane}/session/{made.repeat}", attempt=1, outcome="done"))
    made.add(RunFinished(exit_code=0, reasons=[]))
    made.journal.close()
    return made.path


def test_a_sealed_run_has_the_same_figures_and_the_same_turns(long: Path) -> None:
    whole, packed = load(long), folded(long, 64).view(run=long.name)
    attempts = [attempt for lane in packed.lanes for attempt in lane.attempts]
    assert sum(isinstance(attempt.turns, Sealed) for attempt in attempts) > SESSIONS
    assert [dict(attempt.turns) for attempt in attempts] == [
        attempt.turns for lane in whole.lanes for attempt in lane.attempts
    ]
    lanes = tuple(replace(lane, attempts=Attempts(map(unsealed, lane.attempts))) for lane in packed.lanes)
    for view in (packed, replace(packed, lanes=lanes)):
        assert run_figures(view) == run_figures(whole)


def folded(folder: Path, most: int) -> Fold:
    fold = Fold(keeping=Keeping(most))
    for _ in fold_from(Reading(folder), fold):
        pass
    return fold


def test_what_was_put_away_is_counted_and_found(long: Path) -> None:
    whole, packed = load(long), folded(long, 64).view(run=long.name)
    for known, lane in zip(whole.lanes, packed.lanes, strict=True):
        assert lane.attempts.pages and len(lane.attempts.held) < 12
        assert [replace(one, turns=dict(one.turns), packed=b"") for one in lane.attempts] == [
            replace(one, packed=b"") for one in known.attempts
        ]
        assert (lane.turns_done, lane.sessions_done, lane.turns_planned, lane.running) == (
            *(known.turns_done, known.sessions_done, known.turns_planned),
            (),
        )
        for one in known.attempts:
            for key in (one.session, (one.trace, one.repeat)):
                found = lane.attempts.find(key)
                assert found is not None and (found.session, found.started) == (one.session, one.started)
        assert lane.attempts.find("a/session/999") is None and lane.attempts.find(("session", 999)) is None
        assert max(one.started for one in lane.attempts.recent()) == known.attempts[-1].started


def test_filters_know_the_same_outcomes_of_sessions_that_were_put_away(long: Path) -> None:
    rest = Rest()
    gathered, known = Outcomes(), Outcomes()
    for most in (4096, 600, 64):  # more and more is put away between two looks
        gathered.learn([folded(long, most).view(run="r")], rest)
    known.learn([load(long)], rest)
    whole = load(long).lanes
    for session in by_session(whole[0]):
        words = []
        for outcomes in (gathered, known):
            codes = outcomes.codes(session, [by_session(lane)[session] for lane in whole])
            words.append([outcomes.known[code] for code in codes.turns])
        assert words[0] == words[1]


def test_a_session_that_was_put_away_may_be_tried_again(long: Path) -> None:
    fold = folded(long, 64)
    before = fold.view(run="r").lanes[0]
    again = before.attempts.find("a/session/0")
    assert again is not None
    event = SessionStarted(
        **{name: getattr(again, name) for name in ("session", "lane", "trace", "repeat", "mode", "tools")},
        attempt=2,
        turns=TURNS,
        cache_reset="no",
        isolation=None,
        tag=None,
        at=again.started + 1,
    )
    fold.apply(event)
    lane = fold.view(run="r").lanes[0]
    assert [one.number for one in lane.running] == [2] and fold.attempt("a/session/0", 1).complete
    assert len(lane.attempts) == len(before.attempts) and lane.turns_done == before.turns_done


def test_a_full_disk_costs_memory_and_nothing_else(
    long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    view = folded(long, 64).view(run=long.name)
    assert run_figures(view) == run_figures(load(long))


def test_a_fact_after_the_end_of_a_sealed_session_is_kept(long: Path) -> None:
    fold = folded(long, 0)
    attempt = fold.attempt("a/session/0", 1)
    assert isinstance(attempt.turns, Sealed) and attempt.turns[1].loops == 0
    attempt.opened()[1].loops += 1
    assert attempt.turns[1].loops == 1 and len(attempt.turns) == TURNS


def test_a_long_run_is_shown_with_the_figures_of_its_report(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_MOST_OPEN", 64)
    followed = RunSource(long)
    while (frame := followed.poll()).behind:
        pass
    assert followed.is_long
    assert list(frame.figures.values()) == run_figures(load(long)).lanes


def test_a_turn_of_a_long_run_takes_a_few_hundred_bytes(long: Path) -> None:
    def held(most: int | None) -> int:
        fold = Fold(keeping=Keeping(most))
        tracemalloc.start()
        for _ in fold_from(Reading(long), fold):
            pass
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size

    held(None)  # what is remembered once for all turns
    assert held(0) < held(None) / 2
