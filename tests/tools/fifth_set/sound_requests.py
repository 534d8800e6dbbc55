"""Sound answers to requests that asked for something."""

import json

from tests.tools.fifth_set.build import Call, Case, case
from tests.tools.fifth_set.promises import FLAT, FORMAT, GOOD, OBJECT
from tests.tools.fifth_set.wires import CHAT, LS
from tests.tools.fourth_set.build import tool

HIST = [
    {"role": "user", "content": "Where am I?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_00ab77", "type": "function", "function": {"name": "whoami", "arguments": "{}"}}
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "call_00ab77",
        "content": "root\nr\ufffdsum\ufffd.md\n<tool_call> is in the file",
    },
]
FORCED = {"type": "function", "function": {"name": "shell"}}
CASES: list[Case] = [
    case("kept, none and words", content="Two files.", asked={"tool_choice": "none"}, **CHAT),
    case("kept, required and a call", calls=(Call("shell", LS),), asked={"tool_choice": "required"}, **CHAT),
    case(
        "kept, required, says stop",
        may="finish_contradicts:engine",
        calls=(Call("shell", LS),),
        asked={"tool_choice": "required"},
        finish="stop",
        **CHAT,
    ),
    case(
        "kept, named, says stop",
        calls=(Call("shell", LS),),
        asked={"tool_choice": FORCED},
        finish="stop",
        **CHAT,
    ),
    case(
        "kept, named on messages",
        calls=(Call("shell", LS),),
        asked={"tool_choice": {"type": "tool", "name": "shell"}},
        wire="messages",
    ),
    case(
        "kept, any on messages",
        calls=(Call("whoami", "{}"),),
        asked={"tool_choice": {"type": "any"}},
        wire="messages",
    ),
    case(
        "kept, named on responses",
        calls=(Call("shell", LS),),
        asked={"tool_choice": {"type": "function", "name": "shell"}},
        wire="responses",
    ),
    case(
        "kept, allowed one",
        calls=(Call("whoami", "{}"),),
        asked={
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "whoami"}}],
                },
            }
        },
        **CHAT,
    ),
    case("kept, one at a time", calls=(Call("shell", LS),), asked={"parallel_tool_calls": False}, **CHAT),
    case(
        "kept, parallel allowed",
        calls=(Call("shell", LS), Call("whoami", "{}")),
        asked={"parallel_tool_calls": True},
        **CHAT,
    ),
    case("kept, promise kept", content=GOOD, asked=FORMAT, **CHAT),
    case(
        "kept, promise kept, pretty",
        content=json.dumps({"name": "ü", "tags": [], "size": 4}, indent=2) + "\n",
        asked=FORMAT,
        **CHAT,
    ),
    case("kept, object kept", content='  {"a": [1, 2]}', asked=OBJECT, **CHAT),
    case("kept, promise kept on responses", content=GOOD, asked=FLAT, wire="responses"),
    case("kept, promise kept after thoughts", reasoning="It is small.", content=GOOD, asked=FORMAT, **CHAT),
    case(
        "kept, promise and a call",
        calls=(Call("shell", LS),),
        asked={"response_format": FORMAT["response_format"]},
        **CHAT,
    ),
    case(
        "kept, plain text",
        content="Rome.",
        asked={"response_format": {"type": "text"}, "tools": None},
        **CHAT,
    ),
    case(
        "kept, stop sequence",
        content="Thought: I look.\nAction: look around",
        asked={"stop": ["Observation:"], "tools": None},
        **CHAT,
    ),
    case("kept, no tools", content="Paris.", asked={"tools": None}),
    case(
        "kept, no tools, speaks of json",
        content='{"name": "shell", "arguments": {"cmd": "ls"}}',
        asked={"tools": None, "response_format": {"type": "json_object"}},
        **CHAT,
    ),
    case("kept, right below the limit", content="Done.", spent=95, asked={"max_tokens": 96}),
    case(
        "kept, history with damage",
        content="The file r\ufffdsum\ufffd.md holds the tag.",
        asked={"messages": HIST},
        **CHAT,
    ),
    case(
        "kept, quotes the prompt",
        content='You wrote <tool_call>{"name": "shell", "arguments": {"cmd": "ls"}}</tool_call>, and that is right.',
        user='Is <tool_call>{"name": "shell", "arguments": {"cmd": "ls"}}</tool_call> right?',
    ),
    case(
        "kept, to write the tag",
        content="<tool_call>",
        user="Print the opening tag that Qwen uses: <tool_call>",
    ),
    case(
        "kept, tool without a schema",
        calls=(Call("ping", "{}"),),
        asked={"tools": [{"type": "function", "function": {"name": "ping", "parameters": {}}}]},
        **CHAT,
    ),
    case(
        "kept, tool that takes anything",
        calls=(Call("any", '{"a": [1]}'),),
        asked={
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "any",
                        "parameters": {"type": "object", "additionalProperties": True},
                    },
                }
            ]
        },
    ),
    case(
        "kept, const and default",
        calls=(Call("pick", '{"kind": "x"}'),),
        asked={"tools": [tool("pick", "kind", kind={"const": "x"}, n={"type": "integer", "default": 3})]},
    ),
    case(
        "kept, one of",
        calls=(Call("pick", '{"at": {"line": 3}}'),),
        asked={
            "tools": [
                tool(
                    "pick",
                    "at",
                    at={
                        "oneOf": [
                            {
                                "type": "object",
                                "properties": {"line": {"type": "integer"}},
                                "required": ["line"],
                            },
                            {"type": "string"},
                        ]
                    },
                )
            ]
        },
    ),
    case(
        "kept, all of a text",
        calls=(Call("pick", '{"id": "3"}'),),
        asked={"tools": [tool("pick", "id", id={"allOf": [{"type": "string"}]})]},
    ),
    case(
        "kept, old definitions",
        calls=(Call("pick", '{"p": {"x": 1}}'),),
        asked={
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "pick",
                        "parameters": {
                            "type": "object",
                            "definitions": {
                                "P": {"type": "object", "properties": {"x": {"type": "integer"}}}
                            },
                            "properties": {"p": {"$ref": "#/definitions/P"}},
                            "required": ["p"],
                        },
                    },
                }
            ]
        },
    ),
    case(
        "kept, a tree",
        calls=(Call("tree", '{"v": 1, "kids": [{"v": 2, "kids": []}]}'),),
        asked={
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "tree",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                "v": {"type": "integer"},
                                "kids": {"type": "array", "items": {"$ref": "#"}},
                            },
                            "required": ["v"],
                        },
                    },
                }
            ]
        },
    ),
]
