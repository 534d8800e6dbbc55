"""A filter goes over codes that the reader prepared; it must leave the rows that the words themselves would."""

from pathlib import Path

import pytest

from replayer.tui.outcomes import Search, by_session
from replayer.tui.source import Frame, Sources
from tests.tui.pictures import Folder


def found(frame: Frame, words: str) -> list[int]:
    lanes = [by_session(lane) for lane in frame.view.lanes]
    codes = frame.outcomes.codes(("session", 0), [lane.get(("session", 0)) for lane in lanes])
    return Search(frame.outcomes, words.split()).turns("session", codes)


@pytest.mark.parametrize("ended", (False, True))
def test_every_word_is_searched_in_trace_number_and_outcome_of_any_lane(tmp_path: Path, ended: bool) -> None:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=12)
    source = Sources([made.path])
    for turn in range(11):
        made.turn("a", turn, faults=("unknown_tool",) if turn in (2, 9) else ())
        made.turn("b", turn, faults=("wrong_type",) if turn == 2 else ())
        assert found(source.poll(), "turn") == list(range(turn + 1)), "turns that come while it is open"
    made.collapse("b", 11)
    made.prefix("a", 3)
    if ended:
        made.finish("a", "b")
    frame = source.poll()
    assert found(frame, "unknown") == [2, 9]
    assert found(frame, "unknown_tool wrong") == [2], "one lane each"
    assert found(frame, "sess 1") == [0, 9, 10, 11], "turns 1, 10, 11 and 12"
    assert found(frame, "prefix clock") == [3]
    assert found(frame, "streaming") == [11]
    assert found(frame, "nothing") == []
    codes = frame.outcomes.codes(
        ("session", 0), [by_session(lane).get(("session", 0)) for lane in frame.view.lanes]
    )
    assert codes.faulty == (2, 9)
