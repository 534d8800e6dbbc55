"""What was promised for the answer, and what a server says instead of one."""

import json

from tests.tools.fifth_set.build import Case, case
from tests.tools.fifth_set.wires import CHAT, named
from tests.tools.fourth_set.build import events

KIND = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"type": ["integer", "null"]},
    },
    "required": ["name", "tags", "size"],
    "additionalProperties": False,
}
PROMISE = {"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": KIND}}
FORMAT = {"response_format": PROMISE, "tools": None}
OBJECT = {"response_format": {"type": "json_object"}, "tools": None}
FLAT = {
    "text": {"format": {"type": "json_schema", "name": "thing", "strict": True, "schema": KIND}},
    "tools": None,
}
BROKEN = "breaks_schema:engine"
GOOD = '{"name": "a", "tags": ["x"], "size": null}'
PROMISED = [
    case("promise, doubled brace", BROKEN, content="{" + GOOD, asked=FORMAT, **CHAT),
    case("promise, fence", BROKEN, content=f"```json\n{GOOD}\n```", asked=FORMAT, **CHAT),
    case("promise, fence for an object", BROKEN, content='```\n{"a": 1}\n```', asked=OBJECT, **CHAT),
    case("promise, words before", BROKEN, content="Here you are:\n" + GOOD, asked=FORMAT, **CHAT),
    case("promise, words after", BROKEN, content=GOOD + "\nAnything else?", asked=FORMAT, **CHAT),
    case(
        "promise, type in a list",
        BROKEN,
        content='{"name": "a", "tags": ["x", 2], "size": 1}',
        asked=FORMAT,
        **CHAT,
    ),
    case("promise, lacks", BROKEN, content='{"name": "a", "tags": []}', asked=FORMAT, **CHAT),
    case(
        "promise, one too many",
        BROKEN,
        content='{"name": "a", "tags": [], "size": 1, "note": ""}',
        asked=FORMAT,
        **CHAT,
    ),
    case("promise, single quotes", BROKEN, content="{'a': 1}", asked=OBJECT, **CHAT),
    case("promise, a word", BROKEN, content='"Rome"', asked=OBJECT, **CHAT),
    case(
        "promise, prose on responses", BROKEN, content="A thing with one tag.", asked=FLAT, wire="responses"
    ),
    case(
        "promise, type on responses",
        BROKEN,
        content='{"name": "a", "tags": "x", "size": 1}',
        asked=FLAT,
        wire="responses",
    ),
    case(
        "promise, thoughts before",
        BROKEN,
        may="leaked_markup:parser",
        content=f"<think>It is small.</think>{GOOD}x",
        asked=FORMAT,
        **CHAT,
    ),
    case("promise, paren before", BROKEN, content="(" + GOOD, asked=FORMAT, **CHAT),
    case("promise, with tools", BROKEN, content="It is a thing.", asked={"response_format": PROMISE}, **CHAT),
    case(
        "promise, not strict is one too",
        BROKEN,
        content="It is a thing.",
        asked={
            "tools": None,
            "response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": KIND}},
        },
        **CHAT,
    ),
]

HISTORY, ENGINE, INPUT = "history_rejected:input", "engine_error:engine", "engine_error:input"


def refused(
    name: str, want: str, words: str, code: int = 400, kind: str = "BadRequestError", **more: object
) -> Case:
    """Return a case of an error body as OpenAI has it."""
    body = {"error": {"message": words, "type": kind, "param": None, "code": code}}
    return case(f"refused, {name}", want, raw=json.dumps(body), streamed=False, **{"wire": "chat"} | more)


REFUSED = [
    refused(
        "roles",
        HISTORY,
        "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
        500,
        "InternalServerError",
    ),
    refused(
        "ids",
        HISTORY,
        "Invalid assistant message: tool call id toolu_019 must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    refused("result without a call", HISTORY, "Unexpected tool call id call_77 in tool results"),
    refused(
        "call without a result",
        HISTORY,
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        wire="messages",
    ),
    refused(
        "arguments in history",
        HISTORY,
        "Value is not valid JSON: unterminated string at messages[3].tool_calls[0].function.arguments",
    ),
    refused(
        "too long",
        HISTORY,
        "This model's maximum context length is 32768 tokens. However, your request has 40110 input tokens. Please reduce the length of the input messages.",
    ),
    refused(
        "too long, sglang",
        HISTORY,
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40960 tokens: 36864 tokens from the input messages and 4096 tokens for the completion.",
    ),
    refused(
        "too long, llama.cpp",
        HISTORY,
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
        400,
        "exceed_context_size_error",
    ),
    refused("encrypted reasoning", HISTORY, "Encrypted content is not supported.", wire="responses"),
    refused("system in the middle", HISTORY, "System message must be at the beginning."),
    refused("out of memory", ENGINE, "CUDA error: out of memory", 500, "InternalServerError"),
    refused(
        "engine dead",
        ENGINE,
        "EngineDeadError('EngineCore encountered an issue. See stack trace (above) for the root cause.')",
        500,
        "InternalServerError",
    ),
    refused("parser raised", ENGINE, "'NoneType' object has no attribute 'get'", 500, "InternalServerError"),
    refused(
        "own output not parsed",
        ENGINE,
        "Failed to parse input at pos 41: ]<]minimax[>[<tool_call>",
        500,
        "server_error",
    ),
    refused("busy", ENGINE, "The request queue is full.", 503, "service_unavailable"),
    refused("too many requests", ENGINE, "Rate limit reached", 429, "rate_limit_error"),
    refused("no such model", INPUT, "The model `qwen` does not exist.", 404, "NotFoundError"),
    refused("bad key", INPUT, "Unauthorized", 401, "authentication_error"),
    refused("top_p", INPUT, "top_p must be in (0, 1], got 1.5."),
    refused(
        "tools not enabled",
        INPUT,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    refused(
        "bad tool schema",
        INPUT,
        "Invalid JSON schema for tool 'x': 'objekt' is not valid under any of the given schemas",
    ),
    case(
        "refused, gateway page",
        ENGINE,
        raw="<html>\n<head><title>504 Gateway Time-out</title></head>\n<body>nginx</body></html>",
        wire="chat",
        streamed=False,
    ),
    case(
        "refused, overloaded event",
        ENGINE,
        raw=named({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        wire="messages",
        streamed=True,
    ),
    case(
        "refused, responses error event",
        ENGINE,
        raw=named({"type": "error", "code": "server_error", "message": "The server had an error"}),
        wire="responses",
        streamed=True,
    ),
    case(
        "refused, empty body",
        "engine_error:engine|empty_turn:unknown",
        may="protocol:engine",
        raw=" ",
        wire="chat",
        streamed=False,
    ),
    case(
        "refused, error in a stream of chat",
        ENGINE,
        may="protocol:engine",
        raw=events(
            {"error": {"message": "Internal server error", "type": "InternalServerError", "code": 500}},
            "[DONE]",
        ),
        wire="chat",
        streamed=True,
    ),
]

CASES: list[Case] = [*PROMISED, *REFUSED]
