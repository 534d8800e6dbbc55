"""One run, every output: a figure that stands in several of them is the same in all, by its key of the catalogue."""

import csv
import html
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest

from replayer.metrics.catalogue import COMPARED, METRICS, SHARES
from replayer.metrics.rows import ROWS
from replayer.tui.rows import ROWS as ON_SCREEN
from tests.tui.pictures import app_on, picture, settled

PLAN = """
traces = ["fix-failing-test", "flaky-service"]
[[lane]]
name = "a"
launch = "simulated"
options = { kind = "vllm", tok_s = 4000, draft_tokens = 3, seed = 3, fault = ["unknown_tool@0.3", "disconnect@0.1"] }
[[lane]]
name = "b"
launch = "simulated"
options = { kind = "sglang", tok_s = 4000, pool_tokens = 900, fault = ["collapse@0.4:at=60", "wrong_type@0.2"] }
"""
GATES = [key for key in METRICS if not key.startswith("itl_ms")]


@dataclass(frozen=True, slots=True)
class Outputs:
    folder: Path
    lanes: list[dict[str, Any]]
    """Of `report --json`."""
    reasons: list[str]
    tables: dict[str, dict[str, list[str]]]
    """By output, the cells of each row."""
    rows: list[dict[str, str]]
    """Of the CSV."""
    pairs: dict[str, dict[str, Any]]
    """Of `compare --json`, by metric."""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    folder = tmp_path_factory.mktemp("one")
    (folder / "plan.toml").write_text(PLAN)
    run, gates = folder / "run", [word for key in GATES for word in ("--fail-if", f"{key} >= 0")]
    replayer("run", folder / "plan.toml", "--out", run, "--max-lag", "60000", *gates)
    document = json.loads(replayer("report", run, "--json"))
    files = {name: folder / f"report.{name}" for name in ("markdown", "html", "csv")}
    replayer("report", run, *(word for name, path in files.items() for word in (f"--{name}", path)))
    compared = replayer("compare", run, "--json", *(word for key in COMPARED for word in ("--metric", key)))
    with files["csv"].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    tables = {
        "terminal": cells(replayer("report", run), "│"),
        "markdown": cells(html.unescape(files["markdown"].read_text()), "|"),
        "html": html_cells(files["html"].read_text()),
    }
    pairs = {pair["metric"]: pair for pair in json.loads(compared)["pairs"]}
    return Outputs(run, document["lanes"], document["reasons"], tables, rows, pairs)


