"""Several JSON objects written one behind the other: the arguments of several calls in one."""

from __future__ import annotations

import json
import re

_DECODER = json.JSONDecoder()
_SEAM = re.compile(r"\}\s*\{")
_SPACE = re.compile(r"\s*")


def objects_in(text: str, most: int | None = None) -> list[str]:
    """The JSON objects that the text consists of; none where it holds anything else, or more than `most`."""
    found: list[str] = []
    start = _end_of_space(text, 0)
    while start < len(text):
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict) or (most is not None and len(found) == most):
            return []
        found.append(text[start:end])
        start = _end_of_space(text, end)
    return found


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def holds_two_calls(text: str) -> bool:
    """Whether the text is more than one JSON object, each with something in it: `{}` is not the arguments of a call."""
    found = objects_in(text) if _SEAM.search(text) else []
    return len(found) > 1 and all(len(part) > 2 for part in found)
