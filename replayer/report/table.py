"""A run's report on standard output: the side-by-side table, one column per lane, the same rows for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from replayer.journal.log import writer_pid
from replayer.journal.several_runs import side_by_side
from replayer.journal.view import load
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import run_figures
from replayer.metrics.rows import ROWS, counted
from replayer.metrics.run_documents import RunFigures, Story
from replayer.metrics.shown import DASH
from replayer.report.section import Section
from replayer.report.sections import sections
from replayer.text import console, print_json, safe, shortened
from replayer.wire.types import JsonObject

_LANE_WIDTH = 20
"""Columns that a lane needs to be read."""


def print_report(document: RunFigures, console: Console, folder: str | None = None) -> None:
    """Print the document of `run_figures`: the story first, then every figure, then the sentences behind the story."""
    console.print(_story(document.conclusions.story))
    for lanes in _shares(document.lanes, console.width):
        console.print(_side_by_side(document, lanes, console.width))
    for section in sections(document):
        print_section(section, console)
    for sentence in document.conclusions.sentences():
        console.print(Text(safe(sentence)))
    for line in notes(document, folder):
        console.print(Text(line))


def _story(story: Story) -> Table:
    """The headline, and each question beside its answer."""
    table = Table.grid(padding=(0, 2))
    table.title, table.title_justify, table.title_style = Text(safe(story.headline)), "left", "bold"
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for answer in story.below():
        table.add_row(answer.question, Text(safe(answer.words)))
    return table


def _shares(lanes: list[LaneFigures], width: int) -> list[list[LaneFigures]]:
    """The lanes in as many tables as the width asks for."""
    beside = max(2, (width - 28) // _LANE_WIDTH)
    return [lanes[start : start + beside] for start in range(0, len(lanes), beside)] or [[]]


def _side_by_side(document: RunFigures, lanes: list[LaneFigures], width: int) -> Table:
    table = Table(title=title(document), title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for lane in lanes:
        table.add_column(Text(safe(lane.lane)), justify="right", overflow="fold")
    room = max(_LANE_WIDTH, (width - 28) // max(1, len(lanes)) - 3)
    for label, cells in table_rows(lanes):
        shown = [shortened(cell, room) for cell in cells] if label == "engine" else cells
        table.add_row(label, *map(Text, shown))
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
        table, widest = Table(pad_edge=False), max(_LANE_WIDTH, console.width // 3)
        long = any(len(row[0]) > widest for row in rows)
        for number, column in enumerate(head):
            first = number == 0
            table.add_column(
                Text(safe(column)), justify="left" if first else "right", overflow="fold", no_wrap=first and not long,
                max_width=widest if first and long else None,
            )  # fmt: skip
        before = None
        for name, *cells in rows:
            shown = "" if long and name == before else name
            table.add_row(*(Text(safe(cell)) for cell in (shown, *cells)))
            before = name
        console.print(table)
    for note in section.notes:
        console.print(Text(safe(note), "dim"))
    if section.code:
        console.print(Text("the settings to copy:"))
        print("\n".join(safe(line) for line in section.code.splitlines()), file=console.file)


def title(document: RunFigures) -> str:
    return f"{safe(document.run)} · {document.mode} history · tools {document.tools}"


def figures_section(document: RunFigures) -> Section:
    """The side-by-side table of a document without columns to fit."""
    rows = [[label, *cells] for label, cells in table_rows(document.lanes)]
    return Section("Every figure", ["", *(lane.lane for lane in document.lanes)], rows)


def table_rows(lanes: list[LaneFigures]) -> list[tuple[str, list[str]]]:
    """(label, one cell per lane): the rows of the catalogue, and what only some runs have."""
    rows = [
        ("engine", [safe(f"{lane.kind} · {lane.model or DASH}") for lane in lanes]),
        ("sessions · turns", [f"{lane.sessions} · {lane.turns}" for lane in lanes]),
    ]
    for row in ROWS:
        cells = [safe(row.text(lane)) for lane in lanes]
        if row.always or any(cell != DASH for cell in cells):
            rows.append((row.label, cells))
    rows += server_rows(lanes)
    classes = sorted({name for lane in lanes for name in lane.faults})
    rows += [(f"  {name}", [str(lane.faults.get(name, 0)) for lane in lanes]) for name in classes]
    if any(lane.blames for lane in lanes):
        rows.append(("unusable turns blamed on", [counted(lane.blames) or "none" for lane in lanes]))
    return rows


def notes(document: RunFigures, folder: str | None = None) -> list[str]:
    """What a reader of the figures must know besides. `folder` is named where there is only one run."""
    found = []
    if document.state == "interrupted":
        found.append(f"interrupted: `replayer resume {folder or document.run}` finishes the missing sessions")
    if document.stopped_early:
        found.append(
            f"stopped early, {document.incomplete_sessions} sessions were not needed: {safe(document.stopped_early)}; "
            "all tests and intervals of this run allow for that"
        )
    found += [
        f"{safe(lane.lane)}: this machine was too busy during {lane.stalled_turns} turns: their times are left out"
        for lane in document.lanes
        if lane.stalled_turns
    ]
    if document.shards:
        bound = max(shard.clock_bound_ms for shard in document.shards)
        many = (
            "processes, whose clocks agree" if len(document.shards) > 1 else "process, whose clock is known"
        )
        found.append(f"driven by {len(document.shards)} {many} within {bound:.2f} ms")
    found += [
        f"process {shard.shard} was over its limits {'once' if shard.over == 1 else f'{shard.over} times'}: turns at that time are marked"
        for shard in document.shards
        if shard.over
    ]
    if any(lane.substituted_turns for lane in document.lanes):
        found.append("some turns were replaced by the recorded ones: see substituted_turns in --json")
    found += server_notes(document.lanes)
    found += [f"FAILED {safe(reason)}" for reason in document.reasons]
    found += [f"note: {safe(warning.message)}" for warning in document.warnings]
    return found


def show_together(folders: Sequence[Path], *, as_json: bool) -> None:
    """Several runs as one report: all their lanes beside each other, and models by engines where models differ.

    Raises RunFolderError, and PlanError where the runs cannot be set side by side.
    """
    views = [load(folder, running=writer_pid(folder) is not None) for folder in folders]
    document = run_figures(side_by_side(views))
    if as_json:
        print_json(document)
    else:
        print_report(document, console())


def show(folder: Path, *, as_json: bool) -> None:
    """Print the report of a run folder. Raises RunFolderError."""
    document = run_figures(load(folder, running=writer_pid(folder) is not None))
    if as_json:
        print_json(document)
    else:
        print_report(document, console(), str(folder))


Rows = list[tuple[str, list[str]]]

WIDEST = 28
"""Characters of a fact in a session."""


def server_rows(lanes: list[LaneFigures]) -> Rows:
    """Rows that say something for at least one lane."""
    made: list[tuple[str, Callable[[LaneFigures], str]]] = [
        ("speed bands", _bands),
        ("  explained by acceptance", _explained),
        ("GPU", _gpu_names),
        ("GPU peak (use, mem, power)", _gpu_peaks),
        ("energy per token", _energy),
        ("external cache tokens", _external),
        ("cached on device, host, remote", _tiers),
    ]
    rows = [(label, [session(lane) for lane in lanes]) for label, session in made]
    return [row for row in rows if any(text != DASH for text in row[1])] + differing_facts(lanes)


def differing_facts(lanes: list[LaneFigures]) -> Rows:
    """Facts in which lanes differ; the KV pool has a row of its own. Kinds tell different things, so a fact that only
    one lane tells is a difference between lanes of one kind only."""
    names = dict.fromkeys(name for lane in lanes for name in lane.facts if name != "kv_pool_tokens")
    return [
        (f"  {name.replace('_', ' ')}", [_fact(lane.facts.get(name)) for lane in lanes])
        for name in names
        if _differs(lanes, name)
    ]


def _differs(lanes: list[LaneFigures], name: str) -> bool:
    found = [lane.facts[name] for lane in lanes if name in lane.facts]
    kinds = {lane.kind for lane in lanes if name in lane.facts}
    silent = any(lane.kind in kinds for lane in lanes if name not in lane.facts)
    return silent or any(value != found[0] for value in found)


def server_notes(lanes: list[LaneFigures]) -> list[str]:
    """What makes a lane's server figures less than complete."""
    notes = []
    for lane in lanes:
        server, name = lane.server, safe(lane.lane)
        if server is None:
            continue
        if server["resets"]:
            notes.append(
                f"{name}: its engine's counters fell {server['resets']}×: a restart; server figures are lower bounds"
            )
        if server["missing"] and server["why"] != ["off"]:
            notes.append(
                f"{name}: {server['missing']} metrics readings failed ({safe(', '.join(server['why']))})"
            )
        foreign = server["foreign_tokens"]["generated"]
        if foreign and foreign > 0:
            notes.append(
                f"{name}: the server generated {foreign:,.0f} tokens that this run did not ask for: shared engine?"
            )
    return notes


