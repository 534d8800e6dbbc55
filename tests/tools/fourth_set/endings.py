"""How replies end, what is damaged in them, and what was promised."""

import json

from tests.tools.fourth_set.build import Call, Case, case, chunk, events, tool

CHAT = {"wire": "chat"}
LOOP = "The build failed again, so I run it once more and look at the log. "
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "place",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
            "required": ["city", "people"],
            "additionalProperties": False,
        },
    },
}
FORMAT = {"response_format": SCHEMA, "tools": None}
TEXT_FORMAT = {"text": {"format": {"type": "json_schema"} | SCHEMA["json_schema"]}, "tools": None}
CUT = {"finish": "length", "spent": 64, "asked": {"max_tokens": 64}}
TRUNCATED = "truncated:budget"
BASH_CUT = (Call("bash", '{"command": "cat src/ma'),)

CUTS = [
    case("cut answer", TRUNCATED, content="The reason is that the cache of the second worker is", **CUT),
    case("cut reasoning", TRUNCATED, reasoning="First I have to find where the request is", **CUT),
    case("cut call", TRUNCATED, calls=BASH_CUT, **CUT, streamed=True),
    case(
        "cut call says tool_calls",
        TRUNCATED,
        calls=BASH_CUT,
        finish="tool_calls",
        spent=64,
        asked={"max_tokens": 64},
        wire="chat",
        streamed=True,
    ),
    case(
        "cut call says stop",
        TRUNCATED,
        calls=BASH_CUT,
        finish="stop",
        spent=64,
        asked={"max_tokens": 64},
        wire="chat",
        may="finish_contradicts:engine",
    ),
    case(
        "cut leak",
        TRUNCATED,
        may="leaked_markup:parser",
        content='<tool_call>\n{"name": "bash", "arguments": {"command": "cat',
        **CUT,
    ),
    case(
        "cut leak qwen",
        TRUNCATED,
        may="leaked_markup:parser",
        content="<tool_call>\n<function=bash>\n<parameter=comm",
        **CUT,
    ),
    case("cut at nothing", TRUNCATED, may="empty_turn:unknown", **CUT),
    case(
        "cut before a required call",
        TRUNCATED,
        content="I will",
        wire="chat",
        finish="length",
        spent=64,
        asked={"max_tokens": 64, "tool_choice": "required"},
    ),
    case(
        "cut schema answer",
        TRUNCATED,
        content='{"city": "Ro',
        wire="chat",
        finish="length",
        spent=64,
        asked=FORMAT | {"max_tokens": 64},
    ),
    case(
        "cut with a finished call",
        TRUNCATED,
        calls=(Call("list_sessions", "{}"), *BASH_CUT),
        streamed=True,
        **CUT,
    ),
    case(
        "cut, wrong value whatever follows",
        TRUNCATED + " wrong_type:model",
        calls=(Call("read_file", '{"path": "a", "limit": "20", "off'),),
        wire="chat",
        **CUT,
    ),
    case("loop", "collapsed:model", content="I look. " + LOOP * 40),
    case(
        "loop to the limit",
        "collapsed:model",
        content=LOOP * 40,
        finish="length",
        spent=700,
        asked={"max_tokens": 700},
    ),
    case("loop of words", "collapsed:model", content="(Sigh) (Laughter) " * 200),
    case("loop in reasoning", "collapsed:model", reasoning=LOOP * 40, content="Done."),
    case(
        "loop in arguments",
        "collapsed:model",
        calls=(Call("bash", json.dumps({"command": "echo a && " * 300})),),
    ),
]

EMPTY = "empty_turn:unknown"
SILENT = [
    case("nothing", EMPTY),
    case("nothing but reasoning", EMPTY, reasoning="I should now write the answer."),
    case("spaces", EMPTY, content="\n\n  \n"),
    case("zero width", EMPTY, content="\u200b\u200d\ufeff"),
    case("empty think tags", EMPTY, may="leaked_markup:parser", content="<think>\n\n</think>\n\n"),
    case(
        "think alone in content",
        EMPTY,
        may="leaked_markup:parser",
        content="<think>\nI should look.\n</think>\n",
    ),
    case(
        "null content",
        EMPTY,
        raw='{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}',
        wire="chat",
        streamed=False,
    ),
    case(
        "no calls in the list, claims some",
        EMPTY,
        may="finish_contradicts:engine",
        raw='{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":31,"total_tokens":40}}',
        wire="chat",
        streamed=False,
    ),
    case(
        "messages without blocks",
        EMPTY,
        raw='{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}',
        wire="messages",
        streamed=False,
    ),
    case(
        "responses without items",
        EMPTY,
        raw='{"id":"r","object":"response","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":2}}',
        wire="responses",
        streamed=False,
    ),
]

