"""No key without a test: the bindings of every screen and dialog are those named here, each with the test that presses it."""

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import replayer.tui
from replayer.tui.column import LaneColumn
from replayer.tui.dialogs import QuitDialog, TextDialog
from replayer.tui.main_screen import MainScreen
from replayer.tui.turn_table import TurnTable
from tests import test_terminal
from tests.tui import test_keys, test_turn
from tests.tui.pictures import Folder, app_on, picture, settled

pytestmark = pytest.mark.slow


async def test_left_h_right_and_l_scroll_the_lanes(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {f"lane{n}": {} for n in range(4)})
    app = app_on(made.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for key, lane in (("l", "lane1"), ("right", "lane2"), ("h", "lane1"), ("left", "lane0")):
            await pilot.press(key)
            await settled(pilot)
            first = next(column for column in app.screen.query(LaneColumn) if column.region.x == 0)
            assert first.lane == lane, key


async def test_u_tells_why_figures_are_unknown_and_every_key_of_a_dialog_closes_it(tmp_path: Path) -> None:
    app = app_on(Folder(tmp_path / "run", {"a": {}}).path)
    async with app.run_test(size=(110, 40)) as pilot:
        await settled(pilot)
        for key in ("escape", "enter", "q", "question_mark", "u", "i", "ctrl+c"):
            await pilot.press("u")
            await pilot.pause()
            assert isinstance(app.screen, TextDialog) and "no reply has been judged yet" in picture(app)
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, MainScreen), key


async def test_escape_and_q_stay_with_the_run(tmp_path: Path) -> None:
    app = app_on(Folder(tmp_path / "run", {"a": {}}).path)
    async with app.run_test(size=(110, 40)) as pilot:
        await settled(pilot)
        for key in ("escape", "q"):
            await pilot.press("q")
            await pilot.pause()
            assert isinstance(app.screen, QuitDialog)
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, MainScreen) and app.is_running, key


async def test_the_table_of_turns_is_gone_through(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=60)
    for turn in range(60):
        made.turn("a", turn)
    app = app_on(made.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(TurnTable)
        for key, least, most in (
            ("home", 0, 0), ("down", 1, 1), ("up", 0, 0), ("pagedown", 5, 58), ("pageup", 0, 0), ("end", 59, 59),
            ("ctrl+home", 0, 0), ("ctrl+end", 59, 59),
        ):  # fmt: skip
            await pilot.press(key)
            await pilot.pause()
            assert least <= table.cursor <= most, key


TESTS = {
    "ReplayerApp": {
        test_keys.test_digits_show_the_screens: ("1", "2", "3", "4", "5"),
        test_keys.test_space_freezes_the_picture: ("space",),
        test_keys.test_question_mark_lists_the_keys_and_closes_again: ("question_mark",),
        test_keys.test_t_goes_through_the_themes: ("t",),
        test_keys.test_e_r_and_j_save_the_picture_and_the_report_and_say_where: ("e", "r", "j"),
        test_keys.test_q_asks_what_becomes_of_a_running_run: ("q",),
        test_keys.test_who_presses_ctrl_c_is_asked_and_leaves_the_run_running_with_the_second: ("ctrl+c", "ctrl+q"),
        test_terminal.test_the_terminal_is_restored_when_the_screen_is_suspended_or_ended: ("ctrl+z",),
    },
    "MainScreen": {
        test_left_h_right_and_l_scroll_the_lanes: ("left", "h", "right", "l"),
        test_keys.test_o_unfolds_the_output_of_calls: ("o",),
        test_keys.test_i_lists_the_settings_of_every_lane_and_marks_those_that_differ: ("i",),
        test_keys.test_p_pins_a_stream_and_f_follows_the_newest_again: ("p", "f"),
        test_u_tells_why_figures_are_unknown_and_every_key_of_a_dialog_closes_it: ("u",),
    },
    "TurnsScreen": {
        test_keys.test_n_goes_to_the_next_fault_and_slash_filters: ("slash", "n", "N", "escape"),
        test_keys.test_z_folds_every_session_and_enter_one: ("z",),
        test_keys.test_f_on_the_turns_follows_the_newest_turn: ("f",),
    },
    "TurnTable": {
        test_the_table_of_turns_is_gone_through: (
            "up", "down", "pageup", "pagedown", "home", "ctrl+home", "end", "ctrl+end",
        ),
        test_turn.open_turn: ("enter",),
    },
    "TurnScreen": {
        test_turn.test_keys_of_a_turn: ("escape", "left", "right", "n", "N", "o"),
        test_turn.test_c_copies_the_request_as_curl: ("c",),
    },
    "TextDialog": {
        test_u_tells_why_figures_are_unknown_and_every_key_of_a_dialog_closes_it: (
            "escape", "enter", "q", "question_mark", "u", "i", "ctrl+c",
        ),
    },
    "QuitDialog": {
        test_keys.test_q_asks_what_becomes_of_a_running_run: ("l", "s"),
        test_keys.test_who_presses_ctrl_c_is_asked_and_leaves_the_run_running_with_the_second: ("ctrl+c",),
        test_escape_and_q_stay_with_the_run: ("escape", "q"),
    },
}  # fmt: skip
"""By screen or dialog: the test that presses its keys. `open_turn` is how the tests of turns get to one."""
RAW = {"ctrl+z": r"\x1a"}
"""As a terminal sends it."""


def modules() -> list[ModuleType]:
    names = (module.name for module in pkgutil.iter_modules(replayer.tui.__path__))
    return [importlib.import_module(f"replayer.tui.{name}") for name in names]


def test_every_binding_has_its_test() -> None:
    bound = {
        name: sorted(key.strip() for binding in found.BINDINGS for key in binding.key.split(","))
        for module in modules()
        for name, found in vars(module).items()
        if inspect.isclass(found) and found.__module__ == module.__name__ and "BINDINGS" in vars(found)
    }
    tested = {name: sorted(key for keys in tests.values() for key in keys) for name, tests in TESTS.items()}
    assert bound == tested


def test_the_tests_named_press_their_keys() -> None:
    for tests in TESTS.values():
        for test, keys in tests.items():
            source = inspect.getsource(test)
            for key in keys:
                assert f'"{RAW.get(key, key)}"' in source, f"{test.__name__} does not press {key}"
