"""Words and punctuation in any script: combining marks belong to words, scripts without blanks fall into graphemes."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

WITHOUT_BLANKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x312F),  # radicals, kana
    (0x31A0, 0xA4CF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
BETWEEN_WORDS = "\u0f0b\u1361"
"""Written between words, where others have blanks: Tibetan, Ethiopic."""
COMMAS = "，、،؛；"
WIDE = "\u2e80"
"""From here on a character is a syllable or a word."""
SAMPLE = 240
"""Characters that are enough to see what a text is written in."""
DRAWN = range(0x2500, 0x2600)
"""Boxes, bars and shades: drawings, no signs of speech."""


class _Map(dict[int, str]):
    """A table for `str.translate` that is filled as characters come."""

    def __missing__(self, code: int) -> str:
        made = self[code] = self.make(chr(code))
        return made

    def make(self, character: str) -> str:
        raise NotImplementedError


END = "."
"""Stands among the words where a sentence ends."""
ENDS = "\n.!?…。！？।॥։።፧؟۔"
"""What ends a sentence, for `sentences_of`."""


class _Words(_Map):
    """Lower case, blanks for everything but letters and marks; a letter of a script without blanks, and an emoji, is a word."""

    def make(self, character: str) -> str:
        if character in ENDS:
            return "\n"
        kind = unicodedata.category(character)
        if kind == "Nd":
            return str(unicodedata.digit(character))
        if kind[0] == "L":
            return f" {character}" if is_unspaced(character) else character.lower()
        if kind[0] == "M" or kind == "Cf":
            return character
        return f" {character} " if kind == "So" and ord(character) not in DRAWN else " "


class _Tokens(_Map):
    """Lower case, no marks, blanks around a letter of a script without blanks."""

    def make(self, character: str) -> str:
        kind = unicodedata.category(character)
        if kind[0] == "M" or kind == "Cf":
            return ""
        return f" {character} " if kind == "So" or is_unspaced(character) else character.lower()


class _Marks(_Map):
    """A letter for each combining mark, joiner and emoji, a dot or comma for punctuation beyond ASCII."""

    def make(self, character: str) -> str:
        kind = unicodedata.category(character)
        if kind[0] == "M" or kind == "Cf":
            return "a"
        if kind == "So" and ord(character) not in DRAWN:
            return "a"
        if character in BETWEEN_WORDS:
            return " "
        if ord(character) > 0x7F and kind[0] in "PS":
            return "," if character in COMMAS else "."
        return "0" if kind == "Nd" else character


_UNSPACED = re.compile(f"[{''.join(f'{chr(low)}-{chr(high)}' for low, high in WITHOUT_BLANKS)}]")


def is_unspaced(character: str) -> bool:
    return _UNSPACED.match(character) is not None


_WORDS, _TOKENS, _MARKS = _Words(), _Tokens(), _Marks()
TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]+|_+")
"""A word, a number or signs."""
_ASCII_TOKEN = re.compile(r"[a-z]+|[0-9]+|[^a-z0-9_ \t-\r\x1c-\x1f]+|_+")
"""The same for ASCII in lower case, twice as fast."""


class _Symbols(_Map):
    """Nothing for what `_Marks` makes a letter or a blank."""

    def make(self, character: str) -> str:
        made = character if character.isascii() else _MARKS.make(character)
        return "0" if "0" <= made <= "9" else "" if made.isalpha() or made.isspace() else made


_SYMBOLS = _Symbols()
_ASCII_WORDS = "".join(
    c.lower() if c.isalnum() else "\n" if c in ENDS else " " for c in map(chr, range(128))
).encode() + bytes(128)
LONG = 36
"""Letters beyond ASCII without a blank among them: no script writes longer words, so these are several."""


def flat_of(text: str) -> str:
    """Its words in lower case, blanks between them, and a line for each sentence or line."""
    return text.encode().translate(_ASCII_WORDS).decode() if text.isascii() else text.translate(_WORDS)


def sentences_of(text: str) -> list[str]:
    """The words of each sentence or line, blanks between them; the first and the last may be pieces of one."""
    sentences = flat_of(text).split("\n")
    return sentences if text.isascii() else [" ".join(split_words(part)) for part in sentences]


def split_words(flat: str) -> list[str]:
    """The words of `flat_of`; what is too long for a word falls into its letters."""
    words = flat.split()
    if not flat.isascii() and max(map(len, words), default=0) >= LONG:
        return [one for word in words for one in ([word] if len(word) < LONG or word.isascii() else word)]
    return words


@lru_cache(maxsize=8192)
def unmarked(word: str) -> str:
    """A word without its combining marks."""
    return word.translate(_TOKENS).strip()


def tokens_of(text: str) -> list[str]:
    """The words, numbers and signs of a text, in lower case; a letter of a script without blanks is one."""
    return _ASCII_TOKEN.findall(text.lower()) if text.isascii() else TOKEN.findall(text.translate(_TOKENS))


def symbols_of(text: str) -> str:
    """Its symbols, `0` for each digit: what is left without letters, marks and blanks."""
    return text.translate(_SYMBOLS)


def plain(text: str) -> str:
    """The text as letters, digits, blanks and ASCII punctuation, so that one rule fits all scripts."""
    return text if text.isascii() else text.translate(_MARKS)


def is_without_blanks(text: str) -> bool:
    """Whether most of it is written in a script that puts no blanks between words."""
    if text.isascii():
        return False
    some = text[-SAMPLE:]
    return len(_UNSPACED.findall(some)) > 0.4 * len(some)
