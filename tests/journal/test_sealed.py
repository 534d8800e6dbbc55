"""A long run's older facts are packed: they take a fraction of the memory, and say exactly the same."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from replayer.journal.events import RunFinished, SessionFinished
from replayer.journal.log import Reading
from replayer.journal.sealed import Keeping, Sealed, unsealed
from replayer.journal.view import Fold, fold_from, load
from replayer.metrics.figures import run_figures
from replayer.tui import source
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
    fold = Fold(keeping=Keeping(64))
    for _ in fold_from(Reading(long), fold):
        pass
    whole, packed = load(long), fold.view(run=long.name)
    attempts = [attempt for lane in packed.lanes for attempt in lane.attempts]
    assert sum(isinstance(attempt.turns, Sealed) for attempt in attempts) > SESSIONS
    assert [dict(attempt.turns) for attempt in attempts] == [
        attempt.turns for lane in whole.lanes for attempt in lane.attempts
    ]
    lanes = tuple(replace(lane, attempts=tuple(map(unsealed, lane.attempts))) for lane in packed.lanes)
    for view in (packed, replace(packed, lanes=lanes)):
        assert run_figures(view) == run_figures(whole)


def test_a_fact_after_the_end_of_a_sealed_session_is_kept(long: Path) -> None:
    fold = Fold(keeping=Keeping(0))
    for _ in fold_from(Reading(long), fold):
        pass
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
