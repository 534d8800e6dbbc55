"""Streams that break their wire's rules, errors, refusals of the history, and pairs of answers."""

from typing import Any

from tests.tools.seventh_set.build import Case, Json, call, case
from tests.tools.seventh_set.wires import block, chunk, dumped, ended, item_events, responses_body, started

USAGE = {"prompt_tokens": 812, "completion_tokens": 21, "total_tokens": 833}
LAST: list[Any] = [
    {"id": "chatcmpl-7", "object": "chat.completion.chunk", "choices": [], "usage": USAGE},
    "[DONE]",
]
ROLE = chunk({"role": "assistant", "content": ""})


def part(
    index: int | None,
    arguments: str | None = None,
    name: str | None = None,
    given: str | None = None,
    **more: Any,
) -> Json:
    """A chunk with one piece of one call."""
    piece: Json = {} if index is None else {"index": index}
    piece |= {"id": given, "type": "function"} if given else {}
    function = ({"name": name} if name else {}) | ({} if arguments is None else {"arguments": arguments})
    return chunk({"tool_calls": [piece | {"function": function} | more]})


def chat(
    name: str,
    want: str,
    *events: Any,
    end: list[Any] | None = None,
    finish: str | None = "tool_calls",
    **more: Any,
) -> Case:
    closing = [chunk({}, finish)] if finish else []
    raw = [*events, *closing, *(LAST if end is None else end)]
    return case(f"chat: {name}", want, wire="chat", streamed=True, raw=raw, **more)


def body(name: str, want: str, answer: Json | str, wire: str = "chat", **more: Any) -> Case:
    raw = answer if isinstance(answer, str) else dumped(answer)
    return case(f"{wire} body: {name}", want, wire=wire, streamed=False, raw=raw, **more)


def messages(name: str, want: str, *events: Any, **more: Any) -> Case:
    return case(f"messages: {name}", want, wire="messages", streamed=True, raw=list(events), **more)


def responses(name: str, want: str, *events: Any, **more: Any) -> Case:
    return case(f"responses: {name}", want, wire="responses", streamed=True, raw=list(events), **more)


