"""How long a cycle must be before it counts: what repeats decides, not how often.

Sound files repeat too: rulers and indentation (units without words), tables and fill values (`None, None, …`),
stack dumps. Measured on 7,290 files (98 MB): cycles of worded units stay under 4.5 copies or 340 characters but for a handful of
files, rulers and blank stretches under 300 characters, short cycles of numbers under 250. The thresholds stand above.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from replayer.signals.repetition.prose import is_babble, is_legal, is_list, is_prose, is_staged
from replayer.signals.repetition.scripts import WIDE, is_without_blanks, plain

FILL = re.compile(
    r"""\b(?:none|null|true|false|nan|nil|undefined|inf|void|na|0x[0-9a-f]+|([a-z])\1{7,})\b|["']\\{1,2}u[0-9a-f]{4}["']""",
    re.IGNORECASE,
)
"""What fills tables: constants, hexadecimal numbers, one letter many times."""
STATEMENT = re.compile(r"\n(?:\t|  )\s*\S")
WORD = re.compile(r"[^\W\d_]{2,}")
ENTITIES = re.compile(r"(?:&#?\w{1,8};\s?)+|\w{0,8};(?:&#?\w{1,8};\s?)*&#?\w{0,8}")
"""Blanks and brackets of HTML, wherever the unit begins."""
BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{40,}\Z")
ROW = re.compile(r"""\s+["'\[][^\n]*,\n?\Z""")
"""One element of a list written line by line."""
ENCODED = re.compile(r"(?=\S*[,;])(?=\S*\d)[A-Za-z0-9+/,;=]{40,}\Z")
"""Numbers in base 64, as source maps hold them."""
CODED = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[^A-Za-z])\S+\Z")

OPTION = re.compile(r"[>&|<$]\S*\d|\d\S*[>&|<$]|(?:^|\s)--?[A-Za-z](?:\s|$)|\w=\d")
"""Flags and redirections of a shell: digits, but no table."""
JOINED = re.compile(r"\w[./:]\w")

FLOOD = 400
COLUMNS = re.compile(r"\S {3,}\S[^\n]*\S {3,}\S")
TABLE = 3600
"""What a table set with blanks must reach: somebody looks at a state that does not change."""
LIST = 800
"""What repeated elements of a list, and encoded data, must reach: both are sound more often than not."""
PUNCTUATION = 320
DIGIT_RUN = 1000
NUMBERS = 2000
ZEROS = 6000
"""Base64 of zero bytes."""
FIELD = " " * 8
BLANK_FIELDS = 4000
"""Blanks in an endless line of fields of fixed width."""
QUOTED = 1200
"""Empty strings in a list."""
SHORT = 24
NEVER = 1 << 60
SPOKEN = 80
"""Characters of a unit that is prose whatever signs stand between its words."""
PROSE, PROSE_LISTED, PROSE_LONG = 2.4, 2.9, 2.2
"""Copies of a sentence; of one in a list of quoted strings, as translations stand in; and of 1,000 characters or more."""
LEAST_COPIES = 1.7
"""No rule is content with less, so that shorter runs need not be judged."""


class Needed(NamedTuple):
    """Characters a run must cover to be suspect, and to be a collapse."""

    suspect: int
    collapse: int


