"""The screen's source follows a journal that grows faster than it is read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from replayer.errors import RunFolderError
from replayer.journal.events import TurnStarted
from replayer.tui import source
from replayer.tui.pages import REPORTS
from replayer.tui.source import RunSource, Sources
from tests.journals import lines_of, write_lines
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, float]] = {"a": {}, "b": {}}


def test_a_flood_is_read_in_parts_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_MOST_EVENTS", 10)
    made = Folder(tmp_path / "run", LANES, turns=20)
    followed = RunSource(made.path)
    followed.poll()
    for turn in range(20):
        for lane in LANES:
            made.turn(lane, turn)
    made.finish(*LANES)
    states, done = [], []
    for _ in range(15):
        frame = followed.poll()
        states.append(frame.view.state)
        done.append(sum(attempt.finished for lane in frame.view.lanes for attempt in lane.attempts))
    assert 0 < done[0] < 40 and done == sorted(done)
    assert done[-1] == 40 and frame.figures["a"].turns == 20
    assert states[0] == "running" and states[-1] == "finished" and "interrupted" not in states


def test_a_finished_run_is_whole_in_its_first_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_EVENTS", 10)
    made = Folder(tmp_path / "run", LANES, turns=20)
    for turn in range(20):
        for lane in LANES:
            made.turn(lane, turn)
    made.finish(*LANES)
    frame = RunSource(made.path).poll()
    assert frame.view.state == "finished"
    assert [lane.attempts[0].finished for lane in frame.view.lanes] == [20, 20]


def test_a_finished_run_is_looked_at_once_until_something_is_new(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES, turns=2)
    made.turn("a", 0)
    made.finish(*LANES)
    pins: dict[str, str] = {}
    followed = Sources([made.path], pins)
    first = followed.poll()
    assert first.view.state == "finished" and followed.poll() is first
    pins["a"] = "a/session/0"
    pinned = followed.poll()
    assert pinned is not first and followed.poll() is pinned
    journal = made.path / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert followed.poll().view.state != "finished"


def finished_turns(followed: RunSource) -> list[int]:
    return [attempt.finished for lane in followed.poll().view.lanes for attempt in lane.attempts]


def test_a_journal_that_was_replaced_or_cut_is_read_from_its_start(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    made.turn("a", 0)
    journal = made.path / "journal.jsonl"
    short = journal.read_bytes()
    made.turn("a", 1)
    followed = RunSource(made.path)
    assert finished_turns(followed) == [2, 0]
    journal.write_bytes(short)
    assert finished_turns(followed) == [1, 0]
    (tmp_path / "another").write_bytes(b"")
    write_lines(tmp_path / "another", [*lines_of(journal), *lines_of(journal)[-1:] * 50])
    (tmp_path / "another").rename(journal)
    assert finished_turns(followed) == [1, 0]


def test_a_folder_that_went_away_is_told_in_a_sentence(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    followed = RunSource(made.path)
    followed.poll()
    (made.path / "journal.jsonl").unlink()
    with pytest.raises(RunFolderError, match="run cannot be read: No such file"):
        followed.poll()


def test_events_that_fit_nothing_before_them_are_told_with_their_line(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    followed = RunSource(made.path)
    followed.poll()
    made.add(TurnStarted(session="c/session/0", attempt=1, turn=0, recorded_turn=0, body_bytes=1, wall=0.0))
    with pytest.raises(
        RunFolderError, match=r"journal\.jsonl, line 6: a 'turn_started' event that fits nothing"
    ):
        followed.poll()


def test_values_that_no_run_has_are_told_in_a_sentence(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    line = b'{"type":"run_started","at":1,"run_id":"r","wall":0,"version":"0","plan":{"lane":[{}],"repeat":"x"}}\n'
    (made.path / "journal.jsonl").write_bytes(line)
    with pytest.raises(RunFolderError, match="holds values that no run has"):
        RunSource(made.path).poll()


def test_broken_lines_of_the_live_feed_are_passed_over(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES)
    (made.path / "live" / "a.jsonl").write_bytes(
        b'[1]\nnull\n{}\n\xff\n{"session":"a/session/0","turn":"x"}\n'
    )
    made.stream("a", 0, "still there")
    blocks = RunSource(made.path).poll().talks["a"].shown[0].blocks
    assert "still there" in str(blocks)


def test_runs_of_the_same_name_in_two_places_are_told_apart(tmp_path: Path) -> None:
    folders = [Folder(tmp_path / place / "run", LANES).path for place in ("here", "there")]
    frame = Sources(folders).poll()
    names = ["run:a", "run:b", "run (2):a", "run (2):b"]
    assert [lane.name for view in frame.views for lane in view.lanes] == names
    assert sorted(frame.figures) == sorted(frame.talks) == sorted(names)


def test_a_folder_whose_name_is_no_text_has_a_report(tmp_path: Path) -> None:
    made = Folder(tmp_path / os.fsdecode(b"run\xff"), LANES)
    assert RunSource(made.path).poll().view.run == "run?"
    assert json.loads(REPORTS["json"]([made.path]))["run"] == "run?"
