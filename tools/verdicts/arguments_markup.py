"""Call markup inside delivered arguments: a parser read past the end of what it was reading."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping

from replayer.tools.verdicts.plain_tags import M3_MARK, plain_tags
from replayer.wire.types import Json

_DECODER = json.JSONDecoder()
_MARKUP_FOLLOWS = re.compile(
    r"\s*(?:</\w|<[|｜]|\[(?:TOOL_CALLS|ARGS|/)|<(?:tool_call|function|invoke|parameter)\b)"
)
_TOKEN = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|\[TOOL_CALLS\]|</?tool_call>|</(?:function|parameter|invoke)>"
)


def holds_next_call(text: str) -> bool:
    """Whether arguments that are not JSON are so because markup of their own or of the next call stands in them."""
    try:
        _, end = _DECODER.raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return bool(_TOKEN.search(text))
    return bool(_MARKUP_FOLLOWS.match(text.lstrip(), end))


_END_TAGS = re.compile(
    r"(?:(?P<tag></(?:parameter|function|tool_call|invoke|arg_value|tool_calls|think)>?|<\|(?:im_end|eot_id|tool_call_end|call)\|>"
    r"|<｜tool▁call▁end｜>)\s*)+\Z"
)


def end_tag_in(value: str) -> str | None:
    """The end tag of call syntax that a parser left at the end of an argument's text; None where the text itself
    opens such a tag, as a file about XML or a template does, or begins with one, as a pattern of tags does."""
    match = _END_TAGS.search(value, max(len(value) - 60, 0))
    if match is None or value.startswith("</"):
        return None
    tag = match["tag"]
    opening = f"<{tag.strip('</>')}" if tag.startswith("</") else tag[:2]
    return None if opening in value[: match.start()] else tag


_CALL_OPENS = r"<(?:tool_call\b|function\s*=|(?:\w+:|[|｜]DSML[|｜])?invoke\s+name)"
_OPENS = re.compile(_CALL_OPENS)
_NEXT_CALL = re.compile(
    rf"</[\w:|｜]{{1,30}}>(?:\s*</[\w:|｜]{{1,30}}>)*\s*{_CALL_OPENS}"
    r"|<[|｜]tool[^<>\s]{1,30}end[|｜]>\s*<[|｜]tool[^<>\s]{1,30}begin[|｜]>"
)
_NEXT_OBJECT = re.compile(
    r"\A[^{]*\"\s*\}+\s*(?:<[|｜]tool[^<>\s]{1,40}[|｜]>\s*<[|｜]tool[^<>\s]{1,40}[|｜]>|\[TOOL_CALLS\]\w)"
)
"""The end of one call's JSON, which the text does not begin, and the tokens that begin the next."""


def next_call_in(value: str) -> str | None:
    """The end of one call and the beginning of the next, inside an argument's text."""
    value = plain_tags(value)[0]
    if _NEXT_OBJECT.match(value):
        return value[-60:]
    match = _NEXT_CALL.search(value)
    return match.group() if match and not _OPENS.search(value, 0, match.start()) else None


_NEXT_PARAMETER = re.compile(
    r"<parameter\s*=\s*(?P<equals>[\w\-]+)\s*>|<(?:\w+:|[|｜]DSML[|｜])?parameter\s+name\s*=\s*\"(?P<named>[\w\-]+)\"[^>]*>"
    r"|<(?:\w+_)?arg_key>(?P<pair>[\w\-]+)</(?:\w+_)?arg_key>|\"\s*,\s*\"(?P<json>[\w\-]+)\"\s*:"
    r"|\]<\]minimax\[>\[<(?P<child>[\w\-]+)>"
    r"|(?P<quote><escape>|<\|\"\|>)\s*,\s*(?P<gemma>[\w\-]+)\s*:"
)


_CLOSES = re.compile(r"</(?:parameter|(?:\w+_)?arg_value|[|｜]DSML[|｜]parameter|\w+:parameter)>")


def swallowed_in(value: Mapping[str, Json], parameters: Container[str]) -> dict[str, str]:
    """Parameters that were not delivered, but stand with their markup in the text of another: {swallowed: holder}."""
    found: dict[str, str] = {}
    for holder, text in value.items():
        if isinstance(text, str) and M3_MARK not in text:
            text = plain_tags(text)[0]
        for match in _NEXT_PARAMETER.finditer(text) if isinstance(text, str) else ():
            key, before = match[match.lastgroup or 0], text[: match.start()]
            if key not in parameters or key in value or _OPENS.search(before):
                continue
            if (quote := match["quote"]) and before.count(quote) % 2:
                continue  # it closes what opened here: text about such markup
            after = text[match.end() :]
            torn = len(_CLOSES.findall(before)) > len(_NEXT_PARAMETER.findall(before))
            if not torn and len(_CLOSES.findall(after)) > len(_NEXT_PARAMETER.findall(after)):
                continue  # it is closed again: text about such markup
            if match.lastgroup != "json" or ("{" not in before and before.count('"') % 2 == 0):
                found[key] = holder
    return found
