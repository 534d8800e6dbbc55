"""Hostile text everywhere: nothing crashes, nothing reaches the terminal raw, columns stay aligned."""

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest
from rich.cells import cell_len

from replayer.display import safe
from replayer.events import ToolRunFinished, Warned
from tests.tui.pictures import Folder, app_on, picture, settled

HOSTILE = (
    "[/] [bold]not bold[/bold] [@click=app.quit]quit[/] \x1b]0;owned\x07 \x1b[31mred \x9b2J \x1b[6n "
    "\r over \x08\x08 \u202eright to left\u2066 \u200f 漢字かな 👩‍👩‍👧 e\u0301\u0302\u0303 \ufeff \x00 \x7f {{ }} <b>&amp; %s"
)
FORBIDDEN = [
    b"\x1b]0;owned",
    b"\x1b[31mred",
    b"\x9b2J",
    b"\x1b[6n",
    "\u202e".encode(),
    "\u2066".encode(),
    b"\x08\x08",
]


def hostile_folder(path: Path) -> Folder:
    folder = Folder(path, {"vllm": {"stop": HOSTILE}, "sglang": {}})
    call = {"index": 0, "id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}
    fault = {"kind": "server_error", "message": HOSTILE, "status": 500, "body": HOSTILE}
    folder.step(
        "vllm", 0, content=HOSTILE * 50, reasoning=HOSTILE, tool_calls=[call], faults=("unknown_tool",)
    )
    folder.step("vllm", 1, content="x" * 1_000_000, fault=fault)
    folder.collapse("sglang", 0, unit=HOSTILE)
    for channel in ("content", "reasoning", "tool_name", "tool_arguments"):
        folder.stream("vllm", 2, HOSTILE * 3 + "\n", channel)
    folder.stream("sglang", 0, "y" * 100_000)
    folder.add(Warned(message=HOSTILE, lane="vllm"))
    folder.add(
        ToolRunFinished(
            **folder.where("vllm", 0), call_index=0, name=HOSTILE, outcome="ok", output=HOSTILE * 20
        )
    )
    (path / "engines" / "vllm.log").write_bytes(HOSTILE.encode() + b"\xff\xfe broken \x1b]0;owned\x07\n")
    return folder


@pytest.mark.parametrize("keys", [(), ("2",), ("3",), ("4",), ("u",)])
async def test_no_screen_crashes_and_columns_stay_aligned(tmp_path: Path, keys: tuple[str, ...]) -> None:
    hostile_folder(tmp_path / "run")
    app = app_on(tmp_path / "run")
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)
        seen = picture(app)
    assert app.return_code in (None, 0)
    assert "\x1b" not in seen and "\u202e" not in seen
    if not keys:
        borders = [line for line in seen.splitlines() if line.startswith("│")]
        assert len({cell_len(line) for line in borders}) == 1, "a wide character moved a border"


@pytest.mark.parametrize(
    ("screen", "there"), [("1", b"usable turns"), ("2", b"not usable"), ("4", b"warnings")]
)
def test_nothing_reaches_the_terminal_raw(tmp_path: Path, screen: str, there: bytes) -> None:
    """The program under a real pseudo-terminal, every byte that it writes looked at."""
    hostile_folder(tmp_path / "run")
    written = screen_bytes(
        [sys.executable, "-m", "replayer", "watch", str(tmp_path / "run")], screen.encode(), there
    )
    assert b"Quit" in written
    for sequence in FORBIDDEN:
        assert sequence not in written, sequence


def screen_bytes(command: list[str], keys: bytes, there: bytes) -> bytes:
    """Run under a pty of 110 × 36, press keys until something is there, quit; returns all that was written."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 110, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as program:
        os.close(slave)
        written = read_until(master, lambda seen: b"Quit" in seen)
        os.write(master, keys)
        written += read_until(master, lambda seen: there in written + seen)
        os.write(master, b"q")
        written += read_until(master, lambda seen: b"still going on" in seen)
        os.write(master, b"l")
        written += read_until(master, lambda seen: program.poll() is not None)
        program.kill()
    os.close(master)
    return written


def read_until(master: int, done: Callable[[bytes], bool], seconds: float = 120) -> bytes:
    seen = b""
    deadline = time.monotonic() + seconds
    while not done(seen):
        assert time.monotonic() < deadline, seen
        if select.select([master], [], [], 0.1)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:  # the program has closed its side
                break
    return seen


def test_safe_keeps_words_and_drops_control() -> None:
    assert safe("a\nb\tc é 漢") == "a\nb\tc é 漢"
    assert not any(ord(c) < 32 and c not in "\n\t" for c in safe(HOSTILE))
