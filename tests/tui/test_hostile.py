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

import orjson
import pytest
from rich.cells import cell_len

from replayer.journal.events import LaneReady, TelemetryRead, Warned
from replayer.text import safe
from replayer.tui.text import fit
from replayer.tui.text import safe as text_safe
from tests.tui.pictures import Folder, app_on, picture, settled

HOSTILE = (
    "[/] [bold]not bold[/bold] [@click=app.quit]quit[/] \x1b]0;owned\x07 \x1b[31mred \x9b2J \x1b[6n "
    "\x1b]8;;http://evil\x1b\\ \x1b]52;c;QUFB\x07 \x1bPq\x1b\\ \x1b_A\x1b\\ \x90d\x9c "
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
    b"\x1b]8;;http",
    b"\x1b]52;c;QUFB",
    b"\x1bPq",
    b"\x1b_A",
    b"\xc2\x90",
]


RUN = os.fsdecode(b"run \x1b]0;owned\x07[/]\xff\x9b \xe2\x80\xae")
"""A run folder's name, which is not text either."""
LANE = "vl\x1b]0;owned\x07[b]漢"
"""A lane's name: all of HOSTILE that a file name can hold."""


def hostile_folder(path: Path) -> Folder:
    folder = Folder(path, {LANE: {"stop": HOSTILE}, "sglang": {}}, turns=8)
    folder.recorded()
    folder.add(
        LaneReady(
            lane=LANE, kind=HOSTILE, model=HOSTILE, base_url=HOSTILE,
            facts={"version": HOSTILE, "kind": HOSTILE}, settings={"sampling": {HOSTILE: HOSTILE}},
        )
    )  # fmt: skip
    call = {"index": 0, "id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}
    object_call = {
        "index": 1,
        "id": "c",
        "name": "edit",
        "arguments": orjson.dumps({HOSTILE: HOSTILE}).decode(),
    }
    fault = {"kind": "server_error", "message": HOSTILE, "status": 500, "body": HOSTILE}
    folder.turn(
        LANE, 0, content=HOSTILE * 50, reasoning=HOSTILE, tool_calls=[call, object_call], finish_reason=HOSTILE,
        faults=("unknown_tool",), message=HOSTILE,
    )  # fmt: skip
    folder.prefix(LANE, 0, excerpt_before=HOSTILE, excerpt_after=HOSTILE[::-1], path=HOSTILE, detail=HOSTILE)
    folder.ran(LANE, 0, HOSTILE * 20, name=HOSTILE, against_recorded="different")
    folder.turn(LANE, 1, content="x" * 1_000_000, fault=fault, faults=("engine_error",), message=HOSTILE)
    folder.collapse("sglang", 0, unit=HOSTILE)
    for channel in ("content", "reasoning", "tool_name", "tool_arguments"):
        folder.stream(LANE, 2, HOSTILE * 3 + "\n", channel)
    folder.stream("sglang", 0, "y" * 100_000)
    folder.add(Warned(message=HOSTILE, lane=LANE))
    folder.add(TelemetryRead(lane=LANE, instance=HOSTILE, sample={"at": 0.0, "running": 1.0}))
    folder.add(TelemetryRead(lane=LANE, instance="b", sample={"at": 1.0, "missing": HOSTILE}))
    (path / "engines" / "vllm.log").write_bytes(HOSTILE.encode() + b"\xff\xfe broken \x1b]0;owned\x07\n")
    return folder


@pytest.mark.parametrize(
    "keys",
    [
        (),
        ("o",),
        ("u",),
        ("i",),
        ("2",),
        ("2", "slash", "x"),
        ("2", "enter"),
        ("2", "enter", "o"),
        ("3",),
        ("4",),
    ],
)
async def test_no_screen_crashes_and_columns_stay_aligned(tmp_path: Path, keys: tuple[str, ...]) -> None:
    hostile_folder(tmp_path / "run")
    app = app_on(tmp_path / "run")
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        seen = picture(app)
    assert app.return_code in (None, 0)
    assert "\x1b" not in seen and "\u202e" not in seen
    if not keys or keys == ("2", "enter"):
        borders = [line for line in seen.splitlines() if line.startswith("│")]
        assert len({cell_len(line) for line in borders}) == 1, "a wide character moved a border"


async def test_tooltips_are_plain_text(tmp_path: Path) -> None:
    hostile_folder(tmp_path / "run")
    app = app_on(tmp_path / "run")
    async with app.run_test(size=(110, 36), tooltips=True) as pilot:
        await settled(pilot)
        head = app.screen.query(".head").first()
        assert "[bold]not bold[/bold]" in str(head.tooltip)
        await pilot.hover(".head", offset=(3, 1))
        await pilot.pause(1)
        seen = picture(app)
    assert "\x1b" not in seen and "\u202e" not in seen


TURNS = [
    (b"\x1b[<35;8;4M", b""),
    (b"o", b""),
    (b"u", b"unknown"),
    (b"u", b""),
    (b"i", b"asked for"),
    (b"i", b""),
    (b"2", "✂".encode()),
    (b"/", b""),
    (b"\x1b[200~[/]\xc2\x9b2J\xe2\x80\xae\x1b[201~", b""),
    (b"\x7f" * 60 + b"\r", b""),
    (b"\r", b"recorded answer"),
    (b"o", b""),
    (b"3", b"time of"),
    (b"4", b"warnings"),
]
"""What is typed (the first is the mouse), and a word that shows that the screen has changed; none where it may not."""


def test_nothing_reaches_the_terminal_raw(tmp_path: Path) -> None:
    """The program under a real pseudo-terminal, every byte that it writes looked at, screen by screen."""
    hostile_folder(tmp_path / RUN)
    written = screen_bytes([sys.executable, "-m", "replayer", "watch", str(tmp_path / RUN)], TURNS)
    for sequence in FORBIDDEN:
        assert sequence not in written, sequence


def screen_bytes(command: list[str], turns: list[tuple[bytes, bytes]]) -> bytes:
    """Run under a pty of 110 × 36, type, quit, and give back all that was written."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 110, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as program:
        os.close(slave)
        try:
            return _typed(master, program, turns)
        finally:
            program.kill()
            os.close(master)


def _typed(master: int, program: subprocess.Popen[bytes], turns: list[tuple[bytes, bytes]]) -> bytes:
    written = read_until(master, b"Quit")
    for keys, word in turns:
        os.write(master, keys)
        said = read_until(master, word) if word else read_until(master, None, 1)
        assert word in said, f"after {keys!r} nobody saw {word!r}"
        written += said
    os.write(master, b"q")
    written += read_until(master, b"still")
    os.write(master, b"l")
    return written + read_until(master, None, done=lambda: program.poll() is not None)


def read_until(
    master: int, word: bytes | None, seconds: float = 120, done: Callable[[], bool] = lambda: False
) -> bytes:
    seen = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not done() and (word is None or word not in seen):
        if select.select([master], [], [], 0.1)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
    return seen


def test_safe_keeps_words_and_drops_control() -> None:
    assert safe("a\nb\tc é 漢") == "a\nb\tc é 漢"
    assert not any(ord(c) < 32 and c not in "\n\t" for c in safe(HOSTILE))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f469\U0001f469\U0001f467"),
        ("\U0001f1e9\U0001f1ea", "DE"),
        ("\U0001f44d\U0001f3fd \u2764\ufe0f", "\U0001f44d \u2764"),
        ("e" + "\u0301" * 500 + "!", "e\u0301\u0301\u0301!"),
        ("so\u00adft\U000e0069\U000e0067", "soft"),
        ("\U0001ffff\U000ffffe\uffff", "\ufffd\ufffd\ufffd"),
        ("\ufff9a\ufffab\ufffb", "ab"),
    ],
    ids=["family", "flag", "skin and variation", "tower", "soft hyphen and tags", "unassigned", "annotation"],
)
def test_what_terminals_disagree_on_is_shown_plainly(text: str, shown: str) -> None:
    assert text_safe(text) == shown
    assert text_safe(shown) == shown


def test_a_line_of_a_megabyte_is_cut_at_once() -> None:
    assert fit("\u6f22" * 1_000_000, 9) == "\u6f22" * 4 + "…"
