"""Bins of the times between deltas."""

import math

from replayer.journal.packing import bins


def test_each_gap_is_in_the_bin_of_its_logarithm() -> None:
    gaps = [*range(1 << 16), 70_000, 5_000_000]
    assert bins(gaps) == [round(math.log(max(gap, 1)) / math.log(1.01)) for gap in gaps]
