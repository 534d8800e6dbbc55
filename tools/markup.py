"""Call syntax that a parser should have taken out of the text: found, and told from prose that mentions it.

A leak is `hard` where the text holds a call, whole or begun, and soft where it only names the markup. Code fences
and inline code are not searched, and neither is what the prompt says word for word (an agent at work on a parser
quotes such markup all day). Syntaxes without markup of their own (bare JSON, `[f(x=1)]`, `Action:`) count only
where they are all of the text or end it, and name a tool that was offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from replayer.tools.call_text import TextCall, calls_in
from replayer.tools.strict_json import NotJson, is_beginning, parse

_BAR = "[|｜]"
_TAGS: tuple[tuple[str, str], ...] = (  # what follows the "<"
    ("hermes", r"/?tool_call>"),  # also qwen, glm, ernie, exaone, granite 3.1: told apart by what follows
    ("qwen3_coder", r"function\s*=|/function>|parameter\s*=|/parameter>"),
    ("glm", r"/?arg_key>|/?arg_value>"),
    ("minimax", r"/?minimax:tool_call>|/?(?:\w+:)?invoke(?:\s+name\s*=|>)|(?:\w+:)?parameter\s+name\s*="),
    ("tool_calls_tag", r"/?(?:\w+:)?(?:tool_calls|function_calls?|TOOLCALL|(?:seed:|longcat_)tool_call)>"),
    ("dsml", rf"/?{_BAR}DSML{_BAR}"),
    ("deepseek", rf"{_BAR}tool[▁_](?:calls?|outputs?)?[▁_]?(?:begin|end|sep){_BAR}>"),
    ("kimi", r"\|tool_calls?_section_(?:begin|end)\|>|\|tool_call_argument_begin\|>"),
    ("lfm2", r"\|tool_call_(?:start|end)\|>"),
    ("llama", r"\|python_(?:tag|start|end)\|>"),
    ("granite", r"\|/?tool_calls?\|>|\|function_call\|>"),
    ("gemma", r"\|tool_call>|tool_call\|>|\|\"\|>|/?(?:start|end)_function_call>"),
    ("harmony", r"\|(?:channel|constrain|call)\|>"),
    ("command_r", r"\|(?:START|END)_(?:ACTION|TOOL_RESULT)\|>"),
    ("internlm", r"\|action_(?:start|end)\|>|\|plugin\|>"),
    ("apertus", r"\|tools_(?:prefix|suffix)\|>"),
    ("step3", r"/?steptml:"),
    ("tool_response", r"/?tool_response>"),  # the model plays the tool
)
_TAG_MARKER = re.compile("<(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _TAGS) + ")")
_OTHER_MARKERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "[",
        re.compile(r"\[(?:(?P<mistral>/?TOOL_CALLS\]|ARGS\]|CALL_ID\])|(?P<tool_response>/?TOOL_RESULTS\]))"),
    ),
    ("to=functions.", re.compile(r"to=(?P<harmony>functions\.\w)")),
    (">>>", re.compile(r"(?m)^>>>(?P<functionary>\s?[A-Za-z_][\w.]*\n(?=\s*\{))")),
    ("functools", re.compile(r"functools(?P<phi>\s*\[(?=\s*\{))")),
)
_CONTROL = re.compile(
    rf"<(?:{_BAR}(?:im_start|im_end|im_sep|eot_id|eom_id|endoftext|end_of_text|begin_of_text|start_header_id|"
    rf"end_header_id|return|message|start|end|assistant|user|system|end[▁_]of[▁_]sentence|begin[▁_]of[▁_]sentence|"
    rf"observation|START_RESPONSE|END_RESPONSE|END_OF_TURN_TOKEN){_BAR}>|(?:start|end)_of_turn>|/s>\s*\Z)"
)
_HEAD_SWALLOWED = re.compile(r'\A\s*(?:[\w.\-]{0,64}")?\s*,?\s*"(?:arguments|parameters)"\s*:\s*[{\[]')


def _markers(text: str) -> list[re.Match[str]]:
    found = list(_TAG_MARKER.finditer(text))
    for hint, pattern in _OTHER_MARKERS:
        if hint in text:
            found.extend(pattern.finditer(text))
    return sorted(found, key=lambda match: match.start())


@dataclass(frozen=True, slots=True)
class Leak:
    """Call markup at `start` of a text. `hard`: a call, or a piece of one, not just a mention."""

    family: str
    start: int
    excerpt: str
    hard: bool
    complete: bool = True
    """False where the call breaks off with the text."""
    calls: tuple[TextCall, ...] = ()


PromptContains = Callable[[str], bool]


def find_leaks(
    text: str, offered: Container[str], prompt_contains: PromptContains | None = None
) -> list[Leak]:
    """What is left of calls in `text`: the first hard leak alone, or else one mention of each family."""
    if not _SUSPECT.search(text):
        return []
    visible = without_code(text)
    quoted = prompt_contains or _never
    leaks: dict[str, Leak] = {}
    for leak in _candidates(text, visible, offered, quoted):
        if leak.hard:
            return [leak]
        leaks.setdefault(leak.family, leak)
    return list(leaks.values())


_SUSPECT = re.compile(r"[<\[{]|```|\A\s*\w+\(|>>>|to=functions|\"arguments\"|\"parameters\"|Action Input")


def _never(_: str) -> bool:
    return False


def _candidates(text: str, visible: str, offered: Container[str], quoted: PromptContains) -> Iterator[Leak]:
    if _HEAD_SWALLOWED.match(text) and not quoted(text.strip()):
        yield Leak("json", 0, repr(text[:60]), True)
    markers = _markers(visible)
    for marker in markers:
        if quoted(text[marker.start() :].strip()):
            break
        if leak := _hard_leak(text, visible, marker, markers[-1].end()):
            yield leak
            break
        if not quoted(marker.group()):
            yield _leak(marker.lastgroup or "", text, marker.start(), hard=False)
    if not markers and (bare := _unmarked(text, visible, offered)) and not quoted(text[bare.start :].strip()):
        yield bare
    if (control := _CONTROL.search(visible)) and not quoted(control.group()):
        yield _leak("control_token", text, control.start(), hard=False)


def _leak(
    family: str, text: str, start: int, *, hard: bool, calls: tuple[TextCall, ...] = (), complete: bool = True
) -> Leak:
    excerpt = text[start : start + 60] + ("…" if len(text) > start + 60 else "")
    return Leak(family, start, repr(excerpt), hard, complete, calls)


def _hard_leak(text: str, visible: str, marker: re.Match[str], markup_ends: int) -> Leak | None:
    """The marker as the beginning of a call, whole or torn, or as what is left of one; None for a mention."""
    family, start, rest = marker.lastgroup or "", marker.start(), text[marker.start() :]
    before = visible[:start].rpartition("\n")[2]
    if family == "tool_response":
        return None if before.strip() else _leak(family, text, start, hard=True)
    closes = marker.group().startswith(("</", "[/"))
    follows = not closes and _CALL_FOLLOWS.match(rest, len(marker.group()))
    calls = tuple(calls_in(rest)) if follows or _NAMES.match(rest) else ()
    if calls:
        ends = max(markup_ends, start + calls[-1].end)
        in_a_sentence = _WORDS.search(before) and _WORDS.search(visible[ends:].partition("\n")[0])
        complete = all(call.intact for call in calls)
        return (
            None if in_a_sentence else _leak(family, text, start, hard=True, calls=calls, complete=complete)
        )
    breaks_off = not closes and _breaks_off(rest[len(marker.group()) :].strip())
    if breaks_off or not _WORDS.search(_TAG.sub("", before + visible[start:])):
        return _leak(family, text, start, hard=True, complete=closes)
    return None


_CALL_FOLLOWS = re.compile(
    r"\s*(?:[{\[]|<\w*:?(?:function|invoke|tool_call)|<[|｜]|call:|functions\.|[A-Za-z_][\w.\-]*\s*(?:<|\{|\[|\())"
)
_NAMES = re.compile(r"<function|<(?:\w+:)?(?:invoke|parameter)|<[|｜]DSML|to=|>>>|functools|<[|｜]tool")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"</?[\w:.|｜▁\"\-]+[^<>\n]{0,80}>|\[/?[A-Z_]+\]")


def _breaks_off(tail: str) -> bool:
    """Whether the text ends inside a call that a marker has just begun: `<tool_call>\\n{"name": "`."""
    return not tail or (tail[0] in "{[" and is_beginning(tail)) or bool(_TORN_TAG.fullmatch(tail))


_TORN_TAG = re.compile(r"<[^<>]{0,200}")


_BARE_CALL = re.compile(
    r'(?m)^[ \t]*(?:\[\s*)?\{\s*"(?:name|function|tool_name|recipient_name|tool_uses|type|id|arguments|parameters)"'
)
_PYTHONIC = re.compile(r"\A\s*\[?\s*(?P<name>[A-Za-z_][\w.]*)\(\s*(?:\w+\s*=.*)?\)\s*\]?\s*\Z", re.DOTALL)
_REACT = re.compile(r"(?m)^[ \t]*Action[ \t]*:[ \t]*(?P<name>[A-Za-z_][\w.]*)\s*\n\s*Action Input\s*:")


def _unmarked(text: str, visible: str, offered: Container[str]) -> Leak | None:
    """A call in a syntax that needs no markup. Only tools that were offered make it one."""
    for family, hint, pattern in (("pythonic", ")", _PYTHONIC), ("react", "Action Input", _REACT)):
        if hint in visible and (match := pattern.search(visible)) and match["name"] in offered:
            return _leak(family, text, match.start(), hard=True, calls=tuple(calls_in(text[match.start() :])))
    for match, _ in zip(_BARE_CALL.finditer(visible), range(5), strict=False):
        if calls := _bare_calls(text[match.start() :], offered):
            complete = all(call.intact for call in calls)
            return _leak("json", text, match.start(), hard=True, calls=calls, complete=complete)
    return _fenced_call(text, offered)


def _bare_calls(text: str, offered: Container[str]) -> tuple[TextCall, ...]:
    """The calls of a text that is JSON to its end, or breaks off in it."""
    calls = tuple(call for call in calls_in(text) if call.arguments is not None)
    if not any(call.name in offered or call.name.rpartition(".")[2] in offered for call in calls):
        return ()
    return calls if _is_json(text.strip()) or not _WORDS.search(text[calls[-1].end :]) else ()


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except NotJson:
        return False
    return True


_ONLY_A_FENCE = re.compile(r"\A\s*(```|~~~)[\w-]*\n(?P<body>.*)\n\s*\1\s*\Z", re.DOTALL)


_TOOL_CODE = re.compile(r"\s*(?:print\()?(?:default_api\.)?(?P<name>[A-Za-z_]\w*)\(")


def _fenced_call(text: str, offered: Container[str]) -> Leak | None:
    """A code block that is all of the answer and holds a call: content to every parser, so a soft leak."""
    match = _ONLY_A_FENCE.match(text)
    if match is None:
        return None
    calls = tuple(calls_in(match["body"]))
    code = _TOOL_CODE.match(match["body"])
    if not any(call.name in offered for call in calls) and not (code and code["name"] in offered):
        return None
    return _leak("fenced", text, 0, hard=False, calls=calls)


_FENCE = re.compile(r"(?m)^[ \t]{0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n`]*)$")
_INLINE = re.compile(r"(`{1,2})(?!`)[^`\n]+\1(?!`)")


def without_code(text: str) -> str:
    """The text with closed code fences and inline code blanked out, every offset kept.

    A fence that never closes hides nothing: a model that forgets to close one still leaks after it.
    """
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


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], _NOT_NEWLINE.sub(" ", text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


_NOT_NEWLINE = re.compile(r"[^\n]")


_THINKING = re.compile(r"\A\s*<think(?:ing)?>(?P<thought>.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)


def split_thinking(content: str) -> tuple[str, str]:
    """(reasoning, answer) of content whose reasoning no parser took out: `<think>…</think>` at its beginning, or an
    end tag alone, where the template had already opened it."""
    if match := _THINKING.match(content):
        return match["thought"], content[match.end() :]
    thought, tag, answer = content.partition("</think>")
    return (thought, answer) if tag and "<think>" not in thought else ("", content)


def strip_control(text: str) -> str:
    """The text without control tokens of chat templates and without white space around it."""
    return _CONTROL.sub("", text).strip()
