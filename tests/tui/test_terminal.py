"""The screen on a real terminal, in a process of its own."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks.pty_screen import PtyScreen
from tests.tui.pictures import Folder

PAGES = {"1": "usable turns", "2": "cut by the token budget", "3": "time of the run", "4": "warnings"}
"""By key, words that only this page has."""


def test_every_page_is_there_again_when_it_is_shown_again(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=4)
    for turn in range(4):
        made.turn("a", turn)
        made.turn("b", turn)
    screen = PtyScreen([sys.executable, "-m", "replayer", "watch", str(made.path)])
    try:
        screen.wait_for(PAGES["1"])
        for key in "2342143132":
            screen.wait_for(PAGES[key], key.encode())
    finally:
        screen.close()


def sent_in_three_seconds(screen: PtyScreen) -> int:
    before = screen.written
    time.sleep(3)
    return screen.written - before


@pytest.mark.slow
def test_a_finished_screen_sends_nothing(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=1)
    for lane in "ab":
        made.turn(lane, 0)
    made.finish("a", "b")
    screen = PtyScreen([sys.executable, "-m", "replayer", "watch", str(made.path)])
    try:
        screen.wait_for("What broke?")
        silences = (sent_in_three_seconds(screen) for _ in range(20))  # a busy machine still paints the end
        assert 0 in silences, "it falls silent"
        assert sent_in_three_seconds(screen) == 0, "and stays so"
    finally:
        screen.close()
