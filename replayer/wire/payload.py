"""JSON as engines really send it: strict first, then whatever can still be read, and what was wrong with it."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from replayer.wire.types import NoteCode

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(data: bytes) -> tuple[Any, list[NoteCode]]:
    """The value and what had to be forgiven. Raises ValueError where nothing can be read.

    Forgiven are bytes that are not UTF-8 and escapes of half a character (both become U+FFFD, so that no text
    that cannot be encoded travels on), NaN and Infinity.
    """
    try:
        return orjson.loads(data), []
    except orjson.JSONDecodeError:
        return _forgive(data)


def _forgive(data: bytes) -> tuple[Any, list[NoteCode]]:
    codes: list[NoteCode] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        codes.append("invalid_utf8")
        text = data.decode("utf-8", "replace")
    constants: list[str] = []
    try:
        value = json.loads(text, parse_constant=lambda name: constants.append(name))
        scrubbed = _scrub(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if constants:
        codes.append("not_json")
    if scrubbed != value:
        codes.append("lone_surrogate")
    return scrubbed, codes


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_scrub(element) for element in value]
    if isinstance(value, dict):
        return {_scrub(key): _scrub(element) for key, element in value.items()}
    return value
