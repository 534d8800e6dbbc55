"""What a server says instead of a reply."""

import json

from tests.tools.fourth_set.build import Case, case


def refused(
    name: str, want: str, message: str, status: str = "BadRequestError", code: int = 400, **more: object
) -> Case:
    """Return a case of an error body on the chat wire."""
    body = {"error": {"message": message, "type": status, "param": None, "code": code}}
    return case(name, want, raw=json.dumps(body), wire="chat", streamed=False, **more)


HISTORY, ENGINE, INPUT = "history_rejected:input", "engine_error:engine", "engine_error:input"
CASES: list[Case] = [
    refused(
        "ids of mistral",
        HISTORY,
        "Tool call id was toolu_01Ab but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    refused(
        "roles alternate", HISTORY, "Conversation roles must alternate user/assistant/user/assistant/..."
    ),
    refused(
        "arguments in the history",
        HISTORY,
        "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1",
        "server_error",
        500,
    ),
    refused(
        "too long, vllm",
        HISTORY,
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.",
    ),
    refused(
        "too long, llama.cpp",
        HISTORY,
        "the request exceeds the available context size, try increasing it",
        "exceed_context_size_error",
    ),
    refused(
        "too long, sglang",
        HISTORY,
        "The input (131100 tokens) is longer than the model's context length (131072 tokens).",
    ),
    refused(
        "missing result",
        HISTORY,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
        "invalid_request_error",
    ),
    refused(
        "role after tool",
        HISTORY,
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        "BadRequestError",
    ),
    refused(
        "out of memory", ENGINE, "CUDA out of memory. Tried to allocate 2.00 GiB", "InternalServerError", 500
    ),
    refused(
        "role in a trace",
        ENGINE,
        "Internal server error: KeyError in role_manager",
        "InternalServerError",
        500,
    ),
    refused(
        "overloaded", ENGINE, "The server is overloaded, please try again later", "overloaded_error", 529
    ),
    refused("not loaded yet", ENGINE, "Loading model", "unavailable_error", 503),
    refused("unknown model", INPUT, "The model `gpt-9` does not exist.", "NotFoundError", 404),
    refused("bad temperature", INPUT, "temperature must be non-negative, got -1.0."),
    refused("no key", INPUT, "Incorrect API key provided", "invalid_api_key", 401),
    case(
        "messages error event",
        ENGINE,
        raw='event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
        wire="messages",
        streamed=True,
    ),
    case(
        "responses failed",
        ENGINE,
        raw='event: response.failed\ndata: {"type":"response.failed","response":{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"The model crashed."},"output":[]}}\n\n',
        wire="responses",
        streamed=True,
    ),
    case(
        "html page",
        ENGINE,
        raw="<html><body><h1>502 Bad Gateway</h1></body></html>",
        wire="chat",
        streamed=False,
    ),
]
