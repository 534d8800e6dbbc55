"""What the request asked for and did not get, and schemas that cannot be used."""

from tests.tools.fifth_set.build import TOOLS, Call, Case, case
from tests.tools.fifth_set.wires import LS
from tests.tools.fourth_set.build import tool

TYPE = "wrong_type:model"
IGNORED, PARALLEL = "choice_ignored:engine", "parallel_ignored:engine"
ONE, TWO = (Call("shell", LS),), (Call("shell", LS), Call("whoami", "{}"))
TALK = "The folder holds two files."
FORCED = {"type": "function", "function": {"name": "open_file"}}
ASKED = [
    case("asked, none", IGNORED, calls=ONE, asked={"tool_choice": "none"}, wire="chat"),
    case(
        "asked, none, streamed", IGNORED, calls=TWO, asked={"tool_choice": "none"}, wire="chat", streamed=True
    ),
    case("asked, none on responses", IGNORED, calls=ONE, asked={"tool_choice": "none"}, wire="responses"),
    case(
        "asked, none on messages",
        IGNORED,
        calls=ONE,
        asked={"tool_choice": {"type": "none"}},
        wire="messages",
    ),
    case("asked, required", IGNORED, content=TALK, asked={"tool_choice": "required"}, wire="chat"),
    case(
        "asked, required on responses",
        IGNORED,
        content=TALK,
        asked={"tool_choice": "required"},
        wire="responses",
    ),
    case(
        "asked, any on messages",
        IGNORED,
        content=TALK,
        asked={"tool_choice": {"type": "any"}},
        wire="messages",
    ),
    case(
        "asked, named, another came",
        IGNORED,
        calls=ONE,
        asked={"tool_choice": FORCED},
        wire="chat",
        finish="stop",
    ),
    case("asked, named, words came", IGNORED, content=TALK, asked={"tool_choice": FORCED}, wire="chat"),
    case(
        "asked, named on responses",
        IGNORED,
        calls=ONE,
        asked={"tool_choice": {"type": "function", "name": "open_file"}},
        wire="responses",
    ),
    case(
        "asked, named on messages",
        IGNORED,
        content=TALK,
        asked={"tool_choice": {"type": "tool", "name": "open_file"}},
        wire="messages",
    ),
    case(
        "asked, allowed tools",
        IGNORED,
        calls=ONE,
        asked={
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "whoami"}}],
                },
            }
        },
        wire="chat",
    ),
    case(
        "asked, allowed and required",
        IGNORED,
        content=TALK,
        asked={
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "whoami"}],
            }
        },
        wire="responses",
    ),
    case(
        "asked, required, leaked",
        "leaked_markup:parser",
        may=IGNORED,
        content='<tool_call>{"name": "whoami", "arguments": {}}</tool_call>',
        asked={"tool_choice": "required"},
        wire="chat",
    ),
    case(
        "asked, required, nothing",
        "empty_turn:unknown|" + IGNORED,
        asked={"tool_choice": "required"},
        wire="chat",
    ),
    case("asked, one at a time", PARALLEL, calls=TWO, asked={"parallel_tool_calls": False}, wire="chat"),
    case(
        "asked, one at a time on responses",
        PARALLEL,
        calls=TWO,
        asked={"parallel_tool_calls": False},
        wire="responses",
    ),
    case(
        "asked, one at a time on messages",
        PARALLEL,
        calls=TWO,
        asked={"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        wire="messages",
    ),
    case(
        "asked, one, and the second broken",
        PARALLEL + " " + TYPE,
        calls=(*ONE, Call("open_file", '{"path": 3}')),
        asked={"parallel_tool_calls": False},
        wire="chat",
    ),
]

ROUND = {
    "type": "function",
    "function": {
        "name": "tree",
        "parameters": {"$defs": {"n": {"anyOf": [{"$ref": "#/$defs/n"}]}}, "$ref": "#/$defs/n"},
    },
}
WIDE = {f"w{n}": {"anyOf": [{"$ref": f"#/$defs/w{n + 1}"}] * 9} for n in range(10)} | {
    "w10": {"type": "string"}
}
UNFOLDS = {
    "type": "function",
    "function": {
        "name": "wide",
        "parameters": {"type": "object", "$defs": WIDE, "properties": {"x": {"$ref": "#/$defs/w0"}}},
    },
}
UNUSABLE = [
    case(
        "schema, a circle",
        "unusable_schema:input",
        usable=True,
        calls=(Call("tree", "{}"),),
        asked={"tools": [*TOOLS, ROUND]},
    ),
    case(
        "schema, unfolds",
        "unusable_schema:input",
        usable=True,
        calls=(Call("wide", '{"x": "a"}'),),
        asked={"tools": [UNFOLDS]},
    ),
    case(
        "schema, unfolds, words",
        may="unusable_schema:input",
        content="Nothing to do.",
        asked={"tools": [tool("ping"), UNFOLDS]},
    ),
]

CASES: list[Case] = [*ASKED, *UNUSABLE]
