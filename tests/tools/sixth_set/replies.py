"""Delivered calls that are wrong, promises that were broken, and how replies end."""

import json

from tests.tools.fifth_set.writers import J
from tests.tools.fourth_set.build import tool
from tests.tools.sixth_set.build import CHAT, TOOLS, Call, Case, case, made

LS = J({"command": "ls"})
BASH, PING = Call("Bash", LS), Call("ping", "{}")
TYPE, VALUE, LACKS = "wrong_type:model", "bad_value:model", "missing_parameter:model"
JSON_MODEL = "arguments_not_json:model|arguments_not_json:unknown"
JSON_ANY = JSON_MODEL + "|arguments_not_json:parser"
EXTRA = "unexpected_parameter:model"
EDIT = {"file_path": "a", "old_string": "x", "new_string": "y"}
ARGUMENTS: list[Case] = [
    made("words for a number", TYPE, "Bash", {"command": "ls", "timeout": "sixty"}),
    made("digits as text", TYPE, "Read", {"file_path": "a", "offset": "12"}),
    made("flag as text", TYPE, "Edit", EDIT | {"replace_all": "true"}),
    made("half a number", TYPE, "Read", {"file_path": "a", "offset": 1.5}),
    made("null for text", TYPE, "Read", {"file_path": None}),
    made("list for text", TYPE, "Bash", {"command": ["ls", "-la"]}),
    made("list as text", TYPE, "plot", {"points": "[[1, 2]]"}),
    made("point as object", TYPE, "plot", {"points": [{"x": 1, "y": 2}]}),
    made("text in a point", TYPE, "plot", {"points": [[1, "2"]]}),
    made("point of three", VALUE, "plot", {"points": [[1, 2, 3]]}),
    made("no points", VALUE, "plot", {"points": []}),
    made("colour of none", VALUE, "plot", {"points": [[1, 2]], "colour": "green"}),
    made("too many results", VALUE, "web-search", {"query": "a", "max_results": 50}),
    made("limit of zero", VALUE, "Read", {"file_path": "a", "limit": 0}),
    made("key in small letters", VALUE, "mcp__jira__get_issue", {"key": "core-118"}),
    made("day of none", f"{VALUE}|{TYPE}|{EXTRA}|{LACKS}", "schedule", {"when": {"at": "31/12/2026"}},
         may=f"{VALUE} {TYPE} {EXTRA} {LACKS}"),
    made("both of one", f"{VALUE}|{EXTRA}|{TYPE}|{LACKS}", "schedule", {"when": {"at": "2026-01-01", "cron": "* * * * *"}},
         may=f"{VALUE} {TYPE} {EXTRA} {LACKS}"),
    made("a key too many, deep", EXTRA, "schedule", {"when": {"cron": "0 5 * * *"}, "options": {"retry": 3}}),
    made("a key too many, strict", EXTRA, "plot", {"points": [[1, 2]], "title": "A"}),
    made("a key too many, lenient", EXTRA, "Bash", {"command": "ls", "cwd": "/tmp"}, usable=True),
    made("other name for a key", LACKS, "Read", {"path": "a.txt"}, may=EXTRA),
    made("nothing for three", LACKS, "Edit", {}),
    made("one of three", LACKS, "Edit", {"file_path": "a"}),
    made("two wrong things", TYPE + " " + VALUE, "web-search", {"query": 7, "max_results": 0}),
    made("wrapped once more", LACKS, "Bash", {"arguments": {"command": "ls"}}, may=EXTRA),
    made("name beside", LACKS, "Bash", {"name": "Bash", "parameters": {"command": "ls"}}, may=EXTRA),
    made("tool near", "unknown_tool:model", "bash", LS),
    made("tool of others", "unknown_tool:model", "str_replace_editor", {"command": "view", "path": "/a"}),
    made("tool with a prefix", "unknown_tool:model|unknown_tool:parser", "functions.Bash", LS),
    made("tool with a blank", "unknown_tool:model|unknown_tool:parser", "Bash ", LS),
    made("tool, dash for a line", "unknown_tool:model", "web_search", {"query": "a"}),
    made("tool, parallel wrapper", "unknown_tool:model", "multi_tool_use.parallel",
         {"tool_uses": [{"recipient_name": "functions.Bash", "parameters": {"command": "ls"}}]}),
    made("json, quote lacks", JSON_ANY, "Bash", '{"command": "ls}'),
    made("json, brace lacks", JSON_ANY, "Bash", '{"command": "ls"'),
    made("json, brace too many", JSON_ANY, "Bash", '{"command": "ls"}}'),
    made("json, head lacks", JSON_ANY, "Bash", '"command": "ls"}'),
    made("json, twice", "arguments_not_json:parser|arguments_not_json:model|arguments_not_json:unknown", "Bash", LS + LS, may="protocol:engine"),
    made("json, empty then whole", "arguments_not_json:parser|arguments_not_json:unknown", "Bash", "{}" + LS),
    made("json, python", JSON_ANY, "Bash", "{'command': 'ls', 'run_in_background': True}"),
    made("json, NaN", JSON_ANY, "plot", '{"points": [[1, NaN]]}'),
    made("json, key twice", JSON_ANY, "Bash", '{"command": "ls", "command": "pwd"}'),
    made("json, half a pair", JSON_ANY, "Bash", '{"command": "echo \\ud83d"}'),
    made("json, raw newline", JSON_ANY, "Bash", '{"command": "ls\npwd"}'),
    made("json, comment", JSON_ANY, "Bash", '{"command": "ls" /* all */}'),
    made("json, bare words", JSON_ANY, "Bash", "ls -la"),
    made("json, fence", JSON_ANY, "Bash", f"```json\n{LS}\n```"),
    made("json, bad escape", JSON_ANY, "Bash", '{"command": "grep \\d+ a"}'),
    made("object, text of one", "arguments_not_object:model", "Bash", J(LS)),
    made("object, list", "arguments_not_object:model", "Bash", '["ls"]'),
    made("object, null for one that needs", "arguments_not_object:model", "Bash", "null"),
    made("damaged value", "damaged_text:engine", "Edit", EDIT | {"new_string": "GrÃ¶ÃŸe des GerÃ¤ts"}),
    made("damaged value, bytes", "damaged_text:engine", "Bash", {"command": "echo caf<0xC3><0xA9>"}),
    made("damaged value, marks", "damaged_text:engine", "Edit", EDIT | {"new_string": "theĠvalueĠisĠset"}),
    made("damaged value, replaced", "damaged_text:engine", "Bash", {"command": "echo 价\ufffd\ufffd > a"}),
    case("second wrong", TYPE, calls=(BASH, Call("Read", '{"file_path": 3}'))),
    case("first of no tool", "unknown_tool:model", calls=(Call("Grep", '{"q": 1}'), BASH)),
]  # fmt: skip

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "inhabitants": {"type": "integer"}},
          "required": ["city", "inhabitants"], "additionalProperties": False}  # fmt: skip
