"""Faults in delivered calls, in answers, and in what was asked for."""

import json
from typing import Any

from tests.tools.seventh_set.build import TEXT, TOOLS, WHOLE, Case, Json, call, case, tool

ANY_JSON = "arguments_not_json:parser|arguments_not_json:model|arguments_not_json:unknown"


def broken(name: str, arguments: str, want: str = ANY_JSON, tool_name: str = "shell", **more: Any) -> Case:
    return case(f"arguments: {name}", want, calls=call(tool_name, arguments), **more)


def wrong(name: str, want: str, tool_name: str, arguments: object, **more: Any) -> Case:
    return case(name, f"{want}:model", calls=call(tool_name, arguments), **more)


NOT_JSON = [
    broken("trailing comma", '{"cmd": "ls",}'),
    broken("single quotes", "{'cmd': 'ls'}"),
    broken("True as Python has it", '{"pattern": "x", "case_sensitive": True}', tool_name="grep"),
    broken("None", '{"due": "2026-01-01T00:00:00Z", "note": None}', tool_name="remind"),
    broken("NaN", '{"cmd": "ls", "timeout_ms": NaN}'),
    broken("Infinity", '{"cmd": "ls", "timeout_ms": -Infinity}'),
    broken("a key twice", '{"cmd": "ls", "cmd": "pwd"}', streamed=True),
    broken("a key twice below", '{"path": "a", "edits": [{"find": "x", "replace": "y", "find": "z"}]}', tool_name="apply_edit"),
    broken("a brace lacks", '{"path": "a", "edits": [{"find": "x", "replace": "y"}]', tool_name="apply_edit"),
    broken("a brace too many", '{"cmd": "ls"}}'),
    broken("the first brace lacks", '"cmd": "ls"}'),
    broken("only a brace", "{"),
    broken("raw newline", '{"cmd": "a\nb"}'),
    broken("raw tab", '{"cmd": "a\tb"}'),
    broken("quotes not escaped", '{"cmd": "echo "hi""}'),
    broken("a bad escape", '{"pattern": "\\d+"}', tool_name="grep"),
    broken("a comment", '{"cmd": "ls" /* all */}'),
    broken("bare words", "ls -la"),
    broken("two objects", '{"cmd": "ls"}{"cmd": "pwd"}', may="protocol:engine"),
    broken("the object twice", '{"cmd": "ls"}{"cmd": "ls"}', may="protocol:engine"),
    broken("half a pair", '{"cmd": "echo \\ud83d"}'),
    broken("a fence around it", '```json\n{"cmd": "ls"}\n```'),
    broken("hexadecimal", '{"cmd": "ls", "timeout_ms": 0x10}'),
    broken("leading zero", '{"cmd": "ls", "timeout_ms": 007}'),
    broken("a plus", '{"cmd": "ls", "timeout_ms": +5}'),
    broken("keys bare", '{cmd: "ls"}'),
    broken("a colon lacks", '{"cmd" "ls"}'),
    broken("nothing, though some are needed", "", wire="chat"),
    broken("white space, though some are needed", "  ", wire="responses"),
    broken("a parser's end tag", '{"cmd": "ls"}</tool_call>', "arguments_not_json:parser", may="leaked_markup:parser"),
    broken("markup of the family inside", "<parameter=cmd>\nls\n</parameter>", "arguments_not_json:parser|leaked_markup:parser", may="leaked_markup:parser arguments_not_json:parser"),
    case("block without a delta", "missing_parameter:parser", wire="messages", streamed=True, calls=call("shell", ""), may="protocol:engine"),
]  # fmt: skip
FAULTS = [
    wrong("a list", "arguments_not_object", "shell", '["ls"]'),
    wrong("text", "arguments_not_object", "shell", '"ls -la"'),
    wrong("a number", "arguments_not_object", "shell", "42"),
    wrong("null", "arguments_not_object", "shell", "null"),
    wrong("true", "arguments_not_object", "submit", "true"),
    wrong("the object as text", "arguments_not_object", "shell", json.dumps('{"cmd": "ls"}')),
    wrong("a list of objects", "arguments_not_object", "apply_edit", '[{"path": "a"}]'),
    wrong("an empty list for no parameters", "arguments_not_object", "submit", "[]"),
    wrong("nothing given", "missing_parameter", "shell", "{}"),
    wrong("another name for it", "missing_parameter", "shell", {"command": "ls"}, may="unexpected_parameter:model"),
    wrong("one of two", "missing_parameter", "apply_edit", {"path": "a"}),
    wrong("below, in a list", "missing_parameter", "apply_edit", {"path": "a", "edits": [{"find": "x"}]}),
    wrong("below, in the second", "missing_parameter", "todo_write", {"todos": [{"text": "a", "status": "open"}, {"text": "b"}]}),
    wrong("wrapped once more", "missing_parameter", "shell", {"arguments": {"cmd": "ls"}}, may="unexpected_parameter:model"),
    wrong("in the second call", "missing_parameter", "open_file", {"start_line": 3}),
    wrong("number as text", "wrong_type", "open_file", {"path": "a", "start_line": "10"}),
    wrong("text as number", "wrong_type", "shell", {"cmd": 42}),
    wrong("list as text", "wrong_type", "apply_edit", {"path": "a", "edits": '[{"find": "x", "replace": "y"}]'}),
    wrong("object for a list", "wrong_type", "apply_edit", {"path": "a", "edits": {"find": "x", "replace": "y"}}),
    wrong("bool as text", "wrong_type", "grep", {"pattern": "x", "case_sensitive": "false"}),
    wrong("null for text", "wrong_type", "shell", {"cmd": None}),
    wrong("null for an optional", "wrong_type", "shell", {"cmd": "ls", "cwd": None}),
    wrong("a fraction for a whole number", "wrong_type", "open_file", {"path": "a", "end_line": 1.5}),
    wrong("list for text", "wrong_type", "shell", {"cmd": ["ls", "-la"]}),
    wrong("number in headers", "wrong_type", "fetch_url", {"url": "https://a.b", "headers": {"x": 1}}),
    wrong("text in a list of objects", "wrong_type", "todo_write", {"todos": ["write tests"]}),
    wrong("bool for a whole number", "wrong_type", "grep", {"pattern": "x", "context": True}),
    wrong("below, number for text", "wrong_type", "apply_edit", {"path": "a", "edits": [{"find": 1, "replace": "y"}]}),
    wrong("not in the list of values", "bad_value", "fetch_url", {"url": "https://a.b", "method": "get"}),
    wrong("below, not in the list", "bad_value", "todo_write", {"todos": [{"text": "a", "status": "pending"}]}),
    wrong("too small", "bad_value", "open_file", {"path": "a", "start_line": 0}),
    wrong("too large", "bad_value", "mcp__db__query", {"sql": "x", "limit": 5000}),
    wrong("no edits", "bad_value", "apply_edit", {"path": "a", "edits": []}),
    wrong("empty where a letter is needed", "bad_value", "mcp__db__query", {"sql": ""}),
    wrong("no date", "bad_value", "remind", {"due": "tomorrow"}),
    wrong("a date without a time", "bad_value", "remind", {"due": "2026-05-01"}),
    wrong("no address", "bad_value", "fetch_url", {"url": "not a url at all"}),
    wrong("below, count of nothing", "bad_value", "apply_edit", {"path": "a", "edits": [{"find": "x", "replace": "y", "count": 0}]}),
    wrong("a key that is forbidden", "unexpected_parameter", "mcp__db__query", {"sql": "x", "timeout": 5}),
    wrong("below, a key that is forbidden", "unexpected_parameter", "apply_edit", {"path": "a", "edits": [{"find": "x", "replace": "y", "all": True}]}),
    case("a key more, allowed", "~unexpected_parameter:model", calls=call("shell", {"cmd": "ls", "explanation": "look"})),
    case("a key more for none", "~unexpected_parameter:model", calls=call("submit", {"summary": "done"})),
    case("a key more, strict", "unexpected_parameter:model", calls=call("note", {"text": "x", "why": "y"}), tools=[tool("note", "text", text=TEXT) | {"strict": True}], wire="chat"),
    wrong("two faults in one call", "wrong_type", "open_file", {"path": 3, "start_line": 0}, may="bad_value:model"),
    *(wrong(f"unknown: {name}", "unknown_tool", name, {"cmd": "ls"}) for name in ("Shell", "shel", "bash", "functions.shell", "shell.run", "multi_tool_use.parallel", "mcp__db__Query", "deploy_site", "open-file", "functions_shell", "shell ")),
    wrong("a sound call and an unknown one", "unknown_tool", "search_web", {"q": "x"}),
]  # fmt: skip
FAULTS += [
    case("the second of two is broken", ANY_JSON, calls=[call("submit"), call("shell", '{"cmd": "ls"')]),
    case("the first of two lacks a parameter", "missing_parameter:model", calls=[call("shell", {"cwd": "/"}), call("submit")]),
    case("the third has the wrong type", "wrong_type:model", calls=[call("submit"), call("shell", {"cmd": "ls"}), call("shell", {"cmd": 1})]),
    case("words, then an unknown tool", "unknown_tool:model", content="I search.", calls=call("search", {"q": "x"})),
    case("called without any tool offered", "unknown_tool:model", tools=None, calls=call("shell", {"cmd": "ls"})),
]  # fmt: skip
LONG = "The parser reads each line, keeps what it needs, and then writes the table that the report draws. "
CUT = [
    case("words cut", "truncated:budget", content=LONG, finish="length", spent=256, limit=256),
    case("words cut, finish says stop", "truncated:budget", content=LONG, finish="stop", spent=256, limit=256, wire="chat"),
    case("words cut, end_turn", "truncated:budget", content=LONG, finish="end_turn", spent=300, limit=300, wire="messages"),
    case("a call cut, finish says calls", "truncated:budget", calls=call("shell", '{"cmd": "cat > a.py <<E\\nimport os'), spent=128, limit=128, finish="tool_calls", wire="chat"),
    case("a call cut, length", "truncated:budget", calls=call("apply_edit", '{"path": "a.py", "edits": [{"find": "x", "repl'), finish="length", spent=128, limit=128),
    case("a call cut, closed by the engine", "truncated:budget", calls=call("apply_edit", '{"path": "a.py"}'), finish="length", spent=128, limit=128),
    case("a call cut behind a sound one", "truncated:budget", calls=[call("submit"), call("shell", '{"cmd": "l')], finish="length", spent=128, limit=128),
    case("cut in the reasoning", "truncated:budget", reasoning=LONG, finish="length", spent=512, limit=512),
    case("cut in the reasoning, stop", "truncated:budget", reasoning=LONG, finish="stop", spent=512, limit=512, wire="chat"),
    case("nothing came before the limit", "truncated:budget", finish="length", spent=16, limit=16),
    case("cut in a leaked call", "truncated:budget", content='<tool_call>\n{"name": "shell", "arguments": {"cmd": "cat <<E', finish="length", spent=64, limit=64, may="leaked_markup:parser leaked_markup:model"),
    case("cut in thoughts in the content", "truncated:budget", content="<think>" + LONG, finish="length", spent=64, limit=64),
    case("the context is full", "truncated:budget", content=LONG, finish="length", spent=900, limit=4096),
    case("a call without arguments yet", "truncated:budget", calls=call("shell", ""), finish="length", spent=32, limit=32, wire="chat"),
    case("a required call is missing", "truncated:budget", content=LONG, choice="required", finish="length", spent=99, limit=99),
    case("a wrong value before the cut", "truncated:budget wrong_type:model", calls=[call("shell", {"cmd": 7}), call("shell", '{"cm')], finish="length", spent=128, limit=128),
    case("JSON asked for is cut", "truncated:budget", content='{"city": "Ro', finish="length", spent=9, limit=9, schema={"type": "object", "properties": {"city": TEXT}}),
    case("model_context_window_exceeded", "truncated:budget", content=LONG, finish="model_context_window_exceeded", wire="messages"),
]  # fmt: skip
DAMAGED = [
    case("a lost character", "~damaged_text:engine", content="Die Größe ist 5 \ufffd, das reicht für die Tests."),
    case("doubled UTF-8", "~damaged_text:engine", content="Das CafÃ© hat geÃ¶ffnet, und die StraÃŸe ist frei."),
    case("doubled quotes", "~damaged_text:engine", content="I donâ€™t know which file itâ€™s in."),
    case("bytes of the tokenizer", "~damaged_text:engine", content="Das Caf<0xC3><0xA9> ist offen."),
    case("marks of the tokenizer", "~damaged_text:engine", content="TheĠtestsĠpassĠnow,ĠandĠtheĠfileĠisĠwritten."),
    case("newlines of the tokenizer", "~damaged_text:engine", content="FirstĠline.ĊSecondĠline.ĊThirdĠone."),
    case("an emoji in pieces", "~damaged_text:engine", content="All green \ufffd\ufffd\ufffd\ufffd now."),
    case("Chinese in pieces", "~damaged_text:engine", content="测试已经通\ufffd\ufffd了，可以合并。"),
    case("a lost character in arguments", "damaged_text:engine", calls=call("shell", {"cmd": "echo Gr\ufffd\ufffde"})),
    case("doubled in arguments", "damaged_text:engine", calls=call("apply_edit", {"path": "a.md", "edits": [{"find": "CafÃ©", "replace": "CafÃ© Ã¼ber"}]})),
    case("tokenizer marks in arguments", "damaged_text:engine", calls=call("shell", {"cmd": "gitĠcommitĠ-mĠfix"})),
    case("bytes in arguments", "damaged_text:engine", calls=call("shell", {"cmd": "echo <0xE4><0xBD><0xA0>"})),
]  # fmt: skip
EMPTY = [
    case("nothing", "empty_turn:unknown"),
    case("white space", "empty_turn:unknown", content=" \n\n "),
    case("zero width", "empty_turn:unknown", content="\u200b\u200b"),
    case("a byte order mark", "empty_turn:unknown", content="\ufeff"),
    case("reasoning alone", "empty_turn:unknown", reasoning="The user wants the file. I have it."),
    case("empty thoughts in the content", "empty_turn:unknown", content="<think>\n\n</think>\n\n"),
    case("thoughts alone in the content", "empty_turn:unknown", content="<think>I am done here.</think>"),
    case("reasoning and white space", "empty_turn:unknown", reasoning="Done.", content="\n"),
    case("finish says calls, none came", "empty_turn:unknown finish_contradicts:engine", finish="tool_calls", wire="chat"),
    case("tool_use says the end, none came", "empty_turn:unknown finish_contradicts:engine", finish="tool_use", wire="messages"),
    case("word joiner and soft hyphen", "empty_turn:unknown", content="\u2060\u00ad"),
]  # fmt: skip
PLACE: Json = {
    "type": "object",
    "properties": {"city": TEXT, "people": WHOLE, "tags": {"type": "array", "items": TEXT}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


def schema(name: str, content: str, want: str = "breaks_schema:engine", **more: Any) -> Case:
    return case(f"schema: {name}", want, content=content, schema=PLACE, tools=None, **more)


SCHEMA = [
    schema("words", "Rome has 2.8 million people."),
    schema("words before", 'Sure: {"city": "Rome", "people": 2800000}'),
    schema("words behind", '{"city": "Rome", "people": 2800000}\nDoes this help?'),
    schema("a fence", '```json\n{"city": "Rome", "people": 2800000}\n```'),
    schema("a key lacks", '{"city": "Rome"}'),
    schema("wrong type", '{"city": "Rome", "people": "2800000"}'),
    schema("a key too many", '{"city": "Rome", "people": 1, "country": "IT"}'),
    schema("a list", '[{"city": "Rome", "people": 1}]'),
    schema("not closed", '{"city": "Rome", "people": 1'),
    schema("trailing comma", '{"city": "Rome", "people": 1,}'),
    schema("twice", '{"city": "Rome", "people": 1}\n{"city": "Rome", "people": 1}'),
    schema("below", '{"city": "Rome", "people": 1, "tags": ["a", 2]}'),
    schema("null", "null"),
    case("json_object, words", "breaks_schema:engine", content="No.", tools=None, wire="chat", asked={"response_format": {"type": "json_object"}}),
    case("json_object, single quotes", "breaks_schema:engine", content="{'a': 1}", tools=None, wire="chat", asked={"response_format": {"type": "json_object"}}),
]  # fmt: skip
LS = call("shell", {"cmd": "ls"})
CHOICE = [
    *(case(f"none, and a call ({wire})", "choice_ignored:engine", choice="none", calls=LS, wire=wire) for wire in ("chat", "messages", "responses")),
    *(case(f"required, and words ({wire})", "choice_ignored:engine", choice="required", content="It is done.", wire=wire) for wire in ("chat", "messages", "responses")),
    *(case(f"named, and words ({wire})", "choice_ignored:engine", choice="open_file", content="It is done.", wire=wire) for wire in ("chat", "messages", "responses")),
    *(case(f"named, and another ({wire})", "choice_ignored:engine", choice="open_file", calls=LS, wire=wire) for wire in ("chat", "messages", "responses")),
    case("not among the allowed", "choice_ignored:engine", calls=LS, wire="responses", asked={"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "grep"}]}}),
    case("allowed and required, and words", "choice_ignored:engine", content="Done.", wire="responses", asked={"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "grep"}]}}),
    *(case(f"one at a time, two came ({wire})", "parallel_ignored:engine", parallel=False, calls=[LS, call("submit")], wire=wire, streamed=flow) for wire in ("chat", "messages", "responses") for flow in (True, False)),
    case("one at a time, the same twice", "parallel_ignored:engine", parallel=False, calls=[LS, LS]),
]  # fmt: skip
ENDS = [
    case("stop with a call", "~finish_contradicts:engine", calls=LS, finish="stop", wire="chat", streamed=True),
    case("stop with a call, a body", "~finish_contradicts:engine", calls=LS, finish="stop", wire="chat", streamed=False),
    case("end_turn with a call", "~finish_contradicts:engine", calls=LS, finish="end_turn", wire="messages", streamed=True),
    case("end_turn with a call, a body", "~finish_contradicts:engine", calls=LS, finish="end_turn", wire="messages", streamed=False),
    case("calls, and only words", "~finish_contradicts:engine", content="All done.", finish="tool_calls", wire="chat", streamed=True),
    case("calls, and only words, a body", "~finish_contradicts:engine", content="All done.", finish="tool_calls", wire="chat", streamed=False),
    case("tool_use, and only words", "~finish_contradicts:engine", content="All done.", finish="tool_use", wire="messages", streamed=True),
    case("tool_use, and only words, a body", "~finish_contradicts:engine", content="All done.", finish="tool_use", wire="messages", streamed=False),
    case("the engine says repetition", "collapsed:model", content="ok " * 9, finish="repetition", wire="chat"),
    case("abort", "engine_error:engine", content="The first", finish="abort", wire="chat"),
]  # fmt: skip


def ids(name: str, want: str, *given: str | None, **more: Any) -> Case:
    calls = [call("shell", {"cmd": f"ls {number}"}, id=one) for number, one in enumerate(given)]
    return case(f"ids: {name}", want, calls=calls, **more)


IDS = [
    ids("two share one", "bad_call_id:parser", "call_1", "call_1", wire="chat", streamed=False),
    ids("two share one, streamed", "bad_call_id:parser", "call_1", "call_1", wire="chat", streamed=True),
    ids("two share one on Messages", "bad_call_id:parser", "toolu_1", "toolu_1", wire="messages", streamed=False),
    ids("two share one on Responses", "bad_call_id:parser", "call_1", "call_1", wire="responses", streamed=False),
    ids("two have none", "bad_call_id:parser", None, None, wire="chat", streamed=False),
    ids("two have empty ones", "bad_call_id:parser", "", "", wire="chat", streamed=False),
    ids("one has none", "~bad_call_id:parser", None, wire="chat", streamed=False),
    ids("one has an empty one", "~bad_call_id:parser", "", wire="chat", streamed=True),
    ids("one has an empty one on Messages", "~bad_call_id:parser", "", wire="messages", streamed=False),
    case("ids: an earlier turn's", "~bad_call_id:parser", wire="chat", calls=call("shell", {"cmd": "pwd"}, id="call_9"), asked={"messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_9", "type": "function", "function": {"name": "shell", "arguments": '{"cmd": "ls"}'}}]},
        {"role": "tool", "tool_call_id": "call_9", "content": "a.py"}]}),
    case("ids: an earlier turn's on Messages", "~bad_call_id:parser", wire="messages", calls=call("shell", {"cmd": "pwd"}, id="toolu_9"), asked={"messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_9", "name": "shell", "input": {"cmd": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "a.py"}]}]}),
]  # fmt: skip
LOOPS = [
    case("noises", "collapsed:model", content="I will check. " + "(Sigh) (Laughter) " * 90),
    case("a sentence", "collapsed:model", content="Let me fix it.\n" + "I will now run the tests again to be sure. " * 40),
    case("in the reasoning", "collapsed:model", reasoning="Wait, let me think about the parser once more. " * 60, finish="length", spent=512, limit=512),
    case("in an argument", "collapsed:model", calls=call("shell", {"cmd": "echo " + "na " * 400})),
    case("a word", "collapsed:model", content="The file is" + " own" * 300),
    case("a line of code", "collapsed:model", content="```python\n" + "    self.assertEqual(result, expected)\n" * 80, finish="length", spent=900, limit=900),
    case("Chinese", "collapsed:model", content="我来检查一下这个文件。" * 60),
    case("one sign", "collapsed:model", content="Result: " + "!" * 900),
    case("new lines", "collapsed:model", content="Here it is:" + "\n" * 900),
    case("thoughts in the content", "collapsed:model", content="<think>" + "Hmm, but what if the index is off by one? " * 60, finish="length", spent=700, limit=700),
    case("Hindi", "collapsed:model", content="मैं फ़ाइल की जाँच करता हूँ। " * 60),
    case("arguments cut by the limit", "collapsed:model", calls=call("shell", '{"cmd": "echo ' + "\\\\n" * 700), finish="length", spent=700, limit=700),
]  # fmt: skip
DEEP: Json = {
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(12)}
    | {"d12": {"type": "object"}},
    "$ref": "#/$defs/d0",
}
LOOP: Json = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
INPUT = [
    case(
        "a schema that unfolds",
        "~unusable_schema:input",
        tools=[*TOOLS, {"name": "deep", "parameters": DEEP}],
        calls=call("deep", {"x": 1}),
    ),
    case(
        "a schema that leads to itself",
        "~unusable_schema:input",
        tools=[*TOOLS, {"name": "loop", "parameters": LOOP}],
        calls=call("loop", {"x": 1}),
    ),
]
CASES = [*NOT_JSON, *FAULTS, *CUT, *DAMAGED, *EMPTY, *SCHEMA, *CHOICE, *ENDS, *IDS, *LOOPS, *INPUT]
