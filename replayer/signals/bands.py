"""Does a speed fall into separate bands, and does draft acceptance explain them?

Windows are cut into 4, 3 or 2 groups with the least squared error (Fisher 1958); the first cut counts in which all
neighbours stand apart. They do if Ashman's D, the distance of their medians in units of their robust spread, is at
least 4 (one normal distribution cut in half has 2.7, a uniform one 3.5), if that distance is at least 4 % of the
slower speed, if each holds a tenth of the windows, and if a uniform sample of the same size splits so well in at most
2 % of 200 seeded draws. Fewer than 8 windows cannot pass that last test: there 20 % is enough where acceptance splits
at the same place. What acceptance explains is the squared correlation of speed and acceptance over the windows, beside
the same figure for load.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from statistics import median

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

VERSION = 1
LEAST_D = 4.0
LEAST_DISTANCE = 0.04
LEAST_SHARE = 0.1
LARGEST_P = 0.02
FEW = 8
LARGEST_P_OF_FEW = 0.2
DRAWS = 200
MOST_BANDS = 4
MOST_WINDOWS = 120
"""More are thinned out evenly before they are cut."""


@dataclass(frozen=True, slots=True)
class Window:
    """Speed (tokens/s) over a piece of a run, with what may explain it: acceptance (0..1) and load (requests)."""

    speed: float
    acceptance: float | None = None
    load: float | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """Speeds from `low` to `high`; `share` of all windows; `acceptance` is the mean of its windows."""

    low: float
    high: float
    median: float
    share: float
    acceptance: float | None


@dataclass(frozen=True, slots=True)
class Bands:
    """One band means: no separate bands. `explained_by_*` are shares of the variance of speed, None if unknown."""

    windows: int
    bands: tuple[Band, ...]
    explained_by_acceptance: float | None
    explained_by_load: float | None
    few: bool
    """Fewer than 8 windows: what they show may be chance."""

    def as_data(self) -> JsonObject:
        return {"version": VERSION, **asdict(self), "bands": [asdict(band) for band in self.bands]}


def find_bands(windows: Sequence[Window]) -> Bands:
    ordered = sorted(windows, key=lambda window: window.speed)
    groups = _groups(ordered)
    return Bands(
        windows=len(windows),
        bands=tuple(_band(group, len(windows)) for group in groups),
        explained_by_acceptance=_explained([(w.acceptance, w.speed) for w in windows]),
        explained_by_load=_explained([(w.load, w.speed) for w in windows]),
        few=len(windows) < FEW,
    )


def _groups(ordered: list[Window]) -> list[list[Window]]:
    """The finest partition whose neighbours all stand apart."""
    if not ordered:
        return []
    speeds = [window.speed for window in ordered]
    for count in range(MOST_BANDS, 1, -1):
        cuts = partition(speeds, count)
        groups = [ordered[low:high] for low, high in pairwise([0, *cuts, len(ordered)])]
        if len(groups) == count and all(_apart(a, b, len(ordered)) for a, b in pairwise(groups)):
            return groups
    return [ordered]


def partition(ordered: Sequence[float], count: int) -> list[int]:
    """Where to cut sorted values into `count` groups with the least squared error (Fisher 1958)."""
    n = len(ordered)
    if n < 2 * count or n > MOST_WINDOWS:
        return [] if n < 2 * count else _scaled(ordered, count)
    total, squares = [0.0], [0.0]
    for value in ordered:
        total.append(total[-1] + value)
        squares.append(squares[-1] + value * value)

    best = [math.inf] + [squares[high] - total[high] ** 2 / high for high in range(1, n + 1)]
    cuts: list[list[int]] = [[] for _ in range(n + 1)]
    for groups in range(2, count + 1):
        costs, ways = [math.inf] * (n + 1), [list[int]() for _ in range(n + 1)]
        for high in range(groups, n + 1):
            square, whole, lows = squares[high], total[high], range(groups - 1, high)
            errors = [
                best[low] + square - squares[low] - (whole - total[low]) ** 2 / (high - low) for low in lows
            ]
            costs[high] = least = min(errors)
            low = lows[errors.index(least)]
            ways[high] = [*cuts[low], low]
        best, cuts = costs, ways
    return cuts[n]


def _scaled(ordered: Sequence[float], count: int) -> list[int]:
    """Cuts of many values, found on an even sample of them."""
    turn = len(ordered) / MOST_WINDOWS
    sample = [ordered[int(at * turn)] for at in range(MOST_WINDOWS)]
    return [int(cut * turn) for cut in partition(sample, count)]


def best_cut(ordered: Sequence[float]) -> int | None:
    """Where the between-group variance is largest; None without two different values."""
    n, total = len(ordered), sum(ordered)
    best, at, left = 0.0, None, 0.0
    for size in range(1, n):
        left += ordered[size - 1]
        if ordered[size] == ordered[size - 1]:
            continue
        between = (left / size - (total - left) / (n - size)) ** 2 * size * (n - size)
        if between > best:
            best, at = between, size
    return at


def _apart(low: list[Window], high: list[Window], total: int) -> bool:
    slow, fast = [window.speed for window in low], [window.speed for window in high]
    if min(len(low), len(high)) < max(2, LEAST_SHARE * total):
        return False
    distance = median(fast) - median(slow)
    if distance < LEAST_DISTANCE * median(slow) or separation(slow, fast) < LEAST_D:
        return False
    few = total < FEW and _splits_acceptance(low, high)
    return not _by_chance(slow + fast, len(slow), LARGEST_P_OF_FEW if few else LARGEST_P)


def _splits_acceptance(low: list[Window], high: list[Window]) -> bool:
    slow = [window.acceptance for window in low if window.acceptance is not None]
    fast = [window.acceptance for window in high if window.acceptance is not None]
    return bool(slow and fast) and (max(slow) < min(fast) or max(fast) < min(slow))


def separation(low: Sequence[float], high: Sequence[float]) -> float:
    """Ashman's D with medians and robust spreads (1.4826 times the median absolute deviation)."""
    spread = math.sqrt((_spread(low) ** 2 + _spread(high) ** 2) / 2)
    distance = median(high) - median(low)
    return distance / spread if spread else math.inf


