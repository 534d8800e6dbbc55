"""Intervals and tests: plain, short, sourced. Rates are k of n; sessions are the clusters of steps."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

Z95 = NormalDist().inv_cdf(0.975)
MIN_SESSIONS = 6
"""A two-sided sign-flip test of n sessions cannot go below 2 / 2**n: under 0.05 only from six on."""
_EXACT_SESSIONS = 14
_FLIPS = 9_999


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Score interval of a rate (Wilson 1927); (0, 1) when nothing was observed."""
    if n == 0:
        return 0.0, 1.0
    rate = successes / n
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


def score_test(k1: int, n1: int, k2: int, n2: int) -> float:
    """Two-sided p of equal rates in independent samples (pooled z test)."""
    pooled = (k1 + k2) / (n1 + n2)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    if deviation == 0:
        return 1.0
    return 2 * NormalDist().cdf(-abs(k1 / n1 - k2 / n2) / deviation)


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


def sign_flip(differences: Sequence[float], seed: int = 0) -> float:
    """Two-sided p of session differences that are symmetric about 0 (Fisher 1935).

    All sign patterns up to 14 sessions, beyond that 9,999 drawn ones (with the seen one counted, Phipson and
    Smyth 2010).
    """
    moved = [value for value in differences if value != 0]
    if not moved:
        return 1.0
    seen = abs(math.fsum(moved)) * (1 - 1e-9)
    eights = [_signed_sums(moved[low : low + 8]) for low in range(0, len(moved), 8)]
    if len(moved) <= _EXACT_SESSIONS:
        every = range(1 << len(moved))
        return sum(abs(_flipped(eights, signs)) >= seen for signs in every) / len(every)
    draw = random.Random(seed)
    drawn = (draw.getrandbits(len(moved)) for _ in range(_FLIPS))
    return (sum(abs(_flipped(eights, signs)) >= seen for signs in drawn) + 1) / (_FLIPS + 1)


def _signed_sums(values: Sequence[float]) -> list[float]:
    """The sum for every pattern of signs, a set bit being a minus: looked up instead of added anew per pattern."""
    sums = [0.0]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums


def _flipped(eights: Sequence[Sequence[float]], signs: int) -> float:
    total = 0.0
    for sums in eights:
        total += sums[signs & 255 if len(sums) == 256 else signs]
        signs >>= 8
    return total


def clustered_difference(sums: Sequence[float], sizes: Sequence[int]) -> Interval:
    """Mean paired difference per step with a cluster-robust t interval on G - 1 degrees of freedom.

    `sums` and `sizes` are per session: the sum of its steps' differences and their number (ratio estimator with
    the sandwich variance, Cameron and Miller 2015).
    """
    groups = len(sums)
    total = sum(sizes)
    mean = math.fsum(sums) / total
    residuals = [value - mean * size for value, size in zip(sums, sizes, strict=True)]
    variance = groups / (groups - 1) * math.fsum(r * r for r in residuals) / total**2
    reach = student_t(0.975, groups - 1) * math.sqrt(variance)
    return Interval(mean, mean - reach, mean + reach)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p values that keep the family-wise error (Holm 1979)."""
    adjusted: dict[str, float] = {}
    running = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda pair: pair[1])):
        running = max(running, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = running
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


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan 1996); None when empty."""
    if not ordered:
        return None
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def bootstrap(
    sessions: Sequence[Sequence[float]],
    statistic: Callable[[Sequence[float]], float | None],
    draws: int = 1_000,
    seed: int = 0,
) -> Interval | None:
    """Percentile bootstrap over whole sessions (Davison and Hinkley 1997, 3.8); None when nothing was seen."""
    seen = statistic(sorted(value for session in sessions for value in session))
    if seen is None:
        return None
    draw = random.Random(seed)
    values = []
    for _ in range(draws):
        chosen = draw.choices(sessions, k=len(sessions))
        value = statistic(sorted(value for session in chosen for value in session))
        if value is not None:
            values.append(value)
    values.sort()
    low, high = quantile(values, 0.025), quantile(values, 0.975)
    assert low is not None and high is not None
    return Interval(seen, low, high)


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
