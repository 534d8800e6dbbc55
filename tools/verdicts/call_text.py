"""Calls as models write them: the name and the arguments in the text syntax of every common parser family.

This reads; it is never used to let a call pass. What it finds tells whether leftover markup is a call, and what the
model really wrote where an engine delivered something else.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from replayer.lazy import dataclass
from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.wire.types import Json, JsonObject


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call in text. Its arguments stand in one of three forms; a call without any has none of them."""

    name: str
    start: int
    end: int
    arguments: str | None = None
    """The text of a JSON object, whole or torn."""
    parameters: tuple[tuple[str, str], ...] | None = None
    """Names and texts of parameters that are written one by one, without types."""
    code: str | None = None
    """What stands between the brackets of `f(x=1)`."""
    closed: bool = True
    """False where the text ends inside the call."""

    def without_markup(self, text: str, marker: int) -> bool:
        """Whether the call begins with its bare name and `marker` is the first of its markup."""
        before = text[self.start : marker].partition("{")[0].strip()
        return self.start < marker < self.end and bare_name(before) == self.name

    def moved(self, by: int) -> TextCall:
        """The same call at another offset."""
        return replace(self, start=self.start + by, end=self.end + by)

    @property
    def value(self) -> object:
        """The arguments' value, texts where the syntax has no types; None where they cannot be read."""
        if self.arguments is not None:
            return _json_value(self.arguments)
        if self.code is not None:
            return keywords_of(self.code)
        return dict(self.parameters or ())

    @property
    def intact(self) -> bool:
        """Whether the arguments are written completely, as far as the syntax lets one tell."""
        return self.closed and self.value is not None


def _json_value(text: str) -> object:
    """The value of JSON, or of JSON inside a JSON string, as OpenAI's messages have it."""
    try:
        value = parse(text)
        return parse(value) if isinstance(value, str) else value
    except NotJson:
        return None


