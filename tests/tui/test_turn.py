"""The turn view: its keys, and the marks of what differs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from replayer.journal.events import TurnStarted
from replayer.journal.turn_detail import turn_detail
from replayer.journal.view import load
from replayer.metrics.turn_values import decode_tok_s
from replayer.tui.app import ReplayerApp
from replayer.tui.lane_turn_view import cut, lane_text
from replayer.tui.marked import HERE, THERE, changed_middle, marked
from replayer.tui.prefix_view import prefix_text
from replayer.tui.text import Span, hanging, plot, wrapped
from replayer.tui.turn_screen import TurnScreen
from replayer.tui.turn_table import TurnTable
from tests.tui.pictures import Folder, app_on, picture, settled


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=8)
    made.recorded()
    for turn in range(6):
        made.turn("a", turn)
        made.turn("b", turn, faults=("unknown_tool",) if turn in (1, 4) else ())
    made.ran("b", 5, output="line one\nline two\n")
    return made


def shown_turn(app: object) -> int:
    screen = app.screen  # type: ignore[attr-defined]
    assert isinstance(screen, TurnScreen)
    return screen.detail.turn


async def open_turn(pilot: Pilot[None], row: str = "home") -> None:
    await settled(pilot)
    for key in ("2", row, "enter"):
        await pilot.press(key)
        await settled(pilot)


async def test_keys_of_a_turn(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(140, 50)) as pilot:
        await open_turn(pilot)
        assert shown_turn(app) == 0
        for key, turn in (("n", 1), ("n", 4), ("n", 1), ("N", 4), ("right", 5), ("right", 5), ("left", 4)):
            await pilot.press(key)
            await settled(pilot)
            assert shown_turn(app) == turn, key
        await pilot.press("right")
        await settled(pilot)
        assert "│ line two" not in picture(app)
        await pilot.press("o")
        await settled(pilot)
        assert "│ line two" in picture(app)
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen.focused, TurnTable)


async def test_a_turn_that_nobody_has_a_trace_for_is_told(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}})
    made.turn("a", 0)
    app = app_on(made.path)
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert not isinstance(app.screen, TurnScreen)
        assert any("holds no copy of the trace" in note.message for note in app._notifications)


async def opened_turn(app: ReplayerApp, row: str = "home") -> list[str]:
    """What was said on opening it; nothing where it opened."""
    async with app.run_test(size=(110, 36)) as pilot:
        await open_turn(pilot, row)
        opened = isinstance(app.screen, TurnScreen)
        said = [note.message for note in app._notifications]
    assert opened is not bool(said)
    return said


async def test_a_turn_opens_while_the_journals_last_line_is_being_written(folder: Folder) -> None:
    with (folder.path / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"at":1,"session":"a/session/0","attempt":1,"turn":6,"type":"turn_sta')
    assert await opened_turn(app_on(folder.path)) == []


@pytest.mark.parametrize(
    ("trace", "words"),
    [(b"hello\n", "not a replayer trace"), (b"", "the file is empty")],
    ids=["not a trace", "empty"],
)
async def test_a_damaged_trace_of_a_run_is_told(folder: Folder, trace: bytes, words: str) -> None:
    (folder.path / "traces" / "session" / "trace.jsonl").write_bytes(trace)
    assert words in (await opened_turn(app_on(folder.path)))[0]


async def test_a_trace_that_is_not_the_runs_is_told(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=200)
    made.recorded()
    made.add(TurnStarted(**made.where("a", 0), recorded_turn=150, body_bytes=9, wall=0.0))
    made.turn("a", 0, start=False)
    assert "has no turn 151" in (await opened_turn(app_on(made.path)))[0]


TEXTS = st.text(alphabet="ab \n.é漢", max_size=60)


@settings(max_examples=60)
@given(recorded=TEXTS, said=TEXTS)
def test_marks_lose_no_text(recorded: str, said: str) -> None:
    spans = marked(recorded, said)
    assert "".join(text for text, style in spans if style != THERE) == said
    there = "".join(text for text, style in spans if style != HERE)
    assert there.replace("\n", "") == recorded.replace("\n", "")


def test_words_that_differ_are_marked_within_a_line() -> None:
    spans: list[Span] = marked("path: src/app.py\n", "path: src/main.py\n")
    assert [text for text, style in spans if style == HERE] == ["main"]
    assert [text for text, style in spans if style == THERE] == ["app"]


@settings(max_examples=60)
@given(before=TEXTS, after=TEXTS)
def test_the_changed_middle_is_all_that_differs(before: str, after: str) -> None:
    old, new = changed_middle(before, after)
    assert ("".join(old), "".join(new)) == (before, after)
    assert (old[0], old[2]) == (new[0], new[2])


@settings(max_examples=60)
@given(text=TEXTS, width=st.integers(8, 40))
def test_folded_text_keeps_its_words(text: str, width: int) -> None:
    lines = wrapped(text, width, "  ").split("\n")
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_zero_and_unknown_look_different() -> None:
    assert plot([0.0, None, 1.0], 10, 1) == ["▁ █"]
    assert plot([0.0, None, 1.0], 10, 2) == ["  █", "▁ █"]


async def test_c_copies_the_request_as_curl(folder: Folder) -> None:
    app = app_on(folder.path)
    async with app.run_test(size=(140, 50)) as pilot:
        await open_turn(pilot)
        assert not app.clipboard
        await pilot.press("c")
        await app.workers.wait_for_complete()
        assert app.clipboard.startswith("curl ")
        assert '"messages"' in app.clipboard and "127.0.0.1" in app.clipboard


async def test_live_history_shows_what_each_lane_was_really_sent(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=8)
    made.recorded()
    for turn in range(2):
        for lane in ("a", "b"):
            new = [{"role": "user", "content": f"to {lane}, turn {turn + 1}"}]
            made.add(
                TurnStarted(
                    **made.where(lane, turn), recorded_turn=turn, body_bytes=9, wall=0.0,
                    sent={"keep": turn, "messages": new},
                )
            )  # fmt: skip
            made.turn(lane, turn, start=False)
    app = app_on(made.path)
    async with app.run_test(size=(140, 50)) as pilot:
        await open_turn(pilot)
        await pilot.press("right")
        await settled(pilot)
        seen = picture(app)
        assert "request to a, its own history  1 new of 2 messages" in seen
        assert "to a, turn 2" in seen and "to b" not in seen
        for _ in range(6):
            await pilot.press("tab")
            if getattr(app.focused, "lane", None) == "b":
                break
        await settled(pilot)
        seen = picture(app)
        assert "request to b, its own history" in seen and "to b, turn 2" in seen


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        ({"lost_tokens": 0, "cause": None}, "410, all that this prompt allowed"),
        ({"cause": "clock_or_date"}, "900 would have been possible, had nothing before them changed"),
        ({"cause": "eviction"}, "900 had been sent before, but were evicted since: computed again"),
        (
            {"cause": "retokenisation", "reported_tokens": 300},
            "900 were possible, but the engine computed them again",
        ),
        ({"reported_tokens": None}, "– not reported; 410 tokens are all that this prompt allowed"),
        ({"reported_tokens": 300, "lost_tokens": 0}, "300 of the 410 that were possible"),
        ({"cause": "eviction", "lost_tokens": 5}, "410, all that the engine still held"),
    ],
)
def test_every_count_of_the_prefix_says_what_it_is(finding: dict[str, object], words: str) -> None:
    found = {"prompt_tokens": 1400, "ideal_tokens": 410, "reported_tokens": 410, "lost_tokens": 900} | finding
    spans, _ = prefix_text(found, 300)
    text = "".join(span if isinstance(span, str) else span[0] for span in spans)
    assert words in text
    assert text.count("█") + text.count("▒") + text.count("░") >= 48, "the bar, and its key"


@settings(max_examples=80)
@given(
    pieces=st.lists(
        st.tuples(st.text(alphabet="ab ▎−+$\n漢", max_size=40), st.sampled_from(["", HERE])), max_size=5
    ),
    width=st.integers(8, 30),
)
def test_text_that_is_folded_behind_its_begin_fits_and_keeps_its_words(
    pieces: list[Span], width: int
) -> None:
    text = "".join(part for part, _ in hanging(pieces, width))
    assert all(cell_len(line) <= max(width, 12) for line in text.split("\n"))
    before = "".join(part for part, _ in pieces)
    assert [char for char in text if char in "ab漢"] == [char for char in before if char in "ab漢"]


def test_a_long_line_of_a_diff_stays_behind_its_sign() -> None:
    text = "".join(part for part, _ in hanging([("  ▎+ one two three\nend", "")], 13))
    assert text == "  ▎+ one two\n  ▎  three\nend"
    text = "".join(part for part, _ in hanging([("  $ make all of it", "")], 13))
    assert text == "  $ make all\n    of it"


def test_of_endless_texts_the_start_and_the_end_are_shown() -> None:
    shown = cut("\n".join(f"line {n}" for n in range(2000)))
    assert shown.startswith("line 0\n") and shown.endswith("line 1999") and shown.count("\n") == 1000
    assert "1,000 lines left out" in shown
    assert len(cut("x" * 1_000_000)) < 21_000


def test_of_endless_faults_the_first_are_shown(folder: Folder) -> None:
    folder.turn("a", 6, faults=("unknown_tool",) * 2000)
    lane = turn_detail(folder.path, load(folder.path), "session", 0, 6).lanes["a"]
    spans = lane_text(lane, "", {}, 100, unfolded=False)
    text = "".join(span if isinstance(span, str) else span[0] for span in spans)
    assert text.count("about unknown_tool") == 40 and "… 1,960 more faults" in text


@pytest.mark.parametrize("mark", [{"lag_ns": 20_000_000}, {"busy": True}])
def test_a_turn_whose_times_count_in_no_figure_says_so(tmp_path: Path, mark: dict[str, object]) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=2)
    made.recorded()
    made.turn("a", 0)
    made.turn("a", 1, **mark)
    view = load(made.path)
    texts = []
    for turn in range(2):
        detail = turn_detail(made.path, view, "session", 0, turn)
        spans = lane_text(detail.lanes["a"], "", {}, 200, unfolded=False)
        texts.append("".join(span if isinstance(span, str) else span[0] for span in spans))
    assert ["count in no figure" in text for text in texts] == [False, True]
    (turns,) = (sorted(attempt.turns.items()) for attempt in view.lanes[0].attempts)
    assert [decode_tok_s(turn) is None for _, turn in turns] == [False, True]
