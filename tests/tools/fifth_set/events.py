"""Events and bodies of Messages and Responses that break their protocol."""

import json

from tests.tools.fifth_set.build import Case, case
from tests.tools.fifth_set.wires import (
    LS,
    ON_M,
    ON_R,
    PROTOCOL,
    PWD,
    block,
    flow,
    item,
    item_events,
    message,
    named,
    response,
    text_block,
    use,
)

ID, INDEX = "bad_call_id:parser", "bad_call_index:parser"
WHOLE_R = {"wire": "responses", "streamed": False}
CASES: list[Case] = [
    # sglang 39782: the arguments of every call land in the first block
    case(
        "messages, all in the first block",
        f"{INDEX}|arguments_not_json:parser",
        usable=False,
        may="missing_parameter:parser missing_parameter:model protocol:engine",
        raw=message(use(0, "shell", LS, PWD), use(1, "shell")),
        **ON_M,
    ),
    case(
        "messages, block never stopped",
        PROTOCOL,
        usable=True,
        raw=message(use(0, "shell", LS, stop=False)),
        **ON_M,
    ),
    case(
        "messages, end of turn with a call",
        "finish_contradicts:engine",
        usable=True,
        raw=message(use(0, "shell", LS), reason="end_turn"),
        **ON_M,
    ),
    case(
        "messages, tool use without one",
        "finish_contradicts:engine",
        usable=True,
        raw=message(text_block(0, "Both are equal.")),
        **ON_M,
    ),
    case(
        "messages, stops without its end",
        "engine_error:engine",
        may=PROTOCOL,
        raw=message(text_block(0, "Both are"), reason=None, stop=False),
        **ON_M,
    ),
    case(
        "messages, no stop event",
        PROTOCOL,
        usable=True,
        may="engine_error:engine",
        raw=message(text_block(0, "Both are equal."), reason="end_turn", stop=False),
        **ON_M,
    ),
    case(
        "messages, text delta in a call",
        PROTOCOL,
        usable=True,
        may="leaked_markup:parser",
        raw=message(
            block(
                0,
                {"type": "tool_use", "id": "t", "name": "whoami", "input": {}},
                {"type": "text_delta", "text": "{}"},
            )
        ),
        **ON_M,
    ),
    case(
        "messages, one id twice",
        ID,
        usable=False,
        raw=message(use(0, "shell", LS, id_="t"), use(1, "shell", PWD, id_="t")),
        **ON_M,
    ),
    case(
        "messages, index twice",
        PROTOCOL,
        raw=message(use(0, "shell", LS, id_="a"), use(0, "whoami", "{}", id_="b")),
        **ON_M,
    ),
    case(
        "messages, started twice",
        PROTOCOL,
        raw=message(text_block(0, "Equal."), reason="end_turn").replace(
            "event: content_block_start",
            'event: message_start\ndata: {"type": "message_start", "message": {"id": "n", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 0}}}\n\nevent: content_block_start',
            1,
        ),
        **ON_M,
    ),
    case(
        "messages, no input at all",
        "missing_parameter:parser|missing_parameter:model",
        may=PROTOCOL,
        usable=False,
        raw=message(use(0, "open_file")),
        **ON_M,
    ),
    case(
        "messages, error event",
        "engine_error:engine",
        may=PROTOCOL,
        raw=message(text_block(0, "I am"), reason=None, stop=False)
        + 'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}\n\n',
        **ON_M,
    ),
    case(
        "responses, id changes at the end",
        "",
        may=PROTOCOL,
        raw=flow(
            *item_events(0, item("shell", LS, "call_a"), LS),
            last=response(item("shell", LS, "chatcmpl-tool-b")),
        ),
        **ON_R,
    ),
    case(
        "responses, arguments differ at the end",
        PROTOCOL,
        usable=True,
        may="silent_repair:parser",
        raw=flow(*item_events(0, item("shell", LS), '{"cmd": ', '"ls"}'), last=response(item("shell", PWD))),
        **ON_R,
    ),
    case(
        "responses, call only in the deltas",
        PROTOCOL,
        usable=True,
        raw=flow(*item_events(0, item("shell", LS), LS), last=response()),
        **ON_R,
    ),
    case(
        "responses, an item lacks its name",
        PROTOCOL,
        raw=flow(*item_events(0, item("", LS), LS), last=response(item("", LS))),
        **ON_R,
    ),
    case(
        "responses, never completed",
        "engine_error:engine",
        may=PROTOCOL,
        raw=named(
            {"type": "response.created", "response": response(status="in_progress")},
            *item_events(0, item("shell", LS), LS),
        ),
        **ON_R,
    ),
    case(
        "responses, failed whole",
        "engine_error:engine",
        raw=json.dumps(
            response(status="failed", error={"code": "server_error", "message": "The model crashed."})
        ),
        **WHOLE_R,
    ),
    case(
        "responses, same id twice",
        ID,
        usable=False,
        raw=json.dumps(response(item("shell", LS, "c"), item("shell", PWD, "c"))),
        **WHOLE_R,
    ),
    case(
        "responses, id null",
        ID,
        usable=True,
        raw=json.dumps(response(item("shell", LS) | {"call_id": None})),
        **WHOLE_R,
    ),
    case(
        "responses, arguments as an object",
        PROTOCOL,
        usable=True,
        raw=json.dumps(response(item("shell", LS) | {"arguments": {"cmd": "ls"}})),
        **WHOLE_R,
    ),
    case(
        "chat whole, ids null",
        ID,
        usable=False,
        calls=(),
        wire="chat",
        streamed=False,
        raw=json.dumps(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "tool_calls",
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "tool_calls": [
                                {
                                    "id": None,
                                    "type": "function",
                                    "function": {"name": "shell", "arguments": LS},
                                },
                                {
                                    "id": None,
                                    "type": "function",
                                    "function": {"name": "shell", "arguments": PWD},
                                },
                            ],
                        },
                    }
                ],
            }
        ),
    ),
    case(
        "chat whole, object",
        PROTOCOL,
        usable=True,
        wire="chat",
        streamed=False,
        raw=json.dumps(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "tool_calls",
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "tool_calls": [
                                {
                                    "id": "a",
                                    "type": "function",
                                    "function": {"name": "shell", "arguments": {"cmd": "ls"}},
                                }
                            ],
                        },
                    }
                ],
            }
        ),
    ),
    case(
        "chat whole, no choices",
        "engine_error:engine|empty_turn:unknown",
        may=PROTOCOL,
        wire="chat",
        streamed=False,
        raw=json.dumps(
            {
                "object": "chat.completion",
                "choices": [],
                "usage": {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9},
            }
        ),
    ),
    case(
        "messages, refusal",
        "engine_error:engine",
        raw=message(text_block(0, "I cannot."), reason="refusal"),
        **ON_M,
    ),
]
