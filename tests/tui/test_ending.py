"""`watch` ends when its terminal goes away, by whichever road, and leaves nothing that runs on."""

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.pictures import Folder

pytestmark = pytest.mark.slow

PATIENCE = 20
"""Seconds, far above the two that are the goal: the machine may be busy."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that goes on, so that the screen paints all the time."""
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=4)
    made.turn("a", 0)
    return made.path


class Screen:
    """`watch` with its keys on one terminal and its picture on the same or another."""

    def __init__(self, run: Path, *, two: bool = False) -> None:
        self.keys, keys = pty.openpty()
        self.picture, picture = pty.openpty() if two else (self.keys, keys)
        env = os.environ | {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "replayer", "watch", str(run)],
            stdin=keys, stdout=picture, stderr=picture, env=env, start_new_session=True,
        )  # fmt: skip
        for number in {keys, picture}:
            os.close(number)
        until_painted(self.picture)


def until_painted(terminal: int) -> None:
    painted = b""
    while b"usable" not in painted:
        painted += os.read(terminal, 1 << 16)


@pytest.fixture
def opened(run: Path) -> Iterator[list[Screen]]:
    found: list[Screen] = []
    yield found
    for screen in found:
        screen.process.kill()
        screen.process.wait()


def test_its_terminal_hangs_up(run: Path, opened: list[Screen]) -> None:
    opened.append(screen := Screen(run))
    os.close(screen.keys)
    assert screen.process.wait(PATIENCE) == 0


def test_its_input_ends(run: Path, opened: list[Screen]) -> None:
    opened.append(screen := Screen(run, two=True))
    os.close(screen.keys)
    assert screen.process.wait(PATIENCE) == 0
    os.close(screen.picture)


def test_its_output_fails(run: Path, opened: list[Screen]) -> None:
    opened.append(screen := Screen(run, two=True))
    os.close(screen.picture)
    assert screen.process.wait(PATIENCE) == 0
    os.close(screen.keys)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_though_nobody_reads_its_output(
    run: Path, opened: list[Screen], number: signal.Signals
) -> None:
    """A stopped multiplexer: the output thread blocks, then the event loop, behind pages that are painted anew."""
    opened.append(screen := Screen(run))
    for _ in range(40):
        os.write(screen.keys, b"1234t")
    with pytest.raises(subprocess.TimeoutExpired):
        screen.process.wait(3)
    screen.process.send_signal(number)
    assert screen.process.wait(PATIENCE) == 0
    os.close(screen.keys)


def test_its_multiplexer_is_killed(run: Path) -> None:
    """The process leads the session of its terminal, as in tmux."""
    multiplexer, terminal = pty.fork()
    if not multiplexer:
        os.environ |= {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
        inner = f"import pty; pty.spawn([{sys.executable!r}, '-m', 'replayer', 'watch', {str(run)!r}])"
        os.execv(sys.executable, [sys.executable, "-c", inner])
    until_painted(terminal)
    (screen,) = (
        int(part) for part in Path(f"/proc/{multiplexer}/task/{multiplexer}/children").read_text().split()
    )
    gone = os.pidfd_open(screen)
    os.kill(multiplexer, signal.SIGKILL)
    os.waitpid(multiplexer, 0)
    try:
        assert select.select([gone], [], [], PATIENCE)[0], "watch outlived its multiplexer"
    finally:
        os.close(gone)
        os.close(terminal)
