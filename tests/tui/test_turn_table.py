"""The table of turns: rows by place, and the mouse."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from replayer.tui.main_screen import MainScreen
from replayer.tui.turn_screen import TurnScreen
from replayer.tui.turn_table import Turns, TurnTable, place_of
from replayer.tui.turns_screen import TurnsScreen
from tests.tui.pictures import Folder, app_on, settled

SESSIONS = some.dictionaries(some.tuples(some.sampled_from("abc"), some.integers(0, 3)), some.integers(0, 4))


@given(SESSIONS)
def test_turns_are_every_turn_in_order(sessions: dict[tuple[str, int], int]) -> None:
    every = sorted((*session, turn) for session, count in sessions.items() for turn in range(count))
    turns = Turns(sessions)
    assert list(turns) == every == [turns[n] for n in range(len(turns))]
    assert [turns.place(key) for key in every] == list(range(len(every)))
    assert [place_of(every, key) for key in every] == list(range(len(every)))
    absent = [("b", 9, 0), ("z", 0, 0), *((*session, count) for session, count in sessions.items())]
    assert not any(place for key in absent for place in (turns.place(key), place_of(every, key)))


@given(SESSIONS, some.sets(some.tuples(some.sampled_from("abc"), some.integers(0, 3))))
def test_a_folded_session_is_its_head(
    sessions: dict[tuple[str, int], int], folded: set[tuple[str, int]]
) -> None:
    rows = [
        (*session, turn)
        for session in sorted(sessions)
        for turn in range(-1, 0 if session in folded else sessions[session])
    ]
    turns = Turns(sessions, folded, heads=True)
    assert list(turns) == rows
    for session, count in sessions.items():
        for turn in range(-1, count):
            place = turns.place((*session, turn))
            assert place is not None and turns[place] == (*session, -1 if session in folded else turn)


def run_of(path: Path, turns: int) -> Folder:
    made = Folder(path, {"a": {}, "b": {}}, turns=turns)
    made.recorded()
    for turn in range(turns):
        made.turn("a", turn)
        made.turn("b", turn)
    return made


async def test_a_click_goes_to_a_row_and_another_opens_it(tmp_path: Path) -> None:
    app = app_on(run_of(tmp_path / "run", 5).path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(TurnTable)
        await pilot.click(TurnTable, offset=(5, 4))
        assert table.cursor == 3
        await pilot.click(TurnTable, offset=(5, 30))
        assert table.cursor == 3, "there is no row"
        await pilot.click(TurnTable, offset=(5, 4))
        await settled(pilot)
        assert isinstance(app.screen, TurnScreen)
        assert app.screen.detail.turn == 3


async def test_rows_out_of_view_are_reached_and_stay_under_the_cursor(tmp_path: Path) -> None:
    made = run_of(tmp_path / "run", 90)
    app = app_on(made.path)
    async with app.run_test(size=(110, 30)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = app.screen.query_one(TurnTable)
        await pilot.press("end")
        assert table.cursor == 89 and table.scroll_y == 90 - table.size.height + 1
        await pilot.press("pageup", "up")
        turn = table.keys[table.cursor]
        made.stream("a", 0, "another session", repeat=1)
        await settled(pilot)
        assert table.keys[table.cursor] == turn
        await pilot.press("home")
        assert (table.cursor, table.scroll_y) == (0, 0)


async def test_a_click_on_a_key_of_the_bottom_line_presses_it(tmp_path: Path) -> None:
    app = app_on(run_of(tmp_path / "run", 2).path)
    async with app.run_test(size=(110, 30)) as pilot:
        await settled(pilot)
        at = app.screen.query_one("Keys").render().plain.index("2 Turns")  # type: ignore[union-attr]
        await pilot.click("Keys", offset=(at + 3, 0))
        await settled(pilot)
        assert isinstance(app.screen, TurnsScreen)
        await pilot.click("Keys", offset=(app.screen.query_one("Keys").render().plain.index("Lanes"), 0))  # type: ignore[union-attr]
        await settled(pilot)
        assert isinstance(app.screen, MainScreen)
