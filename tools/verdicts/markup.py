"""Call syntax that a parser should have taken out of the text: found, and distinguished from prose that mentions it.

A leak is `hard` where the text holds a call, whole or begun, and soft where it only names the markup. Code fences
and inline code are not searched, and neither is what the prompt says word for word (an agent at work on a parser
quotes such markup all day). Syntaxes without markup of their own (bare JSON, `[f(x=1)]`, `Action:`) count only
where they are all of the text or end it, and name a tool that was offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from itertools import islice

from replayer.tools.verdicts.bare_calls import find_bare, named_objects
from replayer.tools.verdicts.call_text import TextCall, calls_in
from replayer.tools.verdicts.leak import Leak, excerpt_at, leak_at
from replayer.tools.verdicts.plain_tags import M3_MARK, lost_of_head, plain_tags
from replayer.tools.verdicts.prose import TAG, WORDS, is_sentence, without_code
from replayer.tools.verdicts.strict_json import is_beginning
from replayer.tools.verdicts.xml_calls import wrapped_calls

_BAR = "[|｜]"
_TAGS: tuple[tuple[str, str], ...] = (  # what follows the "<"
    (
        "hermes",
        r"/?tool_call(?:\s[^<>\n]{0,100})?>",
    ),  # also qwen, glm, ernie, exaone, granite 3.1: distinguished by what follows
    (
        "qwen3_coder",
        r"function\s*=|function\s+name\s*=\s*[\"'][\w.\-]+[\"']\s*>(?=\s*(?:</?param|</function|\{))|/function>|parameter\s*=|/parameter>",
    ),
    ("qwen", r"/?tools>"),
    ("glm", r"/?(?:\w+_)?arg_(?:key|value)>"),
    (
        "minimax",
        r"/?minimax:tool_call>|/?(?:\w+:)?invoke(?:\s+name\s*=|>)|(?:\w+:)?param(?:eter)?\s+name\s*=",
    ),
    (
        "tool_calls_tag",
        r"/?(?:\w+:)?(?:tool_calls|function_?calls?|TOOLCALL|(?:seed:|longcat_)tool_call)(?:\s+name\s*=[^<>\n]{0,100})?>",
    ),
    ("dsml", rf"/?{_BAR}?DSML{_BAR}"),
    ("deepseek", rf"{_BAR}tool[▁_](?:calls?|outputs?)?[▁_]?(?:begin|end|sep){_BAR}>"),
    ("kimi", r"\|tool_calls?_section_(?:begin|end)\|>|\|tool_call_argument_begin\|>"),
    ("lfm2", r"\|tool_call_(?:start|end)\|>"),
    ("llama", r"\|python_(?:tag|start|end)\|>"),
    ("granite", r"\|/?tool_calls?\|>|\|function_call\|>"),
    ("solar", r"\|tool_call:\w+\|>"),
    ("gemma", r"\|tool_call>|tool_call\|>|\|\"\|>|/?(?:start|end)_function_call>"),
    ("harmony", r"\|(?:channel|constrain|call)\|>"),
    ("command_r", r"\|(?:START|END)_(?:ACTION|TOOL_RESULT)\|>"),
    ("internlm", r"\|action_(?:start|end)\|>|\|plugin\|>"),
    ("inkling", r"\|content_invoke_tool_\w+\|>"),
    ("doubao", r"\|FunctionCall(?:Begin|End)\|>"),
    ("apertus", r"\|tools_(?:prefix|suffix)\|>"),
    ("step3", r"/?steptml:"),
    ("mcp", r"/?(?:use_mcp_tool|tool_use|mcp:\w{1,20})(?:\s[^<>\n]{0,100})?>"),
    ("cwm", r"tool:\s?[\w.\-]{1,64}>"),
    (
        "tool_response",  # the model plays the tool
        r"/?tool_response>|function_results?>|\|im_start\|>tool\b|\|start_header_id\|>(?:ipython|tool)\b|"
        r"\|observation\|>(?=\s*[^\s<])",
    ),
)
_TAG_MARKER = re.compile("<(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _TAGS) + ")")
_OTHER_MARKERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "[",
        re.compile(
            r"\[(?:(?P<mistral>/?TOOL_CALLS\]|ARGS\]|CALL_ID\])|(?P<tool_response>/?TOOL_RESULTS\])|"
            r"(?P<lm_studio>(?:END_)?TOOL_REQUEST\]|/?TOOL_CALL\]))"
        ),
    ),
    ("[unused", re.compile(r"\[(?P<pangu>unused1[12]\])")),
    (
        "to=",
        re.compile(
            r"\bto=(?P<harmony>functions\.\w|(?!self\b|user\b)\w[\w.\-]*\s*<\|(?:constrain|message|channel))"
        ),
    ),
    (">>>", re.compile(r"(?m)^>>>(?P<functionary>\s?[A-Za-z_][\w.]*\n(?=\s*\{))")),
    ("functools", re.compile(r"functools(?P<phi>\s*\[(?=\s*\{))")),
    ("✿", re.compile(r"✿(?P<qwen>FUNCTION|ARGS)✿:")),
)
_CONTROL = re.compile(
    rf"<(?:{_BAR}(?:im_start|im_end|im_sep|eot_id|eom_id|endoftext|end_of_text|begin_of_text|start_header_id|"
    rf"end_header_id|return|message|start|end|assistant|user|system|end[▁_]of[▁_]sentence|begin[▁_]of[▁_]sentence|"
    rf"observation|START_RESPONSE|END_RESPONSE|END_OF_TURN_TOKEN){_BAR}>|(?:start|end)_of_turn>|/s>\s*\Z)|"
    rf"<{_BAR}[a-z][a-z_▁]{{2,30}}{_BAR}>\s*\Z"
)
_CONTROL_AT_END = re.compile(rf"(?:\s*(?:{_CONTROL.pattern}))+\s*\Z")
_HEAD_SWALLOWED = re.compile(
    r'\s*+\[ARGS\]\s*+\{|\s*+(?:[\w.\-]{0,64}")?\s*+,?\s*+"(?:arguments|parameters)"\s*+:\s*+[{\[]'
)


def _markers(text: str) -> list[re.Match[str]]:
    found = list(_TAG_MARKER.finditer(text))
    for hint, pattern in _OTHER_MARKERS:
        if hint in text:
            found.extend(pattern.finditer(text))
    return sorted(found, key=lambda match: match.start())


MAX_SEARCHED = 48_000
"""Characters; the search runs between replies, on the loop that stamps the deltas of other lanes."""

PromptContains = Callable[[str], bool]


def find_leaks(
    text: str, offered: Container[str], prompt_contains: PromptContains | None = None
) -> tuple[Leak, ...]:
    """What is left of calls in `text`: the first hard leak alone, or else one mention of each family.

    Of a very long text only the end is searched: a call that counts is the last thing a model writes.
    """
    text = text[-MAX_SEARCHED:]
    if not (any(hint in text for hint in _HINTS) or _CALL_FIRST.match(text)) or not _SUSPECT.search(text):
        return ()
    plain, family = plain_tags(text)
    leaks: dict[str, Leak] = {}
    for leak in _candidates(_Searched(plain, offered), offered):
        if prompt_contains and prompt_contains(text[leak.start : leak.end].strip()):
            continue
        shown = _undecorated(leak, text, plain, family) if family else leak
        if leak.hard:
            return (shown,)
        leaks.setdefault(leak.family, shown)
    for lost in lost_of_head(text):
        again = find_leaks(lost + text, offered, prompt_contains)
        if again and again[0].hard:
            return (_behind(again[0], len(lost)),)
    quoted = prompt_contains is not None and prompt_contains(M3_MARK)
    if not leaks and M3_MARK in text and not quoted and M3_MARK in without_code(text):
        return (leak_at("control_token", text, text.index(M3_MARK), hard=False),)
    return tuple(leaks.values())


def _behind(leak: Leak, lost: int) -> Leak:
    """A leak of a text whose first characters were put back, as it stands in the text without them."""
    calls = tuple(call.moved(leak.start - lost) for call in leak.calls) if leak.start < lost else leak.calls
    return replace(
        leak, start=max(leak.start - lost, 0), end=leak.end - lost, text=leak.text[lost:], calls=calls
    )


def _undecorated(leak: Leak, text: str, plain: str, family: str) -> Leak:
    """A leak of the plain text as it stands in the text itself."""
    start = leak.start if text[leak.start] == plain[leak.start] else text.rfind("<", 0, leak.start)
    calls = tuple(
        replace(call, parameters=tuple((key, value.rstrip(" ")) for key, value in call.parameters or ()))
        if call.parameters
        else call
        for call in leak.calls
    )
    family = family if leak.hard and leak.family != "tool_response" else leak.family
    return replace(leak, family=family, text=excerpt_at(text, max(start, 0)), calls=calls)


_SUSPECT = re.compile(
    r"[<\[{✿]|```|\A\s*\w+\(|>>>|to=functions|\"arguments\"|\"parameters\"|Action Input|(?:Tool|Function)\s*:|Code:"
)


_HINTS = (*"<[{✿:", "```", ">>>", "to=functions", '"arguments"', '"parameters"', "Action Input")
_CALL_FIRST = re.compile(r"\s*\w+\(")
"""Found in a hundredth of the time, and without one of them nothing is suspect."""


class _Searched:
    """A text and what is computed once for all its markers: a collapsed reply may hold thousands."""

    __slots__ = ("calls", "markers", "prose_ends", "text", "visible")

    def __init__(self, text: str, offered: Container[str]) -> None:
        self.text = text
        self.visible = without_code(text)
        self.markers = _markers(self.visible)
        self.calls: list[TextCall] = []
        self.prose_ends = 0
        if self.markers:
            line = text.rfind("\n", 0, self.markers[0].start())
            first = text.rfind("\n", 0, max(line, 0)) + 1  # a name may stand above its markup
            self.calls = [call.moved(first) for call in calls_in(text[first:])]
            self.calls = self.calls or list(wrapped_calls(text, offered))
            self.calls = self.calls or list(named_objects(text, self.visible, offered))
            bare = TAG.sub(lambda tag: " " * len(tag.group()), self.visible)
            self.prose_ends = max((word.end() for word in WORDS.finditer(bare)), default=0)

    def before(self, position: int) -> str:
        """What stands before `position` on its line."""
        return self.visible[self.visible.rfind("\n", 0, position) + 1 : position]


def _candidates(searched: _Searched, offered: Container[str]) -> Iterator[Leak]:
    text, visible, markers = searched.text, searched.visible, searched.markers
    if _HEAD_SWALLOWED.match(text):
        yield leak_at("json", text, 0, hard=True)
    for marker in markers if len(markers) <= 2 * _LOOK_AT else markers[:_LOOK_AT] + markers[-_LOOK_AT:]:
        if leak := _hard_leak(searched, marker, offered):
            yield leak
        elif not _of_other_xml(text, marker):
            yield leak_at(marker.lastgroup or "", text, marker.start(), hard=False, end=marker.end())
    if all(map(_closes, markers)):  # no markup, or its head was taken
        ends = markers[0].start() if markers else len(text)
        if (bare := _bare(text[:ends], visible[:ends], offered)) and (bare.hard or not markers):
            yield bare
    for control in islice(_CONTROL.finditer(visible), _LOOK_AT):
        if not _in_a_sentence(visible, control):
            yield leak_at("control_token", text, control.start(), hard=False, end=control.end())


def _of_other_xml(text: str, marker: re.Match[str]) -> bool:
    """Whether a `<parameter name=…>` stands within an element that is no call's, as in a build file."""
    before = text[: marker.start()]
    around = _XML_ENDS.search(text) if marker.group().startswith(("<param", "</param")) else None
    return around is not None and f"<{around['root']}" in before and "invoke" not in before


