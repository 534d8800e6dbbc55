"""Every figure on the main screen is the one in `report --json` of the same run."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replayer.journal.packing import pack
from replayer.journal.turn_detail import turn_detail
from replayer.journal.view import load
from replayer.metrics.rows import BY_SHORT
from replayer.signals.prefix_reuse.causes import PHRASES
from replayer.tui.lane_turn_view import lane_text
from replayer.tui.rows import ROWS
from replayer.tui.text import BLOCKS, DASH
from tests.tui.pictures import Folder, app_on, picture, settled

Figures = dict[str, Any]

TWO_FAULTY_LANES = """
traces = ["fix-failing-test"]
[[lane]]
name = "vllm"
launch = "simulated"
options = { kind = "vllm", tok_s = 4000, draft_tokens = 3, seed = 3, fault = ["unknown_tool@0.4", "wrong_type@0.3"] }
[[lane]]
name = "sglang"
launch = "simulated"
options = { kind = "sglang", tok_s = 4000, pool_tokens = 900, fault = ["collapse@0.4:at=60"] }
"""
A_SESSION_WITH_UNKNOWNS = """
traces = ["flaky-service"]
repeat = 2
max_turns = 6
[[lane]]
name = "plain"
launch = "simulated"
options = { kind = "llamacpp", tok_s = 4000, report_cached = false, report_metrics = false, fault = ["history_rejected@0.2"] }
"""
IN_A_SANDBOX = TWO_FAULTY_LANES.replace("\n", '\ntools = "sandbox"\n', 1)

NUMBERS = {
    row.label: row.metrics
    for row in BY_SHORT.values()
    if row.metrics
    and row.label in {shown.label for shown in ROWS}
    and row.short not in ("errors", "collapse")
}
"""Rows with numbers: the keys of the catalogue in the order shown."""
COUNTS = {"faults in turns": "faults", "engine errors": "errors"}
UNSAID = {"prefix_evicted": 0.0, "deltas_per_chunk": 1.05}
"""Up to here the line leaves the figure out, because it says nothing new."""
CURVES = {"reused by turn": "reported", "best possible": "ideal"}
WORDS = {"collapsed turns", "why not reused", "by turn"}
"""Rows with a check of their own below."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run by its plan, made once."""
    made: dict[str, Path] = {}

    def run(plan: str) -> Path:
        if plan not in made:
            folder = tmp_path_factory.mktemp("figures")
            (folder / "plan.toml").write_text(plan)
            made[plan] = folder / "run"
            replayer("run", str(folder / "plan.toml"), "--out", str(made[plan]), "--max-lag", "60000")
        return made[plan]

    return run


def replayer(*arguments: str) -> str:
    command = [sys.executable, "-m", "replayer", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(TWO_FAULTY_LANES, id="two lanes with faults"),
        pytest.param(A_SESSION_WITH_UNKNOWNS, id="a session with unknown figures"),
        pytest.param(IN_A_SANDBOX, id="in a sandbox", marks=pytest.mark.sandbox),
    ],
)
async def test_every_figure_is_the_one_of_the_report(runs: Any, plan: str, tmp_path: Path) -> None:
    folder = runs(plan)
    report = json.loads(replayer("report", str(folder), "--json"))
    replayer("report", str(folder), "--csv", str(tmp_path / "turns.csv"))
    with (tmp_path / "turns.csv").open(newline="") as stream:
        turns = list(csv.DictReader(stream))
    app = app_on(folder)
    async with app.run_test(size=(90 * len(report["lanes"]) + 10, 60)) as pilot:
        await settled(pilot)
        await pilot.press("1")  # a finished run begins with its summary
        await settled(pilot)
        seen = picture(app)
    for place, figures in enumerate(report["lanes"]):
        column = [line.split("││")[place].strip("│") for line in seen.splitlines() if line.startswith("│")]
        title = seen.splitlines()[1].split("╮╭")[place]
        check_lane(title, column, figures, [row for row in turns if row["lane"] == figures["lane"]])