def replayer(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "replayer", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=os.environ | {"COLUMNS": "300"}
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def cells(text: str, bar: str) -> dict[str, list[str]]:
    lines = (
        [cell.strip() for cell in line.strip(f"{bar} ").split(bar)]
        for line in text.splitlines()
        if bar in line
    )
    return {label: found for label, *found in lines if len(found) == 2}


def html_cells(page: str) -> dict[str, list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    found = [
        [html.unescape(cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
        for row in rows
    ]
    return {row[0]: row[1:] for row in found if len(row) == 3}


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?%?", re.sub(r"\bp\d\d\b|▲", "", text))


def agrees(shown: str, value: float) -> bool:
    """Whether a number is the value, to the digits that are shown."""
    digits = shown.replace(",", "")
    places = len(digits.rstrip("%").partition(".")[2])
    value = value * 100 if digits.endswith("%") else value
    return abs(value - float(digits.rstrip("%"))) <= 0.5 * 10**-places + 1e-9


def check(text: str, keys: tuple[str, ...], figures: dict[str, float | None]) -> None:
    known = [figures[key] for key in keys if figures[key] is not None]
    if text.startswith("–") and figures[keys[0]] is None:
        return
    if text == "none":
        assert known[0] == 0
        return
    if len(keys) > 1:
        known = [value for value, key in zip(known, keys, strict=False) if value or key != "prefix_evicted"]
    found = numbers(text)
    assert len(found) >= len(known) > 0, f"{keys}: {text!r}"
    for shown, value in zip(found, known, strict=False):
        assert value is not None and agrees(shown, value), f"{keys}: {shown} is shown for {value}"


def test_the_flat_figures_are_those_of_the_document(outputs: Outputs) -> None:
    for lane in outputs.lanes:
        assert lane["figures"].keys() == METRICS.keys()
        for key, metric in METRICS.items():
            value: Any = lane
            for name in (
                metric.path.split(".") if not metric.path.startswith("figures.") else ("figures", key)
            ):
                value = value[name] if value is not None else None
            value = sum(value.values()) if isinstance(value, dict) else value
            assert value == lane["figures"][key], key


def test_table_markdown_and_html_show_the_same_cells(outputs: Outputs) -> None:
    one = outputs.tables["terminal"]
    for row in ROWS:
        label = row.label.strip()
        if label not in one:
            assert not row.always
            continue
        assert outputs.tables["markdown"][label] == outputs.tables["html"][label] == one[label], label
        for text, lane in zip(one[label], outputs.lanes, strict=True):
            if row.metrics and row.short != "errors":
                check(text, row.metrics, lane["figures"])
    for text, lane in zip(one["engine errors"], outputs.lanes, strict=True):
        assert sum(map(int, re.findall(r"\d+", text))) == lane["figures"]["errors"]


def test_the_comparison_shows_the_lanes_figures(outputs: Outputs) -> None:
    a, b = (lane["figures"] for lane in outputs.lanes)
    for key in COMPARED:
        if a[key] is None or b[key] is None:
            assert key not in outputs.pairs
            continue
        pair = outputs.pairs[key]
        assert (pair["value_a"], pair["value_b"]) == pytest.approx((a[key], b[key]), rel=1e-9), key
        if COMPARED[key].counted == "turns":
            assert pair["n_turns"] <= min(a["turns"], b["turns"]), f"{key}: turns, not times within them"


def test_a_gate_names_the_figure_and_its_value(outputs: Outputs) -> None:
    assert outputs.reasons
    for lane in outputs.lanes:
        for key in GATES:
            value = lane["figures"][key]
            said = [words for words in outputs.reasons if words.endswith(f"--fail-if '{key} >= 0'")]
            mine = [words for words in said if words.startswith(f"{lane['lane']}: ")]
            assert len(mine) == (value is not None and value >= 0), key
            for words in mine:
                label = f"{lane['lane']}: {METRICS[key].label} "
                assert words.startswith(label) and agrees(numbers(words[len(label) :])[0], value), words


def test_the_rows_of_the_csv_make_up_the_figures(outputs: Outputs) -> None:
    for lane in outputs.lanes:
        rows, figures = [row for row in outputs.rows if row["lane"] == lane["lane"]], lane["figures"]

        def column(name: str, rows: list[dict[str, str]] = rows) -> list[float]:
            return [float(row[name]) for row in rows if row[name]]

        both = [row for row in rows if row["cached_tokens"] and row["prompt_tokens"]]
        timed = [row for row in rows if row["decode_tok_s"]]
        filled = [row for row in rows if row["prefill_tok_s"]]
        expected = {
            "usable_turn_rate": numpy.mean(column("usable")),
            "invalid_calls": sum(column("invalid_calls")),
            "collapsed_turns": sum(
                "collapsed" in row["faults"].split(";") or bool(row["collapse_kind"]) for row in rows
            ),
            "errors": sum(bool(row["error"]) for row in rows),
            "prefix_hit_rate": sum(column("cached_tokens", both)) / sum(column("prompt_tokens", both)),
            "decode_tok_s": numpy.average(column("decode_tok_s", timed), weights=column("decode_ms", timed)),
            "prefill_tok_s": numpy.average(
                column("prefill_tok_s", filled), weights=column("prefill_ms", filled)
            ),
            "completion_tokens": sum(column("completion_tokens")),
            **{
                f"{name}.{place}": numpy.quantile(column(name), share)
                for name in ("ttft_ms", "tpot_ms", "e2e_ms")
                for place, share in SHARES.items()
            },
        }
        for key, value in expected.items():
            assert figures[key] == pytest.approx(float(value)), key


async def test_the_screen_shows_the_figures_of_the_report(outputs: Outputs) -> None:
    app = app_on(outputs.folder)
    async with app.run_test(size=(190, 60)) as pilot:
        await settled(pilot)
        await pilot.press("1")
        await settled(pilot)
        seen = picture(app)
    for place, lane in enumerate(outputs.lanes):
        column = [line.split("││")[place].strip("│") for line in seen.splitlines() if line.startswith("│")]
        shown = {line[1:19].strip(): line[19:].strip() for line in column}
        for row in ROWS:
            if row.metrics and row.short != "errors" and row.label in {one.label for one in ON_SCREEN}:
                check(shown[row.label.strip()], row.metrics, lane["figures"])