def _by_chance(speeds: Sequence[float], cut: int, largest: float) -> bool:
    """Whether more than that share of uniform samples of this size are split as well."""
    seen = _gain(speeds, cut)
    rng = random.Random(len(speeds))
    hits = 0
    for _ in range(DRAWS):
        draw = sorted(rng.random() for _ in range(min(len(speeds), MOST_WINDOWS)))
        draw_cut = best_cut(draw)
        hits += draw_cut is not None and _gain(draw, draw_cut) >= seen
        if hits / DRAWS > largest:
            return True
    return False


def _gain(ordered: Sequence[float], cut: int) -> float:
    """Share of the variance that the cut explains."""
    mean = sum(ordered) / len(ordered)
    whole = sum((value - mean) ** 2 for value in ordered)
    parts = (ordered[:cut], ordered[cut:])
    between = sum(len(part) * (sum(part) / len(part) - mean) ** 2 for part in parts)
    return between / whole if whole else 0.0


def _band(group: Sequence[Window], total: int) -> Band:
    known = [window.acceptance for window in group if window.acceptance is not None]
    speeds = [window.speed for window in group]
    return Band(
        low=speeds[0],
        high=speeds[-1],
        median=median(speeds),
        share=len(group) / total,
        acceptance=sum(known) / len(known) if known else None,
    )


def _explained(pairs: Sequence[tuple[float | None, float]]) -> float | None:
    """Squared correlation; None with fewer than 3 known pairs or where one side never varies."""
    known = [(x, y) for x, y in pairs if x is not None]
    if len(known) < 3:
        return None
    mean_x, mean_y = (sum(values) / len(known) for values in zip(*known, strict=True))
    xx = sum((x - mean_x) ** 2 for x, _ in known)
    yy = sum((y - mean_y) ** 2 for _, y in known)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in known)
    return xy * xy / (xx * yy) if xx > 0 and yy > 0 else None


def _spread(ordered: Sequence[float]) -> float:
    centre = median(ordered)
    return 1.4826 * median(sorted(abs(value - centre) for value in ordered))
