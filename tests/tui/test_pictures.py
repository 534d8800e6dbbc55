"""Golden pictures: the text of each screen in its states. UPDATE_GOLDEN=1 draws them anew."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from replayer.journal.events import SessionFinished, TelemetryRead, Warned
from tests.tui.pictures import Folder, app_on, picture, settled

GOLDEN = Path(__file__).parent / "golden"
LANES: dict[str, dict[str, Any]] = {"vllm": {"temperature": 0.9}, "sglang": {"min_p": 0.05}}
FAULT = {"kind": "server_error", "message": "CUDA out of memory", "status": 500, "body": None}


def empty(path: Path) -> None:
    Folder(path, LANES).journal.close()


def running(path: Path) -> None:
    folder = Folder(path, LANES)
    folder.recorded()
    for turn in range(3):
        folder.turn("vllm", turn)
        folder.turn("sglang", turn, faults=("unknown_tool",) if turn == 1 else ())
    folder.stream("vllm", 3, "The parser drops the last unit.", "reasoning")
    folder.stream("vllm", 3, "I will read it.")
    folder.stream("sglang", 3, "read_file", "tool_name")
    folder.stream("sglang", 3, '{"path": "parse.py"}', "tool_arguments")


def collapse(path: Path) -> None:
    folder = Folder(path, LANES)
    folder.recorded()
    folder.turn("vllm", 0)
    folder.turn("sglang", 0)
    folder.collapse("sglang", 1)
    folder.stream("sglang", 1, "I look.\n" + "(Sigh) (Laughter) " * 30)


def engine_failed(path: Path) -> None:
    folder = Folder(path, LANES)
    folder.recorded()
    folder.turn("vllm", 0)
    folder.turn("vllm", 1)
    folder.turn("sglang", 0)
    folder.turn(
        "sglang", 1, faults=("engine_error",), fault=FAULT, content="", tool_calls=[], usage=None,
        usage_source="none", ttft_ns=None, arrivals="", deltas=0, finish_reason=None,
    )  # fmt: skip
    folder.add(Warned(message="sglang: 1 of 2 requests failed", lane="sglang"))


def unknown(path: Path) -> None:
    folder = Folder(path, LANES)
    folder.recorded()
    for lane in LANES:
        for turn in range(2):
            usage = {"prompt_tokens": 100, "cached_tokens": None, "completion_tokens": None}
            folder.turn(lane, turn, usage=usage)
    folder.journal.close()


def finished(path: Path) -> None:
    folder = Folder(path, LANES, turns=4)
    folder.recorded()
    for turn in range(4):
        folder.turn("vllm", turn)
        folder.turn("sglang", turn, faults=("arguments_not_json",) if turn % 2 else ())
        for lane in LANES:
            sample = {
                "at": float(turn),
                "kv_used": 0.1 * turn,
                "running": 1.0,
                "waiting": 0.0,
                "generated_tokens": 40.0 * turn,
            }
            folder.add(TelemetryRead(lane=lane, instance="x", sample=sample))
    folder.finish("vllm", "sglang", exit_code=1, reasons=("sglang: 4 streams ended without [DONE]",))


def turns(path: Path) -> None:
    """A finished run whose turns can be opened: a fault, a collapse, a lost prefix, results that differ."""
    folder = Folder(path, LANES, turns=8)
    folder.recorded()
    read = {"index": 0, "id": "c1", "name": "read_file", "arguments": '{"path":"durations/parse.py"}'}
    for turn in range(4):
        folder.turn("vllm", turn, content="I'll read the parser.", tool_calls=[read])
        wrong = {"name": "read_fle"} if turn == 1 else {}
        folder.turn("sglang", turn, tool_calls=[read | wrong], faults=("unknown_tool",) if wrong else ())
        folder.ran("vllm", turn, output="UNITS = {}\n" * 30, against_recorded="same")
        folder.ran("sglang", turn, output="no such file", outcome="tool_error", against_recorded="different")
    folder.prefix("vllm", 2)
    folder.prefix("sglang", 2, cause=None, lost_tokens=0, reported_tokens=410)
    folder.turn("vllm", 4)
    folder.collapse("sglang", 4)
    folder.turn(
        "sglang", 4, start=False, faults=("collapsed",), content="I look.\n" + "(Sigh) (Laughter) " * 6,
        tool_calls=[], usage=None, usage_source="computed", stopped_by_us="repetition", finish_reason=None,
    )  # fmt: skip
    folder.finish("vllm", "sglang")


def six_lanes(path: Path) -> None:
    folder = Folder(path, {f"lane-{n}": {"temperature": n / 10} for n in range(6)})
    for n in range(6):
        folder.turn(f"lane-{n}", 0)


def turn_keys(number: int) -> tuple[str, ...]:
    return ("2", *["down"] * (number - 1), "enter")


PAGES = {
    "main": ("1",),
    "turns": ("2",),
    "telemetry": ("3",),
    "log": ("4",),
    "summary": ("5",),
    "turn": turn_keys(2),
    "help": ("escape", "1", "question_mark"),
}
WIDE, NARROW = (120, 40), (80, 24)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "size"),
    [
        (empty, WIDE),
        (running, WIDE),
        (collapse, WIDE),
        (engine_failed, WIDE),
        (unknown, WIDE),
        (finished, WIDE),
        (running, NARROW),
        (collapse, NARROW),
        (finished, NARROW),
    ],
)
async def test_every_screen_in_every_state(
    tmp_path: Path, state: Callable[[Path], None], size: tuple[int, int]
) -> None:
    """One after the other in one session, as a user goes through them."""
    state(tmp_path / "run")
    app = app_on(tmp_path / "run")
    seen = {}
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for page, keys in PAGES.items():
            if page == "turn" and state is empty:
                continue  # no turn to open
            await press(pilot, keys)
            seen[page] = picture(app)
    for page, text in seen.items():
        check(f"{state.__name__}-{size[0]}x{size[1]}-{page}", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "size", "keys"),
    [
        (unknown, WIDE, ("u",)),
        (running, WIDE, ("q",)),
        (running, WIDE, ("o",)),
        (running, WIDE, ("i",)),
        (running, (300, 60), ()),
        (running, (300, 100), ()),
        (finished, (300, 100), ("3",)),
        (six_lanes, (120, 30), ("1", "right", "right")),
        (six_lanes, (120, 30), ()),
        (turns, (150, 44), ()),
        (turns, (150, 44), ("1",)),
        (turns, (150, 44), ("2",)),
        (turns, (150, 44), turn_keys(2)),
        (turns, (150, 44), turn_keys(3)),
        (turns, (150, 44), turn_keys(5)),
        (turns, (150, 44), (*turn_keys(2), "o")),
        (turns, NARROW, (*turn_keys(3), "tab", "tab", "tab")),
        (turns, (300, 100), turn_keys(3)),
    ],
)
async def test_picture(
    tmp_path: Path, state: Callable[[Path], None], size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    state(tmp_path / "run")
    app = app_on(tmp_path / "run")
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await press(pilot, keys)
        seen = picture(app)
    pressed = "".join(f"-{key}" for key in keys).replace("-down", "d")
    check(f"{state.__name__}-{size[0]}x{size[1]}{pressed}", seen)


async def press(pilot: Pilot[Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        await pilot.press(key)
        if key in "12345":
            await settled(pilot)
    await settled(pilot)


def check(name: str, seen: str) -> None:
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(seen, encoding="utf-8")
    assert seen == golden.read_text(encoding="utf-8"), name


def test_an_interrupted_run_counts_as_partial_until_it_is_resumed(tmp_path: Path) -> None:
    """Screen and report count the turns that have finished, and the report says that their session has not."""
    from replayer.journal.view import load
    from replayer.metrics.figures import run_figures

    folder = Folder(tmp_path / "run", LANES)
    folder.turn("vllm", 0)
    lane = run_figures(load(folder.path)).lanes[0]
    assert (lane.turns, lane.sessions, lane.partial_sessions) == (1, 0, 1)
    folder.add(SessionFinished(session="vllm/session/0", attempt=1, outcome="done"))
    lane = run_figures(load(folder.path)).lanes[0]
    assert (lane.turns, lane.sessions, lane.partial_sessions) == (1, 1, 0)
    folder.journal.close()
