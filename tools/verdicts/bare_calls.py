"""Calls in syntaxes that need no markup: bare JSON, `[f(x=1)]`, ReAct, a name before its JSON, a tag named as the tool.

They look like ordinary text, so that only tools that were offered make one, and only where it is all of the text or
ends it. So it is with calls of other families whose control tokens were lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from itertools import islice

from replayer.tools.verdicts.call_text import (
    REACT_INPUT,
    REACT_NAME,
    TextCall,
    calls_in,
    json_text_at,
    names_in,
    python_call,
)
from replayer.tools.verdicts.leak import Leak, leak_at
from replayer.tools.verdicts.prose import TAG, WORDS, is_sentence
from replayer.tools.verdicts.strict_json import NotJson, is_beginning, parse
from replayer.tools.verdicts.xml_calls import arguments_in, wrapped_calls

_Found = tuple[int, tuple[TextCall, ...]]
"""Where the first call begins, and the calls."""

_MOST = 20
"""Places looked at for one kind of call."""


def find_bare(text: str, visible: str, offered: Container[str]) -> Leak | None:
    """A call in a syntax that needs no markup. Only tools that were offered make it one."""
    for family, find in _FINDERS:
        if found := find(text, visible, offered):
            start, calls = found
            complete = all(call.intact for call in calls)
            moved = tuple(call.moved(-start) for call in calls)
            return leak_at(family, text, start, hard=True, calls=moved, complete=complete)
    return _fenced_call(text, offered)


_NAMED_OBJECT = re.compile(
    r"(?<![\w.\-/])(?P<name>[A-Za-z_][\w.\-]*+)(?::\d+)?(?:\[CALL_ID\]\w+)?(?:\[ARGS\]|>(?=\{))?(?:<[|｜][^<>\s]{1,40}[|｜]>)*[ \t]*+(?P<bracket>\()?"
    r"(?:\n?```(?:json)?)?\s*+(?=\{\s*(?:\}|\"[^\"\n]*+(?:\"\s*:|\Z)))"
)


_GEMMA_OBJECT = re.compile(
    r"(?<![\w.:\-/])(?P<name>[A-Za-z_][\w.\-]*+)(?=\{\s*\w+\s*:\s*(?:<\|\"\|>|<escape>|\"))"
)
"""As Gemma writes it, without what stands before the name."""


def _named_objects(text: str, visible: str, offered: Container[str]) -> _Found | None:
    calls = named_objects(text, visible, offered)
    return (calls[0].start, tuple(calls)) if calls else None


def named_objects(text: str, visible: str, offered: Container[str]) -> list[TextCall]:
    """`Bash{"command": …}`, `functions.Bash:0{…}`, `Bash[ARGS]{…}`, the name above its object, or control tokens of any
    family between the two."""
    calls: list[TextCall] = []
    if "{" not in text:
        return calls
    for match in _NAMED_OBJECT.finditer(text):
        name = _offered_name(match["name"], offered)
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if match["bracket"] and before and not before.startswith("["):
            continue  # `so you write f({…})`; `[Calling tool: f({…})]` is one
        if name is None or visible[match.start()] != text[match.start()] or len(calls) == _MOST:
            continue
        if calls and match.start() < calls[-1].end:
            continue
        written = json_text_at(text, match.end())
        calls.append(TextCall(name, match.start(), match.end() + len(written), written))
    for match in _GEMMA_OBJECT.finditer(text) if not calls else ():
        if match["name"] in offered and (call := next(calls_in(f"call:{text[match.start() :]}"), None)):
            calls.append(replace(call.moved(match.start() - len("call:")), start=match.start()))
            break
    while calls and is_sentence(text[calls[0].end : calls[1].start if len(calls) > 1 else len(text)]):
        del calls[0]  # one that is talked about
    return calls


def _offered_name(name: str, offered: Container[str]) -> str | None:
    ends = name.rpartition(".")[2], name.removeprefix("functions."), name.removeprefix("function")
    for bare in (name, *ends, name[:-9]):  # nine signs are an id of Mistral's
        if bare in offered:
            return bare
    return None


_PYTHONIC = re.compile(r"(?m)^[ \t]*+(?:(?P<list>\[)\s*+)?(?P<name>[A-Za-z_][\w.]*+)\(")
_PYTHONIC_TORN = re.compile(r"\[(?P<name>[A-Za-z_][\w.]*+)\((?:[\w\s]*+=[^\n]*+)?\Z")


def _python_list(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """`[f(x=1), g()]` that ends the text; without brackets only where it is all of it."""
    for match in islice(_PYTHONIC.finditer(visible), _MOST):
        if match["name"] not in offered or not (match["list"] or not visible[: match.start()].strip()):
            continue
        calls = _calls_of_code(text, match.start("name"), len(text), offered)
        after = text[calls[-1].end :] if calls else ""
        if calls and calls[-1].closed and after.strip() in ("", "]"):
            return match.start(), calls
    stripped = visible.strip()
    if (torn := _PYTHONIC_TORN.match(stripped)) and torn["name"] in offered and "](" not in stripped:
        return 0, (TextCall(torn["name"], 0, len(text), code="", closed=False),)
    return None


_CALL_OF_NAME = re.compile(r"(?<![\w.])(?:default_api\.)?(?P<name>[A-Za-z_][\w.]*+)\(")


def _calls_of_code(text: str, start: int, end: int, offered: Container[str]) -> tuple[TextCall, ...]:
    """The calls of offered tools in code, one behind the other."""
    calls: list[TextCall] = []
    for match in _CALL_OF_NAME.finditer(text, start, end):
        if match["name"] in offered and not (calls and match.start() < calls[-1].end) and len(calls) < _MOST:
            calls.append(python_call(text[:end], match["name"], match.start(), match.end()))
    return tuple(calls)


_CODE = re.compile(
    r"(?m)(?:^[ \t]*|(?<=[ \t])(?=<code>\n))(?:<(?P<tag>code|tool_code)>|(?P<headed>Code:[ \t]*\n)?(?P<fence>```)(?P<info>\w*)\n)"
    r"(?P<body>(?s:.*?))(?:</(?P=tag)>|^[ \t]*```(?:[ \t]*<end_code>)?|\Z)"
)


def _code_agent(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """Code that an agent such as smolagents' would run: between tags of its own, or in a fence that `<end_code>` ends or
    that Gemma calls `tool_code`."""
    if not any(hint in text for hint in ("<code>", "tool_code", "<end_code>", "Code:")):
        return None
    for match in islice(_CODE.finditer(text), _MOST):
        own = match["headed"] or match["info"] == "tool_code" or match.group().endswith("<end_code>")
        if match["fence"] and not own:
            continue
        calls = _calls_of_code(text, match.start("body"), match.end("body"), offered)
        if calls and not is_sentence(text[match.end() :]):
            return match.start(), calls
    return None


_REACT = re.compile(
    rf"(?m)^[ \t]*+{REACT_NAME}[ \t]*+:[ \t]*+(?P<name>[A-Za-z_][\w.]*+)\s*+{REACT_INPUT}\s*+:"
)
_CALL_COLON = re.compile(r"(?<!\w)call:(?P<name>[A-Za-z_][\w.\-]*+)\{")


def _named_line(pattern: re.Pattern[str], hint: str) -> Callable[[str, str, Container[str]], _Found | None]:
    def find(text: str, visible: str, offered: Container[str]) -> _Found | None:
        if hint not in visible:
            return None
        for match in islice(pattern.finditer(visible), _MOST):
            if match["name"] in offered:
                calls = tuple(call.moved(match.start()) for call in calls_in(text[match.start() :]))
                if calls and not is_sentence(text[calls[-1].end :]):
                    return match.start(), calls
        return None

    return find


_PLAYED = re.compile(rf"{_REACT.pattern}[^\n]*\n\s*Observation[ \t]*:[ \t]*\S")


def _played_tool(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """A call and its result, both written by the model."""
    match = _PLAYED.search(visible) if "Observation" in visible else None
    return (match.start(), ()) if match and match["name"] in offered else None


_FIRST_TAG = re.compile(r"(?m)(?:^[ \t]*|(?<=\s)(?=<\w+>\s*<\w))<(?P<name>[A-Za-z_]\w*)>")
_LAST_TAG = re.compile(r"</(?P<name>[A-Za-z_]\w*)>\Z")


def _tag_of_tool(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """`<Bash><command>…</command></Bash>` at the end of the text."""
    stripped = visible.rstrip()
    last = _LAST_TAG.search(stripped[-80:])
    if last is None or last["name"] not in offered:
        return None
    calls: list[TextCall] = []
    for opened in islice(_FIRST_TAG.finditer(visible), _MOST):
        name, end = opened["name"], visible.find(f"</{opened['name']}>", opened.end())
        if name in offered and end >= 0 and not (calls and opened.start() < calls[-1].end):
            calls.append(arguments_in(text, name, opened.start(), opened.end(), end, True))
    return (calls[0].start, tuple(calls)) if calls else None


def _wrapped(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """`<action><tool>Bash</tool>…</action>` and its like at the end of the text."""
    if "</" not in visible:
        return None
    calls = tuple(call for call in wrapped_calls(visible, offered) if call.intact)
    return (calls[0].start, calls) if calls and not is_sentence(text[calls[-1].end :]) else None


_OBJECT = re.compile(
    r'(?mi)^[ \t→]*(?:(?:tool|function)[ _]?calls?[ \t]*:\s*)?(?:\[\s*)?\{\s*"(?:role|name|function|function_?call|tool_name|tool|action|recipient_name|tool_uses|tool_calls|tool_call_id|type|id|'
    r'arguments|parameters)"'
)
_KEYED = re.compile(r'(?m)^[ \t]*\[\s*\{\s*"(?P<name>[A-Za-z_][\w.\-]*)"\s*:\s*\{')


def _objects(text: str, visible: str, offered: Container[str]) -> _Found | None:
    """`{"name": …, "arguments": …}` and its like, also `[{"Bash": {…}}]`."""
    if "{" not in visible:
        return None
    objects = list(islice(_OBJECT.finditer(visible), _MOST))
    named = names_in(text[objects[0].start() :]) if objects else ()
    if not any(name in offered or name.rpartition(".")[2] in offered for name in named):
        objects = []
    for match in objects:
        if calls := _bare_calls(text[match.start() :], offered):
            return match.start(), tuple(call.moved(match.start()) for call in calls)
    for match in islice(_KEYED.finditer(visible), _MOST):
        if match["name"] in offered and (calls := tuple(_keyed(text, match.start(), offered))):
            return match.start(), calls
    return None


def _keyed(text: str, start: int, offered: Container[str]) -> Iterator[TextCall]:
    try:
        value = parse(text[start:].strip())
    except NotJson:
        return
    for item in value if isinstance(value, list) else ():
        for name, arguments in item.items() if isinstance(item, dict) else ():
            if name in offered:
                yield TextCall(name, start, len(text), json.dumps(arguments, ensure_ascii=False))


_BEGUN = re.compile(
    r'\s*+\[?\s*+\{\s*+(?:"type": "function", )?"(?:recipient_)?name"\s*+:\s*+"(?:functions\.)?(?P<name>[\w.\-]{1,128})"'
)


def _bare_calls(text: str, offered: Container[str]) -> tuple[TextCall, ...]:
    """The calls of a text that is JSON to its end, or breaks off in it."""
    calls = tuple(call for call in calls_in(text) if call.arguments is not None)
    begun = None if calls else _BEGUN.match(text)
    if begun and begun["name"] in offered and is_beginning(text.strip()):
        return (TextCall(begun["name"], 0, len(text), closed=False),)
    if not any(call.name in offered or call.name.rpartition(".")[2] in offered for call in calls):
        return ()
    tail = TAG.sub("", text[calls[-1].end :])  # a tag of whatever name may hold it
    return calls if _is_json(text.strip()) or not WORDS.search(tail) else ()


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except NotJson:
        return False
    return True


_FINDERS: tuple[tuple[str, Callable[[str, str, Container[str]], _Found | None]], ...] = (
    ("bare", _named_objects),
    ("bare", _python_list),
    ("code", _code_agent),
    ("tool_response", _played_tool),
    ("react", _named_line(_REACT, ":")),
    ("gemma", _named_line(_CALL_COLON, "call:")),
    ("bare", _tag_of_tool),
    ("xml", _wrapped),
    ("json", _objects),
)

_FENCE_AT_END = re.compile(
    r"(?m)^[ \t]*(?P<fence>```|~~~)(?P<info>\w*)[ \t]*\n(?P<body>(?:(?!^[ \t]*(?P=fence))(?s:.))*)[ \t]*(?P=fence)\s*\Z"
)
_FOR_CALLS = frozenset({"", "json", "tool_call", "tool_calls", "tool", "tool_code", "function_call", "xml"})


def _fenced_call(text: str, offered: Container[str]) -> Leak | None:
    """A code block that ends the answer and holds a call: content to every parser, so a soft leak."""
    match = _FENCE_AT_END.search(text)
    if (
        match is None
        or match["info"] == "diff"
        or (text[: match.start()].strip() and match["info"] not in _FOR_CALLS)
    ):
        return None
    body = match["body"]
    calls = tuple(calls_in(body)) or _calls_of_code(body, 0, len(body), offered)
    if any(call.name in offered for call in calls) and not _DEFINITION.search(body):
        heading = _REACT_HEADING.search(text[: match.start()])
        start = heading.start() if heading else match.start()
        moved = tuple(call.moved(match.start("body") - start) for call in calls)
        return leak_at("react" if heading else "fenced", text, start, hard=heading is not None, calls=moved)
    return None


_REACT_HEADING = re.compile(rf"(?m)(?:^[ \t]*{REACT_NAME}[ \t]*:|\*\*Tool Call:\*\*)\s*\Z")
_DEFINITION = re.compile(r'"(?:parameters|input_schema)"\s*:\s*\{\s*"(?:type"\s*:\s*"object|properties|\$)')
"""A tool as a request describes it, not a call of it."""