def check_lane(title: str, column: list[str], figures: Figures, turns: list[dict[str, str]]) -> None:
    shown = {line[1:19].strip(): line[19:].rstrip() for line in column}
    labels = {row.label.strip() for row in ROWS}
    assert labels == NUMBERS.keys() | COUNTS.keys() | CURVES.keys() | WORDS, "a row without a check"
    for label, keys in NUMBERS.items():
        check_numbers(label, shown[label], figures, keys)
    for label, key in COUNTS.items():
        found = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", shown[label])}
        assert found == figures[key], label
    for label, key in CURVES.items():
        check_curve(shown[label], [turn[key] for turn in figures["prefix_cache"]["curve"]], 1.0)
    newest = max(int(row["repeat"]) for row in turns)
    speeds = [row["decode_tok_s"] for row in turns if int(row["repeat"]) == newest]
    known = [float(speed) for speed in speeds if speed]
    check_curve(
        shown["by turn"], [float(speed) if speed else None for speed in speeds], max(known, default=1)
    )
    check_head(title, column, figures)
    check_collapses(shown["collapsed turns"], column, figures["repetition"])
    check_cause(shown["why not reused"], figures["prefix_cache"])


def check_numbers(label: str, text: str, figures: Figures, keys: tuple[str, ...]) -> None:
    values = [figures["figures"][key] for key in keys]
    if text == DASH or text.startswith(f"{DASH}  "):
        assert values[0] is None, label
        return
    expected = [
        value
        for value, key in zip(values, keys, strict=True)
        if value is not None and value > UNSAID.get(key, -1.0)
    ]
    if label == "usable turns":
        rate = figures["usable_turn_rate"]
        expected += [rate["low"] * 100, rate["high"] * 100, rate["n"]]
    if " to " in text:
        assert label == "prefix reuse"
        expected[1:2] = best_possible(figures["prefix_cache"])
    numbers = re.findall(r"\d[\d,]*(?:\.\d+)?%?", re.sub(r"\bp\d\d\b|▲", "", text))
    assert len(numbers) == len(expected), f"{label}: {text!r} against {expected}"
    for number, value in zip(numbers, expected, strict=True):
        assert agrees(number, value), f"{label}: {number} is shown for {value}"


def best_possible(cache: Figures) -> list[float]:
    """Both ends of the range, whose upper one is no less than what was reused."""
    low, high = cache["range"]
    return [low, max(high, cache["reported"]) if cache["reported"] > cache["ideal"] else cache["ideal"]]


def agrees(shown: str, value: float) -> bool:
    """Whether a number is the value, to the digits that are shown."""
    digits = shown.replace(",", "")
    places = len(digits.rstrip("%").partition(".")[2])
    value = value * 100 if digits.endswith("%") else value
    return abs(value - float(digits.rstrip("%"))) <= 0.5 * 10**-places + 1e-9


def check_curve(text: str, values: list[float | None], top: float) -> None:
    if not any(value is not None for value in values):
        assert text.startswith(DASH)
        return
    for sign, value in zip(text.ljust(len(values)), values, strict=True):
        assert (sign == " ") == (value is None)
        if value is not None:
            assert abs(BLOCKS.index(sign) - max(1.0, 8 * value / top)) <= 0.5 + 1e-9


def check_head(title: str, column: list[str], figures: Figures) -> None:
    progress = next(line for line in column if "sessions" in line)
    turns, sessions = re.search(r"(\d+)/\d+ turns", progress), re.search(r"(\d+)/\d+ sessions", progress)
    assert turns and int(turns[1]) == figures["turns"]
    assert sessions and int(sessions[1]) == figures["sessions"]
    rate = figures["usable_turn_rate"]
    bad = round(rate["n"] * (1 - rate["value"]))
    words = f"{bad} of {rate['n']} turns not usable" if bad else f"{rate['n']} usable"
    assert words in title


