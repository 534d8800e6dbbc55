"""Many runs on one page: what works with which engine, version, parser and model, over which wire; each cell leads to its
evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from replayer.journal.several_runs import named_apart
from replayer.journal.view import LaneView, RunView, load
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import run_figures
from replayer.metrics.shown import DASH
from replayer.report.evidence import gather
from replayer.report.formats import WRITERS
from replayer.report.saving import new_folder
from replayer.report.saving import write as save
from replayer.report.templates import render_page

INDEX = "index.html"
_PARSER = ("tool_call_parser", "tool_parser", "chat_format")
_SOUND, _FAIR = 0.95, 0.8
"""Shares of usable turns from which on a cell is drawn as sound, and as fair; its words say the figure itself."""


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """What a server is, but for its wire."""

    engine: str
    version: str
    model: str
    parser: str
    precision: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One lane of one run."""

    words: str
    detail: str
    link: str
    state: str


def write(folders: Sequence[Path], out: Path) -> int:
    """The page, and the report of each run beside it. The number of cells. Raises RunFolderError."""
    views = named_apart([load(folder) for folder in folders])
    new_folder(out)
    rows: dict[Row, dict[str, list[Cell]]] = {}
    for folder, view in zip(folders, views, strict=True):
        name = f"run-{''.join(c if c.isalnum() or c in '-_.' else '_' for c in view.run)}.html"
        save(out / name, WRITERS["html"](gather([folder])))
        for row, wire, cell in _cells(view, name):
            rows.setdefault(row, {}).setdefault(wire, []).append(cell)
    save(out / INDEX, _page(rows, [view.run for view in views]))
    return sum(len(cells) for by_wire in rows.values() for cells in by_wire.values())


def _cells(view: RunView, report: str) -> list[tuple[Row, str, Cell]]:
    figures = {lane.lane: lane for lane in run_figures(view).lanes}
    return [
        (_row(lane), figures[lane.name].wire or "chat", _cell(figures[lane.name], view, report))
        for lane in view.lanes
        if lane.name in figures
    ]


def _row(lane: LaneView) -> Row:
    effective = lane.facts.get("effective") or {}
    parser = next((str(effective[key]) for key in _PARSER if effective.get(key)), DASH)
    precision = [effective.get(key) for key in ("quantization", "dtype", "kv_cache_dtype_resolved")]
    shown = list(dict.fromkeys(str(v).removeprefix("torch.") for v in precision if v and v != "auto"))
    version = lane.facts.get("version")
    return Row(
        lane.kind, str(version or "unknown"), lane.model or "unknown", parser, " · ".join(shown) or DASH
    )


def _cell(lane: LaneFigures, view: RunView, report: str) -> Cell:
    link = f"{report}#{quote(lane.lane)}"
    found = lane.usable_turn_rate
    if found.value is None:
        return Cell("no turn", f"{view.run}, {lane.lane}", link, "unknown")
    state = "sound" if found.low >= _SOUND else "fair" if found.value >= _FAIR else "poor"
    calls = (
        f"{lane.tool_calls.invalid} of {lane.tool_calls.total} calls invalid"
        if lane.tool_calls.total
        else "no calls"
    )
    worst = ", ".join(f"{name} {count}" for name, count in list(lane.faults.items())[:2])
    words = f"{found.value:.1%} of {found.n}"
    detail = (
        f"{found.low:.0%}–{found.high:.0%}; {calls}{f'; {worst}' if worst else ''}; {view.run}, {lane.lane}"
    )
    return Cell(words, detail, link, state)


def _page(rows: dict[Row, dict[str, list[Cell]]], runs: list[str]) -> str:
    wires = sorted({wire for by_wire in rows.values() for wire in by_wire})
    found = sorted(rows.items())
    return render_page("matrix.html", "What works with what", wires=wires, rows=found, runs=runs)
