"""Every key of the screen, pressed."""

import json
from pathlib import Path

import orjson
import pytest
from textual.command import CommandPalette

from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.tui.column import Figures, LaneColumn
from replayer.tui.dialogs import QuitDialog
from replayer.tui.log_screen import LogScreen
from replayer.tui.main_screen import MainScreen
from replayer.tui.rows import ROWS
from replayer.tui.summary_screen import SummaryScreen
from replayer.tui.telemetry_screen import TelemetryScreen
from replayer.tui.themes import THEMES
from replayer.tui.turn_screen import TurnScreen
from replayer.tui.turn_table import TurnTable
from replayer.tui.turns_screen import TurnsScreen
from tests.tui.pictures import Folder, app_on, picture, settled

pytestmark = pytest.mark.slow

LANES: dict[str, dict[str, float]] = {"a": {}, "b": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "run", LANES, turns=5)
    for turn in range(4):
        made.turn("a", turn)
        made.turn("b", turn, faults=("unknown_tool",) if turn == 2 else ())
    return made


async def test_digits_show_the_screens(folder: Folder) -> None:
    kinds = {"2": TurnsScreen, "3": TelemetryScreen, "4": LogScreen, "5": SummaryScreen, "1": MainScreen}
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        for key, kind in kinds.items():
            await pilot.press(key)
            await settled(pilot)
            assert isinstance(app.screen, kind)
        assert "usable turns" in picture(app), "the lanes are there again"


