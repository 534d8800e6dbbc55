"""Intervals and tests: plain, short, sourced. Rates are k of n; sessions are the clusters of turns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

from replayer.lazy import dataclass

Z95 = NormalDist().inv_cdf(0.975)
MIN_SESSIONS = 6
"""A two-sided sign-flip test of n sessions cannot go below 2 / 2**n: under 0.05 only from six on."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Score interval of a rate (Wilson 1927); (0, 1) when nothing was observed."""
    if n == 0:
        return 0.0, 1.0
    z, rate = Z95, successes / n
    centre = rate + z * z / (2 * n)
    spread = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def difference(k1: int, n1: int, k2: int, n2: int) -> Interval:
    """Rate 2 minus rate 1 of independent samples, Newcombe's hybrid score interval (1998, method 10)."""
    p1, p2 = k1 / n1, k2 / n2
    (l1, u1), (l2, u2) = wilson(k1, n1), wilson(k2, n2)
    gap = p2 - p1
    return Interval(gap, gap - math.hypot(p2 - l2, u1 - p1), gap + math.hypot(u2 - p2, p1 - l1))


def within_shares(low: float, high: float) -> tuple[float, float]:
    """The ends of an interval of a difference of two shares without what lies past -1 or 1.

    Student's t and order statistics know no bound. What reaches past it (overshoot: Newcombe 1998, Statistics in Medicine
    17, 873-890) holds no possible difference, so that the interval covers as often without it.
    """
    return max(-1.0, low), min(1.0, high)


def sample_size(p1: float, p2: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Observations per arm to tell two independent rates apart (Fleiss 1981, 3.14, without continuity correction).

    None when the rates are equal.
    """
    if p1 == p2:
        return None
    za, zb = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    mean = (p1 + p2) / 2
    top = za * math.sqrt(2 * mean * (1 - mean)) + zb * math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    return math.ceil(top * top / (p1 - p2) ** 2)


def holm(p_values: Mapping[str, float], weights: Mapping[str, float] | None = None) -> dict[str, float]:
    """Adjusted p values that keep the family-wise error (Holm 1979, with his weights where some are given more of it)."""
    share = weights or dict.fromkeys(p_values, 1.0)
    adjusted: dict[str, float] = {}
    running, left = 0.0, math.fsum(share[name] for name in p_values)
    for name, p in sorted(p_values.items(), key=lambda pair: pair[1] / share[pair[0]]):
        running = max(running, min(1.0, left / share[name] * p))
        adjusted[name] = running
        left -= share[name]
    return adjusted


def e_value(wins: int, losses: int) -> float:
    """Evidence against a fair coin that may be looked at after every toss: beta(1, 1)-binomial mixture.

    Stopping at 20 or more keeps the type I error under 5 % (Ville 1939; Ramdas et al. 2023). One toss per
    session, ties left out.
    """
    tosses = wins + losses
    return math.exp(
        tosses * math.log(2) + math.lgamma(wins + 1) + math.lgamma(losses + 1) - math.lgamma(tosses + 2)
    )


def sequential(differences: Sequence[float]) -> tuple[float, Interval]:
    """(p, the median with its 95 % interval) of session differences in the order they came, valid at any stop.

    p is one over the largest e value of the signs so far (Ville 1939). The interval holds every median that the same
    test does not exclude: order statistics, intersected over all looks. It leaves zero out where p is 0.05 or less.
    """
    evidence = 1.0
    low, high = -math.inf, math.inf
    for seen in range(1, len(differences) + 1):
        past = sorted(differences[:seen])
        evidence = max(evidence, e_value(sum(d > 0 for d in past), sum(d < 0 for d in past)))
        reach = _inside(seen)
        if reach is not None:
            low, high = max(low, past[reach]), min(high, past[-1 - reach])
    middle = quantile(sorted(differences), 0.5) or 0.0
    return 1 / evidence, Interval(middle, low, high)


@lru_cache(maxsize=1024)
def _inside(n: int) -> int | None:
    """How many values at each end lie outside the interval of a median of `n`, less one; None where it is unbounded."""
    out = [k for k in range(n // 2 + 1) if e_value(k, n - k) >= 20]
    return max(out) if out else None


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); None when empty."""
    if not ordered:
        return None
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def weighted_quantile(ordered: Sequence[tuple[float, int]], share: float) -> float | None:
    """The same of values that were seen so many times: `ordered` is (value, how often)."""
    total = sum(weight for _, weight in ordered)
    if not total:
        return None
    position = (total - 1) * share
    below = math.floor(position)
    low = high = None
    reached = 0
    for value, weight in ordered:
        reached += weight
        if low is None and reached > below:
            low = value
        if reached > min(below + 1, total - 1):
            high = value
            break
    assert low is not None and high is not None
    return low + (high - low) * (position - below)


def expanded_tail(n: int) -> float:
    """The share to cut off at each end of a bootstrap over `n` sessions for 95 % (Hesterberg 2015, 5.3)."""
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * student_t(0.975, n - 1)) if n > 1 else 0.0


@lru_cache(maxsize=256)
def student_t(share: float, freedom: float) -> float:
    """Quantile of Student's t, by bisection on its distribution function."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def student_cdf(t: float, freedom: float) -> float:
    tail = incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            result *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return result
