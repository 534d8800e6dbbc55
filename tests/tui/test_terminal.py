"""The screen on a real terminal, in a process of its own."""

import os
import pty
import subprocess
import sys
from pathlib import Path

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


def test_the_screen_ends_with_its_terminal(tmp_path: Path) -> None:
    """The process leads no session of a terminal, so that no signal tells it."""
    made = Folder(tmp_path / "run", {"a": {}}, turns=4)
    made.turn("a", 0)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "replayer", "watch", str(made.path)]
    terminal = {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
    screen = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=os.environ | terminal, start_new_session=True
    )
    try:
        os.close(slave)
        painted = b""
        while b"usable" not in painted:
            painted += os.read(master, 1 << 16)
        os.close(master)
        assert screen.wait(60) == 0
    finally:
        screen.kill()
        screen.wait()
