"""Text for people: foreign text made safe to show, and the nearest right word for error sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe(text: str) -> str:
    """`text` without C0 and C1 controls (newline and tab stay), bidirectional controls and lone surrogates."""
    return _UNSAFE.sub("\ufffd", text)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or the list of what is known."""
    from difflib import get_close_matches  # late: it costs the start of every command 3 ms

    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are: {', '.join(names) or 'none'}"
