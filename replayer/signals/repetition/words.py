"""Loops that are not exact: recycled phrases and collapsed vocabularies.

Only blocks that look like prose count; code, tables and data recycle their phrases for good reasons, and so do licence
texts, the one kind of sound prose that repeats itself nearly word for word. Blocks of some 256 characters are judged
at once with set operations: a stream must not pay for it.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal, NamedTuple

_ASCII = [chr(code) for code in range(128)]
TO_WORDS = str.maketrans({c: c.lower() if c.isalpha() else " " for c in _ASCII})
DROP_PLAIN = str.maketrans(dict.fromkeys(c for c in _ASCII if c.isalpha() or c.isspace()))
DROP_DIGITS = str.maketrans(dict.fromkeys("0123456789"))
DROP_LIGHT = str.maketrans(dict.fromkeys(".,;:!?'\"()*[]-_`"))
DROP_BABBLE = str.maketrans(dict.fromkeys("()*[]-_,!?"))
LEGAL = re.compile(
    r"copyright|licen[cs]e[ds]?|licensee|permission|warrant(?:y|ies)|redistribution|liability|notice|damages"
)
FILL = frozenset({"none", "null", "true", "false", "nan", "nil"})

BABBLE = ((48, 3), (64, 4), (96, 6))
"""(words, different ones among them at most). Sound prose has 20 and more different words in 48."""
MOST = 2 * BABBLE[-1][1]
MANY = 2 * MOST
"""Words that usually tell already that there are more than `MOST` different ones."""
RECYCLED_AT = 450.0
"""Words that a loop must be ahead. Sound prose of the tuning part stays under 280, licence texts and two files apart."""
PROSE_SHARE = 0.75
NEW_LATELY = 0.05
"""Share of new word pairs in the newest blocks; a loop that is worth an alarm has come to an end of them."""
NEW_AT_ALL = 0.08
LATELY = 8
FAMILIAR = 0.55
"""Share of known word pairs (smoothed) from which on copies with changed words are looked for."""
GENERATION = 300


class WordLoop(NamedTuple):
    """`share` is the part of the words that the loop explains."""

    kind: Literal["vocabulary", "recycled"]
    onset: int
    share: float


class Block(NamedTuple):
    """Whole words of a stream from offset `at` on."""

    at: int
    text: str
    words: list[str]


class WordSignal:
    """Fed with blocks of text; states a loop of words once it is one."""

    def __init__(self) -> None:
        self._rest = ""
        self._end = 0
        self._vocabulary = Vocabulary()
        self._recycled = RecycledPhrases()

    def push(self, block: str, last: bool = False) -> WordLoop | None:
        text = self._rest + block
        cut = len(text) if last else max(text.rfind(" "), text.rfind("\n")) + 1 or len(text)
        self._rest = text[cut:]
        text = text[:cut]
        words = (text if text.isascii() else text.lower()).translate(TO_WORDS).split()
        found = None
        if words:
            whole = Block(self._end, text, words)
            found = self._vocabulary.add(whole) or self._recycled.add(whole)
        self._end += cut
        return found

    @property
    def is_familiar(self) -> bool:
        """Whether most word pairs of late were known."""
        return self._recycled.familiar >= FAMILIAR


class Vocabulary:
    """The newest words, as long as nothing but few and plain words arrives."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def add(self, block: Block) -> WordLoop | None:
        if len(set(block.words[:MANY])) > MOST or len(set(block.words)) > MOST or not _is_wordy(block):
            self._blocks = []
            return None
        self._blocks.append(block)
        del self._blocks[:-6]
        words = [word for kept in self._blocks for word in kept.words]
        for size, different in BABBLE:
            newest = words[-size:]
            if len(newest) == size and len(set(newest)) <= different:
                return WordLoop("vocabulary", self._onset(set(newest)), 1 - different / size)
        return None

    def _onset(self, loop: set[str]) -> int:
        """Start of the first kept block that has hardly a word besides the loop's, or of the loop within it."""
        for block in self._blocks:
            strangers = [word for word in block.words if word not in loop]
            if len(strangers) * 2 < len(block.words):
                last = strangers[-1] if strangers else ""
                return block.at + (block.text.lower().rfind(last) + len(last) if last else 0)
        return self._blocks[-1].at


