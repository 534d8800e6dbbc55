"""A share with an interval that stays valid however often it is looked at.

The confidence sequence of Robbins (1970) for a proportion, by a beta mixture of the likelihood: the values whose mixture
ratio stays under 1/alpha. By Ville's inequality the true share leaves it at any time with probability alpha at most, so
that a level may stop as soon as the interval excludes its threshold. This is exact for independent turns. Turns of one
moment resemble each other (a queue holds several up): their number is divided by the design effect, the variance of the
shares of blocks of turns in the order of sending over that of independent turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, pvariance

from replayer.metrics.documents import Rate

ALPHA = 0.10
"""Of both sides: a level that fails is held to hold, or one that holds to fail, in 5 % of cases at most."""
_PRIOR = 5.0
"""Turns that the mixture's prior is worth; its mean is the threshold."""
_BLOCK = 5
"""Turns of a block."""
_STEPS = 60
"""Halvings of an interval: its ends are exact to the last digit."""


def design_effect(outcomes: Sequence[bool]) -> float:
    """At least 1. Of fewer than eight whole blocks nothing is known."""
    blocks = [fmean(outcomes[at : at + _BLOCK]) for at in range(0, len(outcomes) - _BLOCK + 1, _BLOCK)]
    mean = fmean(outcomes) if outcomes else 0.0
    single = mean * (1 - mean) / _BLOCK
    if len(blocks) < 8 or not single:
        return 1.0
    return max(1.0, pvariance(blocks) * len(blocks) / (len(blocks) - 1) / single)


def interval(outcomes: Sequence[bool], threshold: float, alpha: float = ALPHA) -> Rate:
    """The share of True with its confidence sequence."""
    n = len(outcomes)
    if not n:
        return Rate(None, 0.0, 1.0, 0)
    effect, good = design_effect(outcomes), sum(outcomes)
    top, bottom = good / effect, (n - good) / effect
    share = good / n
    return Rate(
        share,
        _edge(0.0, share, lambda p: _excluded(p, top, bottom, threshold, alpha)),
        _edge(1.0, share, lambda p: _excluded(p, top, bottom, threshold, alpha)),
        n,
    )


def _edge(outside: float, inside: float, excluded: Callable[[float], bool]) -> float:
    """Where the interval ends between a value outside it and the share itself."""
    if not excluded(outside):
        return outside
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if excluded(middle) else (outside, middle)
    return inside


def _excluded(p: float, good: float, bad: float, threshold: float, alpha: float) -> bool:
    a, b = _PRIOR * threshold, _PRIOR * (1 - threshold)
    if (p <= 0 and good) or (p >= 1 and bad):
        return True
    mixture = _log_beta(a + good, b + bad) - _log_beta(a, b)
    likelihood = (good * math.log(p) if good else 0.0) + (bad * math.log1p(-p) if bad else 0.0)
    return mixture - likelihood >= math.log(1 / alpha)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