_XML_ENDS = re.compile(
    r"</(?P<root>(?!(?:\w+:)?(?:invoke|parameter|tool|function))\w[\w:.\-]*)>\s*(?:```\s*)?\Z"
)


def _in_a_sentence(text: str, token: re.Match[str]) -> bool:
    """Whether words go on at both sides of a token: it is talked about."""
    before, after = text[: token.start()][-2:], text[token.end() :][:2]
    return (
        len(before) == len(after) == 2
        and before[0].isalpha()
        and before[1] == after[0] == " "
        and after[1].isalpha()
    )


def _bare(text: str, visible: str, offered: Container[str]) -> Leak | None:
    """As if the control tokens that end the text had been taken out."""
    tokens = _CONTROL_AT_END.search(text, max(len(text) - 200, 0))
    ends = tokens.start() if tokens else len(text)
    return find_bare(text[:ends], visible[:ends], offered)


_LOOK_AT = 50
"""Markers looked at from either end of a text: one full of them has said enough."""


def _hard_leak(searched: _Searched, marker: re.Match[str], offered: Container[str]) -> Leak | None:
    """The marker as the beginning of a call, whole or torn, or as what is left of one; None for a mention."""
    family, start, text = marker.lastgroup or "", marker.start(), searched.text
    before = searched.before(start)
    if family == "tool_response":
        return None if before.strip() else leak_at(family, text, start, hard=True)
    if _of_other_xml(text, marker):
        return None
    closes = _closes(marker)
    follows = not closes and _CALL_FOLLOWS.match(text, marker.end())
    calls = tuple(call for call in searched.calls if call.start >= start or call.without_markup(text, start))
    if closes and not calls:  # the opening tag was taken: `{"name": …}\n</tool_call>`
        calls = tuple(call for call in searched.calls if not text[call.end : start].strip("}] \n"))
    start = min(start, calls[0].start) if calls else start
    if calls and (follows or calls[0].start == start or _NAMES.match(text, start)):
        moved = tuple(call.moved(-start) for call in calls)
        return _call_left(searched, family, start, moved, offered)
    if marker.group() == "<|channel|>" and _TO_NO_TOOL.match(text, marker.end()):
        return leak_at(family, text, start, hard=True, complete=False)
    if marker.group() == "<|channel|>" and not _TO_A_TOOL.match(text, marker.end()):
        return leak_at(
            "control_token", text, start, hard=False
        )  # a channel that holds thoughts or the answer
    named = not closes and (name := _NAME_FOLLOWS.match(text, marker.end())) and name["name"] in offered
    special = marker.group().startswith(("<|", "<｜", "[TOOL_CALLS")) and not before.strip()
    if named or (special and (follows or marker.group() == "<|python_tag|>")):
        headless = marker is searched.markers[0] and marker.group() == "<|tool_call_argument_begin|>"
        return leak_at(family, text, start, hard=True, complete=headless)  # the name was taken with its head
    if closes and f"<{marker.group().strip('</>[]')}" in text[:start]:
        return None  # its opening tag stands there too: XML that somebody wrote
    if closes and _behind_an_answer(searched, offered) and not _in_a_sentence(searched.visible, marker):
        return leak_at("closing_tag", text, start, hard=False)
    last = not closes and marker is searched.markers[-1]
    breaks_off = last and (
        _breaks_off(text[marker.end() :].strip())
        or _TORN_TAG.fullmatch(text, start)
        or (marker.group().endswith("begin|>") and _TORN_NAME.fullmatch(text, marker.end()))
    )
    torn = not before.strip() or _TORN_ATTRIBUTE.fullmatch(text, 0, start)
    rest = not calls and torn and _REST_OF_CALL.fullmatch(text, start)
    behind = searched.visible[:start].rstrip()
    if rest or (
        closes and (_closes_more(behind) or (marker.group() == "</function>" and behind[-1:] == "}"))
    ):
        return leak_at(family, text, start, hard=True)
    if breaks_off or searched.prose_ends <= start - len(before):
        return leak_at(family, text, start, hard=True, complete=closes)
    return None