def keywords_of(code: str) -> JsonObject | None:
    """The arguments of Python's `x=1, y="a"`; None for anything else."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that are not Python's
            call = ast.parse(f"f({code})", mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(keyword.arg for keyword in call.keywords):
            return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    return None


def bare_name(name: str) -> str:
    """The name without the namespace and number that a family puts around it."""
    return name.removeprefix("functions.").partition(":")[0]


MAX_CALLS = 64
"""A text full of calls has said enough; a model that collapses writes thousands."""

MAX_UNCLOSED = 20_000
"""Characters of a call without an end tag that are read for its parameters."""

_NAME = r"[A-Za-z_][\w.\-:/]{0,127}"
REACT_NAME = "(?:Action|Tool|Function)"
REACT_INPUT = "(?:Action Input|Tool Input|Arguments|Parameters|Input)"
_WHERE_NAMES_STAND = re.compile(
    "|".join(
        (
            rf'"(?:name|tool_name|recipient_name|function)"\s*:\s*"(?P<json>{_NAME})"',
            rf"'name'\s*:\s*'(?P<python>{_NAME})'",  # the object as Python prints it
            rf'"(?:tool|action)"\s*:\s*"(?P<action>{_NAME})"(?=\s*,\s*"(?:args|arguments|parameters|input|(?:action|tool)_input)")',
            rf"<function\s*(?:\sname\s*)?=\s*[\"']?(?P<function>{_NAME})[\"']?\s*>",  # qwen3-coder, functionary 3.1, llama
            rf"<(?:\w+:|[|｜]?DSML[|｜])?invoke\s+name\s*=\s*[\"'](?P<invoke>{_NAME})[\"']\s*+(?:>|\Z)",  # minimax, DSML
            rf"<tool_call\s+name\s*=\s*[\"'](?P<attribute>{_NAME})[\"']\s*>(?!\s*\{{\s*\"name\")",
            rf"✿FUNCTION✿:\s*(?P<qwen>{_NAME})(?:\s*✿ARGS✿:|\s*?\n)",
            rf"<(?:\w+_)?tool_call>\s*(?P<glm>{_NAME})\s*(?=<(?:\w+_)?arg_key>|</(?:\w+_)?tool_call>|<parameter[\s=])",
            rf"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<kimi>{_NAME}?)(?::\d+)?\s*(?=<\|tool_call_argument_begin)",
            rf"^[ \t]*+(?:functions\.)?(?P<kimi_bare>{_NAME}?):\d+\s*(?=<\|tool_call_argument_begin)",
            rf"[▁_]sep[|｜]>\s*(?P<deepseek3>{_NAME})\s*(?=\n|```)",
            rf"[▁_]begin[|｜]>\s*(?!function<)(?P<deepseek31>{_NAME})\s*(?=<[|｜]tool[▁_]sep)",
            rf"\[TOOL_CALLS\]\s*(?P<mistral>{_NAME})\s*(?=\[CALL_ID\]|\[ARGS\]|\{{)",
            rf'tools_prefix\|>\s*\[?\s*\{{\s*"(?P<apertus>{_NAME})"\s*:\s*(?=\{{)',
            rf"\btool\s*=>\s*\"(?P<arrow>{_NAME})\"",  # minimax m2, quantised
            rf"(?P<inkling>{_NAME})(?=<\|content_invoke_tool_json\|>)",
            rf"<\|tool_call:name\|>\s*(?P<solar>{_NAME})",
            rf"\bcall:(?P<gemma>{_NAME})\s*(?=\{{)",
            rf"\bto=\s*(?:functions\.|(?={_NAME}\s*(?:<\||json\b|\{{)))(?P<harmony>{_NAME}?)(?:commentary|analysis)?(?=[^\w.\-:/]|\Z)",
            rf"^>>>\s*(?P<functionary>{_NAME})\s*\n",
            rf"(?:(?<=\[)|(?<=function_calls>)|(?<=python_start\|>)|(?<=python_tag\|>))\s*(?P<pythonic>{_NAME}?)(?:\.call)?\(",
            rf"(?P<args>{_NAME})(?:\[CALL_ID\][\w\-]*)?\[ARGS\](?=\s*\{{)",  # mistral without its first token
            rf"^[ \t]*+(?P<loose>{_NAME})\s*(?=<(?:\w+_)?arg_key>|<parameter[\s=])",  # glm and qwen without theirs
            rf"^[ \t]*+{REACT_NAME}[ \t]*+:[ \t]*+(?P<react>{_NAME})\s*+{REACT_INPUT}\s*+:",
        )
    ),
    re.MULTILINE,
)
_ARGUMENTS_KEY = re.compile(r"[\"'](?:arguments|parameters|args|input|(?:action|tool)_input)[\"']\s*:\s*")
_BEFORE_OBJECT = re.compile(
    r"(?:\s|<[|｜][^|｜>\n]{1,40}[|｜]>|\[CALL_ID\][\w-]*|\[ARGS\]|```(?:json)?|\b(?:json|code|commentary)\b|:|>)*"
)
_PARAMETER = re.compile(
    r"<parameter\s*=\s*(?P<key>[^>\s]{1,128})\s*>(?P<value>.*?)(?=</parameter>|<parameter|</function>|\Z)"
    r"|<(?:\w+:|[|｜]?DSML[|｜])?param(?:eter)?\s+name\s*=\s*[\"'](?P<key2>[^\"'>]{1,128})[\"'][^>]{0,64}>"
    r"(?P<value2>.*?)(?=</(?:\w+:|[|｜]?DSML[|｜])?param(?:eter)?>|\Z)"
    r"|<(?:\w+_)?arg_key>(?P<key3>[^<]{1,128})</(?:\w+_)?arg_key>\s*"
    r"<(?:\w+_)?arg_value>(?P<value3>.*?)(?=</(?:\w+_)?arg_value>|\Z)",
    re.DOTALL,
)
_OBJECT_ENDS = re.compile(r"\s*\}")
_NEXT_KEY = re.compile(r"\s*,\s*")
_TAGGED_END = re.compile(r"</function>|</(?:\w+:|[|｜]?DSML[|｜])?invoke>|</(?:\w+_)?tool_call>")
_JSON = ("json", "python", "action")
_TAGGED = ("function", "invoke", "glm", "loose")


def calls_in(text: str) -> Iterator[TextCall]:
    """Every call written in `text`, in order. The text should begin at call markup: prose holds many `name(`."""
    covered, found = 0, 0
    for match in _WHERE_NAMES_STAND.finditer(text):
        if match.start() >= covered and (call := _call_at(text, match)):
            covered = call.end
            yield call
            found += 1
            if found == MAX_CALLS:
                return


def names_in(text: str) -> Iterator[str]:
    """Every name that stands where a call's would."""
    return (match[match.lastgroup or 0] for match in _WHERE_NAMES_STAND.finditer(text))


