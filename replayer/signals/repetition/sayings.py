"""A few sentences or lines said again and again, each of them exactly as before, in whatever order.

What `vocabulary` asks of words is asked here of sentences; the signs that stand between them do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

from replayer.signals.repetition.scripts import split_words

FEW = ((4, 1), (6, 2), (8, 3), (9, 4))
"""(sentences, different ones among them at most)."""
MOST = 1 + FEW[-1][0] - FEW[0][0]
"""Different ones among the newest, beyond which none of these can be."""
LEAST = 320
"""Characters of them at least."""
LONG = 5
"""Words of a sentence from which on the first does not matter, "But …", "So …", "Wait, …", where half as many more came:
the first word of a verse may count."""
KEPT = 2 * FEW[-1][0]
WAITING = 3000
"""Characters that are kept at least while they say something new."""
LONGEST = 1000
"""Characters of a sentence that has not ended."""


def _core(said: str) -> str:
    return said.partition(" ")[2] if said.count(" ") >= LONG - 1 else said


class Said(NamedTuple):
    """`size` characters at the end of the text are a few sentences, of which the loop explains `share`."""

    size: int
    share: float


class Sayings:
    """The newest sentences. Each is its words; numbers in them make it another one."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._rest = ""
        self._waiting, self._ascii = "", True

    def wait(self, flat: str, plain: bool) -> None:
        """Keep text that says something new: its sentences are looked at once the next piece says nothing new."""
        self._waiting += flat
        self._ascii &= plain
        if len(self._waiting) > 2 * WAITING:
            self._waiting = self._waiting[-WAITING:]
            self._rest = ""

    def push(self, flat: str, plain: bool) -> Said | None:
        """Take the next piece of text, as `flat_of` makes it; the loop of sentences that it ends in, if it does."""
        sentences, plain = (self._waiting + flat).split("\n"), plain and self._ascii
        self._waiting, self._ascii = "", True
        sentences[0] = f"{self._rest} {sentences[0]}"
        rest = sentences.pop()
        self._rest = (rest if plain else " ".join(split_words(rest)))[-LONGEST:]
        newest: list[str] = []
        for sentence in reversed(sentences):
            if said := " ".join(split_words(sentence)) if not plain else sentence.strip():
                newest.append(said)
                if len(newest) == KEPT:
                    break
        self._said = [*self._said, *reversed(newest)][-KEPT:]
        if len(set(self._said[-FEW[-1][0] :])) > MOST:
            return None
        for count, most in FEW:
            joined = [_core(one) for one in self._said[-count * 3 // 2 :]]
            for newest, least in ((self._said[-count:], count), (joined, count * 3 // 2)):
                different, size = len(set(newest)), sum(map(len, newest)) + len(newest)
                if len(newest) >= least and different <= most and size >= LEAST:
                    return Said(size, 1 - different / len(newest))
        return None
