"""A few sentences or lines said in any order, each of them exactly as before.

What `vocabulary` asks of words is asked here of sentences. A refrain, a form or a plan that is shown again says its
sentences in one order: those are exact cycles, or they are not a loop. So a sentence speaks for a loop where it was said
before, but behind another one; where only one or two are said, order says nothing, and the marks between them differ.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from replayer.signals.repetition.scripts import sentences_of

FEW = ((4, 1), (6, 2), (8, 3), (9, 4))
"""(sentences, different ones among them at most); of more than two, some stand behind another one than before."""
FEW_SHUFFLED = 0.3
POOL = (6, 8, 11)
"""Newest sentences of which at most one in `NEW` is new and `SHUFFLED` of them stand behind another one than before."""
NEW = 9
SHUFFLED = 0.6
LEAST = 320
"""Characters of them at least; one of Chinese and its like counts twice."""
SILENT, MOST_NEW, OFTEN, MOSTLY = 900, 0.05, 3, 0.75
"""Characters in which so little is new that nothing is being said, the share that may be, and which share of it was said
how often among the newest sentences."""
LONG = 5
"""Words of a sentence from which on the first does not matter: "But …", "So …", "Wait, …"."""
KEPT = 40
WAITING = 3000
"""Characters that are kept at least while they say something new."""
LONGEST = 1000
"""Characters of a sentence that has not ended."""


def _key(words: str) -> int:
    """One for all sentences that differ in their first word, or in the signs that stand before it, only."""
    first, _, rest = words.partition(" ")
    return hash(rest if rest.count(" ") >= LONG - 2 or not first.isalpha() else words)


class Said(NamedTuple):
    """`size` characters at the end of the text are sentences of a pool, of which the loop explains `share`."""

    size: int
    share: float


class Sayings:
    """The newest sentences. Each is its words; numbers in them make it another one."""

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._whole: list[int] = []
        self._sizes: list[int] = []
        self._known: list[bool] = []
        self._shuffled: list[bool] = []
        self._behind: dict[int, int] = {}
        """Of each sentence, the one that stood before it."""
        self._rest = ""
        self._waiting = ""

    def wait(self, text: str) -> None:
        """Keep text that says something new: its sentences are looked at once the next piece says nothing new."""
        self._waiting += text
        if len(self._waiting) > 2 * WAITING:
            self._waiting = self._waiting[-WAITING:]
            self._rest = ""

    def push(self, text: str) -> Said | None:
        """Take the next piece of text; the loop of sentences that it ends in, if it does."""
        sentences, self._waiting = sentences_of(self._waiting + text), ""
        again, behind, keys = False, self._behind, self._keys
        last = f"{self._rest} {sentences[0]}"
        before = keys[-1] if keys else 0
        for sentence in sentences[1:]:
            if words := last.strip():
                key = _key(words)
                known = key in behind
                again |= known
                keys.append(key)
                self._whole.append(hash(words[2:].lstrip() if not words[0].isalnum() else words))
                self._sizes.append(len(words) + 1)
                self._known.append(known)
                self._shuffled.append(known and behind[key] != before)
                behind[key] = before
                before = key
            last = sentence
        self._rest = last[-LONGEST:]
        if len(keys) > 2 * KEPT:
            for one in (keys, self._whole, self._sizes, self._known, self._shuffled):
                del one[:-KEPT]
            self._behind = {key: behind[key] for key in keys}
        return self._loop() if again else None

    def _loop(self) -> Said | None:
        if found := self._nothing_new():
            return found
        for count, most in FEW:
            newest = self._whole[-count:]
            different = len(set(newest))
            ordered = different > 2 and self._spread(count) < FEW_SHUFFLED * count
            few = len(newest) == count and different <= most and not ordered
            if few and (found := self._said(count, 1 - different / count)):
                return found
        for count in POOL:
            known = self._known[-count:]
            new = known.count(False)
            pool = len(known) == count and NEW * new <= count and self._spread(count) >= SHUFFLED * count
            if pool and (found := self._said(count, 1 - new / count)):
                return found
        return None

    def _nothing_new(self) -> Said | None:
        """Long enough, hardly a character is new and most was said three times, whatever the order."""
        size = new = often = 0
        times = Counter(self._keys[-KEPT:])
        for key, length, known in zip(
            *(reversed(one) for one in (self._keys, self._sizes, self._known)), strict=True
        ):
            size += length
            new += 0 if known else length
            often += length if times[key] >= OFTEN else 0
            if new > MOST_NEW * SILENT:
                return None
            if size >= SILENT:
                return Said(size, 1 - new / size) if often >= MOSTLY * size else None
        return None

    def _spread(self, count: int) -> int:
        return sum(self._shuffled[-count:])

    def _said(self, count: int, share: float) -> Said | None:
        size = sum(self._sizes[-count:])
        return Said(size, share) if size >= LEAST else None
