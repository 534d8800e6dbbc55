"""Text copied from itself: sentences of a pool in any order, and near-copies of one passage.

A one-sided CUSUM test (Page 1954) runs over pairs of words (in scripts without blanks, over five graphemes or three signs): among the
600 to 1,200 different ones before, a pair that was seen twice adds 1, one seen once 0.4, a new one takes 2.5. Sound prose
stays under 60 but for licences and one file in a thousand.

Near-copies are a passage written again and again with words changed here and there, whatever kind of text it is.
Generated code and tables are near-copies of one passage as well, but there the changes fall into the same slots each
time, where in a loop they fall anywhere. So the copies are laid under each other, word by word, and the changes are
counted by column: in a loop they are spread like chance would (variance about the mean), in a template they are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from replayer.signals.repetition.prose import is_legal, is_list, is_prose, lines_differ
from replayer.signals.repetition.scripts import WIDE, plain

NEW_COSTS, JOINT_COSTS = 2.5, 1.5
NEWS = 2
SINCE, SINCE_LISTED = 80, 200
ONCE_COSTS = 0.6
GENERATION = 600
PROSE, LISTED, LEGAL = 70, 210, 280
KNOWN, KNOWN_CUT, KNOWN_LEGAL = 0.88, 0.84, 0.99
"""Share of the pairs that must be known since the score was zero."""
CUT, CUT_KNOWN = 0.68, 0.5
"""Of it, where the token limit cut the text in the middle of it; the second where hardly a pair of the last piece was new."""
STALE = 0.1
ASK_AGAIN = 1.1
"""How much the score must grow before a text that was not a loop is judged again: a look is dear."""
"""Score at which prose, lists and licences are loops."""
GRAPHEMES, SIGNS = 5, 3
"""How many make a gram: of the graphemes of Thai and its like, of the signs of Chinese and Japanese."""
FAMILIAR = 0.55
"""Share of copied pieces (smoothed) from which on near-copies are looked for."""
COPIES = 7
PERIOD = 16
"""Words of a passage at least; shorter loops are caught by their vocabulary or word pairs."""
NEWEST, OLDER = 400, 400
"""Words that vote on the period, and those before them, at least, of which they may be copies."""
VOTES = 0.1
ALIKE = 0.55
"""Share of its words that a copy has in the same place as the copy before it."""
DISPERSION = 1.5
"""Most variance to mean of the changes by column; chance gives about 1, one slot in sixty words 6 and more."""
WORDED = re.compile(r"[^\W\d_]{3}")


class CopiedText:
    """The test, fed with the sentences of each next piece of text."""

    def __init__(self) -> None:
        self._seen, self._known = set[int](), set[int]()
        self._twice, self._older_twice = set[int](), set[int]()
        self._rest: list[str] = []
        self._score = 0.0
        self._words = self._new = 0
        self._burst = 0
        self._since_news = 0
        self.size = 0
        self.familiar = 0.0
        self.fresh = 1.0
        self._ask_from: float = PROSE

    def skip(self) -> bool:
        """Pass over numbers alone: a table, which the rules for words have nothing to say of."""
        self.fresh, self.familiar = 1.0, 0.75 * self.familiar
        return self._begin()

    def push(self, words: list[str], size: int, unspaced: bool) -> bool:
        """Whether the text may be a loop by now. `size`: characters of the piece."""
        if not words:
            return False
        words = self._rest + words
        if unspaced:
            order = SIGNS if words[-1] >= WIDE else GRAPHEMES
            self._rest, news = words[1 - order :], order + 1
            grams = list(map(hash, _grams(words, order)))
        else:
            self._rest, news, order = words[-1:], NEWS, 2
            grams = list(map(hash, pairwise(words)))
        different = set(grams)
        fresh = different - self._known
        count, new = len(words) + 1 - order, len(fresh)
        if count > 0:
            self.fresh = new / count
            self.familiar += 0.25 * (1 - self.fresh - self.familiar)
        if self._score + count <= ((JOINT_COSTS if self._score else NEW_COSTS) + 1) * new:
            self._remember(different, fresh)
            return self._begin()
        gain = self._weigh(grams, news)
        self._remember(different, fresh)
        self._score += gain * (0.5 if unspaced else 1.0)
        if self._score <= 0:
            return self._begin()
        self._words += count
        self._new += new
        self.size += size
        return self._score >= self._ask_from

    def _begin(self) -> bool:
        if self._score or self._since_news or self.size:
            self._score = 0.0
            self._words = self._new = self.size = self._since_news = 0
            self._ask_from = PROSE
        return False

    def _weigh(self, ordered: list[int], news: int) -> float:
        """What the pairs of a piece speak for a loop. New ones in a row are news; one or two are a joint."""
        gain, burst, since = 0.0, self._burst, self._since_news
        known, twice, older_twice = self._known, self._twice, self._older_twice
        fresh = set[int]()
        for gram in ordered:
            if gram not in known and gram not in fresh:
                fresh.add(gram)
                burst += 1
                gain -= JOINT_COSTS if burst < news else NEW_COSTS
                if burst >= news:
                    since = 0
                continue
            burst = 0
            since += 1
            if gram in twice or gram in older_twice:
                gain += 1
            else:
                gain += 1 - ONCE_COSTS
                twice.add(gram)
        self._burst, self._since_news = burst, since
        return gain

    def _remember(self, grams: set[int], fresh: set[int]) -> None:
        self._seen |= grams
        self._known |= fresh
        if len(self._seen) > GENERATION:
            self._known, self._older_twice = self._seen, self._twice
            self._seen, self._twice = set(), set()

    @property
    def share(self) -> float:
        return 1 - self._new / self._words if self._words else 0.0

    def is_loop(self, text: str, cut: bool = False) -> bool:
        """Judge the newest text by what it is; `cut`: by the token limit."""
        self._ask_from = ASK_AGAIN * self._score
        if self._since_news < SINCE * (CUT_KNOWN if cut else 1) or self.share < (KNOWN_CUT if cut else KNOWN):
            return False
        legal = is_legal(text)
        listed = is_list(text) or lines_differ(text)
        needed: float = LEGAL if legal else LISTED if listed else PROSE
        if listed and self._since_news < SINCE_LISTED * (CUT_KNOWN if cut else 1):
            return False
        if legal and self.share < KNOWN_LEGAL:
            return False
        if cut:
            needed *= CUT_KNOWN if self.fresh <= STALE else CUT
        return self._score >= needed and is_prose(text)


def _grams(words: list[str], order: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(order)), strict=False)


class Copies(NamedTuple):
    """`length`: characters of all copies together, up to the end of the text looked at."""

    length: int
    period: int
    unit: str
    alike: float


def near_copies(text: str) -> Copies | None:
    """Judge the copies that the end of `text` consists of."""
    period = _period(text.rsplit(None, NEWEST + OLDER)[-NEWEST - OLDER :])
    if period < PERIOD:
        return None
    words = text.split()
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
    return next((d for d, votes in most if d >= PERIOD and votes >= VOTES * NEWEST), 0)


def _rows(words: list[str], period: int) -> list[list[str]]:
    """The newest copies, as long as each is like the one after it."""
    rows = [words[at - period : at] for at in range(len(words), period - 1, -period)]
    for number, (newer, older) in enumerate(pairwise(rows), 1):
        if sum(map(str.__eq__, newer, older)) < ALIKE * period:
            return rows[:number]
    return rows


def _is_worded(words: list[str]) -> bool:
    """Words rather than values, and many different ones."""
    worded = sum(1 for word in words if WORDED.search(plain(word)))
    return worded >= 0.5 * len(words) and len(set(words)) >= max(PERIOD, 0.3 * len(words))


def _dispersion(counts: list[int]) -> float:
    mean = sum(counts) / len(counts)
    return sum((count - mean) ** 2 for count in counts) / len(counts) / mean
