"""Calls written as XML without a grammar of their own: Cline's and MCP's tags, and families mixed by a model.

A wrapper holds the name as an attribute, as the text of a tag, as a tag or bare, and the arguments as a JSON object or
as one tag each.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from itertools import islice

from replayer.tools.verdicts.call_text import (
    MAX_CALLS,
    MAX_UNCLOSED,
    TextCall,
    calls_in,
    children_in,
    is_open,
    json_text_at,
    parameters_in,
    python_call,
)

_NAME = r"[A-Za-z_][\w.\-]{0,127}"
_CERTAIN = ("tool_call", "tool_use", "use_mcp_tool", "invoke", "xai:function_call")
"""Wrappers that are nothing but calls, whatever they name."""
_WRAPPER = re.compile(
    r"<(?P<tag>(?:\w{1,20}[:_])?(?:tool_call|tool_use|use_mcp_tool|mcp_tool_call|mcp_call|call_tool|function_?call|tool|action|call|invoke))"
    r"(?P<attributes>\s[^<>]{0,300})?>|<(?P<labelled>tool):\s?[\w.\-]{1,64}>"
)
_COMMAND = re.compile(rf"\s*(?P<name>{_NAME})\s*(?P<rest>.*?)\s*\Z", re.DOTALL)
_NAME_ATTRIBUTE = re.compile(rf"\b(?:name|tool|function)\s*=\s*[\"'](?P<name>{_NAME})[\"']")
_NAME_TAG = re.compile(
    rf"<(?P<tag>name|tool_name|tool|function|function_name)>\s*(?P<name>{_NAME})\s*</(?P=tag)>"
)
_NAME_AS_TAG = re.compile(rf"\s*<(?P<name>{_NAME})>")
_BARE_NAME = re.compile(
    rf"\s*(?:functions\.)?(?P<name>{_NAME})(?:\s*(?P<bracket>\()|(?=\s*[{{<]|[ \t]*(?:\n|\Z)))"
)


def wrapped_calls(text: str, offered: Container[str]) -> Iterator[TextCall]:
    """The calls of all wrappers in the text, in order."""
    for wrapper in islice(_WRAPPER.finditer(text), MAX_CALLS):
        call = _in_wrapper(text, wrapper)
        certain = call and (call.closed if wrapper["labelled"] else wrapper["tag"] in _CERTAIN)
        if call and (certain or call.name in offered):
            yield call


def _in_wrapper(text: str, wrapper: re.Match[str]) -> TextCall | None:
    begin, tag = wrapper.end(), wrapper["tag"] or wrapper["labelled"]
    closing = text.find(f"</{tag}>", begin)
    again = text.find(f"<{tag}>", begin)
    if 0 <= again < closing or (closing < 0 and again >= 0):
        return None  # only the innermost holds the call
    end = closing if closing >= 0 else min(len(text), begin + MAX_UNCLOSED)
    inner = text[begin:end]
    if wrapper["labelled"]:
        return _labelled(inner, wrapper.start(), end, closing >= 0)
    if inner.lstrip()[:1] in ("{", "[") and (call := next(calls_in(inner), None)):
        return call.moved(begin)
    named = _NAME_ATTRIBUTE.search(wrapper["attributes"] or "")
    inside = _NAME_TAG.search(inner) or _NAME_AS_TAG.match(inner) or _BARE_NAME.match(inner)
    if named is None and inside is None:
        broken = closing >= 0 and inner.lstrip().startswith("{")  # an object, but not one that names a call
        return TextCall("", wrapper.start(), end, arguments=inner.strip()) if broken else None
    name = (named or inside)["name"]  # type: ignore[index]
    body = begin + (inside.end() if inside and not named else 0)
    if inside and not named and inside.re is _BARE_NAME and inside["bracket"]:
        return python_call(text, name, wrapper.start(), body)
    return arguments_in(text, name, wrapper.start(), body, end, closing >= 0)


def _labelled(inner: str, start: int, end: int, closed: bool) -> TextCall | None:
    """CWM's `<tool: label>`: a name, then an object or the text of its `command`."""
    words = _COMMAND.match(inner)
    if words is None or words["rest"].startswith("{"):
        return words and TextCall(words["name"], start, end, arguments=words["rest"], closed=closed)
    command = (("command", words["rest"]),) if words["rest"] else ()
    return TextCall(words["name"], start, end, parameters=command, closed=closed)


def arguments_in(text: str, name: str, start: int, body: int, end: int, closed: bool) -> TextCall:
    """The call whose arguments stand between `body` and `end`, as an object or as one tag each."""
    brace = text.find("{", body, end)
    before = text[body : max(brace, body)]
    if brace >= 0 and not (children_in(before) or is_open(before) or any(parameters_in(before))):
        written = json_text_at(text[:end], brace)
        return TextCall(name, start, brace + len(written), arguments=written)
    inner = text[body:end]
    return TextCall(
        name, start, end, parameters=tuple(parameters_in(inner)) or children_in(inner), closed=closed
    )