async def test_n_goes_to_the_next_fault_and_slash_filters(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(TurnTable)
        assert table.row_count == 4
        await pilot.press("n")
        assert table.cursor == 2
        await pilot.press("up", "up", "N")
        assert table.cursor == 2
        await pilot.press("slash", *"unknown_tool")
        await settled(pilot)
        assert table.row_count == 1
        await pilot.press("escape")
        await settled(pilot)
        assert table.row_count == 4


async def test_z_folds_every_session_and_enter_one(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=2, repeat=3)
    for repeat in range(3):
        made.repeat = repeat
        for turn in range(2):
            made.turn("a", turn, faults=("unknown_tool",) if (repeat, turn) == (2, 1) else ())
    app = app_on(made.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(TurnTable)
        assert (table.row_count, table.cursor) == (9, 1), "three heads, and the cursor on the first turn"
        await pilot.press("z")
        assert table.row_count == 3 and "▸ #3 session" in picture(app) and "● 1  ✗ 1" in picture(app)
        await pilot.press("n")
        assert table.row_count == 5 and table.keys[table.cursor] == ("session", 2, 1)
        await pilot.press("home", "enter")
        await settled(pilot)
        assert table.row_count == 7 and isinstance(app.screen, TurnsScreen)


async def test_space_freezes_the_picture(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("space")
        await app.workers.wait_for_complete()  # what was being read when it froze
        await pilot.pause()
        before = app.frames
        assert "‖ frozen" in picture(app)
        await pilot.pause(1)
        assert app.frames == before
        await pilot.press("space")
        await settled(pilot)
        assert "‖ frozen" not in picture(app)


async def test_t_goes_through_the_themes(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        seen = []
        for _ in THEMES:
            seen.append(app.theme)
            await pilot.press("t")
        assert sorted(seen) == sorted(theme.name for theme in THEMES)


async def test_e_r_and_j_save_the_picture_and_the_report_and_say_where(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder.finish("a", "b")
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        said = ""
        for key in ("e", "r", "j"):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            said += " ".join(notification.message for notification in app._notifications)
    names = ("replayer-run.svg", "replayer-run.html", "replayer-run.json")
    picture_text, page, report = ((tmp_path / name).read_text() for name in names)
    assert all(str(tmp_path / name) in said for name in names)
    assert picture_text.startswith("<svg")
    assert page.startswith("<!doctype html") and "unknown_tool" in page
    assert json.loads(report) == json.loads(orjson.dumps(run_figures(load(folder.path))))


async def test_a_report_that_cannot_be_written_is_told(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "gone"
    nowhere.mkdir()
    monkeypatch.chdir(nowhere)
    (nowhere / "replayer-run.svg").mkdir()
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await pilot.pause()
        assert any("cannot write" in note.message for note in app._notifications)


async def test_a_folder_that_is_gone_and_a_name_that_is_too_long_break_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(Folder(tmp_path / ("漢" * 80), LANES).path)
    here, gone = tmp_path / "here", tmp_path / "gone"
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        said = []
        for place in (here, gone):
            place.mkdir()
            monkeypatch.chdir(place)
            if place is gone:
                gone.rmdir()
            await pilot.press("e")
            await pilot.pause()
            said += [note.message for note in app._notifications if note.message not in said]
        monkeypatch.chdir(tmp_path)
    assert [len(list(here.glob("replayer-漢*.svg"))), len(said)] == [1, 2]
    assert said[0].startswith("saved") and said[1].startswith("cannot write")


async def test_o_unfolds_the_output_of_calls(folder: Folder) -> None:
    folder.ran("a", 3, output="line one\nline two\n")
    app = app_on(folder.path)
    async with app.run_test(size=(110, 44)) as pilot:
        await settled(pilot)
        assert "18 B, 2 lines" in picture(app) and "│ line two" not in picture(app)
        await pilot.press("o")
        assert "│ line two" in picture(app)
        await pilot.press("o")
        assert "│ line two" not in picture(app)


async def test_p_pins_a_stream_and_f_follows_the_newest_again(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, repeat=3)
    for repeat in range(3):
        made.stream("a", 0, f"stream {repeat} speaks", repeat=repeat)
    app = app_on(made.path)
    async with app.run_test(size=(110, 44)) as pilot:
        await settled(pilot)
        assert "stream 3 of 3 · the newest" in picture(app) and "stream 2 speaks" in picture(app)
        await pilot.press("p")
        await settled(pilot)
        assert "stream 3 of 3 · pinned" in picture(app)
        await pilot.press("p")
        await settled(pilot)
        assert "stream 1 of 3 · pinned" in picture(app) and "stream 0 speaks" in picture(app)
        made.stream("a", 0, "news of another", repeat=1)
        await settled(pilot)
        assert "news of another" not in picture(app)
        await pilot.press("f")
        await settled(pilot)
        assert "news of another" in picture(app)


async def test_tab_chooses_the_lane_that_p_pins(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", LANES, repeat=2)
    app = app_on(made.path)
    async with app.run_test(size=(110, 44)) as pilot:
        await settled(pilot)
        await pilot.press("tab", "tab", "p")
        await settled(pilot)
        columns = list(app.screen.query(LaneColumn))
        assert [column.talk is not None and column.talk.pinned for column in columns] == [False, True]


async def test_a_dash_under_the_mouse_says_why(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 44)) as pilot:
        await settled(pilot)
        rows = app.screen.query(Figures).first()
        at = next(n for n, row in enumerate(ROWS) if row.label == "draft acceptance")
        await pilot.hover(Figures, offset=(2, at))
        assert "speculation is off" in str(rows.tooltip)
        await pilot.hover(Figures, offset=(2, 0))
        assert "95 % interval" in str(rows.tooltip)


async def test_f_on_the_turns_follows_the_newest_turn(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        await pilot.press("f")
        table = app.screen.query_one(TurnTable)
        assert table.cursor == 3
        folder.turn("a", 4)
        await settled(pilot)
        assert table.cursor == 4
        assert "following" in picture(app)


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


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
async def test_who_presses_ctrl_c_is_asked_and_leaves_the_run_running_with_the_second(
    folder: Folder, key: str
) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, QuitDialog) and app.is_running
        await pilot.press(key)
        await pilot.pause()
    assert app.return_value == "leave"


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
        assert "the lane's request as a curl command" in picture(app)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)


async def test_arrows_scroll_lanes_that_do_not_fit(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {f"lane{n}": {} for n in range(6)})
    app = app_on(made.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("1")  # the overview of many lanes is first
        await settled(pilot)
        assert "lane5" not in picture(app)
        await pilot.press(*["right"] * 6)
        await settled(pilot)
        assert "lane5" in picture(app)


async def test_the_palette_offers_the_screens(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p")
        await settled(pilot)
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen, MainScreen)


async def test_i_lists_the_settings_of_every_lane_and_marks_those_that_differ(tmp_path: Path) -> None:
    made = Folder(
        tmp_path / "run", {"a": {"temperature": 0.9, "top_p": 1.0}, "b": {"min_p": 0.05, "top_p": 1.0}}
    )
    app = app_on(made.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("i")
        await pilot.pause()
        seen = picture(app)
        rows = {
            name: line
            for line in seen.splitlines()
            for name in ("temperature", "min_p", "top_p")
            if name in line
        }
        assert "≠ temperature" in rows["temperature"] and "≠ min_p" in rows["min_p"]
        assert "≠" not in rows["top_p"] and rows["top_p"].count("1.0") == 2
        await pilot.press("i")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)


async def test_a_click_on_the_sign_of_a_turn_opens_it(folder: Folder) -> None:
    folder.recorded()
    app = app_on(folder.path)
    async with app.run_test(size=(110, 44)) as pilot:
        await settled(pilot)
        lines = picture(app).splitlines()
        line = next(n for n, text in enumerate(lines) if "●●●●" in text and "●●✗●" in text)
        await pilot.click(offset=(lines[line].index("●") + 2, line))
        await settled(pilot)
        assert isinstance(app.screen, TurnScreen) and app.screen.detail.turn == 2
        await pilot.press("right")
        await settled(pilot)
        assert isinstance(app.screen, TurnScreen) and app.screen.detail.turn == 3
        await pilot.press("n")
        await settled(pilot)
        assert isinstance(app.screen, TurnScreen) and app.screen.detail.turn == 2


async def test_rows_stand_in_the_same_line_of_every_column(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}, "b": {"temperature": 0.5, "stop": "a long setting " * 6}})
    made.turn("a", 0)
    made.collapse("b", 0)
    for size in ((80, 24), (120, 36), (200, 60)):
        async with app_on(made.path).run_test(size=size) as pilot:
            await settled(pilot)
            columns = pilot.app.screen.query(Figures)
            assert len({column.region.y for column in columns}) == 1, size
            assert len({column.region.height for column in columns}) == 1, size


async def test_the_prefix_cause_of_many_turns_is_told_once(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=8)
    for turn in range(6):
        made.turn("a", turn)
        if turn > 1:
            made.prefix("a", turn, cause="eviction")
    app = app_on(made.path)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        seen = picture(app)
        assert seen.count("prefix lost: eviction") == 1
        assert "prefix lost: eviction, turns 3–6" in seen
        rows = [line for line in seen.splitlines() if "usable" in line and "↯" in line and "ms" in line]
        assert len(rows) == 4
