"""Fault classes that need more than their name for people to read; JSON keeps the class names."""

from __future__ import annotations

_WORDS = {"leaked_markup": "tool call left in text", "truncated": "cut by the token limit"}


def fault_words(name: str) -> str:
    return _WORDS.get(name, name)
