"""Every key of the screen, pressed."""

import json
from pathlib import Path

import pytest
from textual.widgets import DataTable

from replayer.tui.log_screen import LogScreen
from replayer.tui.main_screen import MainScreen
from replayer.tui.telemetry_screen import TelemetryScreen
from replayer.tui.themes import THEMES
from replayer.tui.turns_screen import TurnsScreen
from tests.tui.pictures import Folder, app_on, picture, settled

LANES: dict[str, dict[str, float]] = {"a": {}, "b": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "run", LANES, steps=5)
    for step in range(4):
        made.step("a", step)
        made.step("b", step, faults=("unknown_tool",) if step == 2 else ())
    return made


async def test_digits_show_the_screens(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        for key, kind in {"2": TurnsScreen, "3": TelemetryScreen, "4": LogScreen, "1": MainScreen}.items():
            await pilot.press(key)
            await settled(pilot)
            assert isinstance(app.screen, kind)


async def test_n_goes_to_the_next_fault_and_slash_filters(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(DataTable)
        assert table.row_count == 4
        await pilot.press("n")
        assert table.cursor_row == 2
        await pilot.press("slash", *"unknown_tool")
        await settled(pilot)
        assert table.row_count == 1
        await pilot.press("escape")
        await settled(pilot)
        assert table.row_count == 4


async def test_space_freezes_the_picture(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("space")
        await app.workers.wait_for_complete()  # what was being read when it froze
        await pilot.pause()
        before = app.frames
        await pilot.pause(1)
        assert app.frames == before
        await pilot.press("space")
        await settled(pilot)


async def test_t_goes_through_the_themes(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        seen = []
        for _ in THEMES:
            seen.append(app.theme)
            await pilot.press("t")
        assert sorted(seen) == sorted(theme.name for theme in THEMES)


async def test_e_and_r_save_the_picture_and_the_report(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("e", "r")
        await pilot.pause()
    assert (tmp_path / "replayer-run.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "replayer-run.json").read_text())[0]["lanes"][0]["lane"] == "a"


@pytest.mark.parametrize(("choice", "result"), [("l", "leave"), ("s", "stop"), ("escape", None)])
async def test_q_asks_what_becomes_of_a_running_run(folder: Folder, choice: str, result: str | None) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("q")
        await pilot.pause()
        assert "The run is still going on." in picture(app)
        await pilot.press(choice)
        await pilot.pause()
    assert app.return_value == result


async def test_q_leaves_a_finished_run_at_once(folder: Folder) -> None:
    folder.finish("a", "b")
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value == "leave"


async def test_question_mark_lists_the_keys_and_closes_again(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 40)) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "copy the request as a curl command" in picture(app)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)


async def test_arrows_scroll_lanes_that_do_not_fit(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {f"lane{n}": {} for n in range(6)})
    app = app_on(made.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "lane5" not in picture(app)
        await pilot.press(*["right"] * 6)
        await settled(pilot)
        assert "lane5" in picture(app)
