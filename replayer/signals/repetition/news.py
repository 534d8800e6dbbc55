"""How much a text says, in bits: a word costs what it takes to name it after all that was said before it.

A word that the two before it foretell costs next to nothing, one that was said lately a few bits by how long ago, a new
one twelve and more. What a stretch of text could have said at `RATES` bits a character, less what it did say, is its
silence (a one-sided CUSUM sum). In 10,180 sound texts of every kind prose stays under 480 at the higher rate and under
60 at the lower one, since it says something new in every sentence. A passage that is said for the second time is a
refrain or a quotation and counts less. Dear (a microsecond a word), so it is asked seldom: where nearly
everything was said before, and where the token limit cut a reply.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from replayer.signals.repetition.prose import is_prose
from replayer.signals.repetition.scripts import is_unspaced, sentences_of

RATES = (0.4, 0.7)
"""Bits a character that are expected of a text at least."""
LOOKED_AT = 3500
"""Characters of the newest text that are weighed: what a chat says on one screen."""
GLANCE = 600
"""Characters of it that must be prose."""
NEW, LETTER, LETTERS = 7.0, 2.0, 5
"""Bits of a word that was never said, and of each of its first letters."""
NUMBER = 6.0
"""Bits of a number that was not foretold, at least."""
SKIPPED = 0.7
FORETOLD = (1.0, 0.6, 0.4, 0.3, 0.22, 0.18, 0.15, 0.12, 0.1)
"""Bits of a word that the two before it foretell, by how many in a row were."""
HALF_FORETOLD, SURPRISE = 1.5, 0.4
"""Bits of a word that the one before it foretells, and what it costs that another one was foretold."""
COPIED, ONCE = 2, 0.4
"""Words in a row from which on a text is a copy, and what a character of a first copy counts for."""
WIDE = 3.75
"""Characters that a letter of a script without blanks counts for."""
BURST, NEWS = 9.0, 24.0
"""Bits of a word that is news, and of several in a row which together say something."""
SILENT, SINCE = 800, 250
"""Silence at the higher rate, and characters since the last news, that only a loop reaches."""
CUT, CUT_LITTLE, CUT_MUCH, CUT_SINCE = 320, 55, 120, 120
"""The same where the token limit cut the text; the middle two are silence at the lower and the higher rate together."""


class Silence(NamedTuple):
    """`size` characters at the end of a text, how silent they are at either rate, and how long ago the last news was."""

    size: int
    little: float
    much: float
    since: float

    @property
    def share(self) -> float:
        """Of what the text could have said, what it did not say."""
        return min(1.0, self.much / (RATES[1] * self.size))


def silence_of(text: str) -> Silence:
    """Weigh a text word by word; its beginning is what was said before."""
    after_two: dict[tuple[str, str], str] = {}
    after_one: dict[str, str] = {}
    said: dict[str, int] = {}
    twice = set[tuple[str, str]]()
    little = much = since = burst = 0.0
    size = row = 0
    first = second = ""
    for at, word in enumerate(_words_of(text)):
        both = first, second
        characters = weight = WIDE if len(word) < 3 and word and is_unspaced(word[0]) else len(word) + 1.0
        if after_two.get(both) == word:
            bits = FORETOLD[min(row, 8)]
            row += 1
            if row > COPIED and both not in twice:
                weight *= ONCE
            twice.add(both)
        else:
            bits = 0.5 * log2(min(row, 14) + 1) if both in after_two else 0.0
            row = 0
            bits += _bits(word, after_one.get(second), at - said.get(word, -LOOKED_AT))
        after_two[both] = after_one[second] = word
        said[word] = at
        first, second = second, word
        burst = burst + bits if bits >= BURST else 0.0
        since = 0.0 if burst >= NEWS else since + characters
        little = max(0.0, little + RATES[0] * weight - bits)
        much += RATES[1] * weight - bits
        size += len(word) + 1
        if much <= 0:
            much, size = 0.0, 0
    return Silence(size, little, much, since)


def _words_of(text: str) -> list[str]:
    return " \n ".join(sentences_of(text)).split(" ")


def _bits(word: str, foretold: str | None, ago: int) -> float:
    """Of a word that the two before it do not foretell, said `ago` words ago."""
    if foretold == word:
        return HALF_FORETOLD
    bits = SURPRISE if foretold is not None else 0.0
    bits += log2(ago) + SKIPPED if ago < LOOKED_AT else NEW + LETTER * min(len(word), LETTERS)
    return max(bits, NUMBER) if word[:1].isdigit() else bits


def is_silent(text: str, cut: bool) -> Silence | None:
    """The silence that the end of a text has fallen into, if only a loop does so. `cut`: by the token limit."""
    if not is_prose(text[-GLANCE:]):
        return None
    silence = silence_of(text[-LOOKED_AT:])
    if silence.since < (CUT_SINCE if cut else SINCE):
        return None
    little = cut and silence.little >= CUT_LITTLE and silence.much >= CUT_MUCH
    if not little and silence.much < (CUT if cut else SILENT):
        return None
    return silence if is_prose(text[-silence.size :]) else None
