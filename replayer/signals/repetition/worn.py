"""Words that are worn out: for how long has no new one come, and how often was each of them said since?

Sound prose brings a new word every line or two, whatever its language: in 10,180 sound texts of every kind, 60 words in a
row that were all said before are rare, and in none was each of them said five times in 200 characters. A loop brings
none at all, in whatever order it says its words. Scripts without blanks are read by pairs of letters: there 150 of
them in a row, each said twice, came in no sound text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

GENERATION = 400
"""Different words that are remembered at least, twice as many at most."""
SPACED = ((5.0, 200), (4.0, 650), (3.0, 1400))
"""How often each word was said on average, and characters, since the last new word."""
UNSPACED = ((2.0, 200),)
AGAIN = 1.15
"""How much longer it must have become before a text that was not a loop is judged again: a look is dear."""


class Worn(NamedTuple):
    """`size` characters at the end of the text bring no new word; `share` of their words were said before in them."""

    size: int
    share: float


class WornWords:
    """Fed with the words of each next piece of text."""

    def __init__(self) -> None:
        self._seen, self._older = set[object](), set[object]()
        self._last = ""
        self._ask_from = 0.0
        self.skip()

    def skip(self) -> None:
        """Text of numbers and code says something new."""
        self.size = self._count = 0
        self._different = set[object]()
        self._ask_from = 0.0

    def push(self, words: list[str], size: int, unspaced: bool) -> Worn | None:
        """The stretch without a new word, if only a loop has such. `size`: characters of the piece."""
        if not words:
            return None
        units: Sequence[object] = list(pairwise([self._last, *words])) if unspaced else words
        self._last = words[-1]
        different = set(units)
        if new := different.difference(self._seen, self._older):
            begin = _behind(units, new)
            size = size * (len(units) - begin) // len(units)
            units = units[begin:]
            self.skip()
            self._different = set(units)
        else:
            self._different |= different
        self.size += size
        self._count += len(units)
        self._seen |= different
        if len(self._seen) > GENERATION:
            self._seen, self._older = set(), self._seen
        return self._worn(UNSPACED if unspaced else SPACED)

    def _worn(self, table: tuple[tuple[float, int], ...]) -> Worn | None:
        if self.size < max(self._ask_from, table[0][1]):
            return None
        times = self._count / len(self._different)
        if not any(times >= least and self.size >= size for least, size in table):
            return None
        self._ask_from = AGAIN * self.size
        return Worn(self.size, 1 - 1 / times)


def _behind(units: Sequence[object], new: set[object]) -> int:
    """Where the text goes on behind the last of its new words, where that came first."""
    for at in range(len(units) - 1, 0, -1):
        if units[at] in new and units.index(units[at]) == at:
            return at + 1
    return 1
