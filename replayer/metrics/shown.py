"""How figures are written: one form for every screen and document."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from replayer.metrics.documents import PrefixCache, Rate
from replayer.metrics.run_documents import Pair
from replayer.signals.prefix_reuse.causes import LEAST_SHARE

if TYPE_CHECKING:
    from replayer.metrics.catalogue import Metric


DASH = "–"


def number(value: float | None) -> str:
    """Three digits or so, for a table."""
    if value is None:
        return DASH
    if value < 0:
        return f"−{number(-value)}"
    return f"{value:,.0f}" if value >= 100 or not value else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def percent(value: float | None) -> str:
    return DASH if value is None else f"{value:.1%}"


def count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def rate(found: Rate | None) -> str:
    """`95.0% [90–98 %] of 40`."""
    if found is None or found.value is None:
        return DASH
    return f"{found.value:.1%} [{found.low * 100:.0f}–{found.high * 100:.0f} %] of {found.n}"


def figure(metric: Metric, value: float | None) -> str:
    """A figure of one lane, without its unit."""
    if metric.unit == "points":
        return percent(value)
    return (
        number(value)
        if metric.unit in ("ms", "s", "tok/s", "requests/s", "J") or _fraction(value)
        else count(value)
    )


def with_unit(metric: Metric, value: float | None) -> str:
    unit = "" if metric.unit in ("points", "") or value is None else f" {metric.unit}"
    return figure(metric, value) + unit


def _fraction(value: float | None) -> bool:
    return value is not None and value != int(value)


def signed(metric: Metric, value: float | None) -> str:
    """A difference, with its sign; the minus is as wide as the plus."""
    if value is None:
        return "unknown"
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    points = metric.unit == "points"
    return (f"{value * 100:+.1f}" if points else _digits(value)).replace("-", "−")


def _digits(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{value:+,.{min(max(0, 2 - math.floor(math.log10(abs(value)))), 4)}f}"


def interval(metric: Metric, pair: Pair) -> str:
    """`−5.9 to +9.6`; a dash where the sessions allow no interval."""
    if pair.low is None or pair.high is None:
        return DASH
    return f"{signed(metric, pair.low)} to {signed(metric, pair.high)}"


def chance(p: float | None) -> str:
    return DASH if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001"


def and_list(words: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def expected_words(found: PrefixCache) -> str:
    """What the reported share is held against."""
    ideal, reported = found.ideal or 0.0, found.reported or 0.0
    if found.above is not None:
        return f"expected at most {percent(found.range[1] if found.range else ideal)}"
    if reported > ideal and found.range and percent(found.range[0]) != percent(found.range[1]):
        # What was reused was possible: an estimate that ends a little below it is not an upper bound.
        return f"best possible {found.range[0]:.1%} to {max(found.range[1], reported):.1%}"
    if found.cause is None and found.range and ideal - reported > LEAST_SHARE:
        # Whether what failed or overlapped was in the cache is not known: what was reused may be all there was.
        return f"best possible {found.range[0]:.1%} to {percent(ideal)}"
    if reported - ideal > LEAST_SHARE:
        return f"expected at most {percent(ideal)}"
    return f"best possible {percent(found.possible)}"


_WORDS = {"leaked_markup": "tool call left in text", "truncated": "cut by the token limit"}


def fault_words(name: str) -> str:
    return _WORDS.get(name, name)
