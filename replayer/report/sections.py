"""The tables behind the side-by-side one: load, saturation, repeats, crossovers, ranking, models by engines.

Each is data, so that the terminal, Markdown and HTML show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from replayer.metrics.catalogue import COMPARED, METRICS, SHARES, Metric
from replayer.metrics.documents import LaneFigures, Load, Slice, Steady
from replayer.metrics.model_grid import SHOWN
from replayer.metrics.run_documents import (
    Crossover,
    Differential,
    Level,
    ModeCount,
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
from replayer.metrics.shown import DASH, chance, figure, interval, number, percent, signed
from replayer.metrics.shown import rate as share
from replayer.report.section import Section, table


def sections(document: RunFigures) -> list[Section]:
    """What a document of `run_figures` has besides its lanes' table, in reading order."""
    return [*of_load(document), *others(document)]


def of_load(document: RunFigures) -> Iterator[Section]:
    if any(_loaded(lane.load) for lane in document.lanes):
        yield _load(document.lanes)
    yield from load_sections(document.lanes)
    if document.saturation:
        yield table("Saturation", _RAMP, document.saturation, _RAMP_NOTE)
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


_PAIR: dict[str, Callable[[Pair], str]] = {
    "lanes": lambda pair: f"{pair.a} → {pair.b}",
    "metric": lambda pair: COMPARED[pair.metric].words,
    "first": lambda pair: figure(COMPARED[pair.metric], pair.value_a),
    "second": lambda pair: figure(COMPARED[pair.metric], pair.value_b),
    "difference (95 % interval)": lambda pair: _difference(COMPARED[pair.metric], pair),
    "p (adjusted)": lambda pair: chance(pair.p_value_adjusted),
    "turns · sessions": lambda pair: f"{pair.n_turns} · {pair.n_sessions}",
}


def comparisons_section(pairs: list[Pair]) -> Section | None:
    return table("Comparisons", _PAIR, pairs) if pairs else None


def _difference(metric: Metric, pair: Pair) -> str:
    return f"{signed(metric, pair.difference)} {metric.unit} ({interval(metric, pair)})"


_MODES: dict[str, Callable[[ModeRow], str]] = {
    "usable turns": lambda row: row.lane if row.wire in row.lane else f"{row.lane} {row.wire}",
    "streamed": lambda row: _usable(row.streamed),
    "not streamed": lambda row: _usable(row.unstreamed),
    "differ": lambda row: str(row.differ),
    "changed silently": lambda row: str(row.silent),
    "faults": lambda row: _mode_faults(row),
}


def differential_section(found: Differential) -> Section:
    """A wire to a row, a mode to a column."""
    return table("Wires, streamed or not", _MODES, found.rows, *found.words)


def _usable(count: ModeCount) -> str:
    return f"{count.usable}/{count.n}" if count.n else DASH


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


_LOAD: dict[str, Callable[[LaneFigures], str]] = {
    "lane": lambda lane: lane.lane,
    "at once (mean)": lambda lane: f"{lane.load.concurrency} ({number(lane.load.in_flight)})",
    "requests": lambda lane: str(lane.load.requests),
    "output tok/s": lambda lane: number(lane.load.output_tok_s),
    "requests/s": lambda lane: number(lane.load.requests_per_s),
    "TTFT ms p50 / p99": lambda lane: _ttft(lane.load),
    "TPOT ms p50 / p90 / p95 / p99": lambda lane: " / ".join(
        number(getattr(lane.load.tpot_ms, at)) for at in SHARES
    ),
    "goodput/s": lambda lane: _goodput(lane.load),
    "schema-valid": lambda lane: share(lane.load.schema_valid),
    "exact lengths": lambda lane: _lengths(lane.load),
    "failed": lambda lane: _errors(lane.load),
}
_ASKED = {"goodput/s": "goodput", "schema-valid": "schema_valid", "exact lengths": "exact_prompts"}
"""Columns of what only some plans ask for."""


def _load(lanes: list[LaneFigures]) -> Section:
    unasked = [head for head, key in _ASKED.items() if not any(getattr(lane.load, key) for lane in lanes)]
    shown = {head: cell for head, cell in _LOAD.items() if head not in unasked}
    return table("Load", shown, lanes, *_load_notes(lanes))


def _ttft(load: Load) -> str:
    return f"{number(load.ttft_ms.p50)} / {number(load.ttft_ms.p99)}{' (!)' if load.tail.flagged else ''}"


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


_RAMP: dict[str, Callable[[Ramp], str]] = {
    "ramp": lambda ramp: ramp.ramp,
    "levels": lambda ramp: f"{ramp.points[0][0]:g} to {ramp.points[-1][0]:g}",
    "best output tok/s": lambda ramp: f"{number(ramp.peak)} at {ramp.peak_at:g}",
    "saturated from": lambda ramp: (
        f"{ramp.level:g}" if ramp.saturated else f"not up to {ramp.points[-1][0]:g}"
    ),
    "speed-up over one request": lambda ramp: number(ramp.knee),
}
_RAMP_NOTE = "saturated from: the lowest level within 5 % of the best throughput; speed-up: the best throughput over that of one request at a time"


