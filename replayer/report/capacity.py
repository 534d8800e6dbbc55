"""A capacity search on the terminal, as Markdown and as HTML: the same tables and sentences in all three."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console

from replayer.metrics.capacity.document import Capacity, LaneCapacity
from replayer.metrics.capacity.levels import Level, Part
from replayer.metrics.capacity.limits import shown
from replayer.metrics.capacity.search import Agents
from replayer.metrics.documents import Rate
from replayer.metrics.lane_answers import counted
from replayer.metrics.shown import DASH, count, number, percent
from replayer.report import pictures
from replayer.report.charts import Chart, chart
from replayer.report.charts import number as field
from replayer.report.charts_load import curves, marks
from replayer.report.section import Section, table
from replayer.report.table import print_section
from replayer.report.templates import render_markdown, render_page
from replayer.text import safe

_VERDICTS = {
    "holds": "holds",
    "fails": "fails",
    "leans_holds": "not decided, more likely holds",
    "leans_fails": "not decided, more likely fails",
}


def capacity_sections(document: Capacity) -> list[Section]:
    return list(_sections(document))


def _sections(document: Capacity) -> Iterator[Section]:
    yield _answers(document)
    for lane in document.lanes:
        if lane.levels:
            yield _levels(lane)
    for title, parts in (
        ("Good turns by their place in the session", "by_turn"),
        ("Good turns by prompt tokens", "by_prompt"),
    ):
        rows = [row for lane in document.lanes for row in _parts(lane, parts)]
        names = list(dict.fromkeys(name for _, cells in rows for name in cells))
        if rows:
            lines = [[label, *(cells.get(name, DASH) for name in names)] for label, cells in rows]
            notes = (
                ("in brackets, where it differs: within the limits, usable or not",)
                if "(" in str(lines)
                else ()
            )
            yield Section(title, ["lane, live sessions", *names], lines, notes)


_ANSWER: dict[str, Callable[[LaneCapacity], str]] = {
    "lane": lambda lane: lane.lane,
    "usable agents": lambda lane: _span(lane.agents),
    "by the limits alone": lambda lane: _span(lane.within_limits),
    "cache evicts from": lambda lane: DASH if lane.eviction_from is None else str(lane.eviction_from),
    "agents per GPU": lambda lane: number(lane.costs.agents_per_gpu),
    "agents per kW of GPU": lambda lane: number(lane.costs.agents_per_kw),
    "J per usable turn": lambda lane: number(lane.costs.joules_per_usable_turn),
    "cost per usable session": lambda lane: _cost(lane),
    "stamp": lambda lane: "valid" if lane.valid else "NOT VALID",
}


def _answers(document: Capacity) -> Section:
    tiers = dict.fromkeys(tier for lane in document.lanes for tier in lane.tiers)
    of_tiers: dict[str, Callable[[LaneCapacity], str]] = {
        f"agents at {shown(tier)}": lambda lane, tier=tier: _span(lane.tiers.get(tier))  # type: ignore[misc]
        for tier in tiers
    }
    optional = [*list(_ANSWER)[3:-1], *of_tiers]
    notes = [*document.sentences(), *(f"note: {note}" for note in document.notes)]
    if any(_cost(lane) != DASH for lane in document.lanes):
        notes.append("cost: a usable session is as many usable turns as the sessions given have in the mean")
    return table("Capacity", _ANSWER | of_tiers, document.lanes, *notes, optional=optional)


def _cost(lane: LaneCapacity) -> str:
    known = [
        cost
        for cost in (lane.costs.per_usable_session, lane.costs.per_usable_session_by_tokens)
        if cost is not None
    ]
    return " · ".join(f"{cost:.4g}" for cost in known) or DASH


def _span(found: Agents | None) -> str:
    return DASH if found is None else found.words


_LEVEL: dict[str, Callable[[Level], str]] = {
    "live sessions": lambda level: str(level.sessions),
    "verdict": lambda level: _VERDICTS[level.outcome] if level.valid else "not valid",
    "good turns": lambda level: _share(level.shares.good),
    "of how many": lambda level: str(level.shares.good.n),
    "within the limits": lambda level: _share(level.shares.within),
    "usable": lambda level: percent(level.shares.usable.value),
    "alive in the mean": lambda level: number(level.alive),
    "steady window s": lambda level: number(level.window_s),
    "TTFT ms p50 / p95": lambda level: f"{number(level.ttft_ms['p50'])} / {number(level.ttft_ms['p95'])}",
    "decode tok/s p5 / p50": lambda one: (
        f"{number(one.decode_tok_s['p5'])} / {number(one.decode_tok_s['p50'])}"
    ),
    "output tok/s": lambda level: number(level.output_tok_s),
    "prefix reuse (best possible)": lambda level: _reuse(level),
    "evicted before reuse": lambda level: percent(level.evicted),
    "preemptions": lambda level: count(level.preempted),
    "KV pool used at most": lambda level: percent(level.kv_peak),
    "draft acceptance": lambda level: percent(level.acceptance),
    "GPU power W": lambda level: number(level.power_w),
    "turns/s within the limits": lambda level: number(level.goodput_per_s),
    "of these usable": lambda level: number(level.usable_goodput_per_s),
}


def _levels(lane: LaneCapacity) -> Section:
    notes = (
        "good turn: usable and within every limit. In square brackets: where the true share lies, 9 times in 10, however often it was "
        "looked at; a level surely holds, or fails, when its threshold lies outside",
        *(
            f"{counted(level.sessions, 'session')}, NOT VALID: {reason}"
            for level in lane.levels
            for reason in level.reasons
        ),
    )
    return table(f"Levels of {lane.lane}", _LEVEL, lane.levels, *notes, optional=_LEVEL)


def _reuse(level: Level) -> str:
    return DASH if level.reuse is None else f"{percent(level.reuse)} ({percent(level.expected)})"


def _share(found: Rate) -> str:
    if found.value is None:
        return DASH
    return f"{found.value:.1%} [{found.low * 100:.1f}, {found.high * 100:.1f}]"


def _parts(lane: LaneCapacity, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    for level in lane.levels:
        parts: list[Part] = getattr(level, name)
        yield (
            f"{lane.lane}, {level.sessions}",
            {part.of: _good(part) for part in parts},
        )


def _good(part: Part) -> str:
    good = percent(part.good)
    return good if part.good == part.within else f"{good} ({percent(part.within)})"


def print_capacity(document: Capacity, console: Console) -> None:
    for section in capacity_sections(document):
        print_section(section, console)


def capacity_markdown(document: Capacity) -> str:
    return render_markdown(
        "capacity.md", sentences=document.sentences(), sections=capacity_sections(document)
    )


def capacity_html(document: Capacity) -> str:
    """Its curves need the extra `report`."""
    drawn, found = _charts(document), capacity_sections(document)
    shown = drawn if pictures.available() else []
    return render_page(
        "capacity.html",
        "replayer: capacity",
        drawn,
        charts=shown,
        headline=" · ".join(f"{lane.lane}: {_agents(lane)}" for lane in document.lanes) or "Capacity",
        sentences=document.sentences(),
        sections=found,
    )


def _agents(lane: LaneCapacity) -> str:
    return "no number is claimed" if lane.agents is None else f"{lane.agents.words} usable agents"


def _charts(document: Capacity) -> list[Chart]:
    kinds: tuple[tuple[str, str, bool, Callable[[Level], float | None]], ...] = (
        ("good", "Turns usable and within the limits", True, lambda level: level.shares.good.value),
        ("within", "Turns within the limits", True, lambda level: level.shares.within.value),
        ("ttft", "TTFT p95", False, lambda level: level.ttft_ms["p95"]),
        ("reuse", "Prefix reuse", True, lambda level: level.reuse),
    )
    return [found for kind in kinds if (found := _curve(document, *kind)) is not None]


def _curve(
    document: Capacity, key: str, title: str, share: bool, of: Callable[[Level], float | None]
) -> Chart | None:
    rows = [
        {"lane": safe(lane.lane), "at": level.sessions, "value": value}
        for lane in document.lanes
        for level in lane.levels
        if (value := of(level)) is not None
    ]
    if len(rows) < 2:
        return None
    axis = {"axis": {"format": "%", "tickCount": 4}} if share else {"axis": {"tickCount": 5}}
    y = field("value", title if share else f"{title}, ms", **axis)
    names = [lane.lane for lane in document.lanes]
    agents = [
        {"lane": safe(lane.lane), "at": lane.agents.value}
        for lane in document.lanes
        if lane.agents is not None and lane.agents.value
    ]
    layers = marks(agents, names, "live sessions", usable_agents="at")
    layers += curves(rows, "at", "live sessions", y, names, "value|.1%" if share else "value|,.1f")
    note = "dashed: the most sessions that are usable and keep the limits" if agents else ""
    return chart(f"capacity-{key}", title, 200, layers, note)
