"""The nearest right word, for error sentences."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or the list of what is known."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are: {', '.join(names) or 'none'}"
