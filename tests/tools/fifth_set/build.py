"""The tools of the fifth set, and how its cases are placed on the three wires."""

import json
from dataclasses import replace
from typing import Any

from tests.tools.fourth_set import build
from tests.tools.fourth_set.build import FLAG, INTEGER, STRING, WIRES, Call, Case, Json, tool

ROOM = {"type": "object", "properties": {"name": STRING, "floor": INTEGER}, "required": ["name"]}
EVENT = {
    "type": "object",
    "properties": {
        "title": STRING,
        "start": {"type": "string", "format": "date-time"},
        "attendees": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "email": {"type": "string", "format": "email"},
                    "role": {"enum": ["host", "guest"]},
                },
                "required": ["email"],
                "additionalProperties": False,
            },
        },
        "repeat": {"anyOf": [{"enum": ["daily", "weekly"]}, {"type": "null"}]},
        "room": {"$ref": "#/$defs/room"},
    },
    "required": ["title", "start"],
    "$defs": {"room": ROOM},
}
TOOLS: list[Json] = [
    tool(
        "shell",
        "cmd",
        cmd=STRING,
        cwd=STRING,
        timeout_ms={"type": "integer", "minimum": 0},
        env={"type": "object", "additionalProperties": STRING},
    ),
    tool("open_file", "path", path=STRING, line=INTEGER),
    tool(
        "grep",
        "pattern",
        pattern=STRING,
        paths={"type": "array", "items": STRING},
        ignore_case=FLAG,
        context={"type": "integer", "minimum": 0, "maximum": 20},
    ),
    {
        "type": "function",
        "function": {"name": "make_event", "description": "Add an event.", "parameters": EVENT},
    },
    tool(
        "set_level",
        "channel level",
        strict=True,
        channel={"enum": ["a", "b", "c"]},
        level={"type": "number", "maximum": 1},
    ),
    tool("whoami"),
    tool(
        "mcp__github__create_issue",
        "title",
        title=STRING,
        body=STRING,
        labels={"type": "array", "items": STRING},
    ),
    tool("notes.add", "text", text=STRING, pinned={"type": ["boolean", "null"]}),
    tool("lookup", "key", key={"type": ["string", "integer"]}, tag={"type": "string", "nullable": True}),
]


def case(name: str, want: str = "", **fields: Any) -> Case:
    """Return a case with the tools of this set, unless it names others."""
    fields["asked"] = {"tools": TOOLS} | fields.get("asked", {})
    return build.case(name, want, **fields)


def called(name: str, want: str, tool_name: str, arguments: str, **more: Any) -> Case:
    """Return a case of one delivered call."""
    return case(name, want, calls=(Call(tool_name, arguments),), **more)


def _parses(text: str) -> bool:
    """Whether the arguments can stand in a body as an object, and come out of it as they were."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)
        return isinstance(value, dict) and bool(json.dumps(value, ensure_ascii=False).encode())
    except ValueError:
        return False


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def place(cases: list[Case]) -> list[Case]:
    """Return the cases on the next of the six forms; arguments that are no object need a stream on Messages."""
    placed = []
    for number, each in enumerate(cases):
        wire = each.wire or WIRES[number % 6]
        streamed = number % 2 == 0 if each.streamed is None else each.streamed
        if wire == "messages" and not all(_parses(call.arguments) for call in each.calls):
            streamed = True
        placed.append(replace(each, wire=wire, streamed=streamed))
    return placed