def _call_at(text: str, match: re.Match[str]) -> TextCall | None:
    family = match.lastgroup or ""
    name, start, end = match.group(family), *match.span()
    if family == "args" and text[start - 1 : start] not in ("", "\n"):  # behind a sentence: `disk.Bash[ARGS]`
        name = name.rpartition(".")[2]
        start = match.end(family) - len(name)
    if family in _JSON:
        beside = _arguments_beside(text, match)
        if beside is not None:
            call = _with_object(name, start, end, text, beside)
            return call if family == "python" or _whole_around(text, start) else replace(call, closed=False)
        return TextCall(name, start, end) if _OBJECT_ENDS.match(text, end) else None
    if family == "pythonic":
        return python_call(text, name, start, end)
    if text.startswith("{", position := _skip(text, end)) and (
        family != "gemma" or _STARTS_JSON.match(text, position)
    ):
        call = _with_object(name, start, end, text, position)
        whole = family != "apertus" or _OBJECT_ENDS.match(text, call.end)  # the object that holds the name
        return call if whole else replace(call, closed=False)
    if family == "gemma":
        return _gemma_call(text, name, start, end)
    if family == "arrow":
        stop = text.find("[/TOOL_CALL]", end)
        options = _OPTION.findall(text, end, stop if stop >= 0 else end + MAX_UNCLOSED)
        pairs = tuple((key, quoted or bare) for key, quoted, bare in options)
        return TextCall(name, start, max(stop, end), parameters=pairs, closed=stop >= 0)
    if family in _TAGGED:
        closing = _TAGGED_END.search(text, end)
        written = text[end : closing.start() if closing else end + MAX_UNCLOSED]
        parameters = tuple(parameters_in(written)) or children_in(written)
        closed = closing is not None or written.rstrip().endswith(_PARAMETER_ENDS)
        stop = end + (len(written) if parameters else 0)
        return TextCall(name, start, stop, parameters=parameters, closed=closed)
    return TextCall(name, start, end, closed=False)


_OPTION = re.compile(r'--([\w\-]+)\s+(?:"((?:[^"\\]|\\.)*)"|(\S+))')


def _whole_around(text: str, position: int) -> bool:
    """Whether the object that holds a name is JSON, without a brace too many before its end tag."""
    opening = position
    for _ in range(_MOST_BRACKETS):
        opening = text.rfind("{", 0, opening)
        if opening < 0:
            return position == 0 or "{" not in text[:position]
        with suppress(ValueError, RecursionError):
            if (end := _DECODER.raw_decode(text, opening)[1]) > position:
                return "{" in text[:opening] or not _BRACE_TOO_MANY.match(text, end)
    return False


_BRACE_TOO_MANY = re.compile(r"\s*\}\s*</")


_STARTS_JSON = re.compile(r'\{\s*"')
_PARAMETER_ENDS = ("</parameter>", "</arg_value>", "</｜DSML｜parameter>")
_MOST_BRACKETS = 40


def python_call(text: str, name: str, start: int, opened: int) -> TextCall:
    """`f(x=1)`, where `opened` is behind the bracket; its end is the first bracket that makes it Python."""
    found = opened
    for _ in range(_MOST_BRACKETS):
        found = text.find(")", found) + 1
        if not found:
            break
        if keywords_of(text[opened : found - 1]) is not None:
            return TextCall(name, start, found, code=text[opened : found - 1])
    return TextCall(name, start, len(text), code=text[opened : opened + MAX_UNCLOSED], closed=False)


def _gemma_call(text: str, name: str, start: int, end: int) -> TextCall:
    """`call:f{x:"a",y:1}`, its strings between tokens of their own, or bare where those are lost."""
    written = _GEMMA_END.search(text, end)
    body = text[end + 1 : written.start() if written else end + MAX_UNCLOSED]
    stop = written.end() if written else len(text)
    if (
        written
        and _GEMMA_QUOTE.search(body)
        and _json_value(as_json := _gemma_json(f"{{{body}}}")) is not None
    ):
        return TextCall(name, start, stop, as_json)
    pairs = tuple(
        (m["key"], next(filter(None, m.group("a", "b", "c")), "")) for m in _GEMMA_PAIR.finditer(body)
    )
    return TextCall(name, start, stop, parameters=pairs, closed=written is not None)


_GEMMA_QUOTE = re.compile(r"<\|\"\|>|<escape>")


def _gemma_json(written: str) -> str:
    """An object of Gemma's as JSON: its strings stand between tokens, its keys are bare."""
    pieces = _GEMMA_QUOTE.split(written)
    pieces[1::2] = [json.dumps(text, ensure_ascii=False) for text in pieces[1::2]]
    pieces[::2] = [re.sub(r"([{,]\s*)(\w+)(?=\s*:)", r'\1"\2"', text) for text in pieces[::2]]
    return "".join(pieces)


