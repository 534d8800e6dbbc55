"""Near-copies: a passage written again and again with words changed here and there, whatever kind of text it is.

Generated code and tables are near-copies of one passage as well, but there the changes fall into the same slots each
time, where in a loop they fall anywhere. So the copies are laid under each other, word by word, and the changes are
counted by column: in a loop they are spread like chance would (variance about the mean), in a template they are not.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

COPIES = 7
PERIOD = 16
"""Words of a passage at least; shorter loops are caught by their vocabulary or word pairs."""
NEWEST = 400
"""Words that vote on the period."""
VOTES = 0.1
ALIKE = 0.55
"""Share of its words that a copy has in the same place as the copy before it."""
DISPERSION = 1.5
"""Most variance to mean of the changes by column; chance gives about 1, one slot in sixty words 6 and more."""
WORDED = re.compile(r"[^\W\d_]{3}")


class Copies(NamedTuple):
    """`length`: characters of all copies together, up to the end of the text looked at."""

    length: int
    period: int
    unit: str
    alike: float


def near_copies(text: str) -> Copies | None:
    """Judge the copies that the end of `text` consists of."""
    words = text.split()
    period = _period(words)
    if period < PERIOD:
        return None
    rows = _rows(words, period)
    if len(rows) < COPIES:
        return None
    columns = list(zip(*rows, strict=True))
    tops = [Counter(column).most_common(1)[0] for column in columns]
    changes = [len(rows) - count for _, count in tops]
    share = sum(changes) / (period * len(rows))
    usual = [word for word, _ in tops]
    if not sum(changes) or share > 0.25 or not _is_worded(usual) or _dispersion(changes) > DISPERSION:
        return None
    length = sum(map(len, words[-period * len(rows) :])) + period * len(rows)
    return Copies(length, length // len(rows), " ".join(usual), 1 - share)


def _period(words: list[str]) -> int:
    """The distance at which most of the newest words were last seen, in words."""
    start = max(0, len(words) - NEWEST)
    last = dict(zip(words[:start], range(start), strict=True))
    distances = []
    for at in range(start, len(words)):
        word = words[at]
        if word in last:
            distances.append(at - last[word])
        last[word] = at
    most = Counter(distances).most_common(6)
    return next(
        (d for d, votes in most if PERIOD <= d <= len(words) // COPIES and votes >= VOTES * NEWEST), 0
    )


def _rows(words: list[str], period: int) -> list[list[str]]:
    """The newest copies, as long as each is like the one after it."""
    rows = [words[at - period : at] for at in range(len(words), period - 1, -period)]
    for number, (newer, older) in enumerate(pairwise(rows), 1):
        if sum(map(str.__eq__, newer, older)) < ALIKE * period:
            return rows[:number]
    return rows


def _is_worded(words: list[str]) -> bool:
    """Words rather than values, and many different ones."""
    worded = sum(1 for word in words if WORDED.search(word))
    return worded >= 0.5 * len(words) and len(set(words)) >= max(PERIOD, 0.3 * len(words))


def _dispersion(counts: list[int]) -> float:
    mean = sum(counts) / len(counts)
    return sum((count - mean) ** 2 for count in counts) / len(counts) / mean
