"""Which lane is better than which, where that is decided: usable turns first, then speed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replayer.metrics.run_documents import Pair

FIRST, SECOND = "usable_turn_rate", "decode_tok_s"

Better = dict[tuple[str, str, str], bool]


def decided(comparisons: Iterable[Pair]) -> Better:
    """What the comparisons of a report show once all of them are counted as one family (`conclusions.decide`)."""
    better: Better = {}
    for pair in comparisons:
        better[(pair.b, pair.a, pair.metric)] = pair.winner == pair.b
        better[(pair.a, pair.b, pair.metric)] = pair.winner == pair.a
    return better


def beats(a: str, b: str, better: Better) -> bool:
    """More usable turns, or as many within noise and faster."""
    if better.get((a, b, FIRST)):
        return True
    return not better.get((b, a, FIRST)) and bool(better.get((a, b, SECOND)))


def dominates(a: str, b: str, better: Better) -> bool:
    """Better in one figure and not worse in the other."""
    return any(
        better.get((a, b, one)) and not better.get((b, a, other))
        for one, other in ((FIRST, SECOND), (SECOND, FIRST))
    )
