"""The screen's source follows a journal that grows faster than it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from replayer.tui import source
from replayer.tui.source import RunSource
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, float]] = {"a": {}, "b": {}}


def test_a_flood_is_read_in_parts_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_MOST_EVENTS", 10)
    made = Folder(tmp_path / "run", LANES, steps=20)
    followed = RunSource(made.path)
    followed.poll()
    for step in range(20):
        for lane in LANES:
            made.step(lane, step)
    made.finish(*LANES)
    states, done = [], []
    for _ in range(15):
        frame = followed.poll()
        states.append(frame.view.state)
        done.append(sum(attempt.finished for lane in frame.view.lanes for attempt in lane.attempts))
    assert 0 < done[0] < 40 and done == sorted(done)
    assert done[-1] == 40 and frame.figures["a"]["steps"] == 20
    assert states[0] == "running" and states[-1] == "finished" and "interrupted" not in states


def test_a_finished_run_is_whole_in_its_first_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_EVENTS", 10)
    made = Folder(tmp_path / "run", LANES, steps=20)
    for step in range(20):
        for lane in LANES:
            made.step(lane, step)
    made.finish(*LANES)
    frame = RunSource(made.path).poll()
    assert frame.view.state == "finished"
    assert [lane.attempts[0].finished for lane in frame.view.lanes] == [20, 20]
