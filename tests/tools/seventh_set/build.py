"""Requests and responses of the seventh set: three wires, streamed or not, cut into tokens as engines cut them."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]
FORMS = [
    ("chat", True),
    ("messages", True),
    ("responses", False),
    ("chat", False),
    ("responses", True),
    ("messages", False),
]
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}


def tool(name: str, required: str = "", /, closed: bool = False, **properties: Json) -> Json:
    schema: Json = {"type": "object", "properties": properties}
    schema |= {"required": required.split()} if required else {}
    schema |= {"additionalProperties": False} if closed else {}
    return {"name": name, "description": f"Runs {name}.", "parameters": schema}


CHANGE = {
    "type": "object",
    "properties": {"find": TEXT, "replace": TEXT, "count": {"type": "integer", "minimum": 1}},
    "required": ["find", "replace"],
    "additionalProperties": False,
}
TASK = {
    "type": "object",
    "properties": {"id": TEXT, "text": TEXT, "status": {"type": "string", "enum": ["open", "doing", "done"]}},
    "required": ["text", "status"],
}
TOOLS: list[Json] = [
    tool("shell", "cmd", cmd=TEXT, cwd=TEXT, timeout_ms={"type": "integer", "minimum": 1, "maximum": 600000}),
    tool("open_file", "path", path=TEXT, start_line={"type": "integer", "minimum": 1}, end_line=WHOLE),
    tool("apply_edit", "path edits", path=TEXT, edits={"type": "array", "items": CHANGE, "minItems": 1}),
    tool("grep", "pattern", pattern=TEXT, glob=TEXT, case_sensitive={"type": "boolean"}, context=WHOLE),
    tool("todo_write", "todos", todos={"type": "array", "items": TASK}),
    tool(
        "fetch_url",
        "url",
        url={"type": "string", "format": "uri"},
        method={"type": "string", "enum": ["GET", "POST", "HEAD"]},
        headers={"type": "object", "additionalProperties": TEXT},
    ),
    tool("submit"),
    tool(
        "mcp__db__query",
        "sql",
        closed=True,
        sql={"type": "string", "minLength": 1},
        params={"type": "array"},
        limit={"type": "integer", "minimum": 1, "maximum": 1000},
    ),
    tool("remind", "due", due={"type": "string", "format": "date-time"}, note={"type": ["string", "null"]}),
]


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str
    id: str | None = "auto"

    @property
    def value(self) -> object:
        return json.loads(self.arguments) if self.arguments else {}


def call(name: str, arguments: object = None, **given: Any) -> Call:
    """A call; text stays as it is, anything else is written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return Call(name, text, **given)


@dataclass(frozen=True)
class Case:
    """One exchange and its label: the words of `want` must be found (`a|b`: one of them), those of `may` can be."""

    name: str
    want: str = ""
    may: str = ""
    usable: bool | None = True
    wire: str = ""
    streamed: bool | None = None
    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    spent: int = 0
    limit: int = 4096
    user: str = "Please look after the repository."
    tools: list[Json] | None = field(default_factory=lambda: TOOLS)
    choice: str = ""
    parallel: bool = True
    schema: Json | None = None
    asked: Json = field(default_factory=dict)
    added: Json = field(default_factory=dict)
    raw: str | list[Any] = ""
    pair: "Case | None" = None

    def mistake(self, verdict: Json) -> str | None:
        """Return what is judged otherwise than labelled."""
        found = {f"{fault['class']}:{fault['blame']}" for fault in verdict["faults"]}
        wanted = [set(each.split("|")) for each in self.want.split()]
        allowed = set(self.may.replace("|", " ").split()).union(*wanted)
        if (
            all(found & each for each in wanted)
            and found <= allowed
            and self.usable in (None, verdict["usable"])
        ):
            return None
        return f"{self.name} ({self.wire}{' stream' if self.streamed else ''}): want {self.want!r}, got {sorted(found)}, usable {verdict['usable']}; {[f['message'] for f in verdict['faults']]}"


def case(name: str, want: str = "", **fields: Any) -> Case:
    """A case; words after a `~` in `want` are warnings, which leave the turn usable."""
    fatal = [word for word in want.split() if not word.startswith("~")]
    calls = fields.pop("calls", ())
    calls = (calls,) if isinstance(calls, Call) else tuple(calls)
    fields.setdefault("usable", not fatal)
    return Case(name, want.replace("~", ""), calls=calls, **fields)