class RecycledPhrases:
    """A one-sided CUSUM test (Page 1954) over word pairs, with the onset where the score last was zero.

    A pair seen twice or more within the last 300 to 600 different pairs adds 1, a pair seen once 0.25, a new one takes
    4: up to a fifth of the words may be new before the score stops climbing. Echoes in sound prose decay.
    """

    def __init__(self) -> None:
        self._once: set[int] = set()
        self._twice: set[int] = set()
        self._older_once: set[int] = set()
        self._older_twice: set[int] = set()
        self._last = ""
        self._score = 0.0
        self._lately: deque[tuple[int, int]] = deque(maxlen=LATELY)
        self.familiar = 0.0
        self._since = self._words = self._new = self._legal = self._prose = 0

    def add(self, block: Block) -> WordLoop | None:
        words = block.words
        pairs = set(map(hash, zip([self._last, *words], words, strict=False)))
        self._last = words[-1]
        once = pairs & self._once | pairs & self._older_once
        new = len(pairs) - len(once)
        self.familiar += 0.25 * (len(once) / len(pairs) - self.familiar)
        if self._score <= 0.0 and len(words) <= 5 * new:
            self._remember(pairs, once)
            return None
        twice = once & self._twice | once & self._older_twice
        gain = len(words) - 5.0 * new - 0.75 * (len(once) - len(twice))
        self._remember(pairs, once)
        return self._climb(block, gain, new)

    def _climb(self, block: Block, gain: float, new: int) -> WordLoop | None:
        if self._score <= 0.0:
            if gain <= 0.0:
                return None
            self._score = 0.0
            self._since = block.at
            self._words = self._new = self._legal = self._prose = 0
        self._score += gain
        self._words += len(block.words)
        self._new += new
        self._lately.append((len(block.words), new))
        if gain > 0.0 and _is_prose(block.text) and not _is_filled(block.words):
            self._prose += len(block.words)
            self._legal += len(LEGAL.findall(" ".join(block.words)))
        return self._loop()

    def _loop(self) -> WordLoop | None:
        if self._score < RECYCLED_AT or self._prose < PROSE_SHARE * self._words:
            return None
        words, late = map(sum, zip(*self._lately, strict=True))
        if late > NEW_LATELY * words:
            return None
        new = self._new / self._words
        if new > NEW_AT_ALL or (self._legal > 0.035 * self._words and new > 0.01):
            return None
        return WordLoop("recycled", self._since, 1 - new)

    def _remember(self, pairs: set[int], once: set[int]) -> None:
        self._twice |= once
        self._once |= pairs
        if len(self._once) > GENERATION:
            self._older_once, self._older_twice = self._once, self._twice
            self._once, self._twice = set(), set()


def _is_prose(text: str) -> bool:
    """Words and light punctuation: few symbols and digits, blanks between words, not mostly capitals, no deep indent."""
    symbols, digits = _symbols(text)
    bare = len(text) - text.count("  ") * 2
    return (
        len(symbols) <= 0.15 * bare
        and len(symbols.translate(DROP_LIGHT)) <= 0.03 * bare
        and digits <= 0.04 * bare
        and text.count(" ") >= 0.08 * bare
        and text.count("\n    ") <= 1
        and sum(map(str.isupper, text)) <= 0.3 * bare
    )


def _is_filled(words: list[str]) -> bool:
    return sum(map(FILL.__contains__, words)) > 0.2 * len(words)


def _is_wordy(block: Block) -> bool:
    """Hardly anything but words, perhaps bracketed, hyphenated or joined by underscores; no constants in a table."""
    symbols, digits = _symbols(block.text)
    size = len(block.text)
    return (
        digits <= 0.03 * size
        and sum(map(block.text.count, " \n_-")) >= 0.06 * size
        and len(symbols.translate(DROP_BABBLE)) <= 0.04 * size
        and block.text.count("\n    ") <= 1
        and FILL.isdisjoint(block.words)
    )


def _symbols(text: str) -> tuple[str, int]:
    """Characters that are neither letter, blank nor digit, and the number of digits."""
    rest = text.translate(DROP_PLAIN)
    symbols = rest.translate(DROP_DIGITS)
    digits = len(rest) - len(symbols)
    if not symbols.isascii():
        symbols = "".join(c for c in symbols if not (c.isalpha() or c.isspace()))
    return symbols, digits