OPEN = part(0, "", "shell", "call_a")
ONE = [ROLE, OPEN, part(0, '{"cmd": '), part(0, '"ls"}')]
CHAT = [
    chat("an id that changes", "~protocol:engine", ROLE, OPEN, part(0, '{"cmd"', None, "call_b"), part(0, ': "ls"}', None, "call_c")),
    chat("words behind the finish", "~protocol:engine", *ONE, chunk({}, "tool_calls"), chunk({"content": "more"}), finish=None),
    chat("arguments behind the finish", "protocol:engine", ROLE, OPEN, part(0, '{"cmd": "ls"'), chunk({}, "tool_calls"), part(0, "}"), finish=None, usable=None),
    chat("arguments as an object", "protocol:engine", ROLE, chunk({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "shell", "arguments": {"cmd": "ls"}}}]}), usable=None),
    chat("a call before the role", "~protocol:engine", OPEN, ROLE, part(0, '{"cmd": "ls"}')),
    chat("a call without a name", "protocol:engine", ROLE, part(0, "", None, "call_a"), part(0, '{"cmd": "ls"}')),
    chat("no [DONE]", "~protocol:engine", *ONE, end=LAST[:1]),
    chat("the role of the user", "~protocol:engine", chunk({"role": "user", "content": ""}), chunk({"content": "It works now."}), finish="stop"),
    chat("no finish, no [DONE]", "engine_error:engine", ROLE, chunk({"content": "The tests"}), finish=None, end=[]),
    chat("ends in a call", "engine_error:engine", ROLE, OPEN, part(0, '{"cmd": "l'), finish=None, end=[]),
    chat("broken framing", "engine_error:engine", ROLE, chunk({"content": "The"}), 'data: {"id": "chatcmpl-7", "choices": [{"in', finish=None, end=[], may="protocol:engine"),
    chat("an error in the stream", "engine_error:engine", ROLE, chunk({"content": "The"}), {"error": {"message": "CUDA error: an illegal memory access was encountered", "type": "InternalServerError", "code": 500}}, finish=None, end=["[DONE]"]),
    chat("an error before anything", "engine_error:engine", {"error": {"message": "EngineDeadError: EngineCore died unexpectedly", "code": 500}}, finish=None, end=["[DONE]"]),
    chat("usage below nothing", "~protocol:engine", ROLE, chunk({"content": "It works."}), finish="stop", end=[{"choices": [], "usage": USAGE | {"completion_tokens": -1}}, "[DONE]"]),
    chat("usage in pieces of tokens", "~protocol:engine", ROLE, chunk({"content": "It works."}), finish="stop", end=[{"choices": [], "usage": USAGE | {"completion_tokens": 2.5}}, "[DONE]"]),
    chat("usage as text", "~protocol:engine", ROLE, chunk({"content": "It works."}), finish="stop", end=[{"choices": [], "usage": USAGE | {"prompt_tokens": "812"}}, "[DONE]"]),
    chat("a total below its parts", "~protocol:engine", ROLE, chunk({"content": "It works."}), finish="stop", end=[{"choices": [], "usage": USAGE | {"total_tokens": 21}}, "[DONE]"]),
    chat("two calls under one index", "bad_call_index:parser", ROLE, part(0, '{"cmd": "ls"}', "shell", "call_a"), part(0, '{"cmd": "pwd"}', "shell", "call_b"), usable=None),
    chat("two calls under one index, in pieces", "bad_call_index:parser", ROLE, OPEN, part(0, '{"cmd": "ls"}'), part(0, "", "grep", "call_b"), part(0, '{"pattern": "x"}'), usable=None),
    chat("pieces under each other's index", "bad_call_index:parser", ROLE, OPEN, part(0, '{"cmd": "ls'), part(1, "", "shell", "call_b"), part(1, '"}{"cmd": "pwd"}'), may="arguments_not_json:parser"),
    chat("second call's arguments under the first", "bad_call_index:parser", ROLE, OPEN, part(0, '{"cmd": "ls"}'), part(1, "", "shell", "call_b"), part(0, '{"cmd": "pwd"}'), may="arguments_not_json:parser missing_parameter:parser"),
    chat("an index lacks", "~bad_call_index:parser", ROLE, part(None, '{"cmd": "ls"}', "shell", "call_a")),
    chat("the index begins at one", "~bad_call_index:parser", ROLE, part(1, '{"cmd": "ls"}', "shell", "call_a")),
    chat("the indexes run backwards", "~bad_call_index:parser", ROLE, part(1, '{"cmd": "ls"}', "shell", "call_a"), part(0, '{"cmd": "pwd"}', "shell", "call_b")),
    chat("the indexes leave one out", "~bad_call_index:parser", ROLE, part(0, '{"cmd": "ls"}', "shell", "call_a"), part(2, '{"cmd": "pwd"}', "shell", "call_b")),
    chat("no id at all", "~bad_call_id:parser", ROLE, part(0, "", "shell"), part(0, '{"cmd": "ls"}')),
    chat("nothing but a role", "empty_turn:unknown", ROLE, finish="stop"),
    chat("leak cut into pieces", "leaked_markup:parser", ROLE, *(chunk({"content": piece}) for piece in ("<tool", "_ca", 'll>\n{"na', 'me": "shell", "argu', 'ments": {"cmd": "l', 's"}}\n</', "tool_call>")), finish="stop"),
]  # fmt: skip
USE = {"type": "tool_use", "id": "toolu_a", "name": "shell", "input": {}}
BASH = block(
    0, USE, [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"cm', 'd": "l', 's"}')]
)
SAID = block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "It works now."}])
END = ended("tool_use", 21)
STOP = ended("end_turn", 21)
TWO = [
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
    for piece in ('{"cmd": "ls"}', '{"cmd": "pwd"}')
]
MESSAGES = [
    messages("a second message_start", "protocol:engine", started(), *SAID, started(), *STOP),
    messages("no message_stop", "~protocol:engine", started(), *SAID, STOP[0], may="engine_error:engine"),
    messages("ends in a block", "engine_error:engine", started(), *SAID[:2]),
    messages("ends in a call", "engine_error:engine", started(), *BASH[:2]),
    messages("an error event", "engine_error:engine", started(), *SAID[:2], {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}),
    messages("overloaded in the stream", "engine_error:engine", started(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    messages("words behind message_delta", "~protocol:engine", started(), *SAID[:2], STOP[0], SAID[1], SAID[2], STOP[1]),
    messages("a block without a name", "protocol:engine", started(), *block(0, USE | {"name": ""}, [TWO[0]["delta"]]), *END),
    messages("nothing between start and end", "empty_turn:unknown", started(), *STOP),
    messages("tool_use without a block", "empty_turn:unknown finish_contradicts:engine", started(), *END),
    messages("an index used twice", "bad_call_index:parser|protocol:engine", started(), *BASH, *block(0, USE | {"id": "toolu_b"}, [TWO[1]["delta"]]), *END, may="bad_call_index:parser protocol:engine", usable=None),
    messages("two calls in one block", "arguments_not_json:parser", started(), BASH[0], *TWO, BASH[-1], *END, may="protocol:engine"),
    messages("second block is empty, the first has both", "arguments_not_json:parser", started(), BASH[0], *TWO, BASH[-1], *block(1, USE | {"id": "toolu_b"}, []), *END, may="protocol:engine missing_parameter:parser"),
    messages("usage below nothing", "~protocol:engine", started(), *SAID, *ended("end_turn", -4)),
    messages("arguments in input, as text", "protocol:engine|arguments_not_object:model|arguments_not_json:parser", started(), *block(0, USE | {"input": '{"cmd": "ls"}'}, []), *END, may="missing_parameter:parser arguments_not_object:model", usable=False),
    messages("the role of the user", "~protocol:engine", {"type": "message_start", "message": started()["message"] | {"role": "user"}}, *SAID, *STOP),
]  # fmt: skip
CALL = {
    "type": "function_call",
    "id": "fc_0",
    "call_id": "call_a",
    "name": "shell",
    "arguments": '{"cmd": "ls"}',
    "status": "completed",
}
WORDS = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It works now.", "annotations": []}],
}
LEFT = '<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{"cmd": "ls"}<|tool_call_end|><|tool_calls_section_end|>'
LEAK = WORDS | {"content": [{"type": "output_text", "text": LEFT, "annotations": []}]}
BASE = responses_body(case("x", wire="responses")) | {"output": []}
BEGUN = [{"type": "response.created", "response": BASE | {"status": "in_progress", "usage": None}}]


def done(*items: Json, **more: Any) -> Json:
    return {"type": "response.completed", "response": BASE | {"output": list(items)} | more}


RESPONSES = [
    responses("failed", "engine_error:engine", *BEGUN, {"type": "response.failed", "response": BASE | {"status": "failed", "error": {"code": "server_error", "message": "The model produced invalid content."}}}),
    responses("an error event", "engine_error:engine", *BEGUN, {"type": "error", "code": "server_error", "message": "The server had an error."}),
    responses("ends in a call", "engine_error:engine", *BEGUN, *item_events(0, CALL)[:2]),
    responses("ends behind the last item", "engine_error:engine", *BEGUN, *item_events(0, WORDS)),
    responses("nothing in the end", "empty_turn:unknown", *BEGUN, done()),
    responses("a call without a name", "protocol:engine", *BEGUN, *item_events(0, CALL | {"name": ""}), done(CALL | {"name": ""})),
    responses("incomplete", "truncated:budget", *BEGUN, *item_events(0, WORDS), {"type": "response.incomplete", "response": BASE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [WORDS]}}),
    responses("two calls' deltas at one item", "arguments_not_json:parser", *BEGUN, item_events(0, CALL)[0], *({"type": "response.function_call_arguments.delta", "item_id": "fc_0", "output_index": 0, "delta": piece} for piece in ('{"cmd": "ls"}', '{"cmd": "pwd"}')), done(CALL | {"arguments": '{"cmd": "ls"}{"cmd": "pwd"}'}), may="protocol:engine"),
    responses("leak in a message", "leaked_markup:parser", *BEGUN, *item_events(0, LEAK), done(LEAK)),
    responses("cancelled", "engine_error:engine", *BEGUN, {"type": "response.cancelled", "response": BASE | {"status": "cancelled"}}),
]  # fmt: skip


