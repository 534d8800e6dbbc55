"""Delivered calls: arguments, names, ids, the order of their pieces, and what was asked of them."""

from tests.tools.fourth_set.build import Call, Case, case, chunk, events


def with_call(name: str, want: str, tool: str, arguments: str, **more: object) -> Case:
    """Return a case of one delivered call, on a wire that can carry text that is no JSON."""
    return case(name, want, calls=(Call(tool, arguments),), **more)


NOT_JSON = "arguments_not_json:unknown"
CHAT = {"wire": "chat"}
ARGUMENTS = [
    ("lost last brace", NOT_JSON, "bash", '{"command": "ls"'),
    ("lost first brace", "arguments_not_json:parser", "bash", '"command": "ls"}'),
    ("two braces", NOT_JSON, "bash", '{"command": "ls"}}'),
    ("trailing comma", NOT_JSON, "bash", '{"command": "ls",}'),
    ("single quotes", NOT_JSON, "bash", "{'command': 'ls'}"),
    ("python words", NOT_JSON, "bash", '{"command": "ls", "background": True}'),
    ("raw newline", NOT_JSON, "bash", '{"command": "ls\npwd"}'),
    ("bare word", NOT_JSON, "bash", "ls -la"),
    ("not a number", NOT_JSON, "bash", '{"command": "ls", "timeout": NaN}'),
    ("duplicate key", NOT_JSON, "bash", '{"command": "ls", "command": "rm x"}'),
    ("half surrogate", NOT_JSON, "bash", '{"command": "echo \\ud83d"}'),
    ("bad escape", NOT_JSON, "bash", '{"command": "grep \\d x"}'),
    ("two documents", NOT_JSON, "bash", '{"command": "ls"}{"command": "pwd"}'),
    ("empty for one that needs some", "missing_parameter:parser protocol:engine", "bash", ""),
    ("fence round it", NOT_JSON, "bash", '```json\n{"command": "ls"}\n```'),
    ("comment", NOT_JSON, "bash", '{"command": "ls" /* list */}'),
    ("string", "arguments_not_object:model", "bash", '"ls"'),
    ("encoded twice", "arguments_not_object:model", "bash", '"{\\"command\\": \\"ls\\"}"'),
    ("list", "arguments_not_object:model", "bash", '["ls"]'),
    ("null", "arguments_not_object:model", "bash", "null"),
    ("number", "arguments_not_object:model", "close_ticket", "12"),
    ("missing", "missing_parameter:model", "bash", '{"timeout": 3}'),
    ("missing all", "missing_parameter:model", "read_file", "{}"),
    ("missing of three", "missing_parameter:model", "edit_file", '{"path": "a", "old": "b"}'),
    ("missing inside", "missing_parameter:model", "todo_write", '{"items": [{"title": "a"}]}'),
    ("number as text", "wrong_type:model", "read_file", '{"path": "a", "limit": "20"}'),
    ("flag as text", "wrong_type:model", "bash", '{"command": "a", "background": "true"}'),
    ("text as number", "wrong_type:model", "get_weather", '{"city": 5}'),
    (
        "list as text",
        "wrong_type:model",
        "todo_write",
        '{"items": "[{\\"title\\": \\"a\\", \\"status\\": \\"open\\"}]"}',
    ),
    ("object as text", "wrong_type:model", "search_docs", '{"query": "tls", "filters": "{}"}'),
    ("null for a string", "wrong_type:model", "bash", '{"command": null}'),
    ("half a number", "wrong_type:model", "close_ticket", '{"ticket": 3.5}'),
    ("enum", "bad_value:model", "get_weather", '{"city": "Rom", "unit": "kelvin"}'),
    ("enum inside", "bad_value:model", "todo_write", '{"items": [{"title": "a", "status": "doing"}]}'),
    ("too large", "bad_value:model", "search_docs", '{"query": "tls", "top_k": 51}'),
    ("too small", "bad_value:model", "read_file", '{"path": "a", "limit": 0}'),
    ("too short", "bad_value:model", "search_docs", '{"query": "t"}'),
    ("no date", "bad_value:model", "search_docs", '{"query": "tls", "filters": {"since": "2026-13-40"}}'),
    ("key too many, strict", "unexpected_parameter:model", "close_ticket", '{"ticket": 4, "why": "done"}'),
    ("unknown", "unknown_tool:model", "Bash", '{"command": "ls"}'),
    ("unknown prefix", "unknown_tool:model", "functions.bash", '{"command": "ls"}'),
    ("unknown other", "unknown_tool:model", "web_search", '{"q": "x"}'),
    ("unknown empty name", "unknown_tool:model", "multi_tool_use.parallel", '{"tool_uses": []}'),
    (
        "next call inside",
        "leaked_markup:parser",
        "bash",
        '{"command": "ls\\n</tool_call>\\n<tool_call>\\n{\\"name\\": \\"bash\\", \\"arguments\\": {\\"command\\": \\"pwd\\"}}"}',
    ),
    (
        "next qwen call inside",
        "leaked_markup:parser",
        "bash",
        '{"command": "ls\\n</parameter>\\n</function>\\n</tool_call>\\n<tool_call>\\n<function=bash>\\n<parameter=command>\\npwd"}',
    ),
    (
        "next mistral call inside",
        "leaked_markup:parser",
        "bash",
        '{"command": "ls\\"}[TOOL_CALLS]bash[ARGS]{\\"command\\": \\"pwd"}',
    ),
    (
        "next dsml call inside",
        "leaked_markup:parser",
        "bash",
        '{"command": "ls</｜DSML｜parameter>\\n</｜DSML｜invoke>\\n<｜DSML｜invoke name=\\"read_file\\">\\n<｜DSML｜parameter name=\\"path\\" string=\\"true\\">a"}',
    ),
    (
        "swallowed qwen",
        "swallowed_parameter:parser",
        "bash",
        '{"command": "ls\\n</parameter>\\n<parameter=timeout>\\n30"}',
    ),
    (
        "swallowed glm",
        "swallowed_parameter:parser",
        "read_file",
        '{"path": "a</arg_value>\\n<arg_key>limit</arg_key>\\n<arg_value>30"}',
    ),
    (
        "swallowed invoke",
        "swallowed_parameter:parser",
        "read_file",
        '{"path": "a</parameter>\\n<parameter name=\\"limit\\">30"}',
    ),
    (
        "swallowed dsml",
        "swallowed_parameter:parser",
        "read_file",
        '{"path": "a</｜DSML｜parameter>\\n<｜DSML｜parameter name=\\"limit\\" string=\\"false\\">30"}',
    ),
    ("swallowed gemma", "swallowed_parameter:parser", "read_file", '{"path": "a<escape>,limit:30"}'),
    ("damaged replacement", "damaged_text:engine", "get_weather", '{"city": "S\ufffdo Paulo"}'),
    ("damaged twice encoded", "damaged_text:engine", "get_weather", '{"city": "SÃ£o Paulo"}'),
    ("damaged bytes", "damaged_text:engine", "get_weather", '{"city": "S<0xC3><0xA3>o Paulo"}'),
    ("damaged byte letters", "damaged_text:engine", "bash", '{"command": "lsĠ-laĠ/tmp"}'),
    ("damaged three bytes", "damaged_text:engine", "get_weather", '{"city": "æ\x9d±äº¬"}'),
]


