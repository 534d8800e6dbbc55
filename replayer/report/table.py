"""The side-by-side table on a terminal: one column per lane, the same rows for all."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from replayer.report.sections import Section, sections
from replayer.report.server import server_notes, server_rows
from replayer.text import safe

Figures = dict[str, Any]
DASH = "–"
_LANE_WIDTH = 20
"""Columns that a lane needs to be read."""


def print_report(document: Figures, console: Console) -> None:
    """Print the document of `run_figures`."""
    for lanes in _shares(document["lanes"], console.width):
        console.print(_side_by_side(document, lanes))
    for section in sections(document):
        print_section(section, console)
    for line in notes(document):
        console.print(Text(line))


def _shares(lanes: list[Figures], width: int) -> list[list[Figures]]:
    """The lanes in as many tables as the width asks for."""
    beside = max(2, (width - 28) // _LANE_WIDTH)
    return [lanes[start : start + beside] for start in range(0, len(lanes), beside)] or [[]]


def _side_by_side(document: Figures, lanes: list[Figures]) -> Table:
    table = Table(title=title(document), title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for lane in lanes:
        table.add_column(Text(safe(lane["lane"])), justify="right", overflow="fold")
    for label, cells in table_rows(lanes):
        table.add_row(label, *map(Text, cells))
    return table


_Table = tuple[list[str], list[list[str]]]


def _fitting(head: list[str], rows: list[list[str]], width: int) -> list[_Table]:
    """The table where it fits; else turned round, its rows as columns, in as many tables as the width asks for."""
    needed = [max(len(cell) for cell in column) + 3 for column in zip(head, *rows, strict=True)]
    words = [max(map(len, title.split())) + 3 for title in head]
    wrapped = [min(cell, max(word, 16)) for cell, word in zip(needed, words, strict=True)]
    if sum(wrapped) <= width or len(head) <= 6:
        return [(head, rows)]
    label = max(map(len, head)) + 3
    beside = max(1, (width - label) // _LANE_WIDTH)
    shares = (rows[start : start + beside] for start in range(0, len(rows), beside))
    return [_turned(head, share) for share in shares]


def _turned(head: list[str], rows: list[list[str]]) -> _Table:
    lines = [list(line) for line in zip(head, *rows, strict=True)]
    return lines[0], lines[1:]


def print_section(section: Section, console: Console) -> None:
    console.print(Text(safe(section.title), "bold italic"))
    for head, rows in _fitting(section.head, section.rows, console.width):
        table = Table(pad_edge=False)
        for number, column in enumerate(head):
            first = number == 0
            table.add_column(
                Text(safe(column)), justify="left" if first else "right", overflow="fold", no_wrap=first
            )
        for row in rows:
            table.add_row(*(Text(safe(cell)) for cell in row))
        console.print(table)
    for note in section.notes:
        console.print(Text(safe(note), "dim"))
    if section.code:
        console.print(Text("the settings to copy:"))
        print("\n".join(safe(line) for line in section.code.splitlines()), file=console.file)


def title(document: Figures) -> str:
    return f"{safe(document['run'])} · {document['mode']} history · tools {document['tools']}"


def table_rows(lanes: list[Figures]) -> list[tuple[str, list[str]]]:
    """(label, one cell per lane)."""
    rows = [
        ("engine", [safe(f"{lane['kind']} · {lane['model'] or DASH}") for lane in lanes]),
        ("sessions · turns", [f"{lane['sessions']} · {lane['turns']}" for lane in lanes]),
        ("usable turns", [_rate(lane["usable_turn_rate"]) for lane in lanes]),
        ("tool calls (invalid)", [_calls(lane["tool_calls"]) for lane in lanes]),
    ]
    if any(lane["tool_calls"]["failed_execution"] is not None for lane in lanes):
        rows.append(("executed (failed)", [_executed(lane["tool_calls"]) for lane in lanes]))
    if any(lane["finished_sessions"] for lane in lanes):
        rows.append(("sessions finished", [_rate(lane["finished_sessions"]) for lane in lanes]))
    rows += [
        ("collapsed turns", [_collapsed(lane["repetition"]) for lane in lanes]),
        ("prefix cache hits", [_prefix(lane["prefix_cache"]) for lane in lanes]),
        ("TTFT ms p50 / p95", [_pair(lane["ttft_ms"]) for lane in lanes]),
        ("between deltas ms p50 / p95", [_pair(lane["itl_ms"]) for lane in lanes]),
        ("decode tok/s", [_number(lane["decode_tok_s"]["value"]) for lane in lanes]),
        ("prefill tok/s", [_number(lane["prefill_tok_s"]["value"]) for lane in lanes]),
        ("draft acceptance", [_acceptance(lane["acceptance"]) for lane in lanes]),
        *server_rows(lanes),
        ("tokens in / out", [_tokens(lane["tokens"]) for lane in lanes]),
        ("engine errors", [_counts(lane["errors"]) for lane in lanes]),
    ]
    classes = sorted({name for lane in lanes for name in lane["faults"]})
    rows += [(f"  {name}", [str(lane["faults"].get(name, 0)) for lane in lanes]) for name in classes]
    if any(lane["blames"] for lane in lanes):
        rows.append(("unusable turns blamed on", [_counts(lane["blames"]) for lane in lanes]))
    return rows


def notes(document: Figures) -> list[str]:
    """What a reader of the figures must know besides."""
    found = []
    if document["state"] == "interrupted":
        found.append(
            f"interrupted: `replayer resume {document.get('folder', document['run'])}` finishes the missing sessions"
        )
    if document["stopped_early"]:
        found.append(
            f"stopped early, {document['incomplete_sessions']} sessions were not needed: {safe(document['stopped_early'])}; "
            "all tests and intervals of this run allow for that"
        )
    elif document["incomplete_sessions"] and document["state"] != "running":
        found.append(
            f"{document['incomplete_sessions']} sessions have no complete attempt and are not counted"
        )
    if any(lane["substituted_turns"] for lane in document["lanes"]):
        found.append("some turns were replaced by the recorded ones: see substituted_turns in --json")
    found += server_notes(document["lanes"])
    found += [f"broken: {safe(reason)}" for reason in document["reasons"]]
    found += [f"note: {safe(warning['message'])}" for warning in document["warnings"]]
    return found


def _rate(rate: Figures | None) -> str:
    if rate is None or rate["value"] is None:
        return DASH
    return f"{rate['value']:.1%} [{rate['low']:.0%}, {rate['high']:.0%}] of {rate['n']}"


def _calls(calls: Figures) -> str:
    return f"{calls['total']} ({calls['invalid']})"


def _executed(calls: Figures) -> str:
    return DASH if calls["failed_execution"] is None else f"{calls['executed']} ({calls['failed_execution']})"


def _collapsed(repetition: Figures) -> str:
    if not repetition["collapsed_turns"]:
        return "0"
    saved = repetition.get("saved_tokens_at_most")
    spared = f", ≤ {saved:,} saved" if saved else ""
    return f"{repetition['collapsed_turns']} ({repetition['wasted_tokens']:,} tokens wasted{spared})"


def _prefix(prefix: Figures) -> str:
    reported = DASH if prefix["reported"] is None else f"{prefix['reported']:.1%}"
    if prefix["ideal"] is None:
        return reported
    evicted = f", {prefix['evicted']:.1%} evicted" if prefix["evicted"] else ""
    return f"{reported} of {prefix['ideal']:.1%} possible{evicted}"


def _pair(quantiles: Figures) -> str:
    return f"{_number(quantiles['p50'])} / {_number(quantiles['p95'])}"


def _number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _acceptance(acceptance: Figures | None) -> str:
    if acceptance is None or acceptance["rate"] is None:
        return DASH
    length = f" · length {acceptance['length']:.2f}" if acceptance.get("length") else ""
    return f"{acceptance['rate']:.1%}{length}"


def _tokens(tokens: Figures) -> str:
    return f"{_count(tokens['prompt'])} / {_count(tokens['completion'])}"


def _count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in counts.items()) or "0"
