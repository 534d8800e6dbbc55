"""JSON as engines really send it: strict first, then whatever can still be read, and what was wrong with it."""

from __future__ import annotations

import json
import re

import orjson

from replayer.wire.limits import check_parsed
from replayer.wire.types import Json, NoteCode

_DEEPEST = 200
"""Levels of lists and objects: what is deeper than some 250 can be read and not written again."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(data: bytes) -> tuple[Json, list[NoteCode]]:
    """The value and what had to be forgiven. Raises ValueError where nothing can be read.

    Forgiven are bytes that are not UTF-8 and escapes of half a character (both become U+FFFD, so that no text
    that cannot be encoded travels on), NaN and Infinity. Raises TooLarge, before it is parsed, for what would fill the
    memory; ValueError for what is nested so deeply that no journal could hold it.
    """
    check_parsed(data)
    try:
        found: tuple[Json, list[NoteCode]] = orjson.loads(data), []
    except orjson.JSONDecodeError:
        found = _forgive(data)
    if data.count(b"{") + data.count(b"[") > _DEEPEST:
        _check_depth(found[0])
    return found


def _check_depth(value: Json) -> None:
    level, depth = [value], 0
    while level := [
        inner
        for one in level
        for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        if inner.__class__ in (dict, list)
    ]:
        depth += 1
        if depth >= _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} deep")


def _forgive(data: bytes) -> tuple[Json, list[NoteCode]]:
    codes: set[NoteCode] = set()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        codes.add("invalid_utf8")
        text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=lambda name: codes.add("not_json"))
        return _scrub(value, codes), sorted(codes)
    except (RecursionError, OverflowError) as error:
        raise ValueError("nested too deeply, or a number too large") from error


def _scrub(value: object, codes: set[NoteCode]) -> object:
    """What can be written as JSON again."""
    if isinstance(value, str):
        clean, broken = _SURROGATE.subn("\ufffd", value)
        if broken:
            codes.add("lone_surrogate")
        return clean
    if isinstance(value, list):
        return [_scrub(element, codes) for element in value]
    if isinstance(value, dict):
        return {_scrub(key, codes): _scrub(element, codes) for key, element in value.items()}
    if isinstance(value, int) and value.bit_length() > 63:
        return float(value)  # as the strict reader does
    return value
