"""Recognises what changes by itself from request to request: clocks, dates, random ids and hashes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\.?)?"
_CLOCKS = [
    re.compile(pattern)
    for pattern in (
        rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T _]{_TIME}(?:\s?Z|\s?[+-]\d{{2}}:?\d{{2}})?)?",
        r"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b",
        r"\b20\d{6}(?:[T_-]?\d{4,6})?Z?\b",
        rf"\b{_TIME}",
        rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?[ -]{_MONTH}\b(?:[ -]\d{{2,4}})?",
        rf"\b{_MONTH} \d{{4}}\b",
        r"\b\d{1,2}\.? (?:de )?[^\W\d_]{3,12}\.?,? (?:de )?20\d{2}\b",  # 3. März 2026, 3 de mayo de 2026
        r"\d{2,4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|\d{1,2}[時时点]\d{1,2}分(?:\d{1,2}秒)?|\d{4}년 \d{1,2}월 \d{1,2}일",
        rf"\b{_WEEKDAY}\b",
        r"\b1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?\b",
        r"\b\d+(?:\.\d+)? ?(?:s|sec|seconds?|minutes?|min|hours?|days?) (?:ago|elapsed|left|remaining)\b",
        r"(?i)\b(?:uptime|elapsed|timestamp|time|clock|now|today)\W{1,3}\d[\d.:]*",
    )
]
_REACH = 48

_WORD = re.compile(r"[0-9A-Za-z]+(?:[-+/][0-9A-Za-z]+)*=*")
_SECRET = re.compile(r"[0-9A-Za-z+/_-]{16,}={0,2}")
"""Base64 may hold signs that end a word; it is believed behind a label only."""

_PART = re.compile(r"[\w.-]+")
_TEMPORARY = re.compile(
    r"(?:/tmp|/temp|/T|\\Temp|/var/folders/[\w/]{1,60})[/\\][\w./-]{0,40}$", re.IGNORECASE
)
"""What stands before the made-up name of a temporary folder."""

_NUMBERED = re.compile(
    r"(?i)(?:\b|_)(?:id|session|request|req|trace|span|conversation|thread|run|call|seq|sequence)[\"']?[\s:=_#\-]{1,4}$"
)
"""What a plain number counts requests or sessions behind; behind `tokens` it is another matter."""

_UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]{7,}")
_LABEL = re.compile(
    r"(?i)(?:\b|_)(?:id|uuid|guid|nonce|session|request|trace|span|hash|token|sha\d*|md5|salt|seed|key|cch|etag|digest"
    r"|build|commit|checksum|fingerprint|conversation|thread|correlation|run|call)[a-z_]*[\"']?[\s:=_#\-\"']{1,4}$"
)


def volatile(before: str, after: str, offset: int) -> Literal["clock", "random"] | None:
    """What kind of changing value two texts first differ in, at `offset`; None for any other edit."""
    if _clock_at(before, offset) and _clock_at(after, offset):
        return "clock"
    return "random" if _random_at(before, after, offset) else None


def _clock_at(text: str, offset: int) -> bool:
    begin = max(0, offset - _REACH)
    window = text[begin : offset + _REACH]
    place = offset - begin
    return any(
        match.start() <= place < match.end() for pattern in _CLOCKS for match in pattern.finditer(window)
    )


def _random_at(before: str, after: str, offset: int) -> bool:
    return (
        _same_place(_WORD, before, after, offset)
        or _same_place(_SECRET, before, after, offset)
        or _temporary(before, after, offset)
    )


def _temporary(before: str, after: str, offset: int) -> bool:
    old, new = _word_at(_PART, before, offset), _word_at(_PART, after, offset)
    return old is not None and new is not None and bool(_TEMPORARY.search(before[: old.start()][-80:]))


def _same_place(pattern: re.Pattern[str], before: str, after: str, offset: int) -> bool:
    """Whether both texts have a random word about `offset` and go on alike behind it."""
    old, new = _word_at(pattern, before, offset), _word_at(pattern, after, offset)
    if old is None or new is None or before[old.end() : old.end() + 8] != after[new.end() : new.end() + 8]:
        return False
    one, other = old.group(), new.group()
    alike = abs(len(one) - len(other)) <= max(2, len(one) // 8)
    if pattern is _WORD and alike and _looks_random(one) and _looks_random(other):
        return True
    label = before[: old.start()][-40:]
    if one.isdigit() and other.isdigit():
        return bool(_NUMBERED.search(label))
    return bool(_LABEL.search(label)) and min(len(one), len(other)) >= 4


def _word_at(pattern: re.Pattern[str], text: str, offset: int) -> re.Match[str] | None:
    begin = max(0, offset - 80)
    for match in pattern.finditer(text, begin, offset + 200):
        if match.start() <= offset < match.end():
            return match
    return None


def _looks_random(word: str) -> bool:
    """Digits and letters mixed as no name or version is; long plain numbers and hex strings too."""
    if _UUID.fullmatch(word) or (_HEX.fullmatch(word) and any(c.isdigit() for c in word)):
        return True
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(word))
    return len(word) >= 5 and changes >= 2 and any(c.isalpha() for c in word)
