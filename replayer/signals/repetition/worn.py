"""Text that is worn out: no word, number or name is new for a long stretch, and its trigrams come again and again.

What is read are tokens: words, numbers, signs, and the single letters of scripts without blanks. A new word or number says
something; the stretch begins anew behind it. Within it one figure is asked for: how often each of its different trigrams
came on average. A pool of noises, sentences, tags, declarations or queries says the same few trigrams whatever its order,
while sound text, generated code among it, goes on joining its old words in new ways.

The limits are those of 22,322 sound texts and files of every kind (165 MB), each of which may hold many such stretches. In running prose none
with up to 8 different tokens said its trigrams twice, and five of all texts 2.5 times; in lists one reached 3.4 times.
In code, markup and data what counts is how many different tokens there are: up to 8 of them came 3.3 times in six texts, up to
24 eight times in thirteen.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from replayer.signals.repetition.prose import is_legal, is_list, is_prose, lines_differ
from replayer.signals.repetition.scripts import END, is_without_blanks, plain, tokens_of, unmarked
from replayer.signals.repetition.thresholds import FILL

GENERATION = 500
"""Different tokens that are remembered at least, twice as many at most."""
LEAST, LEAST_TOKENS = 110, 8
"""Characters and tokens of a stretch at least."""
PROSE = ((8, 2.3), (12, 2.7), (24, 3.0), (1 << 30, 3.4))
"""(different tokens at most, times that each trigram must have come) in running prose,"""
SHUFFLED, SHUFFLED_LISTED = ((5.5, 200),), ((7.0, 800),)
"""or (times that each token must have come there, characters at least), in whatever order; the second in lists;"""
WIDE = ((12, 2.5), (1 << 30, 3.6))
"""in scripts without blanks, token by letter,"""
LISTED, WIDE_LISTED = 4.4, 6.5
"""in lists, whose lines all differ,"""
OTHER = (2.5, 12.0)
"""and elsewhere three quarters of the number of different tokens, but within these bounds;"""
DIFFER = 1.8
"""so much more where the lines of code or data all differ."""
FEW_LETTERS, NO_LETTERS, DIGITS, TABLE = 0.6, 0.1, 0.04, 0.1
"""Where less than the first share of the text are small letters, or more than the third digits, a loop comes"""
RARE = (20.0, 1.2)
"""so often, and so many times the number of different tokens; never beyond the second and the fourth."""
NEVER = 1e9
FEW, SHUFFLE, OFTEN, MUCH = 12, 1.5, 80.0, 2000
"""But so few different tokens in no order (each came so many times as often as a trigram of them), letters among the digits,
are a loop of colours, bars or classes where each trigram came so often in so many characters: in none of 22,324 sound
texts more than 70 times. Numbers alone may be a matrix of any size."""
CUT = 0.7
"""Of these, where the token limit cut running prose."""
AGAIN = 1.12
"""How much longer it must have become before a text that was not a loop is judged again: a look is dear."""

LETTERS, CAPITAL, DIGIT = re.compile(r"[^\W\d_]+"), re.compile("[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]"), re.compile("[0-9]")


class Stretch(NamedTuple):
    """`size` characters at the end of the text without a new token; each of its trigrams came `times` on average, each
    token `said` times."""

    size: int
    different: int
    times: float
    said: float

    @property
    def share(self) -> float:
        """Of its tokens, those that a trigram foretold."""
        return 1 - 1 / self.times


class WornWords:
    """Fed with each next piece of text, whatever it is. Tokens are counted once it is long without a new word."""

    def __init__(self) -> None:
        self._seen, self._known = set[str](), set[str]()
        self._count = -1
        self._begin("")

    def _begin(self, text: str) -> None:
        self._uncounted, self.size = text, len(text)
        if self._count:
            self._last: list[str] = []
            self._different, self._trigrams = set[str](), set[tuple[str, str, str]]()
            self._count, self._ask_from = 0, LEAST

    def push(self, text: str, words: list[str], recurs: bool = True, cut: bool = False) -> Stretch | None:
        """The stretch that the text ends in, if it is worth a look. `words`: its words and numbers in lower case; `recurs`:
        whether its last characters were read before, as in a loop; `cut`: by the token limit, which is when nothing is too
        short to be asked about again."""
        if not text.isascii() and not "".join(words).isalnum():
            words = list(text) if is_without_blanks(text) else list(map(unmarked, words))
        different = set(words)
        different.discard(END)
        new = different - self._known
        self._known |= new
        if new and not text.isascii():
            new = set(filter(str.isalnum, new))
        last = last_of(new, words)
        if cut and last and text.lower().endswith(last):
            last = last_of(new - {last}, words)  # the token limit leaves a piece of a word
        if last:
            self._begin(text[end_of(last, text.lower()) :])
        else:
            self._uncounted += text
            self.size += len(text)
        self._seen |= different
        if len(self._seen) > GENERATION:
            self._seen, self._known = set(), self._seen
        due = self.size >= (LEAST if cut else self._ask_from) and (recurs or cut)
        return self._counted() if due else None

    def _counted(self) -> Stretch | None:
        """Count the tokens that came since the last time."""
        tokens = tokens_of(self._uncounted)
        joined = self._last + tokens
        self._uncounted, self._last = "", joined[-2:]
        self._count += len(tokens)
        self._different.update(tokens)
        self._trigrams.update(zip(joined, joined[1:], joined[2:], strict=False))
        count, trigrams, words = self._count, len(self._trigrams), len(self._different)
        if count < LEAST_TOKENS or (count < PROSE[0][1] * trigrams and count < SHUFFLED[-1][0] * words):
            return None
        return Stretch(self.size, words, count / max(1, trigrams), count / max(1, words))

    def is_worn(self, stretch: Stretch, text: str, cut: bool = False) -> bool:
        """Judge a stretch by what kind of text it is; `cut`: by the token limit."""
        self._ask_from = int(AGAIN * stretch.size)
        if not cut and stretch.said < SHUFFLED[0][0] and stretch.times < least(stretch):
            return False
        return stretch.times >= needed(stretch, text) * (CUT if cut else 1.0)


def least(stretch: Stretch) -> float:
    """Less than any kind of text asks for, which is dear to find out."""
    return next(times for most, times in PROSE if stretch.different <= most)


def needed(stretch: Stretch, text: str) -> float:
    """How often each trigram must have come in a loop of so many different tokens."""
    wide, different = is_without_blanks(text), stretch.different
    if is_prose(text) and not is_legal(text):
        listed = is_list(text) or lines_differ(text)
        table = SHUFFLED_LISTED if listed else SHUFFLED
        if not wide and any(stretch.said >= said and stretch.size >= size for said, size in table):
            return 0.0
        if listed:
            return WIDE_LISTED if wide else LISTED
        return next(times for most, times in (WIDE if wide else PROSE) if different <= most)
    fewest = min(OTHER[1], max(OTHER[0], 0.75 * different))
    if stretch.times < CUT * fewest:
        return fewest  # whatever its letters are
    size, bare = len(text), plain(FILL.sub("", text))
    letters = (len("".join(LETTERS.findall(bare))) - 0.5 * len(CAPITAL.findall(bare))) / size
    digits = len(DIGIT.findall(bare)) / size
    if letters < NO_LETTERS:
        return NEVER
    if digits > TABLE:
        few = different <= FEW and stretch.said >= SHUFFLE * stretch.times and stretch.size >= MUCH
        return OFTEN if few else NEVER
    if digits > DIGITS or letters < FEW_LETTERS:
        return max(RARE[0], RARE[1] * different)
    return fewest * (DIFFER if lines_differ(text) else 1.0)


def last_of(new: set[str], words: list[str]) -> str:
    """The word that was said for the first time last; empty where none is new."""
    last, first, at = "", -1, len(words) if new else 0
    while (at := at - 1) > first:
        if (word := words[at]) in new and (begun := words.index(word)) > first:
            last, first = word, begun
    return last


def end_of(word: str, text: str) -> int:
    """Where a word ends, the first time that it does not stand within a longer one; 0 if it is not there."""
    at = end = 0
    while (at := text.find(word, end)) >= 0:
        end = at + len(word)
        before, behind = text[at - 1 : at], text[end : end + 1]
        if not (before.isalnum() or behind.isalnum()) or not (before + behind).isascii():
            return end
    return end