_GEMMA_END = re.compile(r"\}(?=\s*(?:\Z|<(?!\|\"\||escape)|call:))")
_GEMMA_PAIR = re.compile(
    r'(?P<key>\w+)\s*:\s*(?:<\|"\|>(?P<a>.*?)<\|"\|>|<escape>(?P<b>.*?)<escape>|(?P<c>.*?))\s*(?:,(?=\s*\w+:)|\Z)',
    re.DOTALL,
)


def _with_object(name: str, start: int, end: int, text: str, position: int) -> TextCall:
    arguments = json_text_at(text, position)
    return TextCall(name, start, max(end, position + len(arguments)), arguments)


@lru_cache(maxsize=2)
def _argument_keys(text: str) -> list[int]:
    """Where the values of all keys that hold arguments begin; a list of records has thousands of names."""
    return [key.end() for key in _ARGUMENTS_KEY.finditer(text)]


def _arguments_beside(text: str, match: re.Match[str]) -> int | None:
    """Where the arguments of `"name": "X"` begin: in the same object, after the name or before it."""
    following = _NEXT_KEY.match(text, match.end())
    if following and (key := _ARGUMENTS_KEY.match(text, following.end())):
        return key.end()
    keys = _argument_keys(text)
    last = bisect_right(keys, match.start())
    for begins in reversed(keys[max(last - MAX_CALLS, 0) : last]):
        if text[begins + len(json_text_at(text, begins)) : match.start()].strip() == ",":
            return begins
    return None


def parameters_in(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of parameters that are written one tag each."""
    for match in _PARAMETER.finditer(text):
        key = match.group("key") or match.group("key2") or match.group("key3")
        value = next((v for v in match.group("value", "value2", "value3") if v is not None), "")
        yield key.strip(), value.removeprefix("<![CDATA[").removesuffix("]]>").strip("\n")


_CONTAINERS = re.compile(r"</?(?:arguments|parameters|params|args|input|tool_input)>")
_CHILD = re.compile(r"<(?P<key>\w[\w\-]{0,127})>")
_NOT_ARGUMENTS = frozenset({"name", "tool_name", "tool", "function", "function_name", "server_name", "id"})


def children_in(text: str) -> tuple[tuple[str, str], ...]:
    """The tags in `text` with what stands in each; those that only group others are looked through."""
    text = _CONTAINERS.sub("", text)
    found: list[tuple[str, str]] = []
    unclosed: set[str] = set()
    covered = 0
    for opened in _CHILD.finditer(text):
        key = opened["key"]
        if opened.start() < covered or key in unclosed or len(found) == MAX_CALLS:
            continue
        end = text.find(f"</{key}>", opened.end())
        if end < 0:
            unclosed.add(key)
            continue
        covered = end
        if key not in _NOT_ARGUMENTS:
            found.append((key, text[opened.end() : end].strip("\n")))
    return tuple(found)


def structure_in(text: str) -> Json:
    """A list or an object whose parts are tags, as MiniMax M3 writes them; else the text itself."""
    items = _ITEM.findall(text) if text.lstrip().startswith("<item>") else []
    return items or {key: value.rstrip(" ") for key, value in children_in(text)} or text


_ITEM = re.compile(r"<item>(.*?) *</item>", re.DOTALL)


def is_open(text: str) -> bool:
    """Whether the text ends within a tag of its own: a brace there is a parameter's."""
    bare = _CONTAINERS.sub("", text)
    return any(
        f"</{tag['key']}>" not in bare[tag.end() :] for tag in islice(_CHILD.finditer(bare), MAX_CALLS)
    )


def _skip(text: str, position: int) -> int:
    match = _BEFORE_OBJECT.match(text, position)
    return match.end() if match else position


_DECODER = json.JSONDecoder()


def json_text_at(text: str, position: int) -> str:
    """The text of the JSON value that begins at `position`, or of what should have been one."""
    try:
        _, stop = _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return _torn(text[position:])
    return text[position:stop]


_CALL_GOES_ON = re.compile(r"\s*(?:</\w|<[|｜]\w|\[/\w)")


def _torn(text: str) -> str:
    """A damaged object, up to where the markup of its call goes on."""
    closing = _CALL_GOES_ON.search(text)
    return (text[: closing.start()] if closing else text).rstrip()
