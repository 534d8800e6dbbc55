"""Text damaged between the model's tokens and the client, distinguished from text that is about such damage.

A detokenizer that works token by token loses characters (U+FFFD), leaves byte tokens (`<0xC3>`) or the tokenizer's
own spaces (`Ġ`, `▁`); bytes read in the wrong encoding double (`Ã©`). What the prompt holds word for word, code, and
characters that stand alone between quotes are quotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

_ASCII_HINT = "<0x"
_LOST = re.compile("(?<![\"'`/])\ufffd+|\ufffd+(?![\"'`/\ufffd])")
_BYTES = re.compile(
    r"(?<=[\w.,;:!?])(?:<0x[0-9A-Fa-f]{2}>)+|(?:<0x[0-9A-Fa-f]{2}>){2,}(?=\w)|(?:<0x[89A-Fa-f][0-9A-Fa-f]>){2,}"
)
_SPACES = re.compile(r"[a-z0-9.,;:!?)\]}][ĠĊ]+|[^\x00-\u024f][ĠĊ]+|\w▁(?=\w)")
_CONTINUE = "\u0080-\u00bf\u0122-\u0143€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_TWICE = re.compile(f"[ÂÃÄÅÎÏÐÑÒ×ØÙÚÛ][{_CONTINUE}]|[à-ï][{_CONTINUE}]{{2}}|[ð-ô][{_CONTINUE}]{{3}}")
_PUNCTUATION = frozenset("«»“”‘’„‚…–—·°´¨¸¡¿‹›•²³¹ŠŒŽšœžŸƒ˜ˆ")
"""These follow a letter in sound text as well."""
_QUOTES = frozenset(("", *"\"'`|/[]()“”„«»「」"))
_SINGLE_LEADS = frozenset("ÂÃÄÅ")
"""Of letters that are twice encoded alone; those of other scripts come as words."""
_TEMPLATE_TOKEN = re.compile(r"<[|｜][^<>\n]{1,40}[|｜]>")


def damage_in(text: str, quoted: Callable[[str], bool]) -> str | None:
    """What kind of damage the text shows, in words; None where it shows none."""
    if text.isascii() and _ASCII_HINT not in text:
        return None
    if "▁" in text:
        text = _TEMPLATE_TOKEN.sub(" ", text)
    for message, pattern in _KINDS:
        for match in pattern.finditer(text):
            if not quoted(match.group()):
                return f"{message}: {_around(text, match)}"
    return _twice_encoded(text, quoted)


_KINDS = (
    ("characters that were lost (U+FFFD)", _LOST),
    ("byte tokens", _BYTES),
    ("the tokenizer's own spaces", _SPACES),
)


def _twice_encoded(text: str, quoted: Callable[[str], bool]) -> str | None:
    found = [match for match in _TWICE.finditer(text) if _decodes(match.group())]
    in_words = {one.start() for pair in pairwise(found) if pair[0].end() == pair[1].start() for one in pair}
    for match in found:
        piece = match.group()
        around = text[: match.start()][-1:], text[match.end() :][:1]
        alone = any(around) and all(char in _QUOTES for char in around)
        certain = match.start() in in_words or (_is_twice_alone(piece) and not alone)
        if certain and not quoted(piece):
            return f"UTF-8 that was encoded twice: {_around(text, match)}"
    return None


def _is_twice_alone(piece: str) -> bool:
    if piece[1:] in ("‚", "„") and piece[0] in _SINGLE_LEADS:
        return True  # quotes that open, and never behind a letter
    if piece[1:] == "\u00a0":
        return piece[0] == "Â"
    if all(char in _PUNCTUATION for char in piece[1:]) and not piece.startswith("â€"):
        return False
    if piece[1:].isalpha() and len(piece) > 2:
        return False  # letters of Turkish or Baltic words; a word of damaged signs has several of these
    return piece[0] in _SINGLE_LEADS or len(piece) > 2


def _decodes(piece: str) -> bool:
    try:
        return bytes(map(_byte, piece)).decode() >= "\xa0"  # below it are control characters
    except UnicodeDecodeError:
        return False


def _byte(char: str) -> int:
    """The byte that a letter stands for: in Latin-1, in byte-level BPE (U+0121 to U+0143), or in Windows-1252."""
    code = ord(char)
    if code < 256:
        return code
    if code <= 0x143:
        return 173 if code == 0x143 else code - 0x121 + 127
    return char.encode("cp1252")[0]


def _around(text: str, match: re.Match[str]) -> str:
    return repr(text[max(match.start() - 20, 0) : match.end() + 20])
