"""Times between deltas are counted in bins 1 % wide, so their quantiles are right to half a percent."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import cache

_BIN = math.log(1.01)
_SHORT = 1 << 16


def bins(gaps: Iterable[int]) -> list[int]:
    """Those of gaps in microseconds."""
    known = _of_short()
    return [known[gap] if gap < _SHORT else _of(gap) for gap in gaps]


def bin_ms(index: int) -> float:
    """The middle of a bin in milliseconds."""
    return math.exp(index * _BIN) / 1000


@cache
def _of_short() -> array[int]:
    """Worked out once, by where the next bin begins: there is one gap per token of a run."""
    found = array("H")
    while len(found) < _SHORT:
        index = _of(len(found))
        following = math.ceil(math.exp((index + 0.5) * _BIN))
        found.extend([index] * (following - len(found)))
    return found


def _of(gap: int) -> int:
    return round(math.log(max(gap, 1)) / _BIN)
