"""The tables of a load: its steady window, and its figures over time, by turn and by prompt length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from replayer.metrics.documents import LaneFigures, Slice, Steady
from replayer.metrics.shown import DASH, number, percent
from replayer.report.section import Section, table


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
    "starts late ms p50 / p99": lambda one: _both(one[1].arrivals.late_ms.p50, one[1].arrivals.late_ms.p99),
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
    "TTFT ms p50 / p95": lambda one: _both(one[1].ttft_ms.p50, one[1].ttft_ms.p95),
    "decode tok/s": lambda one: number(one[1].decode_tok_s),
    "output tok/s": lambda one: number(one[1].output_tok_s),
    "reused": lambda one: percent(one[1].prefix_reuse),
    "failed": lambda one: percent(one[1].error_rate.value) if one[1].error_rate.value else DASH,
}


def _slices(title: str, what: str, rows: Sequence[tuple[str, Slice]]) -> Section:
    several = len({lane for lane, _ in rows}) > 1
    place = {what: lambda one: f"{one[0]}: {one[1].of}" if several else one[1].of}
    return table(title, place | _SLICE, rows, optional=_SLICE)


def _both(low: float | None, high: float | None) -> str:
    return DASH if low is None else f"{number(low)} / {number(high)}"
