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
    """Worked out once: there is one gap per token of a run."""
    return array("H", map(_of, range(_SHORT)))


def _of(gap: int) -> int:
    return round(math.log(max(gap, 1)) / _BIN)