def needed(unit: str, before: str) -> Needed:
    """Length a periodic run of `unit` (one primitive period) must reach; `before` is the text leading up to it."""
    if len(unit) == 1:
        return _one_character(unit, before)
    if not unit.strip():
        return Needed(FLOOD // 2, FLOOD)
    if len(unit) <= 200 and BASE64.fullmatch((unit * 40)[:256]) and (_is_zeros(unit) or _is_encoded(before)):
        return Needed(FLOOD, ZEROS)
    if ENTITIES.fullmatch(unit):
        return Needed(FLOOD, LIST)
    if unit.isdigit():
        return Needed(FLOOD, DIGIT_RUN)
    if is_staged(unit):
        return Needed(100, max(130, 5 * len(unit) // 2))
    worded = _worded(plain(unit))
    if worded < 0.2 * len("".join(unit.split())) / len(unit):
        return _wordless(unit)
    spoken = is_prose(unit) or (len(unit) < SPOKEN and is_babble(unit * 3, unit.lower().split()))
    if "   " not in unit and spoken and not is_list(unit * 4) and not is_legal(unit):
        length = _length_of_prose(unit)
        return Needed(min(length, max(100, length * 3 // 4)), length)
    length = _length(len(unit))
    if len(unit) < 250:
        length = int(length * min(2.0, max(1.0, 0.5 / worded)))
    if len(unit) < 64 and _is_code(unit):
        length = length * 8 // 5
    if "\n" in unit and COLUMNS.search(unit):
        length = max(length * 2, TABLE)
    if ENCODED.match((unit * 4)[:80]) and _is_mixed(unit):
        length = ZEROS
    elif len(unit) < 120 and (ROW.match(unit) or CODED.match(unit)):
        length = max(length, LIST)
    return Needed(length * 3 // 4, length)


def _is_encoded(before: str) -> bool:
    """Base64, which no identifier looks like: letters of both cases and digits, nothing else."""
    tail = BASE64.search(before)
    return tail is not None and "_" not in tail[0] and len(set(map(_sort, tail[0]))) > 2


def _is_zeros(unit: str) -> bool:
    """Base64 of bytes of which most are zero, whatever stands before."""
    return len(unit) >= 8 and "AAA" in unit + unit and not unit.isupper()


def _is_mixed(unit: str) -> bool:
    """Letters of both cases in no order, as in source maps."""
    upper = sum(map(str.isupper, unit))
    return 0.25 * len(unit) < upper < 0.9 * len(unit)


def _sort(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


def _is_code(unit: str) -> bool:
    """A statement or a list's element, dotted names, or text without a blank (which scripts without blanks also are)."""
    return bool(
        STATEMENT.search(unit + unit)
        or JOINED.search(unit)
        or (unit.isascii() and not any(map(str.isspace, unit)))
    )


def primitive(unit: str) -> str:
    """The shortest string that `unit` is a repetition of."""
    return unit[: (unit + unit).find(unit, 1)]


def tidy(unit: str) -> str:
    """The same cycle begun at a line, else at a word: what a reader would call the unit."""
    at = unit.rfind("\n") + 1 or unit.find(" ") + 1
    return unit[at:] + unit[:at]


def _length(period: int) -> int:
    """150 characters of a word or phrase, 450 of a sentence, then copies: 4, 3.25, 3 and 2.3 for long blocks."""
    if period < 250:
        return max(min(450, 150 + 8 * max(0, period - 20)), 4 * period)
    if period < 500:
        return int(3.25 * period)
    return 3 * period if period < 1000 else int(2.3 * period)


def _length_of_prose(unit: str) -> int:
    """112 characters of a word or phrase, 202 of a sentence, then copies; half where characters are words."""
    period, wide = len(unit), is_without_blanks(unit) and unit.strip()[0] >= WIDE
    floor = 112 + 3 * max(0, min(period, 50) - 20)
    if period >= 250:
        return int((PROSE if period < 1000 else PROSE_LONG) * period)
    copies = PROSE_LISTED if '","' in unit + unit else PROSE
    return int(max(floor // 2 if wide else floor, copies * period))


def _one_character(character: str, before: str) -> Needed:
    if character.isdigit():
        return Needed(FLOOD, DIGIT_RUN)
    if character.isalpha() and BASE64.search(before):
        return Needed(FLOOD, ZEROS)
    if character == " " and before.rpartition("\n")[2].count(FIELD) > 1:
        return Needed(FLOOD, BLANK_FIELDS)
    return Needed(FLOOD // 2, FLOOD)


def _wordless(unit: str) -> Needed:
    """Punctuation, single letters, numbers and fill values; long units of them are tables and never a collapse."""
    if OPTION.search(unit + unit) and len(unit) <= 2 * SHORT:
        return Needed(FLOOD // 2, FLOOD)
    if len(unit) > SHORT:
        return Needed(NUMBERS, NEVER)
    if not any(map(str.isalnum, unit)):
        needed = QUOTED if '"' in unit or "'" in unit else PUNCTUATION
        return Needed(PUNCTUATION // 2, needed)
    letters = sum(map(str.isalpha, FILL.sub("", unit + unit))) / 2
    if letters > 0.5 * sum(map(str.isdigit, unit)):
        return Needed(FLOOD // 2, FLOOD)
    return Needed(NUMBERS // 2, NUMBERS if len(unit) <= SHORT // 2 else NEVER)


def _worded(unit: str) -> float:
    """Share of characters in words of two letters or more, fill values not counted."""
    around = unit + unit if len(unit) < 80 else unit
    return sum(map(len, WORD.findall(FILL.sub(" ", around)))) / len(around)
