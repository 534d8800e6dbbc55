"""The page that a run ends with says what the report says."""

from pathlib import Path

import pytest

from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.tui.main_screen import MainScreen
from replayer.tui.source import Sources
from replayer.tui.summary_screen import SummaryScreen, summary
from replayer.tui.text import content
from replayer.tui.turns_screen import TurnsScreen
from tests.tui.pictures import Folder, app_on, picture, settled


def _run(path: Path, lanes: int = 2) -> Folder:
    """The last lane's calls fail from the third turn on."""
    folder = Folder(path, {f"lane-{n}": {} for n in range(lanes)}, turns=6)
    for lane in range(lanes):
        for turn in range(6):
            bad = lane == lanes - 1 and turn > 2
            folder.turn(f"lane-{lane}", turn, faults=("unknown_tool",) if bad else ())
    return folder


def _shown(folders: list[Path], width: int) -> str:
    return content(*summary(Sources(folders).poll().compared.story, width)).plain


@pytest.mark.parametrize("lanes", [1, 2, 6])
@pytest.mark.parametrize("width", [40, 76, 196])
def test_headline_and_answers_are_those_of_the_report(tmp_path: Path, lanes: int, width: int) -> None:
    folder = _run(tmp_path / "run", lanes)
    folder.finish(*(f"lane-{n}" for n in range(lanes)))
    story = run_figures(load(folder.path)).conclusions.story
    shown = _shown([folder.path], width)
    assert max(map(len, shown.splitlines())) <= width
    one_line = " ".join(shown.split())
    for words in (story.headline, *(answer.words for answer in story.below())):
        assert " ".join(words.split()) in one_line
    for answer in story.below():
        assert answer.question in shown
    assert lanes == 1 or all(f"lane-{n}" in shown for n in range(lanes))


def test_two_runs_side_by_side_are_ranked_by_the_names_on_the_screen(tmp_path: Path) -> None:
    folders = [_run(tmp_path / name, 1) for name in ("first", "second")]
    for folder in folders:
        folder.finish("lane-0")
    shown = _shown([folder.path for folder in folders], 120)
    assert "first:lane-0" in shown and "second:lane-0" in shown


@pytest.mark.slow
async def test_a_run_that_ends_shows_its_summary_and_disturbs_nobody_who_reads(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run")
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, MainScreen)
        folder.finish("lane-0", "lane-1")
        await settled(pilot)
        await settled(pilot)
        assert isinstance(app.screen, SummaryScreen) and "What broke?" in picture(app)
        await pilot.press("1")
        await settled(pilot)
        assert isinstance(app.screen, MainScreen), "the user's choice"

    other = _run(tmp_path / "other")
    app = app_on(other.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        other.finish("lane-0", "lane-1")
        await settled(pilot)
        await settled(pilot)
        assert isinstance(app.screen, TurnsScreen)
