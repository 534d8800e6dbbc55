"""Where the screen can be shown, and that it leaves the terminal as it was."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from replayer.cli import main
from replayer.tui.terminal import why_no_screen
from tests.tui.pictures import Folder
from tests.tui.test_hostile import read_until


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, **instead: TextIO | None) -> Iterator[None]:
    """All three streams on a pseudo-terminal, but for those `instead`."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        for name in ("stdin", "stdout", "stderr"):
            patch.setattr(sys, name, instead.get(name, stream))
        yield
    os.close(master)


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_the_screen_needs_all_three_streams_on_a_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch):
        assert why_no_screen() == ""
    with (tmp_path / "file").open("w+") as file:
        for other in (None, file):
            with terminal(monkeypatch, **{name: other}):
                assert "not a terminal" in why_no_screen()


@pytest.mark.parametrize("kind", ["", "dumb", "unknown", None])
def test_the_screen_needs_a_terminal_that_draws(kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch):
        monkeypatch.delenv("TERM") if kind is None else monkeypatch.setenv("TERM", kind)
        assert why_no_screen() == "the terminal is dumb (TERM)"


def test_the_screen_needs_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with (
        open(slave, "w", encoding="latin-1") as latin,
        terminal(monkeypatch, stderr=latin),
    ):
        assert "not UTF-8" in why_no_screen()
    os.close(master)


def test_watch_without_a_terminal_names_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Folder(tmp_path / "run", {"a": {}}).path
    assert main(["watch", str(run)]) == 2
    assert f"is not a terminal; `replayer report {run}` prints the figures" in capsys.readouterr().err


def test_errors_never_reach_the_terminal_raw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "gone\x1b]0;owned\x07"]) == 2
    assert "\x1b" not in capsys.readouterr().err


LEFT = [b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"]
"""The alternate screen left, the cursor shown, no mouse, no bracketed paste."""


def test_the_terminal_is_restored_when_the_screen_is_suspended_or_ended(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", {"a": {}}).path
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "replayer", "watch", str(folder)]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    ) as screen:
        os.close(slave)
        try:
            read_until(master, b"Quit")
            os.write(master, b"\x1a")
            suspended = read_until(master, LEFT[0])
            assert os.WIFSTOPPED(os.waitpid(screen.pid, os.WUNTRACED)[1])
            suspended += read_until(master, None, seconds=0.5)  # what it wrote last
            screen.send_signal(signal.SIGCONT)
            assert b"\x1b[?1049h" in read_until(master, b"Quit")
            screen.send_signal(signal.SIGTERM)
            ended = read_until(master, None, done=lambda: screen.poll() is not None)
        finally:
            screen.kill()
            os.close(master)
    assert screen.returncode == 0
    for sequence in LEFT:
        assert sequence in suspended and sequence in ended, sequence
