"""The tables of a load: its steady window, and its figures over time, by turn and by prompt length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from replayer.metrics.documents import LaneFigures, Slice, Steady
from replayer.metrics.shown import DASH, number, percent
from replayer.report.section import Section


def load_sections(lanes: Sequence[LaneFigures]) -> Iterator[Section]:
    """None where no sessions were kept alive."""
    loaded = [(lane.lane, lane.steady) for lane in lanes if lane.steady is not None]
    if not loaded:
        return
    yield _steady(loaded)
    kinds: tuple[tuple[str, str, Callable[[Steady], list[Slice]]], ...] = (
        ("By turn, steady window", "turn", lambda one: one.by_turn),
        ("By prompt length, steady window", "prompt tokens", lambda one: one.by_prompt),
        ("Over time", "time", lambda one: one.over_time),
    )
    for title, what, slices in kinds:
        rows = [(name, part) for name, steady in loaded for part in slices(steady)]
        if rows:
            yield _slices(title, what, rows)


def _steady(loaded: Sequence[tuple[str, Steady]]) -> Section:
    head = [
        "lane", "sessions wanted", "alive in the mean", "steady window s", "of the load's s", "sessions started · ended",
        "starts late ms p50 / p99", "output tok/s", "requests/s", "TTFT ms p50 / p95", "turns/s within the limits", "of these usable",
    ]  # fmt: skip
    rows = [_row(*one) for one in loaded]
    keep = [n for n in range(len(head)) if any(row[n] != DASH for row in rows)]
    lines = [[row[n] for n in keep] for row in rows]
    return Section("Load, steady window", [head[n] for n in keep], lines, tuple(_notes(loaded)))


def _row(name: str, found: Steady) -> list[str]:
    load, late, good = found.load, found.arrivals.late_ms, found.load.goodput
    return [
        name,
        str(found.sessions or "as they arrive"),
        number(found.alive_mean),
        number(found.window_s),
        number(found.load_s),
        f"{found.started} · {found.ended}",
        _both(late.p50, late.p99),
        number(load.output_tok_s),
        number(load.requests_per_s),
        f"{number(load.ttft_ms.p50)} / {number(load.ttft_ms.p95)}",
        number(good.requests_per_s if good else None),
        number(good.usable_per_s if good else None),
    ]


def _notes(loaded: Sequence[tuple[str, Steady]]) -> Iterator[str]:
    yield "steady window: the time in which at least 90 % of the wanted sessions were alive; only what came in it counts"
    for name, found in loaded:
        critical, distance = found.arrivals.critical, found.arrivals.distance
        if critical is not None and distance is not None:
            came = "not as asked" if distance > critical else "as asked"
            yield f"{name}: the sessions arrived {came} (Kolmogorov distance {distance:.3f}, by chance up to {critical:.3f})"
        if not found.window_s:
            yield f"{name}: there was no steady window, so nothing is known of this load"


def _slices(title: str, what: str, rows: Sequence[tuple[str, Slice]]) -> Section:
    """Columns that no slice knows are left out."""
    columns: list[tuple[str, Callable[[Slice], str]]] = [
        ("alive", lambda one: number(one.alive)),
        ("turns", lambda one: str(one.turns)),
        ("usable", lambda one: percent(one.usable_turn_rate.value)),
        ("in limits", lambda one: percent(one.within_limits.value if one.within_limits else None)),
        ("TTFT ms p50 / p95", lambda one: _both(one.ttft_ms.p50, one.ttft_ms.p95)),
        ("decode tok/s", lambda one: number(one.decode_tok_s)),
        ("output tok/s", lambda one: number(one.output_tok_s)),
        ("reused", lambda one: percent(one.prefix_reuse)),
        ("failed", lambda one: percent(one.error_rate.value) if one.error_rate.value else DASH),
    ]
    known = [(name, text) for name, text in columns if any(text(part) != DASH for _, part in rows)]
    several = len({lane for lane, _ in rows}) > 1
    lines = [
        [f"{lane}: {part.of}" if several else part.of, *(text(part) for _, text in known)]
        for lane, part in rows
    ]
    return Section(title, [what, *(name for name, _ in known)], lines)


def _both(low: float | None, high: float | None) -> str:
    return DASH if low is None else f"{number(low)} / {number(high)}"