def deltas(*many: dict, finish: str = "tool_calls") -> str:
    """Return a chat stream of these deltas of tool calls."""
    start = chunk({"role": "assistant", "content": None})
    usage = chunk({}) | {
        "choices": [],
        "usage": {"prompt_tokens": 9, "completion_tokens": 40, "total_tokens": 49},
    }
    return events(start, *(chunk({"tool_calls": [one]}) for one in many), chunk({}, finish), usage, "[DONE]")


def head(
    index: object, id_: object = "a1", name: str = "bash", arguments: object = "", **more: object
) -> dict:
    """Return the first piece of a call."""
    return {
        "index": index,
        "id": id_,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    } | more


def piece(index: object, arguments: object) -> dict:
    """Return a further piece of a call."""
    return {"index": index, "function": {"arguments": arguments}}


LS, PWD = '{"command": "ls"}', '{"command": "pwd"}'
STREAMS = [
    (
        "same id twice",
        "bad_call_id:parser",
        False,
        deltas(head(0, "x", arguments=LS), head(1, "x", arguments=PWD)),
    ),
    ("no id", "bad_call_id:parser", False, deltas(head(0, None, arguments=LS), head(1, None, arguments=PWD))),
    ("empty id", "bad_call_id:parser", True, deltas(head(0, "", arguments=LS))),
    (
        "index missing in one",
        "bad_call_index:parser",
        True,
        deltas({"id": "a1", "type": "function", "function": {"name": "bash", "arguments": LS}}),
    ),
    (
        "both index 0, whole",
        "bad_call_index:parser",
        True,
        deltas(head(0, "a", arguments=LS), head(0, "b", arguments=PWD)),
    ),
    (
        "disordered index",
        "bad_call_index:parser",
        True,
        deltas(head(1, "a", arguments=LS), head(0, "b", arguments=PWD)),
    ),
    (
        "gap in index",
        "bad_call_index:parser",
        True,
        deltas(head(0, "a", arguments=LS), head(2, "b", arguments=PWD)),
    ),
    ("starts with 1", "bad_call_index:parser", True, deltas(head(1, "a", arguments=LS))),
    (
        "mixed pieces",
        "bad_call_index:parser",
        False,
        deltas(
            head(0, "a"),
            head(1, "b"),
            piece(0, '{"command": "l'),
            piece(0, '{"command": "pw'),
            piece(1, 's"}'),
            piece(1, 'd"}'),
        ),
    ),
    ("arguments as an object", "protocol:engine", True, deltas(head(0, arguments={"command": "ls"}))),
    (
        "id new in every delta",
        "protocol:engine",
        True,
        deltas(head(0, "a", arguments='{"command'), head(0, "b", "", '": "ls'), head(0, "c", "", '"}')),
    ),
    ("stop with a call", "finish_contradicts:engine", True, deltas(head(0, arguments=LS), finish="stop")),
    (
        "name repeated",
        "protocol:engine",
        True,
        deltas(head(0, "a", arguments='{"command'), head(0, "a", "bash", '": "ls"}')),
    ),
    (
        "arguments repeated whole at the end",
        "arguments_not_json:parser",
        False,
        deltas(head(0), piece(0, LS), piece(0, LS)),
    ),
]