PROMISED = {"type": "json_schema", "json_schema": {"name": "town", "strict": True, "schema": SCHEMA}}
TEXT = {"format": {"type": "json_schema", "name": "town", "strict": True, "schema": SCHEMA}}
FORMAT, BREAKS = {"tools": None, "response_format": PROMISED}, "breaks_schema:engine"
OBJECT = {"tools": None, "response_format": {"type": "json_object"}}
IGNORED, PARALLEL = "choice_ignored:engine", "parallel_ignored:engine"
NAMED = {"tool_choice": {"type": "function", "function": {"name": "Read"}}}
ASKED: list[Case] = [
    case("schema, words", BREAKS, content="The town is Bonn.", asked=FORMAT, **CHAT),
    case("schema, fence", BREAKS, content='```json\n{"city": "Bonn", "inhabitants": 330000}\n```', asked=FORMAT, **CHAT),
    case("schema, text for a number", BREAKS, content='{"city": "Bonn", "inhabitants": "330.000"}', asked=FORMAT, **CHAT),
    case("schema, a key lacks", BREAKS, content='{"city": "Bonn"}', asked=FORMAT, **CHAT),
    case("schema, a key too many", BREAKS, content='{"city": "Bonn", "inhabitants": 1, "river": "Rhine"}', asked=FORMAT, **CHAT),
    case("schema, on responses", BREAKS, content="Bonn", asked={"tools": None, "text": TEXT}, wire="responses"),
    case("schema, twice", BREAKS, content='{"city": "Bonn", "inhabitants": 1}{"city": "Bonn", "inhabitants": 1}', asked=FORMAT, **CHAT),
    case("object, list", BREAKS, content="[1, 2]", asked=OBJECT, **CHAT),
    case("object, broken", BREAKS, content='{"a": 1', asked=OBJECT, **CHAT),
    case("object, words in front", BREAKS, content='Here it is: {"a": 1}', asked=OBJECT, **CHAT),
    case("none, a call", IGNORED, calls=(BASH,), asked={"tool_choice": "none"}, **CHAT),
    case("required, words", IGNORED, content="I would rather not.", asked={"tool_choice": "required"}, **CHAT),
    case("required, words on responses", IGNORED, content="Done.", asked={"tool_choice": "required"}, wire="responses"),
    case("any, words", IGNORED, content="Done.", asked={"tool_choice": {"type": "any"}}, wire="messages"),
    case("named, another", IGNORED, calls=(BASH,), asked=NAMED, **CHAT),
    case("named, words", IGNORED, content="I cannot.", asked=NAMED, **CHAT),
    case("named tool, another on messages", IGNORED, calls=(BASH,), asked={"tool_choice": {"type": "tool", "name": "Read"}}, wire="messages"),
    case("not parallel, three", PARALLEL, calls=(BASH, PING, PING), asked={"parallel_tool_calls": False}, **CHAT, may="bad_call_id:parser"),
    case("not parallel, on responses", PARALLEL, calls=(BASH, PING), asked={"parallel_tool_calls": False}, wire="responses"),
    case("not parallel, on messages", PARALLEL, calls=(BASH, PING), asked={"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, wire="messages"),
]  # fmt: skip

CUT, EMPTY, DAMAGED = "truncated:budget", "empty_turn:unknown", "damaged_text:engine"
FULL = {"finish": "length", "spent": 128, "asked": {"max_tokens": 128}}
ENDS: list[Case] = [
    case("cut in words", CUT, content="The parser works in three stages. First it reads the", **FULL),
    case("cut in thoughts", CUT, reasoning="The user wants a list of", may=EMPTY, **FULL),
    case("cut in arguments", CUT, calls=(Call("Edit", '{"file_path": "a", "old_string": "def f('),), **FULL),
    case("cut after a whole call", CUT, calls=(BASH, Call("Read", '{"file')), **FULL),
    case("cut, called stop", CUT, content="And then the loop goes on with", finish="stop", spent=128, asked={"max_tokens": 128}, **CHAT),
    case("cut, called tool_calls", CUT, calls=(Call("Bash", '{"command": "find / -na'),), finish="tool_calls", spent=128, asked={"max_tokens": 128}, **CHAT),
    case("cut, and wrong before", CUT + " " + TYPE, calls=(Call("Read", '{"file_path": 3}'), Call("Bash", '{"comm')), **FULL),
    case("cut in a json answer", CUT, content='{"city": "Bo', finish="length", spent=128, asked=FORMAT | {"max_tokens": 128}, **CHAT),
    case("cut in leaked hermes", CUT, may="leaked_markup:parser leaked_markup:model", content='<tool_call>\n{"name": "Bash", "arguments": {"comma', **FULL),
    case("cut with limit on max_completion_tokens", CUT, content="The list goes on with", finish="stop", spent=64, asked={"max_completion_tokens": 64}, **CHAT),
    case("nothing", EMPTY),
    case("blanks", EMPTY, content="  \n\n\t "),
    case("zero width", EMPTY, content="\u200b\u200b\ufeff"),
    case("soft hyphen and joiner", EMPTY, content="\u00ad\u200d\u2060"),
    case("hangul filler", EMPTY, content="\u3164"),
    case("thoughts only", EMPTY, reasoning="I think the answer is 4."),
    case("think tags only", EMPTY, content="<think>\nI think the answer is 4.\n</think>\n"),
    case("think tag left open", EMPTY, content="<think>\nI think the answer is 4, so"),
    case("bracket think only", EMPTY, content="[THINK]Hm.[/THINK]"),
    case("mojibake", DAMAGED, content="Die GrÃ¶ÃŸe der Datei betrÃ¤gt 5 MB.", usable=True),
    case("mojibake, quotes", DAMAGED, content="Itâ€™s the parserâ€™s fault â€” not ours.", usable=True),
    case("mojibake, cyrillic", DAMAGED, content="ÐŸÑ€Ð¸Ð²ÐµÑ‚, Ð¼Ð¸Ñ€!", usable=True),
    case("replaced", DAMAGED, content="ファイルは\ufffd\ufffd件あります。", usable=True),
    case("byte tokens", DAMAGED, content="Na<0xC3><0xAF>ve B<0xC3><0xA4>ume", usable=True),
    case("marks of bpe", DAMAGED, content="ThereĠareĠtwoĠfilesĠinĠtheĠfolder.Ċ", usable=True),
    case("marks of sentencepiece", DAMAGED, content="▁There▁are▁two▁files▁in▁the▁folder.", usable=True),
    case("stop with a call", "finish_contradicts:engine", calls=(BASH,), finish="stop", usable=True, **CHAT),
    case("tool_calls without one", "finish_contradicts:engine", content="Done.", finish="tool_calls", usable=True, **CHAT),
    case("tool_use without one", "finish_contradicts:engine", content="Done.", finish="tool_calls", usable=True, wire="messages"),
    case("repetition, by the engine", "collapsed:model", content="and so on and so on and so on", finish="repetition", **CHAT),
    case("abort", "engine_error:engine", content="The first", finish="abort", **CHAT),
    case("error as a reason", "engine_error:engine", content="The first", finish="error", **CHAT),
    case("sigh", "collapsed:model", content="Well. " + "(Sigh) (Laughter) " * 120),
    case("same line to the limit", "collapsed:model", content="We start.\n" + "    return None\n" * 300, finish="length", spent=1500, asked={"max_tokens": 1500}),
    case("ids of two equal", "bad_call_id:parser", calls=(Call("Bash", LS, "call_1"), Call("ping", "{}", "call_1"))),
]  # fmt: skip
DEEP = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 9} for n in range(14)} | {"a14": {}}
LOOP = {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}}
SCHEMAS: list[Case] = [
    made("schema unfolds", "unusable_schema:input", "grow", {"x": 1}, usable=True, asked={"tools": [*TOOLS, {"type": "function", "function": {
        "name": "grow", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": DEEP}}}]}),
    made("schema loops", "unusable_schema:input", "turn", {"x": 1}, usable=True, asked={"tools": [*TOOLS, {"type": "function", "function": {
        "name": "turn", "parameters": LOOP}}]}),
    made("old tool, number required", TYPE, "add", {"n": "4"}, asked={"tools": [tool("add", "n", n={"type": "integer"})]}),
]  # fmt: skip


def _refused(
    name: str, want: str, message: str, *, kind: str = "BadRequestError", code: object = 400, **more: object
) -> Case:
    error = {"message": message, "type": kind, "code": code}
    return case(name, want, raw=json.dumps({"error": error}), streamed=False, **({"wire": "chat"} | more))


ERROR, INPUT, HISTORY = "engine_error:engine", "engine_error:input", "history_rejected:input"
ERRORS: list[Case] = [
    _refused("refused, alternate", HISTORY, "Conversation roles must alternate user/assistant/user/assistant/..."),
    _refused("refused, mistral ids", HISTORY, "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9."),
    _refused("refused, orphan result", HISTORY, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."),
    _refused("refused, calls without results", HISTORY, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
    _refused("refused, tool_use without result", HISTORY, "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01", kind="invalid_request_error", wire="messages"),
    _refused("refused, too long", f"{HISTORY}|{INPUT}", "This model's maximum context length is 32768 tokens. However, you requested 40112 tokens (36016 in the messages, 4096 in the completion)."),
    _refused("refused, llama.cpp too long", f"{HISTORY}|{INPUT}", "the request exceeds the available context size, try increasing it", kind="exceed_context_size_error"),
    _refused("refused, arguments of the history", HISTORY, "Failed to parse tool call arguments as JSON: parse error at line 1, column 12", code=500, kind="server_error"),
    _refused("refused, no such model", INPUT, "The model `qwen9` does not exist.", kind="NotFoundError", code=404),
    _refused("refused, key", INPUT + "|" + ERROR, "Incorrect API key provided.", kind="authentication_error", code=401),
    _refused("refused, temperature", INPUT, "temperature must be non-negative, got -1.0."),
    _refused("refused, tool choice flag", INPUT + "|" + ERROR, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    _refused("broken, memory", ERROR, "CUDA out of memory. Tried to allocate 2.00 GiB", kind="InternalServerError", code=500),
    _refused("broken, dead engine", ERROR, "EngineCore encountered an issue. See stack trace (above) for the root cause.", kind="InternalServerError", code=500),
    _refused("broken, role of a rank", ERROR, "worker with role prefill died unexpectedly", kind="InternalServerError", code=500),
    _refused("broken, queue", ERROR, "The request queue is full.", kind="ServiceUnavailableError", code=503),
    _refused("broken, overloaded", ERROR, "Overloaded", kind="overloaded_error", code=529, wire="messages"),
    _refused("broken, rate", ERROR, "Rate limit reached for requests", kind="rate_limit_error", code=429),
    case("broken, html", ERROR, raw="<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>", streamed=False, **CHAT),
    case("broken, plain words", ERROR, raw="upstream connect error or disconnect/reset before headers", streamed=False, **CHAT),
    case("broken, nothing came", ERROR, raw="\n", streamed=False, **CHAT),
    case("broken, detail", ERROR, raw='{"detail": "Internal Server Error"}', streamed=False, **CHAT),
    case("refused, detail list", INPUT, raw='{"detail": [{"loc": ["body", "messages"], "msg": "field required", "type": "value_error.missing"}]}', streamed=False, **CHAT),
]  # fmt: skip
CASES: list[Case] = [*ARGUMENTS, *ASKED, *ENDS, *SCHEMAS, *ERRORS]
