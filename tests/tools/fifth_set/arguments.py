"""Delivered calls: arguments and names."""

from tests.tools.fifth_set.build import Call, Case, called, case
from tests.tools.fifth_set.wires import LS, PROTOCOL

NOT_JSON = "arguments_not_json:unknown"
TYPE, VALUE, LACKS = "wrong_type:model", "bad_value:model", "missing_parameter:model"
EXTRA, UNKNOWN, NO_OBJECT = "unexpected_parameter:model", "unknown_tool:model", "arguments_not_object:model"
SWALLOWED, NEXT = "swallowed_parameter:parser", "leaked_markup:parser"
HURT = "damaged_text:engine"
EVENT = '{"title": "t", "start": "2026-05-01T10:00:00Z"%s}'
ARGUMENTS = [
    # what streams leave: the beginning or the end lost, things twice (vllm 35266, 51697, 22885)
    ("cut at the last brace", NOT_JSON, "shell", '{"cmd": "ls", "env": {"A": "b"}'),
    ("quote lost", NOT_JSON, "open_file", '{"path": "a.txt}'),
    ("begins with a comma", NOT_JSON + "|arguments_not_json:parser", "shell", ', "cmd": "ls"}'),
    (
        "first brace twice",
        NOT_JSON + "|arguments_not_json:parser",
        "make_event",
        '{{"title": "t", "start": "2026-05-01T10:00:00Z"}',
    ),
    ("unquoted key", NOT_JSON, "shell", '{cmd: "ls"}'),
    ("python repr", NOT_JSON, "grep", "{'pattern': 'x', 'ignore_case': False}"),
    ("none", NOT_JSON, "notes.add", '{"text": "a", "pinned": None}'),
    ("infinity", NOT_JSON, "set_level", '{"channel": "a", "level": -Infinity}'),
    ("hexadecimal", NOT_JSON, "open_file", '{"path": "a", "line": 0x10}'),
    ("leading zero", NOT_JSON, "open_file", '{"path": "a", "line": 007}'),
    ("plus sign", NOT_JSON, "open_file", '{"path": "a", "line": +7}'),
    ("half pair", NOT_JSON, "notes.add", '{"text": "\\ude00 hi"}'),
    ("raw tab", NOT_JSON, "shell", '{"cmd": "a\tb"}'),
    ("windows path", NOT_JSON, "open_file", '{"path": "C:\\Users\\x"}'),
    ("key twice", NOT_JSON, "open_file", '{"path": "a", "line": 1, "path": "b"}'),
    ("xml", NOT_JSON, "open_file", "<path>a</path>"),
    ("words before", NOT_JSON, "open_file", 'Here are the arguments: {"path": "a"}'),
    ("words after", NOT_JSON, "open_file", '{"path": "a"} I hope this helps'),
    ("empty where needed", NOT_JSON + "|missing_parameter:parser", "open_file", "", PROTOCOL),
    ("object as a key too many", NOT_JSON, "open_file", '{"path": "a"},'),
    ("quoted object", NO_OBJECT, "open_file", '"{\\"path\\": \\"a\\"}"'),
    ("a list of objects", NO_OBJECT, "open_file", '[{"path": "a"}]'),
    ("true", NO_OBJECT, "whoami", "true"),
    ("empty list", NO_OBJECT, "whoami", "[]"),
    ("empty word", NO_OBJECT, "whoami", '""'),
    ("null for none", NO_OBJECT, "whoami", "null"),
    # the schema
    ("key renamed", LACKS + " " + EXTRA, "set_level", '{"channel": "a", "value": 0.2}'),
    ("all lacks", LACKS, "make_event", "{}"),
    ("lacks in a reference", LACKS, "make_event", EVENT % ', "room": {"floor": 3}'),
    (
        "lacks in a list",
        LACKS,
        "make_event",
        EVENT % ', "attendees": [{"email": "a@b.org"}, {"role": "host"}]',
    ),
    ("wrapped once more", LACKS, "open_file", '{"arguments": {"path": "a"}}', EXTRA),
    ("wrapped in the name", LACKS, "open_file", '{"open_file": {"path": "a"}}', EXTRA),
    ("type in a reference", TYPE, "make_event", EVENT % ', "room": {"name": "x", "floor": "3"}'),
    ("list as a word", TYPE, "grep", '{"pattern": "x", "paths": "src"}'),
    ("list as text", TYPE, "grep", '{"pattern": "x", "paths": "[\\"src\\"]"}'),
    ("object as text", TYPE, "shell", '{"cmd": "ls", "env": "{\\"A\\": \\"b\\"}"}'),
    ("number in an object of texts", TYPE, "shell", '{"cmd": "ls", "env": {"A": 1}}'),
    ("number as text", TYPE, "open_file", '{"path": "a", "line": "12"}'),
    ("number with a fraction", TYPE, "open_file", '{"path": "a", "line": 1.5}'),
    ("flag as a number", TYPE, "grep", '{"pattern": "x", "ignore_case": 1}'),
    ("flag as text", TYPE, "grep", '{"pattern": "x", "ignore_case": "False"}'),
    ("text as a number", TYPE, "notes.add", '{"text": 2134}'),
    ("text as a list", TYPE, "shell", '{"cmd": ["ls", "-la"]}'),
    ("null where none may be", TYPE, "shell", '{"cmd": "ls", "cwd": null}'),
    ("float for either", TYPE, "lookup", '{"key": 1.5}'),
    ("list for either", TYPE, "lookup", '{"key": ["a"]}'),
    ("other enum", VALUE, "set_level", '{"channel": "A", "level": 0.2}'),
    ("enum in a list", VALUE, "make_event", EVENT % ', "attendees": [{"email": "a@b.org", "role": "boss"}]'),
    ("enum in a choice", VALUE, "make_event", EVENT % ', "repeat": "yearly"', TYPE),
    ("above the maximum", VALUE, "set_level", '{"channel": "a", "level": 1.01}'),
    ("below the minimum", VALUE, "shell", '{"cmd": "ls", "timeout_ms": -1}'),
    ("no moment", VALUE, "make_event", '{"title": "t", "start": "tomorrow at ten"}'),
    ("no mail", VALUE, "make_event", EVENT % ', "attendees": [{"email": "nobody"}]'),
    ("over the range", VALUE, "grep", '{"pattern": "x", "context": 21}'),
    (
        "key too many inside",
        EXTRA,
        "make_event",
        EVENT % ', "attendees": [{"email": "a@b.org", "name": "x"}]',
    ),
    ("key too many, strict", EXTRA, "set_level", '{"channel": "a", "level": 0.1, "why": ""}'),
    # names
    ("other case", UNKNOWN, "Shell", '{"cmd": "ls"}'),
    ("namespace", UNKNOWN, "functions.shell", '{"cmd": "ls"}'),
    ("namespace of python", UNKNOWN, "default_api.shell", '{"cmd": "ls"}'),
    ("dash for underscore", UNKNOWN, "open-file", '{"path": "a"}'),
    ("server lost", UNKNOWN, "create_issue", '{"title": "a"}'),
    ("index left on it", UNKNOWN, "functions.shell:0", '{"cmd": "ls"}'),
    ("channel left on it", "unknown_tool:parser", "shell<|channel|>commentary", '{"cmd": "ls"}'),
    ("json word of harmony", UNKNOWN, "json", '{"cmd": "ls"}'),
    ("assistant", UNKNOWN, "assistant", "{}"),
    ("of another agent", UNKNOWN, "TodoWrite", '{"todos": []}'),
    ("name twice", UNKNOWN, "shellshell", '{"cmd": "ls"}'),
    # what a parser left inside (vllm 53227, 45877, llama.cpp 26608, sglang 32286)
    (
        "glm joined neighbours",
        SWALLOWED,
        "open_file",
        '{"path": "app.log</arg_value><arg_key>line</arg_key>\\n<arg_value>100"}',
    ),
    ("coder neighbour", SWALLOWED, "shell", '{"cmd": "ls\\n<parameter=cwd>\\n/tmp"}'),
    (
        "dsml neighbour",
        SWALLOWED,
        "shell",
        '{"cmd": "ls</｜DSML｜parameter>\\n<｜DSML｜parameter name=\\"timeout_ms\\" string=\\"false\\">5"}',
    ),
    ("m3 neighbour", SWALLOWED, "open_file", '{"path": "a]<]minimax[>[</path>]<]minimax[>[<line>3"}'),
    (
        "minimax neighbour",
        SWALLOWED,
        "grep",
        '{"pattern": "x</parameter>\\n<parameter name=\\"context\\">3"}',
    ),
    ("gemma neighbour", SWALLOWED, "open_file", '{"path": "a<|\\"|>,line:3"}'),
    (
        "next call of glm",
        NEXT,
        "open_file",
        '{"path": "a</arg_value></tool_call><tool_call>open_file<arg_key>path</arg_key><arg_value>b"}',
    ),
    (
        "next call of kimi",
        NEXT,
        "shell",
        '{"cmd": "ls<|tool_call_end|><|tool_call_begin|>functions.shell:1<|tool_call_argument_begin|>pwd"}',
    ),
    (
        "next call of coder",
        NEXT,
        "shell",
        '{"cmd": "ls\\n</function>\\n</tool_call>\\n<tool_call>\\n<function=whoami>\\n</function>"}',
    ),
    (
        "next call of minimax",
        NEXT,
        "shell",
        '{"cmd": "ls</parameter>\\n</invoke>\\n<invoke name=\\"whoami\\">"}',
    ),
    # damage
    ("umlaut twice", HURT, "notes.add", '{"text": "Ã„nderung prÃ¼fen"}'),
    ("bytes of a letter", HURT, "open_file", '{"path": "notes/r<0xC3><0xA9>sum<0xC3><0xA9>.md"}'),
    ("letters of bytes", HURT, "shell", '{"cmd": "gitĠcommitĠ-mĠfix"}'),
    ("a lost kanji", HURT, "notes.add", '{"text": "会\\ufffd\\ufffdを予約"}'),
    ("euro sign twice", HURT, "notes.add", '{"text": "costs 5 â‚¬ each"}'),
]