def raw(*lines: object) -> str:
    """Return a chat stream of these events."""
    return events(*lines)


END = chunk({}) | {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}}
ROLE, HELLO = chunk({"role": "assistant"}), chunk({"content": "All tests pass."})
ONE = chunk({"tool_calls": [head(0, arguments=LS)]})
BREACHES = [
    ("no done", "protocol:engine", True, raw(ROLE, HELLO, chunk({}, "stop"), END)),
    (
        "content after the finish",
        "protocol:engine",
        True,
        raw(ROLE, HELLO, chunk({}, "stop"), chunk({"content": " And more."}), END, "[DONE]"),
    ),
    ("call before the role", "protocol:engine", True, raw(ONE, ROLE, chunk({}, "tool_calls"), END, "[DONE]")),
    ("no finish at all", "protocol:engine engine_error:engine", None, raw(ROLE, HELLO, "[DONE]")),
    (
        "tool_calls without",
        "finish_contradicts:engine",
        True,
        raw(ROLE, HELLO, chunk({}, "tool_calls"), END, "[DONE]"),
    ),
    (
        "error in the stream",
        "engine_error:engine",
        False,
        raw(ROLE, HELLO, {"error": {"message": "CUDA out of memory", "type": "server_error", "code": 500}}),
    ),
    ("abort", "engine_error:engine", False, raw(ROLE, HELLO, chunk({}, "abort"), END, "[DONE]")),
    ("repetition", "collapsed:model", False, raw(ROLE, HELLO, chunk({}, "repetition"), END, "[DONE]")),
    ("broken json", "engine_error:engine", False, raw(ROLE, HELLO, '{"choices": [{"delta": {"con')),
]
NAMED = {"type": "function", "function": {"name": "bash"}}
SEVERAL = (Call("bash", LS), Call("read_file", '{"path": "a"}'))
CHOICES = [
    case("choice none", "choice_ignored:engine", asked={"tool_choice": "none"}, calls=SEVERAL[:1], **CHAT),
    case(
        "choice none, responses",
        "choice_ignored:engine",
        asked={"tool_choice": "none"},
        calls=SEVERAL[:1],
        wire="responses",
    ),
    case(
        "choice none, messages",
        "choice_ignored:engine",
        asked={"tool_choice": {"type": "none"}},
        calls=SEVERAL[:1],
        wire="messages",
    ),
    case(
        "choice required",
        "choice_ignored:engine",
        asked={"tool_choice": "required"},
        content="I would rather not.",
        **CHAT,
    ),
    case(
        "choice required, responses",
        "choice_ignored:engine",
        asked={"tool_choice": "required"},
        content="No.",
        wire="responses",
    ),
    case(
        "choice any, messages",
        "choice_ignored:engine",
        asked={"tool_choice": {"type": "any"}},
        content="No.",
        wire="messages",
    ),
    case("choice named", "choice_ignored:engine", asked={"tool_choice": NAMED}, calls=SEVERAL[1:], **CHAT),
    case(
        "choice named, text", "choice_ignored:engine", asked={"tool_choice": NAMED}, content="Well.", **CHAT
    ),
    case(
        "choice named, messages",
        "choice_ignored:engine",
        asked={"tool_choice": {"type": "tool", "name": "bash"}},
        calls=SEVERAL[1:],
        wire="messages",
    ),
    case(
        "choice named, responses",
        "choice_ignored:engine",
        asked={"tool_choice": {"type": "function", "name": "bash"}},
        calls=SEVERAL[1:],
        wire="responses",
    ),
    case(
        "not parallel", "parallel_ignored:engine", asked={"parallel_tool_calls": False}, calls=SEVERAL, **CHAT
    ),
    case(
        "not parallel, responses",
        "parallel_ignored:engine",
        asked={"parallel_tool_calls": False},
        calls=SEVERAL,
        wire="responses",
    ),
    case(
        "not parallel, messages",
        "parallel_ignored:engine",
        asked={"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        calls=SEVERAL,
        wire="messages",
    ),
]
CASES: list[Case] = [
    # A Messages reply carries arguments as an object: broken text fits only its stream.
    *(
        with_call(
            name,
            want,
            tool,
            text,
            wire=("chat", "messages", "responses")[number % 3],
            streamed=True if number % 3 == 1 else None,
        )
        for number, (name, want, tool, text) in enumerate(ARGUMENTS)
    ),
    *(
        case(name, want, usable=usable, raw=text, streamed=True, **CHAT)
        for name, want, usable, text in (*STREAMS, *BREACHES)
        if usable is not None
    ),
    *(
        case(name, may=want, usable=False, raw=text, streamed=True, **CHAT)
        for name, want, usable, text in BREACHES
        if usable is None
    ),
    case(
        "tool_calls without anything",
        "empty_turn:unknown",
        may="finish_contradicts:engine",
        raw=raw(ROLE, chunk({}, "tool_calls"), END, "[DONE]"),
        streamed=True,
        **CHAT,
    ),
    *CHOICES,
]
