"""The tables behind the side-by-side one: load, saturation, repeats, crossovers, ranking, models by engines.

Each is data, so that the terminal, Markdown and HTML show the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from replayer.metrics.catalogue import COMPARED, METRICS
from replayer.metrics.documents import LaneFigures, Load
from replayer.metrics.model_grid import SHOWN
from replayer.metrics.run_documents import (
    Crossover,
    Differential,
    ModelGrid,
    ModeRow,
    Pair,
    Ramp,
    Ranked,
    Ranking,
    RunFigures,
    Spread,
    Variance,
)
from replayer.metrics.shown import DASH, chance, figure, interval, number, signed
from replayer.metrics.shown import rate as share
from replayer.report.load_sections import load_sections
from replayer.report.section import Section


def sections(document: RunFigures) -> list[Section]:
    """What a document of `run_figures` has besides its lanes' table, in reading order."""
    return [*of_load(document), *others(document)]


def of_load(document: RunFigures) -> Iterator[Section]:
    if any(_loaded(lane.load) for lane in document.lanes):
        yield _load(document.lanes)
    yield from load_sections(document.lanes)
    if document.saturation:
        yield _saturation(document.saturation)
    for pair in document.crossovers:
        yield _crossover(pair)


def others(document: RunFigures) -> Iterator[Section]:
    if document.differential:
        yield differential_section(document.differential)
    if document.variance:
        yield _variance(document.variance)
    if document.ranking:
        yield _ranking(document.ranking)
    if document.models:
        yield _models(document.models)


def comparisons_section(pairs: list[Pair]) -> Section | None:
    head = ["lanes", "metric", "first", "second", "difference (95 % interval)", "p (adjusted)", "turns · sessions"]  # fmt: skip
    return Section("Comparisons", head, [_pair(pair) for pair in pairs]) if pairs else None


def _pair(pair: Pair) -> list[str]:
    metric = COMPARED[pair.metric]
    return [
        f"{pair.a} → {pair.b}",
        metric.words,
        figure(metric, pair.value_a),
        figure(metric, pair.value_b),
        f"{signed(metric, pair.difference)} {metric.unit} ({interval(metric, pair)})",
        chance(pair.p_value_adjusted),
        f"{pair.n_turns} · {pair.n_sessions}",
    ]


def differential_section(found: Differential) -> Section:
    """A wire to a row, a mode to a column."""
    head = ["usable turns", "streamed", "not streamed", "differ", "changed silently", "faults"]
    rows = [
        [
            row.lane if row.wire in row.lane else f"{row.lane} {row.wire}",
            *(f"{count.usable}/{count.n}" if count.n else DASH for count in (row.streamed, row.unstreamed)),
            str(row.differ),
            str(row.silent),
            _mode_faults(row),
        ]
        for row in found.rows
    ]
    return Section("Wires, streamed or not", head, rows, tuple(found.words))


def _mode_faults(row: ModeRow) -> str:
    words = [
        f"{name}: " + ", ".join(f"{klass} {number}" for klass, number in count.faults.items())
        for name, count in (("streamed", row.streamed), ("not", row.unstreamed))
        if count.faults
    ]
    return "; ".join(words) or "none"


def _loaded(load: Load) -> bool:
    """Whether a lane was asked for load: several requests at once, set lengths, a schema, or limits to keep."""
    asked = load.exact_prompts or load.schema_valid or load.goodput
    return bool(load.requests and (asked or load.concurrency > 1))


def _load(lanes: list[LaneFigures]) -> Section:
    head = ["lane", "at once (mean)", "requests", "output tok/s", "requests/s", "TTFT ms p50 / p99", "TPOT ms p50 / p90 / p95 / p99"]  # fmt: skip
    columns = [("goodput", "goodput/s"), ("schema_valid", "schema-valid"), ("exact_prompts", "exact lengths")]
    shown = [(key, words) for key, words in columns if any(getattr(lane.load, key) for lane in lanes)]
    rows = [
        [*_load_row(lane.lane, lane.load), *(_LOAD_SESSIONS[key](lane.load) for key, _ in shown), _errors(lane.load)]
        for lane in lanes
    ]  # fmt: skip
    return Section("Load", [*head, *(words for _, words in shown), "failed"], rows, tuple(_load_notes(lanes)))


def _load_row(name: str, load: Load) -> list[str]:
    ttft, tpot = load.ttft_ms, load.tpot_ms
    flag = " (!)" if load.tail.flagged else ""
    return [
        name,
        f"{load.concurrency} ({number(load.in_flight)})",
        str(load.requests),
        number(load.output_tok_s),
        number(load.requests_per_s),
        f"{number(ttft.p50)} / {number(ttft.p99)}{flag}",
        " / ".join(number(getattr(tpot, at)) for at in ("p50", "p90", "p95", "p99")),
    ]


def _load_notes(lanes: list[LaneFigures]) -> Iterator[str]:
    flagged = [lane for lane in lanes if lane.load.tail.flagged]
    for lane in flagged:
        yield f"(!) tail: the TTFT p99 of {lane.lane} is {lane.load.tail.ratio:.1f} times its p50"
    limits = next((lane.load.goodput.limits for lane in lanes if lane.load.goodput), None)
    if limits:
        kept = ", ".join(
            f"{name.removesuffix('_ms').upper()} ≤ {limit:g} ms" for name, limit in limits.items()
        )
        yield f"goodput counts requests with {kept}"