def check_collapses(text: str, column: list[str], figures: Figures) -> None:
    wasted = [re.search(r"COLLAPSED .* (\d+) tokens wasted", line) for line in column]
    banners = [int(found[1]) for found in wasted if found]
    if not figures["collapsed_turns"]:
        assert text == "none" and not banners
        return
    assert re.findall(r"\d+", text)[:2] == [str(figures["collapsed_turns"]), str(figures["wasted_tokens"])]
    assert len(banners) == 1 and banners[0] <= figures["wasted_tokens"]
    if figures["collapsed_turns"] == 1:
        assert banners[0] == figures["wasted_tokens"]


def check_cause(text: str, figures: Figures) -> None:
    if figures["cause"] is None:
        assert text == "nothing lost"
    elif figures["reported"] is None and figures["cause"] == "not_reported":
        assert text.startswith(DASH)
    else:
        assert text == PHRASES[figures["cause"]]


@pytest.mark.slow
def test_every_figure_of_a_turn_is_the_one_of_the_report(runs: Any, tmp_path: Path) -> None:
    folder = runs(TWO_FAULTY_LANES)
    replayer("report", str(folder), "--csv", str(tmp_path / "turns.csv"))
    view = load(folder)
    with (tmp_path / "turns.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        key = row["trace"], int(row["repeat"]), int(row["turn"]) - 1
        lane = turn_detail(folder, view, *key).lanes[row["lane"]]
        spans = lane_text(lane, "", {}, 200, unfolded=False)
        check_turn("".join(span if isinstance(span, str) else span[0] for span in spans), row)


def check_turn(text: str, row: dict[str, str]) -> None:
    shown = {
        "ttft_ms": r"(\S+)(?: ms)? to the first token", "total_ms": r", (\S+) ms in all", "deltas": r"(\S+) deltas",
        "prompt_tokens": r"tokens: (\S+) prompt", "cached_tokens": r"prompt, (\S+) cached",
        "completion_tokens": r"cached, (\S+) completion",
    }  # fmt: skip
    for column, pattern in shown.items():
        found = re.search(pattern, text)
        if found is None:
            assert not row[column] or (column == "deltas" and int(row[column]) < 2), column
        elif found[1] == DASH:
            assert not row[column], column
        elif not row[column]:
            assert "count in no figure" in text, column
        else:
            assert agrees(found[1], float(row[column])), f"{column}: {found[1]} is shown for {row[column]}"
    said = "NOT USABLE" not in text
    assert said == (row["usable"].lower() in ("true", "1"))
    assert all(name in text for name in row["fatal_faults"].split(";") if name)


@pytest.mark.slow
async def test_the_peak_of_the_kv_cache_is_the_one_of_the_report(runs: Any) -> None:
    folder = runs(TWO_FAULTY_LANES)
    report = json.loads(replayer("report", str(folder), "--json"))
    app = app_on(folder)
    async with app.run_test(size=(160, 100)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        await settled(pilot)
        lines = [line for line in picture(app).splitlines() if "KV cache in use" in line]
    assert len(lines) == len(report["lanes"])
    for line, figures in zip(lines, report["lanes"], strict=True):
        used, peak = (figures["kv"] or {}).get("peak_used"), re.search(r"max (\S+)", line)
        assert agrees(peak[1], used) if peak else used is None and DASH in line


async def test_a_lane_whose_replies_come_whole_says_why_it_has_no_times_between_tokens(
    tmp_path: Path,
) -> None:
    made = Folder(tmp_path / "run", {"a": {}}, turns=2)
    for turn in range(2):
        made.turn("a", turn, arrivals=pack([50_000_000]), deltas=1)
    made.finish("a")
    app = app_on(made.path)
    async with app.run_test(size=(100, 50)) as pilot:
        await settled(pilot)
        await pilot.press("1")
        await settled(pilot)
        shown = picture(app)
        assert "one chunk a reply" in shown and " yet" not in shown