def place(cases: list[Case]) -> list[Case]:
    """Put each case on the next of the six forms; on Messages, arguments that do not parse need a stream."""
    placed = []
    for number, each in enumerate(cases):
        wire, streamed = FORMS[number % 6]
        wire, streamed = each.wire or wire, streamed if each.streamed is None else each.streamed
        if wire == "messages" and not all(_parses(one) for one in each.calls):
            streamed = True
        done = replace(each, wire=wire, streamed=streamed)
        if each.pair:
            done = replace(done, pair=replace(each.pair, wire=wire, streamed=not streamed))
        placed.append(done)
    return placed


def _parses(one: Call) -> bool:
    try:
        return isinstance(one.value, dict)
    except ValueError:
        return False


def request_of(each: Case) -> Json:
    body: Json = {"model": "m", "stream": bool(each.streamed)}
    return body | getattr(_Requests, each.wire)(each) | each.asked


class _Requests:
    @staticmethod
    def chat(each: Case) -> Json:
        body: Json = {
            "messages": [{"role": "system", "content": "You code."}, {"role": "user", "content": each.user}]
        }
        body["max_tokens"] = each.limit
        if each.tools:
            body["tools"] = [{"type": "function", "function": one} for one in each.tools]
        if each.choice in ("auto", "none", "required"):
            body["tool_choice"] = each.choice
        elif each.choice:
            body["tool_choice"] = {"type": "function", "function": {"name": each.choice}}
        if not each.parallel:
            body["parallel_tool_calls"] = False
        if each.schema:
            named = {"name": "answer", "schema": each.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    @staticmethod
    def messages(each: Case) -> Json:
        body: Json = {"system": "You code.", "messages": [{"role": "user", "content": each.user}]}
        body["max_tokens"] = each.limit
        if each.tools:
            body["tools"] = [
                {
                    "name": one["name"],
                    "description": one.get("description", ""),
                    "input_schema": one["parameters"],
                }
                for one in each.tools
            ]
        kinds = {"auto": "auto", "none": "none", "required": "any"}
        if each.choice:
            chosen = (
                {"type": kinds[each.choice]}
                if each.choice in kinds
                else {"type": "tool", "name": each.choice}
            )
            body["tool_choice"] = chosen
        if not each.parallel:
            body["tool_choice"] = (
                {"type": "auto"} | body.get("tool_choice", {}) | {"disable_parallel_tool_use": True}
            )
        if each.schema:
            body["output_config"] = {"format": {"type": "json_schema", "schema": each.schema}}
        return body

    @staticmethod
    def responses(each: Case) -> Json:
        body: Json = {"instructions": "You code.", "input": [{"role": "user", "content": each.user}]}
        body["max_output_tokens"] = each.limit
        if each.tools:
            body["tools"] = [{"type": "function"} | one for one in each.tools]
        if each.choice in ("auto", "none", "required"):
            body["tool_choice"] = each.choice
        elif each.choice:
            body["tool_choice"] = {"type": "function", "name": each.choice}
        if not each.parallel:
            body["parallel_tool_calls"] = False
        if each.schema:
            body["text"] = {
                "format": {"type": "json_schema", "name": "answer", "schema": each.schema, "strict": True}
            }
        return body


def response_of(each: Case) -> bytes:
    if isinstance(each.raw, list):
        return sse(each.raw, each.wire)
    if each.raw:
        return each.raw.encode()
    from tests.tools.seventh_set import wires

    if each.streamed:
        return sse(wires.EVENTS[each.wire](each), each.wire)
    return json.dumps(wires.BODIES[each.wire](each) | each.added, ensure_ascii=False).encode()


def sse(events: list[Any], wire: str) -> bytes:
    """Write events; text stands as it is, `[DONE]` is written by who wants it."""
    lines = []
    for event in events:
        if isinstance(event, str):
            lines.append(event if event.startswith((":", "event:", "data:", "retry:")) else f"data: {event}")
            continue
        head = f"event: {event['type']}\n" if wire != "chat" and "type" in event else ""
        lines.append(f"{head}data: {json.dumps(event, ensure_ascii=len(lines) % 2 == 0)}")
    return "".join(f"{line}\n\n" for line in lines).encode()


def pieces(text: str) -> Iterator[str]:
    """Cut text as tokens fall: words, single signs, sometimes several at once, also inside an escape (`\\` | `n`)."""
    draw = random.Random(text)
    tokens = re.findall(r"\\|u[0-9a-f]{2}|\s*\w{1,6}|\s+|[^\w\s]{1,3}?", text)
    if "".join(tokens) != text:
        tokens = list(text)
    while tokens:
        count = draw.choice([1, 1, 1, 2, 3])
        yield "".join(tokens[:count])
        tokens = tokens[count:]