def _bands(lane: LaneFigures) -> str:
    if not lane.bands:
        return DASH
    few = " (few)" if (lane.band_fit or {}).get("few") else ""
    return (
        " | ".join(f"{band['low']:.0f}–{band['high']:.0f} {band['share']:.0%}" for band in lane.bands) + few
    )


def _explained(lane: LaneFigures) -> str:
    share = lane.band_fit["explained_by_acceptance"] if lane.band_fit and lane.bands else None
    return DASH if share is None else f"{share:.0%}"


def _gpu_names(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    return safe(", ".join(gpu["names"])) if gpu and gpu["names"] else DASH


def _gpu_peaks(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    if gpu is None:
        return DASH
    use, memory, power = gpu["peak_utilisation"], gpu["peak_memory_bytes"], gpu["peak_power_w"]
    shown = (
        DASH if use is None else f"{use:.0%}",
        DASH if memory is None else f"{memory / 2**30:.1f} GiB",
        DASH if power is None else f"{power:.0f} W",
    )
    return " · ".join(shown)


def _gpu(lane: LaneFigures) -> JsonObject | None:
    found: JsonObject | None = (lane.server or {}).get("gpu")
    return found


def _energy(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    if gpu is None:
        return DASH
    if gpu.get("shared_with"):
        others = [name for name in gpu["shared_with"] if name != lane.lane]
        return safe(f"shared with {', '.join(others)}")
    joules = gpu["energy_per_token_j"]
    return DASH if joules is None else f"{joules:.3g} J"


def _tiers(lane: LaneFigures) -> str:
    """Where cached tokens came from; only where the engine has more than one tier."""
    tokens, by_tier = (lane.server or {"tokens": {}})["tokens"], lane.tokens.cached_by_tier
    tiers = [
        by_tier.get(tier) if by_tier else tokens.get(f"cached_{tier}")
        for tier in ("device", "host", "remote")
    ]
    if tiers[1] is None and tiers[2] is None:
        return DASH
    return " / ".join(DASH if count is None else f"{count:,.0f}" for count in tiers)


def _external(lane: LaneFigures) -> str:
    tokens = (lane.server or {"tokens": {}})["tokens"].get("external_cached")
    return f"{tokens:,.0f}" if tokens else DASH


def _fact(value: object) -> str:
    if value is None:
        return DASH
    if isinstance(value, dict):
        value = ", ".join(f"{key}={item}" for key, item in value.items())
    text = safe(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
