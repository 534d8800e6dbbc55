"""A handful of words, letters or signs in any order.

Sound prose has some thirty different words in forty-eight. A text with a third of that is a list or a table where its
words come in the same order each time, and babble where they come in any order: so pairs are counted beside words.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from replayer.signals.repetition.prose import (
    STAGE,
    is_babble,
    lines_differ,
    noise_share,
    without_digits,
)
from replayer.signals.repetition.scripts import END

ORDERED = ((48, 3), (64, 4), (96, 6))
"""(words, different ones among them at most), whatever their order."""
DISORDERED = ((16, 3), (20, 4), (24, 6), (28, 7), (34, 8), (44, 9), (56, 10), (72, 11), (96, 12), (128, 14))
STAGED = ((12, 5), (16, 7), (20, 9), (24, 10), (28, 11), (34, 12), (44, 14), (56, 16), (72, 18), (96, 21))
"""The same where at least `DISORDER` times as many different pairs as words follow one another; the second for
what looks like stage directions."""
NOISES = ((6, 2), (7, 4), (8, 5), (10, 6), (12, 7), (14, 8), (16, 9), (20, 10), (26, 12))
"""(stage directions, different ones among them at most), where `NOISE_SHARE` of the text is such."""
NOISE_SHARE, NOISE_CHARS = 0.66, 1200
DISORDER = 1.6
MANY = 14
"""Different words in one piece of text, from which on there is no loop to look for."""
MANY_STAGED = 19
FRESH = 0.5
"""Share of new pairs of words from which on only a thin vocabulary is looked at."""
THIN, THIN_STAGED = (14, 9), ((24, 15), (12, 8))
"""(words, different ones among them at most) that call for a closer look; the second, either, among what may be noises."""
MOST_LISTS = 5
"""Windows that are found to be a list, after which the larger ones are not looked at."""
MOST_LOOKS = 3
"""Windows whose kind of text is judged at one look."""
TEXTS = 24
KEPT = DISORDERED[-1][0]
LEAST = 150
"""Characters of a babble at least; `LEAST_WIDE` where a word is one character."""
LEAST_WIDE = 72
FEW_LETTERS = 3
LETTERS = 224
PAIRS = 8
"""How often each pair of letters must have come on average where words are glued."""


class Babble(NamedTuple):
    """`size` characters at the end of the text, of which the loop explains `share`."""

    size: int
    share: float


class Vocabulary:
    """The newest pieces of text as long as few and plain words arrive."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._words: list[str] = []
        self._looks = 0
        self._stages: bool | None = False
        self._thin: bool | None = None
        self._newest: list[str] = []

    def skip(self) -> None:
        """Text of numbers and code is not babble."""
        self._texts, self._words = [], []
        self._thin = None

    def push(self, text: str, words: list[str], fresh: float) -> Babble | None:
        """`words`: with `END` among them; `fresh`: share of the pairs of these that are new."""
        self._texts.append(text)
        self._words += words
        self._newest, self._stages, self._thin = words, None, None
        if len(self._texts) > 2 * TEXTS:
            del self._texts[:-TEXTS]
            del self._words[: -2 * KEPT]
        calm = fresh > FRESH and not self.is_thin
        return self._letters() if calm else self._words_loop() or self._letters()

    @property
    def is_staged(self) -> bool:
        """Whether the newest text looks like noises, at a glance."""
        if self._stages is None:
            self._stages = is_staged(self._texts[-1])
        return self._stages

    @property
    def is_thin(self) -> bool:
        """Whether a loop may have begun."""
        if self._thin is None:
            words, tables = self._words, (THIN, *THIN_STAGED)
            if all(len(set(words[-size:])) > most + 1 for size, most in tables):
                self._thin = False  # even if one of them is `END`
                return False
            newest = self._last(THIN_STAGED[0][0])
            thin, staged = _is_few(newest, *THIN), any(_is_few(newest, *few) for few in THIN_STAGED)
            self._thin = thin if thin == staged else staged == self.is_staged
        return self._thin

    def _last(self, size: int) -> list[str]:
        """The newest words; sentences that end among them do not count."""
        return [word for word in self._words[-2 * size :] if word != END][-size:]

    def _words_loop(self) -> Babble | None:
        different = len(set(self._last(24)))
        if different > (MANY_STAGED if self.is_staged else MANY):
            return None
        staged = self.is_staged and self._is_staged()
        if staged and (found := self._noises()):
            return found
        words = self._last(KEPT)
        table, disorder = (STAGED, 1.3) if staged else (DISORDERED, DISORDER)
        self._looks = lists = 0
        least = len(set(words[-table[0][0] :]))
        for size, most in (*ORDERED, *table):
            if most < least or len(words) < size:
                continue  # a smaller window has more different words already
            newest = words[-size:]
            least = different = len(set(newest))
            if different > most:
                continue
            ordered = (size, most) in ORDERED
            if not ordered and len(set(pairwise(newest))) < disorder * different:
                continue
            if not set(newest[-size // 3 :]) <= set(newest[: -size // 3]):
                continue  # something new is still being said
            if self._is_list(newest):
                lists += 1
                if lists == MOST_LISTS:
                    return None
                continue
            if found := self._babble(newest, different, ordered, staged):
                return found
            if self._looks >= MOST_LOOKS:
                return None
        return None

    def _noises(self) -> Babble | None:
        """Hardly anything but stage directions, few different ones, in whatever order."""
        text = "".join(self._texts)[-NOISE_CHARS:]
        found = list(STAGE.finditer(text))
        for size, most in NOISES:
            newest = [without_digits(one.group()) for one in found[-size:]]
            if len(newest) < size or len(set(newest)) > most:
                continue
            characters = len(text) - found[-size].start()
            new = not set(newest[-size // 4 :]) <= set(newest[: -size // 4])
            if new or characters < LEAST or noise_share(text[-characters:]) < NOISE_SHARE:
                continue
            if is_babble(text[-characters:], [], staged=True):
                return Babble(characters, 1 - most / size)
        return None

    def _is_list(self, newest: list[str]) -> bool:
        """Whether the newest words stand in lines that all differ; noises within them do not make a difference."""
        text = "".join(self._texts)[-sum(map(len, newest)) - 2 * len(newest) :]
        bare = STAGE.sub("", text)
        return lines_differ(bare if len(bare) > 0.5 * len(text) else text)

    def _is_staged(self) -> bool:
        """Whether many of the newest words stand in brackets or stars, or trail off, as noises do."""
        text = "".join(self._texts[-3:])
        stages = len(STAGE.findall(text))
        if 4 * (stages + text.count("…") + text.count("...")) >= len(text.split()):
            return True
        return stages > 0 and noise_share(text) >= NOISE_SHARE

    def _babble(self, newest: list[str], different: int, joined: bool, staged: bool) -> Babble | None:
        words = [word for word in self._newest if word != END]
        marks = min(2.0, max(1.0, len(self._texts[-1]) / (sum(map(len, words)) + len(words) + 1)))
        size = int((sum(map(len, newest)) + len(newest)) * marks)
        text = "".join(self._texts)[-size:]
        wide = size <= 2.2 * len(newest) and not text.isascii()
        if size < (LEAST_WIDE if wide else LEAST):
            return None
        self._looks += 1
        if not is_babble(text, newest, joined, staged):
            return None
        return Babble(size, 1 - different / len(newest))

    def _letters(self) -> Babble | None:
        """Two or three letters, or a few words, glued in any order."""
        newest = self._texts[-1][-64:]
        if newest.isalpha() and (glued := self._glued()):
            return glued
        if len(set(newest)) > 12:
            return None
        text = "".join(self._texts)[-LETTERS:].lower()
        if len(text) < LETTERS or len(signs := set(text)) > 12:
            return None
        letters = list(filter(str.isalpha, signs))
        if sum(map(text.count, letters)) < 0.6 * LETTERS:
            return None
        different = len(letters)
        if not 2 <= different <= FEW_LETTERS or not is_babble(text, []):
            return None
        return Babble(LETTERS, 1 - different / LETTERS)

    def _glued(self) -> Babble | None:
        """Words without a blank between them: few letters follow each other, where those of a sequence all do, and no
        two are capitals, as in base64."""
        for size in (LETTERS, 2 * LETTERS):
            text = "".join(self._texts)[-size:]
            coded = any(former.isupper() and later.isupper() for former, later in pairwise(text))
            pairs, letters = len(set(pairwise(text.lower()))), len(set(text.lower()))
            if (
                len(text) == size
                and text.isalpha()
                and not coded
                and letters > FEW_LETTERS
                and PAIRS * pairs <= min(size, PAIRS / 2 * letters**2)
            ):
                return Babble(size, 1 - pairs / size)
        return None


def is_staged(text: str) -> bool:
    """Whether a text looks like noises, at a glance."""
    return 4 * sum(map(text.count, "([<*:…（")) + text.count("..") >= text.count(" ")


def _is_few(words: list[str], size: int, most: int) -> bool:
    newest = words[-size:]
    return len(newest) == size and len(set(newest)) <= most
