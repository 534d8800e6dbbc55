"""The parts of an answer that are not plain prose: code, and thoughts that no parser took out."""

from __future__ import annotations

import re
from itertools import islice

_FENCE = re.compile(r"(?m)^[ \t]{0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n`]*)$")
_INDENTED = re.compile(r"(?<=\n)[ \t]*+\n(?P<code>(?:(?: {4}|\t)[^\n]*+\n|[ \t]*+\n)++)")
"""A block that is indented between empty lines: possessive, as a line of spaces could be read in both ways."""
_QUOTATION = re.compile(r"(?m)^ {0,3}>[ \t][^\n]*$")
_INLINE = re.compile(r"(`{1,2})(?!`)[^`\n]+\1(?!`)")


def without_code(text: str) -> str:
    """The text with closed code fences, inline code, indented code and quotations blanked out, every offset kept.

    A fence that never closes hides nothing: a model that forgets to close one still leaks after it.
    """
    text = (
        _blanked(
            text, [match.span("code") for match in _INDENTED.finditer(text) if _goes_on(text, match.end())]
        )
        if "\n    " in text
        else text
    )
    text = _blanked(text, [match.span() for match in _QUOTATION.finditer(text)]) if "> " in text else text
    if "`" not in text and "~~~" not in text:
        return text
    opening: re.Match[str] | None = None
    spans: list[tuple[int, int]] = []
    for match in _FENCE.finditer(text):
        if opening is None:
            opening = match
        elif match["ticks"].startswith(opening["ticks"]) and not match["info"].strip():
            spans.append((opening.start(), match.end()))
            opening = None
    visible = _blanked(text, spans)
    return _blanked(visible, [match.span() for match in _INLINE.finditer(visible)])


def _goes_on(text: str, end: int) -> bool:
    """Whether words go on behind a block."""
    behind = text[end : end + 1]
    return behind.isalnum() or behind == "_"


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], _NOT_NEWLINE.sub(" ", text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


_NOT_NEWLINE = re.compile(r"[^\n]")


_THINKING = re.compile(
    r"\A\s*(?:<(?:\w+:)?think(?:ing)?>|\[THINK\]|<\|channel>thought\n)"
    r"(?P<thought>.*?)(?:</(?:\w+:)?think(?:ing)?>|\[/THINK\]|<channel\|>|\Z)",
    re.DOTALL,
)
_ANALYSIS = re.compile(
    r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>"
    r"(?P<thought>.*?)(?:<\|(?:end|return)\|>|(?=<\|(?:channel|start)\|>)|\Z)",
    re.DOTALL,
)

_BARE_ANALYSIS = re.compile(r"\A\s*analysis(?P<thought>\S.*?)assistant(?:final|(?=commentary))", re.DOTALL)
"""The same, its control tokens lost."""


def split_thinking(content: str) -> tuple[str, str]:
    """(reasoning, answer) of content whose reasoning no parser took out: `<think>…</think>` at its beginning, or an
    end tag alone, where the template had already opened it; or gpt-oss's channel for it."""
    if not any(hint in content for hint in ("<", "[THINK]", "assistantfinal")):
        return "", content
    if match := _THINKING.match(content) or _ANALYSIS.match(content) or _BARE_ANALYSIS.match(content):
        return match["thought"], content[match.end() :]
    thought, tag, answer = content.partition("</think>")
    return (thought, answer) if tag and "<think>" not in thought else ("", content)


WORDS = re.compile(r"[^\W\d_]{2,}")
TAG = re.compile(r"</?[\w:.|｜▁\"\-]{1,60}[^<>\n]{0,80}>|\[/?[A-Z_]+\]")
_QUOTED = re.compile(r'"[^"\n]*+"?')
_TORN_END = re.compile(r"[<\[][^<>\[\n]{0,60}\Z")


def is_sentence(text: str) -> bool:
    """Whether at least three words stand there that are neither markup, whole or torn, nor quoted values; one is
    enough in scripts that put no spaces between words."""
    bare = _QUOTED.sub(" ", _TORN_END.sub("", TAG.sub(" ", text)))
    words = [word.group() for word in islice(WORDS.finditer(bare), 3)]
    return len(words) == 3 or any(len(word) > 3 and not word.isascii() for word in words)
