"""Exchanges that look faulty and are not."""

import json
from typing import Any

from tests.tools.seventh_set.build import CHANGE, TEXT, TOOLS, WHOLE, Case, Json, call, case
from tests.tools.seventh_set.families import BARE_FAMILIES, FAMILIES, J
from tests.tools.seventh_set.replies import PLACE
from tests.tools.seventh_set.streams import (
    BASE,
    BASH,
    BEGUN,
    CALL,
    END,
    ONE,
    ROLE,
    SAID,
    STOP,
    USAGE,
    USE,
    WORDS,
    body,
    chat,
    done,
    messages,
    part,
    responses,
)
from tests.tools.seventh_set.wires import block, chunk, item_events, started

LS = {"cmd": "ls -la src"}
SHELL = call("shell", LS)


def ok(name: str, content: str = "", want: str = "", **more: Any) -> Case:
    return case(f"sound: {name}", want, content=content, **more)


# Documentation: markup in fences, inline code and quotations, of every family; warnings are no fault of the turn.
DOCS = [
    *(
        ok(f"{family} in a fence", f"A model of this family writes a call like this:\n\n```text\n{write('shell', LS)}\n```\n\nThe parser cuts it out of the text.")
        for family, write in FAMILIES.items()
        if family not in ("deepseek v3", "cline", "smolagents")  # a fence of their own, or plain XML and code
    ),
    *(
        ok(f"{family} in inline code", f"Search the log for `{write('shell', {'cmd': 'ls'})}` and count the lines.")
        for family, write in FAMILIES.items()
        if "\n" not in write("shell", {"cmd": "ls"}) and "`" not in write("shell", {"cmd": "ls"})
    ),
    *(
        ok(f"{family} quoted", "The log holds:\n\n" + "\n".join("> " + line for line in write("shell", LS).splitlines()) + "\n\nSo the parser was not set.")
        for number, (family, write) in enumerate(FAMILIES.items())
        if number % 4 == 1
    ),
    *(
        ok(f"{family}, then more words", "An example: " + write("shell", LS) + "\nThat is how such a call looks; I did not run it. Shall I?")
        for family, write in BARE_FAMILIES.items()
        if family in ("pythonic", "react", "llama bare", "xlam")
    ),
]  # fmt: skip
CODE = [
    ok("a parser in Python", '```python\nSTART = "<tool_call>"\nEND = "</tool_call>"\n\ndef parse(text):\n    return text.split(START)[1].split(END)[0]\n```\nThis is all of it.'),
    ok("a template in Jinja", "```jinja\n{%- for call in message.tool_calls %}\n<tool_call>\n{{ call | tojson }}\n</tool_call>\n{%- endfor %}\n```"),
    ok("a regular expression", "Use `re.compile(r'<function=(\\w+)>(.*?)</function>', re.S)` for it."),
    ok("XML of a build", "Add this to the `pom.xml`:\n\n```xml\n<function name=\"x\">\n  <parameter name=\"y\">1</parameter>\n</function>\n```"),
    ok("a test with a fence of four", "````markdown\n```json\n{\"name\": \"shell\", \"arguments\": {\"cmd\": \"ls\"}}\n```\n````\nThat is the test's text."),
    ok("tildes", "~~~\n[TOOL_CALLS]shell[ARGS]{\"cmd\": \"ls\"}\n~~~\nis what Mistral writes."),
    ok("names of tags", "The tags are `<tool_call>`, `</tool_call>`, and `<arg_key>`; none of them may reach the user."),
    ok("JSON that is the answer", '{"name": "Rome", "arguments": 3}', tools=None),
    ok("JSON of another kind", '{"name": "Ada", "parameters": {"height": 1.7}}', tools=TOOLS),
    ok("a list in brackets", "[shell, grep, submit] are the tools that I have."),
    ok("a call in words", "I would call shell(cmd=\"ls\") next, if you allow it."),
    ok("a shell session", "```console\n$ shell --cmd ls\n<tool: shell>\n```\nprints the tag."),
    ok("HTML", "<details>\n<summary>Log</summary>\nAll 40 tests pass.\n</details>"),
    ok("generics", "The type is Map<String, List<function>> and compares a < b > c."),
    ok("an Action in a list", "- Action: restart the server\n- Owner: Ada\n- Due: Friday"),
    ok("a heading Action", "Action: none needed\n\nThe cache is already warm."),
    ok("XML asked for", "<result>\n<status>ok</status>\n<count>3</count>\n</result>", user="Answer in XML with <result>, <status> and <count>."),
    ok("the prompt's own words", 'The line <tool_call>{"name": "shell", "arguments": {"cmd": "ls"}}</tool_call> is the third.', user='Which line is this? <tool_call>{"name": "shell", "arguments": {"cmd": "ls"}}</tool_call>'),
    ok("mathematics", "For x <|> y see section 3; [ARGS] is a placeholder there: `[ARGS]`.", "~leaked_markup:unknown"),
    ok("no tools, a mention", "Hermes models write `<tool_call>` before the JSON.", tools=None),
]  # fmt: skip
VALUES: list[tuple[str, str, object]] = [
    ("empty text", "shell", {"cmd": ""}),
    ("an empty list", "todo_write", {"todos": []}),
    ("null where it may be", "remind", {"due": "2026-02-03T04:05:06Z", "note": None}),
    ("an offset", "remind", {"due": "2026-02-03T04:05:06.123+02:00", "note": ""}),
    ("only what is needed", "open_file", {"path": "a"}),
    ("everything", "grep", {"pattern": "x", "glob": "*", "case_sensitive": True, "context": 0}),
    ("one as 1.0", "open_file", {"path": "a", "start_line": 1.0}),
    ("no argument", "submit", {}),
    ("emoji", "shell", {"cmd": "git commit -m '🎉 ✅ Fertig'"}),
    ("Chinese and Arabic", "shell", {"cmd": "echo 你好 مرحبا"}),
    ("combining marks", "grep", {"pattern": "ไม่มี नहीं ế"}),
    ("a zero-width joiner", "shell", {"cmd": "echo 👩‍💻"}),
    ("backslashes", "grep", {"pattern": "\\\\d+\\s*\\(\\\"x\\\"\\)"}),
    ("control characters, escaped", "shell", {"cmd": "printf '\u0001\u0007\u001b[0m'"}),
    ("Windows", "open_file", {"path": "C:\\Users\\ada\\größe.txt"}),
    ("a script", "shell", {"cmd": "python - <<'E'\nimport json\nprint(json.dumps({\"a\": [1, 2]}))\nE"}),
    ("markup as a value", "apply_edit", {"path": "p.py", "edits": [{"find": "START = ''", "replace": "START = '<tool_call>'"}]}),
    ("a parser as a value", "apply_edit", {"path": "t.py", "edits": [{"find": "x", "replace": "assert parse('<function=shell><parameter=cmd>ls</parameter></function>')"}]}),
    ("template as a value", "apply_edit", {"path": "t.jinja", "edits": [{"find": "x", "replace": "<|im_start|>assistant\n{{ content }}<|im_end|>"}]}),
    ("a pattern of tags", "grep", {"pattern": "</parameter>|</invoke>"}),
    ("HTML as a value", "apply_edit", {"path": "i.html", "edits": [{"find": "<b>", "replace": "<strong>"}]}),
    ("JSON as text", "shell", {"cmd": json.dumps({"name": "shell", "arguments": {"cmd": "ls"}})}),
    ("U+FFFD on purpose, as code", "grep", {"pattern": "\\ufffd"}),
    ("headers", "fetch_url", {"url": "https://a.example/x?y=%20#z", "headers": {"X-A": "1", "accept": "*/*"}}),
    ("another scheme", "fetch_url", {"url": "ftp://a.example/x"}),
    ("the largest", "mcp__db__query", {"sql": "SELECT 1", "limit": 1000, "params": [None, True, 1.5, "x", {"a": []}]}),
    ("a large number", "open_file", {"path": "a", "end_line": 123456789012345678901234567890}),
    ("exponents", "shell", '{"cmd": "ls", "timeout_ms": 1e3}'),
    ("spaces around", "shell", ' \n{ "cmd" : "ls" }\n '),
    ("escaped letters", "shell", '{"\\u0063md": "\\u006c\\u0073"}'),
    ("a whole pair, escaped", "shell", '{"cmd": "echo \\ud83d\\ude00"}'),
    ("slashes escaped", "open_file", '{"path": "a\\/b"}'),
    ("many lines", "shell", {"cmd": "\n".join(f"echo step {n}; make part-{n * 7 % 31}" for n in range(40))}),
    ("a table", "apply_edit", {"path": "t.csv", "edits": [{"find": "", "replace": "\n".join(f"{n},{n * n},{n % 7}" for n in range(60))}]}),
]  # fmt: skip
ARGUMENTS = [ok(f"arguments: {name}", calls=call(tool_name, value)) for name, tool_name, value in VALUES]
NODE: Json = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name"],
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS: list[tuple[str, Json, object]] = [
    ("recursive", NODE, {"name": "a", "children": [{"name": "b", "children": []}]}),
    ("nullable of OpenAPI", {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}, {"a": None}),
    ("anyOf", {"type": "object", "properties": {"a": {"anyOf": [TEXT, WHOLE]}}}, {"a": 3}),
    ("oneOf", {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}),
    ("no type", {"properties": {"a": {}}}, {"a": [1, {"b": None}]}),
    ("no schema", {}, {"any": "thing"}),
    ("draft 4 bounds", {"type": "object", "properties": {"a": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}}, {"a": 0.1}),
    ("tuples", {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [TEXT, WHOLE]}}}, {"a": ["x", 1]}),
    ("patterns of keys", {"type": "object", "patternProperties": {"^x-": TEXT}, "additionalProperties": False}, {"x-a": "1"}),
    ("const", {"type": "object", "properties": {"a": {"const": "x"}}}, {"a": "x"}),
    ("a keyword that is null", {"type": "object", "properties": {"a": {"type": "string", "enum": None}}}, {"a": "x"}),
    ("a format nobody knows", {"type": "object", "properties": {"a": {"type": "string", "format": "glob"}}}, {"a": "*"}),
    ("an enum with null", {"type": "object", "properties": {"a": {"enum": ["x", None]}}}, {"a": None}),
    ("allOf", {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": WHOLE}}]}, {"a": 1}),
    ("old definitions", {"definitions": {"c": CHANGE}, "type": "object", "properties": {"a": {"$ref": "#/definitions/c"}}}, {"a": {"find": "x", "replace": "y"}}),
    ("a default for what is needed not", {"type": "object", "properties": {"a": TEXT | {"default": "x"}}}, {}),
]  # fmt: skip
NESTED = [
    ok(
        f"schema: {name}",
        tools=[{"name": "t", "description": "d", "parameters": given}],
        calls=call("t", value),
    )
    for name, given, value in SCHEMAS
]
WORDS_ONLY = [
    ok("one letter", "y"),
    ok("a digit", "4"),
    ok("an emoji", "👍"),
    ok("a dot", "."),
    ok("a refusal", "I'm sorry, but I can't help with that."),
    ok("a fence alone", "```python\nprint('hello')\n```"),
    ok("a diff", "```diff\n- a = 1\n+ a = 2\n```"),
    ok("unclosed fence", "```python\nfor line in lines:\n    print(line)\n"),
    ok("a question", "Which of the two files do you mean?"),
    ok("Thai", "แก้ไขแล้วครับ ตอนนี้การทดสอบผ่านทั้งหมด"),
    ok("Hebrew with points", "שָׁלוֹם, הַכֹּל עוֹבֵר."),
    ok("French and Portuguese", "Ça marche : à côté, « São João » et l'œuvre."),
    ok("Ã and â as letters", "Não há nada: IRMÃ, MANHÃ, Ã e â são letras em português."),
    ok("ellipses and dashes", "Well … it works — mostly – “fine” ‘so far’."),
    ok("thoughts before the answer", "<think>\nThe file is small.\n</think>\n\nIt has three lines."),
    ok("end of thoughts alone", "The file is small.\n</think>\n\nIt has three lines."),
    ok("reasoning and an answer", "It has three lines.", reasoning="I count them: one, two, three. I could call <tool_call> but need not."),
    ok("a draft in the reasoning, then an answer", "It is done.", reasoning='I could write <tool_call>{"name": "shell", "arguments": {"cmd": "ls"}}</tool_call>, but the listing is above.'),
    ok("reasoning and a call", reasoning="I need the listing.", calls=SHELL),
    ok("a draft in the reasoning, then the call", reasoning="So:\n" + FAMILIES["qwen coder"]("shell", LS), calls=SHELL),
    ok("words and a call", "I look.", calls=SHELL),
    ok("white space and a call", "\n\n", calls=SHELL),
    ok("a table", "| file | lines |\n|---|---|\n| a.py | 3 |\n| b.py | 3 |\n| c.py | 3 |"),
    ok("a long list", "\n".join(f"{n}. `test_{word}` passes" for n, word in enumerate("parse read write open close seek tell flush join split strip find".split(), 1))),
    ok("hexadecimal dump", "```\n" + "\n".join(f"{n * 16:08x}  " + " ".join(f"{(n * 37 + m * 11) % 256:02x}" for m in range(16)) for n in range(16)) + "\n```"),
    ok("a rule of dashes", "Done.\n\n" + "-" * 80 + "\n\nNext I would tidy the imports."),
    ok("a replacement character, named", "The character U+FFFD (`\ufffd`) stands for what could not be decoded."),
    ok("damage that is asked about", "`CafÃ©` is `Café` that was decoded as Latin-1.", user="Why do I see CafÃ© in my file?"),
    ok("the prompt's own damage", "The title CafÃ© stands in line 3.", user="Look for CafÃ© in the titles."),
    ok("control tokens in code", "The template ends with `<|im_end|>` and `<|eot_id|>`."),
]  # fmt: skip
PARALLEL = [
    ok("two calls", calls=[SHELL, call("grep", {"pattern": "x"})]),
    ok("the same call twice", calls=[SHELL, SHELL]),
    ok("five calls", calls=[call("open_file", {"path": f"{n}.py"}) for n in range(5)]),
    ok("two calls, allowed", calls=[SHELL, call("submit")], asked={"parallel_tool_calls": True}, wire="chat"),
    ok("one call where one is allowed", calls=SHELL, parallel=False),
    ok("required, and a call", calls=SHELL, choice="required"),
    ok("named, and that call", calls=SHELL, choice="shell"),
    ok("none, and words", "Done.", choice="none"),
    ok("auto, and words", "Done.", choice="auto"),
    ok("named, and finish says stop", calls=SHELL, choice="shell", finish="stop", wire="chat"),
    ok("named, and end_turn", want="~finish_contradicts:engine", calls=SHELL, choice="shell", finish="end_turn", wire="messages"),
    ok("allowed tools, and one of them", calls=SHELL, wire="responses", asked={"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "shell"}]}}),
    ok("ids of Kimi", calls=[call("shell", LS, id="functions.shell:0"), call("submit", id="functions.submit:1")]),
    ok("ids of Mistral", calls=call("shell", LS, id="a1B2c3D4e")),
    ok("an id that is a number in text", calls=call("shell", LS, id="0"), wire="chat"),
]  # fmt: skip
ANSWERS = [
    ok("a schema kept", '{"city": "Rome", "people": 2800000}', schema=PLACE, tools=None),
    ok("a schema kept, spaces", ' \n{ "city": "Rome", "people": 1, "tags": [] }\n', schema=PLACE, tools=None),
    ok("a schema kept, other letters", '{"city": "Zürich 東京", "people": 0}', schema=PLACE, tools=None),
    ok("a schema and a call instead", calls=SHELL, schema=PLACE),
    ok("a schema and a refusal", wire="chat", streamed=False, tools=None, schema=PLACE, raw=J({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "refusal": "I can't."}, "finish_reason": "stop"}], "usage": USAGE})),
    ok("json_object", '{"a": [1, 2]}', tools=None, wire="chat", asked={"response_format": {"type": "json_object"}}),
    ok("response_format of text", "Words.", wire="chat", asked={"response_format": {"type": "text"}}),
    ok("reasoning, then JSON", '{"city": "Rome", "people": 1}', reasoning="The city is Rome.", schema=PLACE, tools=None),
]  # fmt: skip
FINISHES = [
    *(ok(f"finish {finish}", "All done.", finish=finish, wire="chat") for finish in ("stop", "eos", "eos_token", "stop_sequence")),
    ok("function_call, as asked", wire="chat", streamed=False, tools=None, asked={"functions": [{"name": "shell", "parameters": {"type": "object", "properties": {"cmd": TEXT}}}]}, raw=J({"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "function_call": {"name": "shell", "arguments": '{"cmd": "ls"}'}}, "finish_reason": "function_call"}], "usage": USAGE})),
    ok("stop_sequence on Messages", "All done.", finish="stop_sequence", wire="messages", asked={"stop_sequences": ["\n\n"]}),
    ok("finish content_filter", "All done.", "engine_error:engine", finish="content_filter", wire="chat"),
    ok("refusal on Messages", "I can't do that.", "engine_error:engine", finish="refusal", wire="messages"),
    ok("exactly below the limit", "All done.", spent=99, limit=100),
    ok("no limit was set", "All done.", wire="chat", asked={"max_tokens": None}, spent=9000),
    ok("max_completion_tokens", "All done.", wire="chat", asked={"max_tokens": None, "max_completion_tokens": 100}, spent=50),
]  # fmt: skip
QUIET = [ROLE, chunk({"content": "It works"}), chunk({"content": " now."})]
STREAMS = [
    chat("sound: the whole call in one", "", ROLE, part(0, '{"cmd": "ls"}', "shell", "call_a")),
    chat("sound: id again and again", "", ROLE, part(0, "", "shell", "call_a"), part(0, '{"cmd"', None, "call_a"), part(0, ': "ls"}', None, "call_a")),
    chat("sound: name once more", "~protocol:engine", ROLE, part(0, "", "shell", "call_a"), part(0, '{"cmd": "ls"}', "shell", "call_a")),
    chat("sound: empty names behind", "", ROLE, part(0, "", "shell", "call_a"), chunk({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": '{"cmd": "ls"}'}}]})),
    chat("sound: null names behind", "", ROLE, part(0, "", "shell", "call_a"), chunk({"tool_calls": [{"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": '{"cmd": "ls"}'}}]})),
    chat("sound: the role in each", "", *(chunk({"role": "assistant", "content": piece}) for piece in ("It ", "works.")), finish="stop"),
    chat("sound: no role at all", "", chunk({"content": "It works."}), finish="stop"),
    chat("sound: content null beside a call", "", *ONE[:1], *(dict(each, choices=[dict(each["choices"][0], delta=each["choices"][0]["delta"] | {"content": None})]) for each in ONE[1:])),
    chat("sound: empty deltas", "", ROLE, chunk({}), chunk({"content": ""}), *QUIET[1:], chunk({}), finish="stop"),
    chat("sound: comments", "", ": keep-alive", *QUIET, ": OPENROUTER PROCESSING", finish="stop"),
    chat("sound: finish in the last delta", "", ROLE, chunk({"content": "It works."}, "stop"), finish=None),
    chat("sound: finish twice", "", *ONE, chunk({}, "tool_calls"), chunk({}, "tool_calls") | {"usage": USAGE}, finish=None, end=["[DONE]"]),
    chat("sound: usage in each", "", *(each | {"usage": {"prompt_tokens": 9, "completion_tokens": n, "total_tokens": 9 + n}} for n, each in enumerate(QUIET)), finish="stop"),
    chat("sound: usage null until the end", "", *(each | {"usage": None} for each in QUIET), finish="stop"),
    chat("sound: no usage", "", *QUIET, finish="stop", end=["[DONE]"]),
    chat("sound: filter results of Azure", "", {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, *QUIET, finish="stop"),
    chat("sound: timings of llama.cpp", "", *QUIET, finish="stop", end=[{"choices": [], "usage": USAGE, "timings": {"prompt_n": 812, "predicted_per_second": 31.2}}, "[DONE]"]),
    chat("sound: cost of a gateway", "", *QUIET, finish="stop", end=[{"choices": [], "provider": "x", "usage": USAGE | {"cost": 0.0012, "is_byok": False, "cost_details": {"upstream": None}}}, "[DONE]"]),
    chat("sound: cached and reasoning counts", "", *QUIET, finish="stop", end=[{"choices": [], "usage": USAGE | {"prompt_tokens_details": {"cached_tokens": 800}, "completion_tokens_details": {"reasoning_tokens": 0}}}, "[DONE]"]),
    chat("sound: usage of nothing", "", *QUIET, finish="stop", end=[{"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}, "[DONE]"]),
    chat("sound: details are null", "", *QUIET, finish="stop", end=[{"choices": [], "usage": USAGE | {"prompt_tokens_details": None}}, "[DONE]"]),
    chat("sound: reasoning under both names", "", ROLE, chunk({"reasoning": "I see.", "reasoning_content": "I see."}), *QUIET[1:], finish="stop"),
    chat("sound: reasoning details", "", ROLE, chunk({"reasoning": "I see.", "reasoning_details": [{"type": "reasoning.text", "text": "I see."}]}), *QUIET[1:], finish="stop"),
    chat("sound: a call between words", "", ROLE, chunk({"content": "I look."}), *ONE[1:], chunk({"content": "\n"})),
    chat("sound: two calls interleaved", "", ROLE, part(0, "", "shell", "call_a"), part(1, "", "grep", "call_b"), part(0, '{"cmd": '), part(1, '{"pattern"'), part(0, '"ls"}'), part(1, ': "x"}')),
    chat("sound: split inside an escape", "", ROLE, part(0, "", "shell", "call_a"), *(part(0, piece) for piece in ('{"cmd": "a\\', "nb \\", "\\ \\u0", "0e9 \\ud83", "d\\ude00", '"}'))),
    chat("sound: arguments of nothing", "~protocol:engine", ROLE, part(0, "", "submit", "call_a")),
    messages("sound: a ping anywhere", "", started(), {"type": "ping"}, *SAID[:2], {"type": "ping"}, SAID[2], *STOP),
    messages("sound: the input as a whole", "", started(), *block(0, USE | {"input": {"cmd": "ls"}}, []), *END),
    messages("sound: an empty first piece", "", started(), *block(0, USE, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"cmd": ', '"ls"}')]), *END),
    messages("sound: no input key", "", started(), *block(0, {key: USE[key] for key in ("type", "id", "name")}, [{"type": "input_json_delta", "partial_json": '{"cmd": "ls"}'}]), *END),
    messages("sound: an empty text block before the call", "", started(), *block(0, {"type": "text", "text": ""}, []), *({**each, "index": 1} for each in BASH), *END),
    messages("sound: redacted thinking", "", started(), *block(0, {"type": "redacted_thinking", "data": "x"}, []), *({**each, "index": 1} for each in SAID), *STOP),
    messages("sound: a [DONE] behind", "", started(), *SAID, *STOP, "[DONE]"),
    messages("sound: citations", "", started(), *SAID[:2], {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"type": "char_location"}}}, SAID[2], *STOP),
    messages("sound: no arguments, no delta", "", started(), *block(0, USE | {"name": "submit"}, []), *END),
    responses("sound: text and a call", "", *BEGUN, *item_events(0, WORDS), *item_events(1, CALL), done(WORDS, CALL)),
    responses("sound: only the last event", "", *BEGUN, done(WORDS)),
    responses("sound: no added and done", "protocol:engine", *BEGUN, {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "It works now."}, done(WORDS)),
    responses("sound: other ids in the end", "", *BEGUN, *item_events(0, CALL), done(CALL | {"id": "fc_99"})),
    responses("sound: a reasoning item without text", "~protocol:engine", *BEGUN, *item_events(1, WORDS), done({"type": "reasoning", "id": "rs_1", "summary": []}, WORDS)),
    responses("sound: usage is null", "", *BEGUN, *item_events(0, WORDS), done(WORDS, usage=None)),
    responses("sound: a refusal", "", *BEGUN, done(WORDS | {"content": [{"type": "refusal", "refusal": "I can't."}]})),
    responses("sound: a search beside the answer", "", *BEGUN, done({"type": "web_search_call", "id": "ws_1", "status": "completed"}, WORDS)),
    body("sound: extras", "", {"id": "x", "object": "chat.completion", "system_fingerprint": "b1", "service_tier": "default", "choices": [{"index": 0, "message": {"role": "assistant", "content": "It works.", "annotations": [], "audio": None, "refusal": None, "function_call": None, "tool_calls": []}, "finish_reason": "stop", "stop_reason": None, "matched_stop": 151645}], "usage": USAGE, "kv_transfer_params": None}),
    body("sound: tool_calls null", "", {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "It works.", "tool_calls": None}, "finish_reason": "stop"}], "usage": USAGE}),
    body("sound: content in parts", "", {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": [{"type": "text", "text": "It works."}]}, "finish_reason": "stop"}], "usage": USAGE}),
    body("sound: a call with an index", "", {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "", "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "shell", "arguments": '{"cmd": "ls"}'}}]}, "finish_reason": "tool_calls"}], "usage": USAGE}),
    body("sound: two choices as asked", "", {"id": "x", "choices": [{"index": n, "message": {"role": "assistant", "content": f"It works {n}."}, "finish_reason": "stop"} for n in range(2)], "usage": USAGE}, asked={"n": 2}),
    body("sound: a refusal", "", {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": None, "refusal": "I can't help with that."}, "finish_reason": "stop"}], "usage": USAGE}),
    body("sound: usage of a cache", "", {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "It works."}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 5, "server_tool_use": None}}, "messages"),
    body("sound: no stop_sequence", "", {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "shell", "input": {"cmd": "ls"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 5}}, "messages"),
    body("sound: chat names in the usage", "", BASE | {"output": [WORDS], "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}}, "responses"),
]  # fmt: skip
CASES = [*DOCS, *CODE, *ARGUMENTS, *NESTED, *WORDS_ONLY, *PARALLEL, *ANSWERS, *FINISHES, *STREAMS]
