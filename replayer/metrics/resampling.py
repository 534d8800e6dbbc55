"""Tests and intervals over sessions, as arrays. numpy is loaded when one is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from replayer.metrics.stats import Interval, expanded_tail, student_t

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Counts = Mapping[float, float]
"""How often each value was seen."""
EXACT_SESSIONS = 14
"""Up to here every pattern of signs is looked at."""
_FLIPS = 9_999
_DRAWS = 1_000
_MOST_VALUES = 2_048
"""More different values are joined into so many groups of equal weight: a twentieth of a percent of rank."""
_BLOCK = 1_000_000
"""Numbers held at once."""


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of session differences that are symmetric about 0 (Fisher 1935).

    All sign patterns up to 14 sessions, beyond that 9,999 drawn ones (with the seen one counted, Phipson and
    Smyth 2010).
    """
    import numpy as np

    values = np.asarray([value for value in differences if value != 0])
    if not len(values):
        return 1.0
    return _as_far(abs(math.fsum(values)), len(values), lambda signs: signs @ values)


def swap(a: Sequence[tuple[float, float]], b: Sequence[tuple[float, float]]) -> float:
    """Two-sided p of pooled ratios of b and a, were the lanes exchangeable within each session (Fisher 1935).

    `a`, `b`: numerator and denominator by session. Of denominators that are equal this is the sign-flip test.
    """
    import numpy as np

    first, second = np.asarray(a, float), np.asarray(b, float)
    moved = (first != second).any(axis=1)
    if not moved.any():
        return 1.0
    half, middle = (second - first)[moved] / 2, (first + second).sum(axis=0) / 2
    seen = abs(_gap(half.sum(axis=0)[None], middle)[0])
    return _as_far(seen, len(half), lambda signs: _gap(signs @ half, middle))


def _as_far(seen: float, sessions: int, value: Callable[[Array], Array]) -> float:
    """The share of sign patterns whose value lies as far from 0 as the seen one."""
    hits = total = 0
    for signs in _patterns(sessions):
        hits += int((abs(value(signs)) >= seen * (1 - 1e-9)).sum())
        total += len(signs)
    return hits / total if sessions <= EXACT_SESSIONS else (hits + 1) / (total + 1)


def _gap(half: Array, middle: Array) -> Array:
    """Ratio of b minus ratio of a, where the sums are `middle` plus and minus `half`."""
    import numpy as np

    high, low = middle + half, middle - half
    with np.errstate(divide="ignore", invalid="ignore"):
        gap: Array = np.nan_to_num(
            high[:, 0] / high[:, 1] - low[:, 0] / low[:, 1], posinf=np.inf, neginf=-np.inf
        )
    return gap