_CLOSES = re.compile(
    r"</|\[/|\[END_|<end_|<tool_call\|>|<\|(?:/|END_)|<[|｜][^>]*(?:end|End|suffix|\|call)[|｜]>"
)


def _closes(marker: re.Match[str]) -> bool:
    return _CLOSES.match(marker.group()) is not None


_CLOSES_VALUE = re.compile(rf"</(?:\w+:|{_BAR}?DSML{_BAR})?(?:parameter|(?:\w+_)?arg_value)>")
_SENTENCE_ENDS = tuple(".!?:…。！？：)`*")


def _behind_an_answer(searched: _Searched, offered: Container[str]) -> bool:
    """Whether end tags stand behind words that are an answer and not the rest of a call: torn JSON, the name of a
    tool, or the value of the parameter that they end."""
    first = searched.markers[0]
    words = TAG.sub("", searched.visible[: first.start()]).strip()
    if not _CLOSES.match(first.group()) or not words or words[-1] in '}]"':
        return False
    if words.rpartition("\n")[2].strip() in offered:
        return False
    return not _CLOSES_VALUE.match(first.string, first.start()) or words.endswith(_SENTENCE_ENDS)


def _closes_more(words: str) -> bool:
    """Whether the words end as JSON whose head was taken: `mand": "ls"}`."""
    return words.endswith("}") and words.count("{") < words.count("}")


