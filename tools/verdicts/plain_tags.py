"""Call markup of families that decorate their tags, as other families write it, every offset kept.

What a rule puts in is padded on its left, so that a value never begins later than its tag ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

M3_MARK = "]<]minimax[>["
_BAR = "[|｜]"
_FAMILIES: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    # family, what its texts hold, rules
    ("minimax", M3_MARK, ((re.escape(M3_MARK), ""),)),
    # each checkpoint puts a suffix of its own behind the names: `:opensource`, `:6124c78e`
    (
        "hunyuan",
        "tool_call",
        ((r"<tool_sep:\w+>", ""), (r"<(/?(?:tool_calls?|arg_key|arg_value)):\w+>", r"<\1>")),
    ),
    ("glm", "<tool_call>", ((r"(<tool_call>\s*[\w.\-]+)>(?=\s*\{)", r"\1 "),)),  # 5.3 Flash
    (
        "hyperclova",
        "-> tool/function_call",
        ((r"(?:<\|im_start\|>assistant)? *-> tool/function_call(?=\s*[\[{])", "<tool_call>"),),
    ),
    # V4.1 puts a blank before each name; gateways and other models write the bars otherwise
    ("dsml", "DSML", ((r"<\s?(/?)\s?[|｜‖]{1,2}\s?DSML\s?[|｜‖]{1,2}\s?(?=\w)", r"<\1｜DSML｜"),)),
    (
        "gemma",
        "<|tool_call>call:",
        ((r"(<\|tool_call>call:[\w.\-]+)\(", r"\1{"), (r"\)(?=<tool_call\|>)", "}")),
    ),
    ("gemini", "default_api:", ((r"\bdeclaration:default_api:(?=\w)", "call:"),)),
    ("gigachat", "GCML", ((rf"(?<={_BAR})GCML(?={_BAR})", "DSML"),)),
    ("gigachat", "<|role_sep|>", ((r"function call<\|role_sep\|>", "<tool_call>"),)),
    ("k2", "ifm|", ((r"<ifm\|arg_type>[^<]*</ifm\|arg_type>", ""), (r"<(/?)ifm\|", r"<\1"))),
    (
        "kimi",  # K3: a markup of channels
        "<|sep|>",
        (
            (r'<\|open\|>call tool="([^"]+)"[^<]*<\|sep\|>', r'<invoke name="\1">'),
            (r'<\|open\|>argument key="([^"]+)"[^<]*<\|sep\|>', r'<parameter name="\1">'),
            (r"<\|close\|>call<\|sep\|>", "</invoke>"),
            (r"<\|close\|>argument<\|sep\|>", "</parameter>"),
            (r"<\|(?:open|close)\|>(?:tools|json)\b[^<]*<\|sep\|>", ""),
        ),
    ),
    (
        "plamo",
        ":plamo|>",
        (
            (
                r"<\|plamo:begin_tool_name:plamo\|>([^<]+)<\|plamo:end_tool_name:plamo\|>",
                r'<invoke name="\1">',
            ),
            (r"<\|plamo:end_tool_request:plamo\|>", "</invoke>"),
            (r"<\|plamo:\w+:plamo\|>", ""),
        ),
    ),
    (
        "solar",
        "<|tool_call:start|>",
        (
            (r"<\|tool_call:start\|>\s*([\w.\-]+)", r'<invoke name="\1">'),
            (r"<\|tool_arg:start\|>([^<]+)<\|tool_arg:value\|>", r'<parameter name="\1">'),
            (r"<\|tool_arg:end\|>", "</parameter>"),
            (r"<\|tool_call:end\|>", "</invoke>"),
        ),
    ),
    ("telechat", "param_key>", ((r"<(/?)param_(key|value)>", r"<\1arg_\2>"),)),
    (
        "tool_calls_tag",
        "_call>",
        ((r"<(/?)(?!longcat_|start_|end_)\w+_(?:tool|function)_call(s?)>", r"<\1tool_call\2>"),),
    ),
    ("step", "<tool_call>function\n", ((r"<tool_call>function(?=\n)", "<tool_call>"),)),
)
_RULES = tuple(
    (family, hint, tuple((re.compile(pattern), put) for pattern, put in rules))
    for family, hint, rules in _FAMILIES
)


def plain_tags(text: str) -> tuple[str, str]:
    """The text in tags of other families, and the family whose tags they were; "" and the same text for most."""
    found = ""
    for family, hint, rules in _RULES:
        if hint in text:
            for pattern, put in rules:
                text, count = pattern.subn(partial(_padded, put), text)
                found = found or (family if count else "")
    return text, found


def _padded(put: str, match: re.Match[str]) -> str:
    return match.expand(put).rjust(len(match[0]))


_OPENINGS = (
    "<tool_call>", "<|tool_call|>", "<|python_tag|>", "[TOOL_CALLS]", "<|tools_prefix|>", "<function_call>",
    "<function_calls>", "<function=",
)  # fmt: skip
_TORN_HEAD = re.compile(r"[\w|]{0,18}[>\]=]")


def lost_of_head(text: str) -> Iterator[str]:
    """What may be missing of the tag that a text begins in: a stream's first pieces were held back, and dropped."""
    if _TORN_HEAD.match(text):
        ends = ((tag[:lost], tag[lost:]) for tag in _OPENINGS for lost in range(1, len(tag) - 1))
        yield from (head for head, rest in ends if text.startswith(rest))