def _patterns(count: int) -> Sequence[Array]:
    """Rows of signs, in blocks."""
    import numpy as np

    if count <= EXACT_SESSIONS:
        return [
            np.asarray(1.0 - 2.0 * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1), np.float64)
        ]
    draw = np.random.default_rng(0)
    rows = max(1, _BLOCK // count)
    sizes = [min(rows, _FLIPS - start) for start in range(0, _FLIPS, rows)]
    return [draw.choice(np.array([-1.0, 1.0]), (size, count)) for size in sizes]


def ratio_difference(
    a: Sequence[tuple[float, float]], b: Sequence[tuple[float, float]], *, paired: bool = True
) -> Interval | None:
    """Pooled ratio of b minus that of a, with the t interval of the cluster jackknife (CV3; MacKinnon, Nielsen and Webb
    2023) on G - 1 degrees of freedom. None where the clusters do not vary, or are fewer than two.

    A cluster is left out of both lanes at once where they are `paired`, else of one at a time.
    """
    first, second = _left_out(a), _left_out(b)
    if first is None or second is None:
        return None
    value = _ratio(b) - _ratio(a)
    if paired:
        shifts = [(y - x) - value for x, y in zip(first, second, strict=True)]
        return _jackknife(value, [shifts])
    return _jackknife(value, [[x - _ratio(a) for x in first], [y - _ratio(b) for y in second]])


def _jackknife(value: float, groups: Sequence[Sequence[float]]) -> Interval | None:
    variance = math.fsum(
        (len(shifts) - 1) / len(shifts) * math.fsum(shift * shift for shift in shifts) for shifts in groups
    )
    if variance <= (1e-9 * max(abs(value), 1e-9)) ** 2:
        return None
    reach = student_t(0.975, min(map(len, groups)) - 1) * math.sqrt(variance)
    return Interval(value, value - reach, value + reach)


def _left_out(parts: Sequence[tuple[float, float]]) -> list[float] | None:
    """The pooled ratio without each cluster in turn; None where one holds everything."""
    top, bottom = (math.fsum(column) for column in zip(*parts, strict=True))
    if len(parts) < 2 or any(bottom - size <= 0 for _, size in parts):
        return None
    return [(top - part) / (bottom - size) for part, size in parts]


def _ratio(parts: Sequence[tuple[float, float]]) -> float:
    return math.fsum(top for top, _ in parts) / math.fsum(bottom for _, bottom in parts)


def quantile_differences(
    a: Sequence[Counts],
    b: Sequence[Counts],
    shares: Sequence[float],
    *,
    paired: bool = True,
) -> list[Interval]:
    """By share, the quantile of b minus that of a over all their sessions, with a bootstrap interval over whole sessions.

    `paired`: a session is drawn for both. The percentiles are widened as for few sessions Student's t widens the normal
    (the expanded percentile interval, Hesterberg 2015); without that it errs 10 % over 8 sessions.
    """
    import numpy as np

    draw = np.random.default_rng(0)
    draws = min(_DRAWS, max(200, 200_000 // max(len(a), 1)))
    times = [_times_drawn(draw, len(lane), draws) for lane in (a, b)]
    if paired:
        times[1] = times[0]
    found = [_quantiles(lane, drawn, shares) for lane, drawn in zip((a, b), times, strict=True)]
    tail = expanded_tail(min(len(a), len(b)))
    low, high = math.floor(tail * (draws - 1)), math.ceil((1 - tail) * (draws - 1))
    intervals = []
    for row in range(len(shares)):
        gaps = np.sort(found[1][1][row] - found[0][1][row])
        intervals.append(
            Interval(float(found[1][0][row] - found[0][0][row]), float(gaps[low]), float(gaps[high]))
        )
    return intervals


def _times_drawn(draw: np.random.Generator, sessions: int, draws: int) -> Array:
    import numpy as np

    return np.vstack([np.ones(sessions), draw.multinomial(sessions, [1 / sessions] * sessions, draws)])


def _quantiles(
    sessions: Sequence[Counts], times: Array, shares: Sequence[float]
) -> tuple[list[float], list[Array]]:
    """By share, the quantile of what was seen (the first row of `times`) and of each draw (the others)."""
    import numpy as np

    values, counts = _pooled(sessions)
    blocks = np.array_split(times, 1 + len(times) * len(values) // _BLOCK)
    parts = [_read(np.cumsum(block @ counts, axis=1), values, shares) for block in blocks]
    rows = [np.concatenate(row) for row in zip(*parts, strict=True)]
    return [float(row[0]) for row in rows], [row[1:] for row in rows]


def _read(reached: Array, values: Array, shares: Sequence[float]) -> list[Array]:
    """By share, the quantile of each draw, of which `reached` says how many lie at or below each value."""
    import numpy as np

    found = []
    for share in shares:
        place = (reached[:, -1] - 1) * share
        below = np.floor(place + 1e-9)
        low = values[(reached <= below[:, None]).sum(axis=1).clip(max=len(values) - 1)]
        above = np.minimum(below + 1, reached[:, -1] - 1)
        high = values[(reached <= above[:, None]).sum(axis=1).clip(max=len(values) - 1)]
        found.append(low + (high - low) * (place - below))
    return found


@lru_cache(maxsize=8)
def _grid(size: int, groups: int) -> Array:
    import numpy as np

    return np.minimum(np.arange(size) * groups // size, groups - 1).astype(float)


def _pooled(sessions: Sequence[Counts]) -> tuple[Array, Array]:
    """The different values in order, and how often each session has them."""
    import numpy as np

    every = np.unique(np.fromiter((value for counts in sessions for value in counts), float))
    groups = min(len(every), _MOST_VALUES)
    group = _grid(len(every), groups).astype(int)
    counts = np.zeros((len(sessions), groups))
    for row, session in enumerate(sessions):
        where = group[np.searchsorted(every, np.fromiter(session.keys(), float))]
        np.add.at(counts[row], where, np.fromiter(session.values(), float))
    values = np.bincount(group, weights=every) / np.bincount(group)
    return values, counts