_REST_OF_CALL = re.compile(r"(?:<(?!/)[^<>\n]*param[^<>\n]*>[^<]*+(?:</[^<>\n]+>\s*+)++)++")
"""Parameters and the ends of what held them, whose head a parser took."""
_TORN_ATTRIBUTE = re.compile(r'[\w:]*(?: ?\w*="?)?[\w.\-]*"?>\s*')

_TO_A_TOOL = re.compile(r"[^<>\n]{0,60}\bto=")
_TO_NO_TOOL = re.compile(r'commentary(?:\s*<\|constrain\|>)?(?:\s*json)?\s*<\|message\|>\s*\{\s*"')
"""Arguments, but of which tool?"""
_NAME_FOLLOWS = re.compile(r"\s*+(?:functions\.)?(?P<name>[A-Za-z_][\w\-]*+)\s*+(?=[<\[{(:\n`]|\Z)")


def _call_left(
    searched: _Searched, family: str, start: int, calls: tuple[TextCall, ...], offered: Container[str]
) -> Leak | None:
    text, before = searched.text, searched.before(start)
    ends = max(searched.markers[-1].end(), start + calls[-1].end)
    if _is_example(before, searched.visible[ends:], calls, offered):
        return None
    if any(marker.lastgroup == "tool_response" for marker in searched.markers):
        family = "tool_response"
    complete = all(call.intact for call in calls)
    closing = _CLOSING.match(text, start + calls[0].end)
    end = closing.end() if closing else start + calls[0].end
    return leak_at(family, text, start, hard=True, end=end, calls=calls, complete=complete)