def _crossover(pair: Crossover) -> Section:
    columns: dict[str, Callable[[Level], str]] = {
        "answer length": lambda level: f"{level.length:,.0f}",
        f"{pair.a} ms": lambda level: number(level.value_a),
        f"{pair.b} ms": lambda level: number(level.value_b),
        "difference [95 %]": lambda one: (
            f"{_signed(one.difference)} [{_signed(one.low)}, {_signed(one.high)}]"
        ),
        "faster": lambda level: level.faster or "not beyond noise",
    }
    return table(f"Answer lengths: {pair.a} and {pair.b}", columns, pair.levels, pair.conclusion)


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
    columns: dict[str, Callable[[Ranked], str]] = {
        "rank": lambda row: f"{row.rank}{'=' if ranks.count(row.rank) > 1 else ''}",
        "lane": lambda row: row.lane,
        "usable turns": lambda row: share(row.usable),
        "decode tok/s": lambda row: number(row.decode_tok_s),
        "collapsed": lambda row: str(row.collapsed_turns),
        "invalid calls": lambda row: f"{row.invalid_calls} of {row.tool_calls}",
        "trade-off": lambda row: "front" if row.front else "",
    }
    note = (
        "rank: one more than the lanes that are better beyond noise, in usable turns first, then in speed; "
        "front: no lane is better in one of the two without being worse in the other"
    )
    code = _to_copy(ranking.lanes)
    return table("Ranking", columns, ranking.lanes, ranking.conclusion, note, code=code)


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


def load_sections(lanes: Sequence[LaneFigures]) -> Iterator[Section]:
    """None where no sessions were kept alive."""
    loaded = [(lane.lane, lane.steady) for lane in lanes if lane.steady is not None]
    if not loaded:
        return
    yield table("Load, steady window", _STEADY, loaded, *_notes(loaded), optional=_STEADY)
    kinds: tuple[tuple[str, str, Callable[[Steady], list[Slice]]], ...] = (
        ("By turn, steady window", "turn", lambda one: one.by_turn),
        ("By prompt length, steady window", "prompt tokens", lambda one: one.by_prompt),
        ("Over time", "time", lambda one: one.over_time),
    )
    for title, what, slices in kinds:
        rows = [(name, part) for name, steady in loaded for part in slices(steady)]
        if rows:
            yield _slices(title, what, rows)


_STEADY: dict[str, Callable[[tuple[str, Steady]], str]] = {
    "lane": lambda one: one[0],
    "sessions wanted": lambda one: str(one[1].sessions or "as they arrive"),
    "alive in the mean": lambda one: number(one[1].alive_mean),
    "steady window s": lambda one: number(one[1].window_s),
    "of the load's s": lambda one: number(one[1].load_s),
    "sessions started · ended": lambda one: f"{one[1].started} · {one[1].ended}",
    "starts late ms p50 / p99": lambda one: _pair_of(
        one[1].arrivals.late_ms.p50, one[1].arrivals.late_ms.p99
    ),
    "output tok/s": lambda one: number(one[1].load.output_tok_s),
    "requests/s": lambda one: number(one[1].load.requests_per_s),
    "TTFT ms p50 / p95": lambda one: f"{number(one[1].load.ttft_ms.p50)} / {number(one[1].load.ttft_ms.p95)}",
    "turns/s within the limits": lambda one: number(
        good.requests_per_s if (good := one[1].load.goodput) else None
    ),
    "of these usable": lambda one: number(good.usable_per_s if (good := one[1].load.goodput) else None),
}


def _notes(loaded: Sequence[tuple[str, Steady]]) -> Iterator[str]:
    yield "steady window: the time in which at least 90 % of the wanted sessions were alive; only what came in it counts"
    for name, found in loaded:
        critical, distance = found.arrivals.critical, found.arrivals.distance
        if critical is not None and distance is not None:
            came = "not as asked" if distance > critical else "as asked"
            yield f"{name}: the sessions arrived {came} (Kolmogorov distance {distance:.3f}, by chance up to {critical:.3f})"
        if not found.window_s:
            yield f"{name}: there was no steady window, so nothing is known of this load"


_SLICE: dict[str, Callable[[tuple[str, Slice]], str]] = {
    "alive": lambda one: number(one[1].alive),
    "turns": lambda one: str(one[1].turns),
    "usable": lambda one: percent(one[1].usable_turn_rate.value),
    "in limits": lambda one: percent(one[1].within_limits.value if one[1].within_limits else None),
    "TTFT ms p50 / p95": lambda one: _pair_of(one[1].ttft_ms.p50, one[1].ttft_ms.p95),
    "decode tok/s": lambda one: number(one[1].decode_tok_s),
    "output tok/s": lambda one: number(one[1].output_tok_s),
    "reused": lambda one: percent(one[1].prefix_reuse),
    "failed": lambda one: percent(one[1].error_rate.value) if one[1].error_rate.value else DASH,
}


def _slices(title: str, what: str, rows: Sequence[tuple[str, Slice]]) -> Section:
    several = len({lane for lane, _ in rows}) > 1
    place = {what: lambda one: f"{one[0]}: {one[1].of}" if several else one[1].of}
    return table(title, place | _SLICE, rows, optional=_SLICE)


def _pair_of(low: float | None, high: float | None) -> str:
    return DASH if low is None else f"{number(low)} / {number(high)}"