def _goodput(load: Load) -> str:
    found = load.goodput
    if not found or found.met.value is None:
        return DASH
    usable = (
        ""
        if found.usable == found.met
        else f", {number(found.usable_per_s)} usable ({found.usable.value:.0%})"
    )
    return f"{number(found.requests_per_s)} ({found.met.value:.0%}){usable}"


def _lengths(load: Load) -> str:
    """Of the prompts, and of the answers."""
    shares = (load.exact_prompts, load.exact_answers)
    return " / ".join(
        DASH if share is None or share.value is None else f"{share.value:.0%}" for share in shares
    )


def _errors(load: Load) -> str:
    rate = load.error_rate
    if not rate or not rate.value:
        return "0" if rate else DASH
    return share(rate)


_LOAD_SESSIONS = {
    "goodput": _goodput,
    "schema_valid": lambda load: share(load.schema_valid),
    "exact_prompts": _lengths,
}


def _saturation(ramps: list[Ramp]) -> Section:
    head = ["ramp", "levels", "best output tok/s", "saturated from", "speed-up over one request"]
    rows = [
        [
            ramp.ramp,
            f"{ramp.points[0][0]:g} to {ramp.points[-1][0]:g}",
            f"{number(ramp.peak)} at {ramp.peak_at:g}",
            f"{ramp.level:g}" if ramp.saturated else f"not up to {ramp.points[-1][0]:g}",
            number(ramp.knee),
        ]
        for ramp in ramps
    ]
    note = "saturated from: the lowest level within 5 % of the best throughput; speed-up: the best throughput over that of one request at a time"
    return Section("Saturation", head, rows, (note,))


def _crossover(pair: Crossover) -> Section:
    head = ["answer length", f"{pair.a} ms", f"{pair.b} ms", "difference [95 %]", "faster"]
    rows = [
        [
            f"{level.length:,.0f}",
            number(level.value_a),
            number(level.value_b),
            f"{_signed(level.difference)} [{_signed(level.low)}, {_signed(level.high)}]",
            level.faster or "not beyond noise",
        ]
        for level in pair.levels
    ]
    return Section(f"Answer lengths: {pair.a} and {pair.b}", head, rows, (pair.conclusion,))


_UNITS = {
    "output_tok_s": "output tok/s",
    "ttft_ms": "TTFT ms",
    "tpot_ms": "TPOT ms",
    "e2e_ms": "whole answer ms",
}


def _variance(lanes: list[Variance]) -> Section:
    rows = [
        [lane.lane, str(lane.repeats), *(_spread(lane.metrics.get(name)) for name in _UNITS)]
        for lane in lanes
    ]
    note = "mean over repeats ± half of its 95 % t interval (coefficient of variation); of times, the median of each repeat"
    return Section("Repeats", ["lane", "repeats", *_UNITS.values()], rows, (note,))


def _spread(found: Spread | None) -> str:
    if found is None:
        return DASH
    cv = f" ({found.cv:.1%})" if found.cv is not None else ""
    return f"{number(found.mean)} ± {number(found.high - found.mean)}{cv}"


def _ranking(ranking: Ranking) -> Section:
    ranks = [row.rank for row in ranking.lanes]
    rows = [
        [
            f"{row.rank}{'=' if ranks.count(row.rank) > 1 else ''}",
            row.lane,
            share(row.usable),
            number(row.decode_tok_s),
            str(row.collapsed_turns),
            f"{row.invalid_calls} of {row.tool_calls}",
            "front" if row.front else "",
        ]
        for row in ranking.lanes
    ]
    head = ["rank", "lane", "usable turns", "decode tok/s", "collapsed", "invalid calls", "trade-off"]
    notes = (
        ranking.conclusion,
        "rank: one more than the lanes that are better beyond noise, in usable turns first, then in speed; "
        "front: no lane is better in one of the two without being worse in the other",
    )
    return Section("Ranking", head, rows, notes, code=_to_copy(ranking.lanes))


def _to_copy(rows: list[Ranked]) -> str | None:
    """The settings of the best lane, or of all that share the first rank, three at most; None where all do."""
    first = [row for row in rows if row.rank == 1]
    if len(first) == len(rows):
        return None
    lanes = ((row.toml, row.spec and f"# or: {row.spec}") for row in first[:3])
    return "\n\n".join("\n".join(filter(None, words)) for words in lanes)


_GRID = {
    "ttft_ms": "TTFT ms p50",
    "tpot_ms": "TPOT ms p50",
    "decode_tok_s": "decode tok/s",
    "output_tok_s": "output tok/s, all requests",
    "goodput": "goodput/s",
    "usable_turn_rate": "usable turns",
}


def _models(grid: ModelGrid) -> Section:
    """A row per model and figure that is known anywhere."""
    rows = [
        [
            " · ".join(filter(None, (row.model, row.setting))),
            words,
            *(figure(METRICS[SHOWN[key]], row.sessions.get(engine, {}).get(key)) for engine in grid.engines),
            (row.ahead[key] or "not beyond noise") if key in row.ahead else "",
        ]
        for row in grid.rows
        for key, words in _GRID.items()
        if any(session[key] is not None for session in row.sessions.values())
    ]
    return Section("Models and engines", ["model", "figure", *grid.engines, "ahead"], rows)


def _signed(value: float | None) -> str:
    return DASH if value is None else f"+{number(value)}" if value > 0 else number(value)