def _is_example(before: str, after: str, calls: tuple[TextCall, ...], offered: Container[str]) -> bool:
    """Whether a call is shown rather than made: in the middle of a sentence, or of a tool that there is not, with
    text going on behind it."""
    if WORDS.search(before) and is_sentence(after.partition("\n")[0]):
        return True
    known = any(call.name in offered or call.name.rpartition(".")[2] in offered for call in calls)
    return not known and is_sentence(after)


_CLOSING = re.compile(r"(?:[\s})\]]|</[^<>\n]{1,60}>|<[|｜][^<>\n]{1,60}>|\[/\w{1,40}\]|```)*")
_CALL_FOLLOWS = re.compile(
    r"\s*(?:[{\[]|<\w*:?(?:function|invoke|tool_call)|<[|｜]|call:|functions\.|[A-Za-z_][\w.\-]*\s*(?:<|\{|\[|\())"
)
_NAMES = re.compile(
    r"<function|<tool_call\s|✿FUNCTION|<(?:\w+:)?(?:invoke|parameter)|<[|｜]DSML|to=|>>>|functools|<[|｜]tool"
)


def _breaks_off(tail: str) -> bool:
    """Whether the text ends inside a call that a marker has just begun: `<tool_call>\\n{"name": "`."""
    return not tail or (tail[0] in "{[" and is_beginning(tail)) or bool(_TORN_TAG.fullmatch(tail))


_TORN_TAG = re.compile(r"<[^<>]{0,200}")
_TORN_NAME = re.compile(r"[\w.:\-]{1,128}")


def ends_in_calls(text: str, leak: Leak) -> bool:
    """Whether nothing that a person would read stands behind the last call of the leak."""
    text = text[-MAX_SEARCHED:]
    behind = text[leak.start + leak.calls[-1].end :] if leak.calls else ""
    return bool(leak.calls) and not WORDS.search(TAG.sub("", behind))


def strip_control(text: str) -> str:
    """The text without control tokens of chat templates and without white space around it."""
    return _CONTROL.sub("", text).strip()