def message(**fields: Any) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | fields, "finish_reason": "stop"}
    if "tool_calls" in fields:
        choice["finish_reason"] = "tool_calls"
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": USAGE}


def delivered(arguments: object, **more: Any) -> Json:
    return {"id": "call_a", "type": "function", "function": {"name": "shell", "arguments": arguments} | more}


LS = '{"cmd": "ls"}'
BODIES = [
    body("arguments as an object", "~protocol:engine", message(tool_calls=[delivered({"cmd": "ls"})])),
    body("arguments are null", "arguments_not_json:parser|arguments_not_json:unknown|missing_parameter:parser|protocol:engine", message(tool_calls=[delivered(None)]), may="protocol:engine arguments_not_json:parser arguments_not_json:unknown missing_parameter:parser"),
    body("no name", "protocol:engine", message(tool_calls=[{"id": "a", "type": "function", "function": {"arguments": LS}}])),
    body("the role of a tool", "~protocol:engine", message(role="tool", content="It works now.")),
    body("usage below nothing", "~protocol:engine", message(content="It works.") | {"usage": USAGE | {"prompt_tokens": -1}}),
    body("usage is true", "~protocol:engine", message(content="It works.") | {"usage": USAGE | {"completion_tokens": True}}),
    body("no choices", "empty_turn:unknown|engine_error:engine|protocol:engine", {"id": "x", "object": "chat.completion", "choices": [], "usage": USAGE}, may="protocol:engine empty_turn:unknown"),
    body("no JSON", "engine_error:engine", "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    body("nothing", "engine_error:engine|empty_turn:unknown", ""),
    body("JSON is cut", "engine_error:engine", '{"id": "x", "choices": [{"index": 0, "message": {"role": "assis'),
    body("calls are an object", "protocol:engine|engine_error:engine", message(tool_calls=delivered(LS)), may="empty_turn:unknown finish_contradicts:engine", usable=False),
]  # fmt: skip


def error(name: str, want: str, said: str, wire: str = "chat", may: str = "", **more: Any) -> Case:
    kind = more.pop("kind", "BadRequestError")
    inner = {"message": said, "type": kind} | more
    return body(
        f"error {name}",
        want,
        {"type": "error", "error": inner} if wire == "messages" else {"error": inner},
        wire,
        may=may,
    )


ERRORS = [
    error("of CUDA", "engine_error:engine", "CUDA out of memory. Tried to allocate 2.00 GiB", kind="InternalServerError", code=500),
    error("dead engine", "engine_error:engine", "EngineCore encountered an issue. See stack trace above for the root cause.", kind="InternalServerError", code=500),
    error("overloaded", "engine_error:engine", "Overloaded", "messages", kind="overloaded_error"),
    error("server on Messages", "engine_error:engine", "Internal server error", "messages", kind="api_error"),
    error("queue full", "engine_error:engine", "The request queue is full.", kind="ServiceUnavailable", code=503),
    error("no such model", "engine_error:input", "The model `gpt-9` does not exist.", kind="NotFoundError", code=404),
    error("a bad key", "engine_error:input", "Incorrect API key provided.", kind="AuthenticationError", code=401),
    error("temperature", "engine_error:input", "temperature must be non-negative, got -1.0.", code=400),
    error("tools not enabled", "engine_error:input", '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', code=400),
    error("a bad schema", "engine_error:input", "Invalid schema for function 'shell': None is not of type 'object'", code=400),
    error("an image", "engine_error:input", "m is not a multimodal model", code=400),
    error("server on Responses", "engine_error:engine", "The server had an error while processing your request.", "responses", kind="server_error"),
    error("template on llama.cpp", "history_rejected:input|engine_error:engine", "Value is not callable: null at row 62, column 114:\n{{- message.content|tojson }}", kind="server_error", code=500),
    error("history: roles", "history_rejected:input", "Conversation roles must alternate user/assistant/user/assistant/...", code=400),
    error("history: id of Mistral", "history_rejected:input", "Tool call id was call_17 but must be a-z, A-Z, 0-9, with a length of 9.", code=400),
    error("history: broken arguments", "history_rejected:input", "Unterminated string starting at: line 1 column 9 (char 8) in messages[4].tool_calls[0].function.arguments", code=400),
    error("history: no result", "history_rejected:input", "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01", "messages", kind="invalid_request_error"),
    error("history: a result too many", "history_rejected:input", "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9", "messages", kind="invalid_request_error"),
    error("history: tool role", "history_rejected:input", "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", code=400),
    error("history: no output", "history_rejected:input", "No tool output found for function call call_abc.", "responses", kind="invalid_request_error"),
    error("history: encrypted reasoning", "history_rejected:input", "Encrypted content is not supported.", "responses", code=400),
    error("history: too long", "history_rejected:input", "This model's maximum context length is 32768 tokens. However, your request has 40211 input tokens.", code=400, may="engine_error:input"),
    error("history: too long on llama.cpp", "history_rejected:input", "the request exceeds the available context size, try increasing it", kind="exceed_context_size_error", code=400),
    error("history: too long on Messages", "history_rejected:input", "prompt is too long: 210000 tokens > 200000 maximum", "messages", kind="invalid_request_error"),
]  # fmt: skip
SHELL = call("shell", {"cmd": "ls"})
COLD: Json = {"temperature": 0}


def both(name: str, want: str, other: Case, **more: Any) -> Case:
    return case(f"pair: {name}", want, pair=other, wire="chat", asked=COLD, **more)


PAIRS = [
    both("streamed arguments are broken", "arguments_not_json:parser", case("o", calls=SHELL, spent=20), calls=call("shell", '{"cmd": "ls"'), spent=20, may="silent_repair:parser stream_differs:engine"),
    both("the body repaired them", "silent_repair:parser", case("o", calls=call("shell", '{"cmd": "ls"'), spent=20), calls=SHELL, spent=20, may="arguments_not_json:parser stream_differs:engine"),
    both("other arguments", "silent_repair:parser|stream_differs:engine", case("o", calls=call("shell", {"cmd": "ls -la"}), spent=20), calls=SHELL, spent=20, may="stream_differs:engine silent_repair:parser", usable=False),
    both("a call was dropped", "silent_drop:parser", case("o", calls=[SHELL, call("submit")], spent=30), calls=SHELL, spent=30, may="stream_differs:engine"),
    both("the only call was dropped", "silent_drop:parser", case("o", calls=SHELL, spent=30), content="I will look.", spent=30, may="stream_differs:engine"),
    both("other words", "~stream_differs:engine", case("o", content="The tests fail.", spent=12), content="The tests pass.", spent=12),
    both("leaked in one mode", "leaked_markup:parser", case("o", calls=SHELL, spent=25), content='<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}\n</tool_call>', spent=25, may="silent_drop:parser stream_differs:engine"),
    both("emptied in one mode", "silent_drop:parser|empty_turn:unknown", case("o", calls=SHELL, spent=25), spent=25, may="empty_turn:unknown stream_differs:engine silent_drop:parser", usable=False),
]  # fmt: skip
CASES = [*CHAT, *MESSAGES, *RESPONSES, *BODIES, *ERRORS, *PAIRS]
