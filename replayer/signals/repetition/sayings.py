"""A few sentences or lines said in any order, each of them exactly as before.

What `vocabulary` asks of words is asked here of sentences. A refrain, a form or a plan that is shown again says its
sentences in one order: those are exact cycles, or they are no loop. So a sentence speaks for a loop where it was said
before, but behind another one; where only one or two are said, order says nothing, and the marks between them differ.
"""

from __future__ import annotations

from typing import NamedTuple

FEW = ((4, 1), (6, 2), (8, 3), (9, 4))
"""(sentences, different ones among them at most); of more than two, some stand behind another one than before."""
FEW_SHUFFLED = 0.3
POOL = (6, 8, 11)
"""Newest sentences of which at most one in `NEW` is new and `SHUFFLED` of them stand behind another one than before."""
NEW = 9
SHUFFLED = 0.6
LEAST = 320
"""Characters of them at least; one of Chinese and its like counts twice."""
KEPT = 40
WAITING = 16
"""Pieces of text that are kept while it says something new."""
LONGEST = 1000
"""Characters of a sentence that has not ended."""


class Said(NamedTuple):
    """`size` characters at the end of the text are sentences of a pool, of which the loop explains `share`."""

    size: int
    share: float


class Sayings:
    """The newest sentences. Each is its words; numbers in them make it another one."""

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._sizes: list[int] = []
        self._known: list[bool] = []
        self._shuffled: list[bool] = []
        self._behind: dict[int, int] = {}
        """Of each sentence, the one that stood before it."""
        self._rest = ""
        self._waiting: list[list[str]] = []

    def wait(self, sentences: list[str]) -> None:
        """Keep the sentences of text that says something new: they are looked at once it no longer does."""
        self._waiting.append(sentences)
        if len(self._waiting) > WAITING:
            del self._waiting[0]
            self._rest = ""

    def push(self, sentences: list[str]) -> Said | None:
        """Take the sentences of the next piece of text; the loop that they end in, if they do."""
        if self._waiting:
            sentences, self._waiting = _joined([*self._waiting, sentences]), []
        again, behind, keys = False, self._behind, self._keys
        last = f"{self._rest} {sentences[0]}"
        before = keys[-1] if keys else 0
        for sentence in sentences[1:]:
            if words := last.strip():
                key = hash(words)
                known = key in behind
                again |= known
                keys.append(key)
                self._sizes.append(len(words) + 1)
                self._known.append(known)
                self._shuffled.append(known and behind[key] != before)
                behind[key] = before
                before = key
            last = sentence
        self._rest = last[-LONGEST:]
        if len(keys) > 2 * KEPT:
            for one in (keys, self._sizes, self._known, self._shuffled):
                del one[:-KEPT]
            self._behind = {key: behind[key] for key in keys}
        return self._loop() if again else None

    def _loop(self) -> Said | None:
        for count, most in FEW:
            newest = self._keys[-count:]
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

    def _spread(self, count: int) -> int:
        return sum(self._shuffled[-count:])

    def _said(self, count: int, share: float) -> Said | None:
        size = sum(self._sizes[-count:])
        return Said(size, share) if size >= LEAST else None


def _joined(pieces: list[list[str]]) -> list[str]:
    """The sentences of all pieces of a text; the last of each goes on in the next."""
    whole = pieces[0][:]
    for piece in pieces[1:]:
        whole[-1] = f"{whole[-1]} {piece[0]}"
        whole += piece[1:]
    return whole