DAMAGED = "damaged_text:engine"
HURT = [
    case("twice encoded", DAMAGED, usable=True, content="Das KÃ¤se-GeschÃ¤ft Ã¶ffnet um neun."),
    case("twice encoded, windows", DAMAGED, usable=True, content="Itâ€™s done â€“ the tests pass now."),
    case("replacement", DAMAGED, usable=True, content="Die Datei wurde gel\ufffdscht und neu geschrieben."),
    case("byte tokens", DAMAGED, usable=True, content="Voil<0xC3><0xA0>, it works."),
    case("byte letters", DAMAGED, usable=True, content="TheĠtestsĠpassĠandĠtheĠbuildĠisĠgreen.Ċ"),
    case("sentencepiece", DAMAGED, usable=True, content="The▁tests▁pass▁and▁the▁build▁is▁green."),
    case("emoji lost", DAMAGED, usable=True, content="All green \ufffd\ufffd Have a good day."),
    case("chinese lost", DAMAGED, usable=True, content="测试已经\ufffd\ufffd通过。"),
    case("cyrillic twice", DAMAGED, usable=True, content="ÐŸÑ€Ð¸Ð²ÐµÑ‚, Ð²ÑÑ‘ Ð³Ð¾Ñ‚Ð¾Ð²Ð¾."),
]

BROKEN = "breaks_schema:engine"
PROMISED = [
    case(
        "schema, words round it", BROKEN, content='Sure: {"city": "Rome", "people": 3}', asked=FORMAT, **CHAT
    ),
    case(
        "schema, fenced", BROKEN, content='```json\n{"city": "Rome", "people": 3}\n```', asked=FORMAT, **CHAT
    ),
    case("schema, key missing", BROKEN, content='{"city": "Rome"}', asked=FORMAT, **CHAT),
    case("schema, type", BROKEN, content='{"city": "Rome", "people": "3"}', asked=FORMAT, **CHAT),
    case(
        "schema, key too many",
        BROKEN,
        content='{"city": "Rome", "people": 3, "river": "Tiber"}',
        asked=FORMAT,
        **CHAT,
    ),
    case(
        "json object, prose",
        BROKEN,
        content="Rome has three rivers.",
        asked={"response_format": {"type": "json_object"}, "tools": None},
        **CHAT,
    ),
    case(
        "json object, list",
        BROKEN,
        content="[1, 2]",
        asked={"response_format": {"type": "json_object"}, "tools": None},
        **CHAT,
    ),
    case("schema on responses", BROKEN, content='{"city": "Rome"}', asked=TEXT_FORMAT, wire="responses"),
    case(
        "schema, two answers",
        BROKEN,
        content='{"city": "Rome", "people": 3}{"city": "Bari", "people": 1}',
        asked=FORMAT,
        **CHAT,
    ),
    case("schema with tools", BROKEN, content="Rome it is.", asked={"response_format": SCHEMA}, **CHAT),
]


DEEP = {
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(12)} | {"d12": {}},
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/d0"}},
}
UNFOLDS = {"type": "function", "function": {"name": "unfold", "parameters": DEEP}}
ROUND = {
    "type": "function",
    "function": {"name": "round", "parameters": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}},
}
HELLO = [chunk({"role": "assistant"}), chunk({"content": "Done."}), chunk({}, "stop")]


def counted(usage: object) -> str:
    """Return a stream that ends with this usage."""
    return events(*HELLO, chunk({}) | {"choices": [], "usage": usage}, "[DONE]")


#: A usage that cannot be is the engine's breach of its own protocol; the answer stands.
USAGE = [
    case(
        "usage negative",
        "protocol:engine",
        usable=True,
        raw=counted({"prompt_tokens": 9, "completion_tokens": -1, "total_tokens": 8}),
        streamed=True,
        **CHAT,
    ),
    case(
        "usage text",
        "protocol:engine",
        usable=True,
        raw=counted({"prompt_tokens": "9", "completion_tokens": 2, "total_tokens": 11}),
        streamed=True,
        **CHAT,
    ),
    case(
        "usage half",
        "protocol:engine",
        usable=True,
        raw=counted({"prompt_tokens": 9.5, "completion_tokens": 2, "total_tokens": 11}),
        streamed=True,
        **CHAT,
    ),
    case("usage list", "protocol:engine", usable=True, raw=counted([9, 2]), streamed=True, **CHAT),
    case("usage null", raw=counted(None), streamed=True, **CHAT),
    case(
        "cached negative",
        "protocol:engine",
        usable=True,
        raw=counted(
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 11,
                "prompt_tokens_details": {"cached_tokens": -4},
            }
        ),
        streamed=True,
        **CHAT,
    ),
]

CASES: list[Case] = [
    *CUTS,
    *SILENT,
    *HURT,
    *PROMISED,
    *USAGE,
    case(
        "schema unfolds",
        "unusable_schema:input",
        usable=True,
        asked={"tools": [UNFOLDS]},
        calls=(Call("unfold", '{"x": 1}'),),
    ),
    case(
        "schema of a circle",
        "unusable_schema:input",
        usable=True,
        asked={"tools": [ROUND]},
        calls=(Call("round", "{}"),),
    ),
    case(
        "empty arguments, none needed",
        "protocol:engine",
        usable=True,
        calls=(Call("list_sessions", ""),),
        wire="chat",
    ),
    case(
        "engine's closing words",
        "unknown_tool:model",
        calls=(Call("ls", "{}"),),
        asked={"tools": [tool("list_files")]},
    ),
    case(
        "two faults",
        "wrong_type:model missing_parameter:model",
        calls=(Call("edit_file", '{"path": 3, "old": "a"}'),),
    ),
    case(
        "a fault in each",
        "unknown_tool:model bad_value:model",
        calls=(Call("nope", "{}"), Call("get_weather", '{"city": "a", "unit": "K"}')),
    ),
]
