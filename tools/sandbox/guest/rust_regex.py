"""Patterns in the syntax of Rust's `regex` and `fancy-regex`, which Zed and ripgrep search with, as Python's."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "ascii": "\\x00-\\x7f",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "word": "\\w",
    "xdigit": "0-9A-Fa-f",
}
_ESCAPES = {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": "[0-9A-Fa-f]", "H": "[^0-9A-Fa-f]"}
_EDGES = {
    "<": r"\b(?=\w)",
    ">": r"\b(?<=\w)",
    "b{start}": r"\b(?=\w)",
    "b{end}": r"\b(?<=\w)",
    "b{start-half}": r"(?<!\w)",
    "b{end-half}": r"(?!\w)",
}
_CATEGORIES = {
    "letter": "L", "alphabetic": "L", "uppercase": "Lu", "uppercaseletter": "Lu", "lowercase": "Ll",
    "lowercaseletter": "Ll", "number": "N", "decimalnumber": "Nd", "punctuation": "P", "symbol": "S",
    "separator": "Z", "mark": "M", "other": "C", "control": "Cc", "whitespace": "Z",
}  # fmt: skip
_SCRIPTS = {"han": "CJK UNIFIED", "hangul": "HANGUL", "emoji": "EMOJI"}
_TOKEN = re.compile(
    r"\\(?P<hex>[xuU])\{(?P<code>[0-9A-Fa-f]{1,8})\}"
    r"|\\(?P<not>[pP])(?:\{(?P<property>[^}]*)\}|(?P<short>\w))"
    r"|\\(?P<edge>[<>]|b\{[a-z-]+\})"
    r"|\\(?P<escape>.)"
    r"|\(\?<(?P<name>[A-Za-z_]\w*)>"
    r"|\(\?(?P<flags>[imsxuUR]*(?:-[imsxuUR]+)?)(?P<flags_end>[:)])"
    r"|(?P<open>\()|(?P<close>\))|(?P<set>\[)|(?P<other>.)",
    re.DOTALL,
)
_IN_SET = re.compile(
    r"\[:(?P<without>\^?)(?P<posix>[a-z]+):\]"
    r"|\\(?P<hex>[xuU])\{(?P<code>[0-9A-Fa-f]{1,8})\}"
    r"|\\(?P<not>[pP])(?:\{(?P<property>[^}]*)\}|(?P<short>\w))"
    r"|\\(?P<escape>.)|(?P<end>\])|(?P<special>[\[&~|])|(?P<other>.)",
    re.DOTALL,
)


def python_pattern(pattern: str) -> str:
    """Raises re.error for what neither syntax has."""
    pieces: list[str] = []
    held: list[list[str]] = [[]]  # per open group, the flags like `(?i)`, which hold to its end
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        assert match is not None
        position = match.end()
        if match["set"]:
            piece, position = _set(pattern, position)
        elif match["flags"] is not None:
            piece = _flags(match, held)
        elif match["open"] or match["name"]:
            held.append([])
            piece = f"(?P<{match['name']}>" if match["name"] else "("
        elif match["close"]:
            piece = ")" * (len(held.pop()) + 1) if len(held) > 1 else ")"
        elif match["other"] == "|":
            piece = ")" * len(held[-1]) + "|" + "".join(held[-1])
        else:
            piece = _character(match)
        pieces.append(piece)
    return "".join(pieces) + ")" * len(held[0])


def _flags(match: re.Match[str], held: list[list[str]]) -> str:
    on, _, off = (re.sub("[uUR]", "", part) for part in match["flags"].partition("-"))
    piece = f"(?{on}{'-' + off if off else ''}:"
    if match["flags_end"] == ":":
        held.append([])
    else:
        held[-1].append(piece)
    return piece


def _character(match: re.Match[str]) -> str:
    if match["edge"]:
        return _EDGES.get(match["edge"]) or re.escape(match["edge"])
    if match["not"]:
        return f"[{'^' if match['not'] == 'P' else ''}{_ranges(match['property'] or match['short'])}]"
    if match["escape"] in _ESCAPES:
        return _ESCAPES[match["escape"]]
    return _shared(match)


def _shared(match: re.Match[str]) -> str:
    """What is written alike within a set and outside."""
    if match["code"]:
        return re.escape(chr(min(int(match["code"], 16), sys.maxunicode)))
    if match["escape"]:
        return match.group() if match["escape"].isalnum() else re.escape(match["escape"])
    return str(match["other"])


def _set(pattern: str, position: int) -> tuple[str, int]:
    """The set that begins at `position`, behind its bracket, and where it ends."""
    pieces = ["["]
    if pattern.startswith("^", position):
        pieces, position = ["[^"], position + 1
    first = position
    while match := _IN_SET.match(pattern, position):
        position = match.end()
        if match["end"] and match.start() > first:
            return "".join([*pieces, "]"]), position
        if match["posix"]:
            pieces.append(_posix(match["posix"], bool(match["without"])))
        elif match["not"]:
            if match["not"] == "P":
                raise re.error("a negated property within a set is not supported here")
            pieces.append(_ranges(match["property"] or match["short"]))
        elif match["special"] or match["end"]:
            pieces.append("\\" + match.group())
        else:
            pieces.append(_shared(match))
    raise re.error("unclosed character class")


def _posix(name: str, without: bool) -> str:
    if name not in _POSIX or without:
        raise re.error(f"unrecognised POSIX class {name!r}")
    return _POSIX[name]


@lru_cache
def _ranges(name: str) -> str:
    """The characters of a Unicode category or script, as what stands within a set."""
    word = re.sub(r"[\s_-]", "", name.rpartition("=")[2]).lower()
    category = _CATEGORIES.get(word) or (word.capitalize() if len(word) <= 2 else "")
    prefix = _SCRIPTS.get(word, word.upper())
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if category:
            belongs = unicodedata.category(character).startswith(category)
        else:
            belongs = unicodedata.name(character, "").startswith(prefix + " ")
        if belongs and ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        elif belongs:
            ranges.append([code, code])
    if not ranges:
        raise re.error(f"Unicode property not found: {name}")
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
