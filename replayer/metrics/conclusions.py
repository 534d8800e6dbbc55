"""What a comparison means, in one sentence that can be read aloud."""

from __future__ import annotations

import math
from typing import Any

from replayer.metrics.catalogue import ALL, PRIMARY
from replayer.metrics.stats import MIN_SESSIONS, holm

ALPHA = 0.05
PRIMARY_SHARE = 0.64
"""Of the 5 %: just enough that six sessions, whose least p is 0.031, can decide the primary metric of two lanes."""

Pair = dict[str, Any]


def decide(pairs: list[Pair], primary: str = PRIMARY) -> list[Pair]:
    """Which differences hold when all that was compared here is counted as one family, and the sentence on each.

    Weighted Holm over every pair of lanes and every metric at once; the primary metric has PRIMARY_SHARE of the error.
    Adds `p_value_adjusted`, `decided` and `conclusion`; takes away `chance`, the p of a test that is not stated.
    """
    chances = {number: pair.pop("chance") for number, pair in enumerate(pairs)}
    tested = {str(number): p for number, p in chances.items() if p is not None}
    adjusted = holm(tested, _weights({name: pairs[int(name)] for name in tested}, primary))
    for number, pair in enumerate(pairs):
        p = adjusted.get(str(number))
        if pair["p_value"] is not None:
            pair["p_value_adjusted"] = p
        pair["decided"] = p is not None and p < ALPHA
        pair["conclusion"] = sentence(pair, lost=chances[number] is not None and chances[number] < ALPHA)
    return pairs


def _weights(pairs: dict[str, Pair], primary: str) -> dict[str, float]:
    first = {name for name, pair in pairs.items() if pair["metric"] == primary}
    others = len(pairs) - len(first)
    return {
        name: PRIMARY_SHARE / len(first) if name in first else (1 - PRIMARY_SHARE) / others for name in pairs
    }


def sentence(pair: Pair, *, lost: bool) -> str:
    """`lost`: it would have counted had nothing else been compared."""
    words = ALL[pair["metric"]].words
    if pair["aa"] and pair["decided"]:
        return f"the lane differs from itself in {words}: {amount(pair)}; no difference as small as this means anything"
    if pair["decided"]:
        better = (pair["difference"] > 0) == (pair["better"] == "higher")
        return f"{pair['b']} is {'better' if better else 'worse'} than {pair['a']} in {words}: {amount(pair)}"
    if pair["n_sessions"] < MIN_SESSIONS and not pair["sequential"] and not ALL[pair["metric"]].rate:
        return f"{words}: too few sessions to compare ({amount(pair)})"
    if pair["difference"] == 0:
        return f"{words}: no difference seen ({amount(pair)})"
    looked = ", once everything compared here is counted" if lost else ""
    return f"{words}: no evidence of a difference{looked}{_needed(pair)} ({amount(pair)})"


def _needed(pair: Pair) -> str:
    needed, unit = pair.get("needed"), pair.get("needed_unit")
    if not needed:
        return ""
    return f"; you would need about {_round(needed):,} {unit}"


def _round(count: int) -> int:
    """To two digits: a needed sample is a rough figure."""
    return int(round(count, 2 - len(str(count)))) if count > 99 else count


def amount(pair: Pair) -> str:
    """`+2.2 points for b, 95 % interval −5.9 to +9.6`."""
    unit = ALL[pair["metric"]].unit
    scope = "" if pair["n_sessions"] >= MIN_SESSIONS or pair["sequential"] else ", these sessions only"
    of = " in the median session" if pair["sequential"] else ""
    name = "" if pair["aa"] else f" for {pair['b']}"
    return f"{signed(pair, 'difference')} {unit}{name}{of}, 95 % interval {signed(pair, 'low')} to {signed(pair, 'high')}{scope}"


def signed(pair: Pair, key: str) -> str:
    """A difference, with its sign; the minus is as wide as the plus."""
    value = pair[key]
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    points = ALL[pair["metric"]].unit == "points"
    return (f"{value * 100:+.1f}" if points else _digits(value)).replace("-", "−")


def plain(pair: Pair, key: str) -> str:
    """A figure of one lane."""
    if ALL[pair["metric"]].unit == "points":
        return f"{pair[key]:.1%}"
    return _digits(pair[key]).removeprefix("+")


def _digits(value: float) -> str:
    """Three digits, and no exponent."""
    if value == 0:
        return "0"
    return f"{value:+,.{min(max(0, 2 - math.floor(math.log10(abs(value)))), 4)}f}"
