"""A few sentences or lines said again and again, each of them exactly as before, in whatever order.

What `vocabulary` asks of words is asked here of sentences; the signs that stand between them do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

from replayer.signals.repetition.scripts import sentences_of

FEW = ((4, 1), (6, 2), (8, 3), (9, 4))
"""(sentences, different ones among them at most)."""
LEAST = 320
"""Characters of them at least."""
LONG = 5
"""Words of a sentence from which on the first does not matter: "But …", "So …", "Wait, …"."""
KEPT = 2 * FEW[-1][0]
WAITING = 3000
"""Characters that are kept at least while they say something new."""
LONGEST = 1000
"""Characters of a sentence that has not ended."""


def _core(sentence: str) -> str:
    words = sentence.strip()
    return words.partition(" ")[2] if words.count(" ") >= LONG - 1 else words


class Said(NamedTuple):
    """`size` characters at the end of the text are a few sentences, of which the loop explains `share`."""

    size: int
    share: float


class Sayings:
    """The newest sentences. Each is its words; numbers in them make it another one."""

    def __init__(self) -> None:
        self._said: list[str] = []
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
        whole = [f"{self._rest} {sentences[0]}", *sentences[1:]]
        self._rest = whole.pop()[-LONGEST:]
        self._said = [*self._said, *filter(None, map(_core, whole))][-KEPT:]
        for count, most in FEW:
            newest = self._said[-count:]
            different, size = len(set(newest)), sum(map(len, newest)) + count
            if len(newest) == count and different <= most and size >= LEAST:
                return Said(size, 1 - different / count)
        return None
