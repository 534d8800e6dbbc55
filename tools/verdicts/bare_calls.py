"""Calls in syntaxes that need no markup: bare JSON, `[f(x=1)]`, ReAct, a name above its JSON, a tag named as the tool.

They look like ordinary text, so that only tools that were offered make one, and only where it is all of the text or
ends it.
"""

from __future__ import annotations

import re
from collections.abc import Container

from replayer.tools.verdicts.call_text import TextCall, calls_in
from replayer.tools.verdicts.leak import Leak, leak_at
from replayer.tools.verdicts.strict_json import NotJson, is_beginning, parse

_WORDS = re.compile(r"[^\W\d_]{2,}")
_BARE_CALL = re.compile(
    r'(?m)^[ \t]*(?:\[\s*)?\{\s*"(?:name|function|tool_name|tool|action|recipient_name|tool_uses|tool_calls|type|id|arguments|parameters)"'
)
_PYTHONIC = re.compile(r"\[?\s*+(?P<name>[A-Za-z_][\w.]*+)\(\s*+(?:\w+\s*+=.*)?\)\s*+\]?", re.DOTALL)
_PYTHONIC_AT_END = re.compile(
    r"(?m)^[ \t]*+(?P<call>\[\s*+(?P<name>[A-Za-z_][\w.]*+)\(\s*+(?:\w+\s*+=.*)?\)\s*+\])\s*\Z"
)
_PYTHONIC_TORN = re.compile(r"\[(?P<name>[A-Za-z_][\w.]*+)\((?:[\w\s]*+=[^\n]*+)?\Z")
_NAME_ABOVE = re.compile(r"(?P<name>[A-Za-z_][\w.]*+)[ \t]*+\n\s*+\{.*\}", re.DOTALL)
_NUMBERED = re.compile(
    r"functions\.(?P<name>[A-Za-z_][\w\-]*+):\d+\s*+\{.*\}", re.DOTALL
)  # kimi, its tokens lost
_WRAPPED = re.compile(r"<(code|tool_code)>\s*+(?:print\()?(?P<name>[A-Za-z_]\w*+)\(.*\)\s*</\1>", re.DOTALL)
_REACT = re.compile(r"(?m)^[ \t]*+Action[ \t]*+:[ \t]*+(?P<name>[A-Za-z_][\w.]*+)\s*+Action Input\s*+:")
_LAST_TAG = re.compile(r"</(?P<name>[A-Za-z_]\w*)>\Z")


def find_bare(text: str, visible: str, offered: Container[str]) -> Leak | None:
    """A call in a syntax that needs no markup. Only tools that were offered make it one."""
    start = _start_of_call(visible, offered)
    if start is not None:
        return leak_at("bare", text, start, hard=True, calls=tuple(calls_in(text[start:])))
    for match, _ in zip(_BARE_CALL.finditer(visible), range(5), strict=False):
        if calls := _bare_calls(text[match.start() :], offered):
            complete = all(call.intact for call in calls)
            return leak_at("json", text, match.start(), hard=True, calls=calls, complete=complete)
    return _fenced_call(text, offered)


def _start_of_call(visible: str, offered: Container[str]) -> int | None:
    """Where a call begins that is no JSON alone: `[f(x=1)]`, a name above its JSON, `<f>…</f>`, ReAct."""
    stripped = visible.strip()
    for pattern in (_PYTHONIC, _NAME_ABOVE, _NUMBERED, _WRAPPED):
        if (match := pattern.fullmatch(stripped)) and match["name"] in offered:
            return 0
    if (listed := _PYTHONIC_AT_END.search(visible)) and listed["name"] in offered:
        return listed.start("call")
    if (torn := _PYTHONIC_TORN.match(stripped)) and torn["name"] in offered and "](" not in stripped:
        return 0
    if (tag := _LAST_TAG.search(stripped[-80:])) and tag["name"] in offered:
        start = visible.find(f"<{tag['name']}>")
        return start if start >= 0 and not visible[:start].rpartition("\n")[2].strip() else None
    if "Action Input" in visible and (match := _REACT.search(visible)) and match["name"] in offered:
        return match.start()
    return None


_BEGUN = re.compile(
    r'\s*+\[?\s*+\{\s*+(?:"type": "function", )?"(?:recipient_)?name"\s*+:\s*+"(?:functions\.)?(?P<name>[\w.\-]{1,128})"'
)


def _bare_calls(text: str, offered: Container[str]) -> tuple[TextCall, ...]:
    """The calls of a text that is JSON to its end, or breaks off in it."""
    calls = tuple(call for call in calls_in(text) if call.arguments is not None)
    if (
        not calls
        and (begun := _BEGUN.match(text))
        and begun["name"] in offered
        and is_beginning(text.strip())
    ):
        return (TextCall(begun["name"], 0, len(text)),)
    if not any(call.name in offered or call.name.rpartition(".")[2] in offered for call in calls):
        return ()
    return calls if _is_json(text.strip()) or not _WORDS.search(text[calls[-1].end :]) else ()


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except NotJson:
        return False
    return True


_TOOL_CODE = re.compile(r"\s*(?:print\()?(?:default_api\.)?(?P<name>[A-Za-z_]\w*)\(")


def _fenced_call(text: str, offered: Container[str]) -> Leak | None:
    """A code block that is all of the answer and holds a call: content to every parser, so a soft leak."""
    stripped = text.strip()
    if not (stripped.startswith(("```", "~~~")) and stripped.endswith(stripped[:3])):
        return None
    body = stripped[3:-3].partition("\n")[2]
    calls = tuple(calls_in(body))
    code = _TOOL_CODE.match(body)
    if any(call.name in offered for call in calls) or (code and code["name"] in offered):
        return leak_at("fenced", text, 0, hard=False, calls=calls)
    return None
