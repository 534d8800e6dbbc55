"""Strict JSON for verdicts: what a strict client would accept, and, where it would not, what is wrong.

Strict means RFC 8259 and, of I-JSON (RFC 7493), no duplicate keys and no half surrogate pairs: clients written in
Rust, Go or Swift refuse what Python's parser lets through. Nothing is ever repaired here; `Defect` only names what
a repair would have to do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Literal

import jiter

Defect = Literal[
    "empty",  # nothing but white space
    "incomplete",  # a proper beginning of JSON: cut, or a closing brace is missing
    "missing_start",  # JSON once an opening brace is put in front
    "concatenated",  # several JSON documents, one after the other
    "trailing_text",  # JSON, then something else
    "duplicate_key",
    "not_a_number",  # NaN or Infinity
    "lone_surrogate",
    "too_deep",  # nested deeper than any parser follows
    "raw_control",  # a newline or other control character inside a string
    "trailing_comma",
    "single_quotes",
    "python_literal",  # True, False or None
    "unquoted_key",
    "other",
]


class NotJson(ValueError):
    """The text is not strict JSON. `str()` says where and why, `defect` what kind of damage it is."""

    def __init__(self, defect: Defect, message: str) -> None:
        super().__init__(message)
        self.defect = defect


def parse(text: str) -> object:
    """The value of `text`.

    Raises NotJson, and nothing else, for whatever is not strict JSON.
    """
    try:
        return jiter.from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError:  # includes UnicodeEncodeError
        return _parse_slowly(text)


def so_far(text: str) -> object:
    """The value that a text still growing holds so far, strings cut where it ends; None while nothing can be read.

    For screens: it forgives what `parse` refuses.
    """
    try:
        return jiter.from_json(text.encode(), partial_mode="trailing-strings")
    except ValueError:
        return None


def same_value(a: object, b: object) -> bool:
    """Whether two values are equal; those nested too deeply to compare are not."""
    try:
        return bool(a == b)
    except RecursionError:
        return False


class _Refused(Exception):
    def __init__(self, defect: Defect, message: str) -> None:
        super().__init__(message)
        self.defect = defect


def _parse_slowly(text: str) -> object:
    """Python's parser made strict: it reads what jiter has no room for (depth, long integers) and explains."""
    try:
        value = _DECODER.decode(text)
        if next(islice(levels(value), _DEEPEST, None), None) is not None:
            raise _Refused("too_deep", _TOO_DEEP)
        _refuse_half_surrogates(value)
    except _Refused as refused:
        raise NotJson(refused.defect, str(refused)) from None
    except RecursionError:
        raise NotJson("too_deep", _TOO_DEEP) from None
    except json.JSONDecodeError as error:
        defect = _diagnose(text, error)
        raise NotJson(
            defect, f"{_WORDS[defect]} ({error.msg.removesuffix(' at')} at character {error.pos})"
        ) from None
    return value


_DEEPEST = 500
"""The same bound on every Python: from 3.12 on its parser goes thousands deep, where nothing else can follow."""
_TOO_DEEP = "nested too deeply to be read"


def levels(value: object) -> Iterator[list[object]]:
    """A value level by level: what is nested too deep cannot be walked by functions that call themselves."""
    level = [value]
    while level:
        yield level
        nested = (one for one in level if isinstance(one, dict | list))
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]


def _no_constants(name: str) -> object:
    raise _Refused("not_a_number", f"{name} is no JSON number")


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise _Refused("duplicate_key", f"the key {twice!r} is there twice")
    return result


def _integer(digits: str) -> int:
    # Python converts at most 4,300 digits; a number that long only has to stay an integer of that sign.
    return int(digits) if len(digits) <= 4300 else int(digits[:4300])


_DECODER = json.JSONDecoder(
    parse_constant=_no_constants, object_pairs_hook=_no_duplicates, parse_int=_integer
)

_WORDS: dict[Defect, str] = {
    "empty": "empty text",
    "incomplete": "it ends too early",
    "missing_start": "its opening brace is missing",
    "concatenated": "several documents in one",
    "trailing_text": "something follows the JSON",
    "raw_control": "an unescaped control character in a string",
    "trailing_comma": "a trailing comma",
    "single_quotes": "single quotes",
    "python_literal": "a Python literal",
    "unquoted_key": "a key without quotes",
    "other": "malformed",
}


def _refuse_half_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Refused("lone_surrogate", "an escape is half a character (a lone surrogate)") from None


def _diagnose(text: str, error: json.JSONDecodeError) -> Defect:
    if not text.strip():
        return "empty"
    if error.msg.startswith("Extra data"):
        if _decodes(text[error.pos :]):
            return "concatenated"
        return "missing_start" if _decodes("{" + text) else "trailing_text"
    if is_beginning(text):
        return "incomplete"
    if error.msg.startswith("Invalid control"):
        return "raw_control"
    if re.search(r",\s*$", text[: error.pos]) and text[error.pos : error.pos + 1] in "]}":
        return "trailing_comma"
    return _diagnose_word(text, error.pos)


def _diagnose_word(text: str, position: int) -> Defect:
    rest = text[position:]
    if not text[:position].strip() and rest.startswith(",") and _decodes("{" + rest[1:]):
        return "missing_start"
    if rest.startswith(",") or (rest[:1] in "]}" and text[:position].rstrip()[-1:] == ","):
        return "trailing_comma"
    if rest.startswith("'"):
        return "single_quotes"
    if re.match(r"(True|False|None)\b", rest):
        return "python_literal"
    if re.match(r"[A-Za-z_]\w*\s*:", rest):
        return "unquoted_key"
    return "missing_start" if _decodes("{" + text) else "other"


def _decodes(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_beginning(text: str) -> bool:
    """Whether `text` is JSON cut short: something can be appended so that it parses, and must be."""
    closers = _open_brackets(text)
    if closers is None:
        return False
    stem, in_string = closers[1:], closers[0] == '"'
    if in_string:
        text = text[: len(text) - _open_escape(text)] + '"'
    elif not stem:
        return False
    else:
        text = _TORN_WORD.sub(r"\g<before>0", text)
    return any(_decodes(text + tail + stem) for tail in ("", ":0", "0", '"":0', "0:0"))


_TORN_WORD = re.compile(
    r"(?P<before>[\s:,\[])(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|-?\d+\.|-?\d+(?:\.\d+)?[eE][+-]?)$"
)


def _open_escape(text: str) -> int:
    """Length of an escape that the text breaks off in: a backslash, or `\\u` with too few digits."""
    for cut in range(5):
        head, digits = text[: len(text) - cut], text[len(text) - cut :]
        backslashes = len(head) - len(head.rstrip("\\"))
        if backslashes % 2 and (not digits or re.fullmatch("u[0-9a-fA-F]{0,3}", digits)):
            return cut + 1
    return 0


_SIGNIFICANT = re.compile(r'["\[\]{}]')
_STRING_END = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)


def _open_brackets(text: str) -> str | None:
    """What is open at the end: `"` or a space for the string, then the closers; None where brackets clash."""
    closers: list[str] = []
    position = 0
    while match := _SIGNIFICANT.search(text, position):
        position, mark = match.end(), match.group()
        if mark == '"':
            end = _STRING_END.match(text, position)
            position = end.end() if end else position
            if position >= len(text) or text[position] != '"':
                return '"' + "".join(reversed(closers))
            position += 1
        elif mark in "{[":
            closers.append("}" if mark == "{" else "]")
        elif not closers or closers.pop() != mark:
            return None
    return " " + "".join(reversed(closers))