def _argument_cases() -> list[Case]:
    return [
        called(f"arguments, {name}", want, of, text, may=" ".join(may))
        for name, want, of, text, *may in ARGUMENTS
    ]


#: Two calls with a fault each, and a sound call beside a bad one.
SEVERAL = [
    case("several, second lacks", LACKS, calls=(Call("whoami", "{}"), Call("shell", "{}"))),
    case("several, first unknown", UNKNOWN, calls=(Call("bash", '{"cmd": "ls"}'), Call("shell", LS))),
    case(
        "several, type and value",
        f"{TYPE} {VALUE}",
        calls=(Call("open_file", '{"path": 1}'), Call("grep", '{"pattern": "x", "context": 99}')),
    ),
    case(
        "several, broken and damaged",
        f"{NOT_JSON} {HURT}",
        calls=(Call("shell", '{"cmd": "ls"'), Call("notes.add", '{"text": "Ã¤rger mit Ã¶l"}')),
    ),
    case("several, unknown twice", UNKNOWN, calls=(Call("a", "{}"), Call("b", "{}"))),
    case(
        "several, object and list",
        f"{NO_OBJECT} {LACKS}",
        calls=(Call("shell", '["ls"]'), Call("open_file", '{"line": 1}')),
    ),
]

#: Keys that no schema names are a warning where it does not forbid them; an omitted text is the engine's braces.
WARNED = [
    called("warned, key too many", EXTRA, "open_file", '{"path": "a", "encoding": "utf-8"}', usable=True),
    called("warned, two too many", EXTRA, "whoami", '{"verbose": true, "format": "json"}', usable=True),
    called(
        "warned, reason given", EXTRA, "shell", '{"cmd": "ls", "description": "List the files"}', usable=True
    ),
    called("warned, empty for none", PROTOCOL, "whoami", "", usable=True, wire="chat"),
    called(
        "warned, empty for none on messages",
        "",
        "whoami",
        "",
        usable=True,
        wire="messages",
        streamed=True,
        may=PROTOCOL,
    ),
    called("warned, empty for none on responses", PROTOCOL, "whoami", "", usable=True, wire="responses"),
]

CASES: list[Case] = [*_argument_cases(), *SEVERAL, *WARNED]
