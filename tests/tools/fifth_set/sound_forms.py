"""Odd but lawful forms of chat replies."""

import json

from tests.tools.fifth_set.build import TOOLS, Case, case
from tests.tools.fifth_set.wires import CHAT, LS, both, deltas, piece
from tests.tools.fourth_set.build import chunk, events

LEGACY = {"name": "shell", "arguments": LS}
LOGPROBS = {"content": [{"token": "Done", "logprob": -0.1, "bytes": [68], "top_logprobs": []}]}
USED = chunk({}) | {
    "choices": [],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": None},
}
ROLE = chunk({"role": "assistant", "content": ""})


def whole(message_: dict, finish: str = "stop", **more: object) -> str:
    """Return a chat completion of one message."""
    choice = {"index": 0, "message": {"role": "assistant"} | message_, "finish_reason": finish}
    return json.dumps(
        {
            "id": "c",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21},
        }
        | more,
        ensure_ascii=False,
    )


CASES: list[Case] = [
    case(
        "form, usage chunk alone",
        raw=events(ROLE, chunk({"content": "Done."}), chunk({}, "stop"), USED, "[DONE]"),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, usage in each chunk",
        raw=events(
            ROLE,
            chunk(
                {"content": "Done."}, usage={"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
            ),
            chunk({}, "stop", usage={"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}),
            "[DONE]",
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, no usage",
        raw=events(ROLE, chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]"),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, comments between",
        raw=": ping\n\n"
        + events(ROLE)
        + ": keep-alive\n\n"
        + events(chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]"),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, carriage returns",
        raw=events(ROLE, chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]").replace("\n", "\r\n"),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, no space after data",
        raw=events(ROLE, chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]").replace("data: ", "data:"),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, logprobs",
        raw=events(
            ROLE,
            {
                "object": "chat.completion.chunk",
                "choices": [
                    {"index": 0, "delta": {"content": "Done"}, "logprobs": LOGPROBS, "finish_reason": None}
                ],
            },
            chunk({}, "stop"),
            "[DONE]",
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, finish with the last words",
        raw=events(
            chunk({"role": "assistant", "content": "Do"}), chunk({"content": "ne."}, "stop"), "[DONE]"
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, role in each",
        raw=events(
            *(chunk({"role": "assistant", "content": part}) for part in ("Do", "ne", ".")),
            chunk({}, "stop"),
            "[DONE]",
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, nulls in each",
        raw=events(
            chunk(
                {
                    "role": "assistant",
                    "content": "Done.",
                    "tool_calls": None,
                    "refusal": None,
                    "function_call": None,
                    "reasoning_content": None,
                }
            ),
            chunk({"content": None}, "stop"),
            "[DONE]",
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, reasoning as reasoning",
        raw=events(
            ROLE, chunk({"reasoning": "I look."}), chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]"
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, two choices",
        raw=events(
            *(
                {"object": "chat.completion.chunk", "choices": [{"index": n, "delta": d, "finish_reason": f}]}
                for d, f in (({"role": "assistant"}, None), ({"content": "Done."}, None), ({}, "stop"))
                for n in (0, 1)
            ),
            "[DONE]",
        ),
        streamed=True,
        asked={"n": 2},
        **CHAT,
    ),
    case(
        "form, two whole choices",
        raw=json.dumps(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "index": n,
                        "message": {"role": "assistant", "content": f"Name {n}."},
                        "finish_reason": "stop",
                    }
                    for n in (0, 1)
                ],
                "usage": {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15},
            }
        ),
        streamed=False,
        asked={"n": 2},
        **CHAT,
    ),
    case(
        "form, refusal",
        raw=whole({"content": None, "refusal": "I cannot help with that."}),
        streamed=False,
        **CHAT,
    ),
    case(
        "form, refusal streamed",
        raw=events(
            chunk({"role": "assistant", "content": None, "refusal": ""}),
            chunk({"refusal": "I cannot "}),
            chunk({"refusal": "help."}),
            chunk({}, "stop"),
            "[DONE]",
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, legacy function call",
        raw=whole({"content": None, "function_call": LEGACY}, "function_call"),
        asked={"tools": None, "functions": [TOOLS[0]["function"]]},
        streamed=False,
        **CHAT,
    ),
    case(
        "form, legacy streamed",
        raw=events(
            chunk(
                {"role": "assistant", "content": None, "function_call": {"name": "shell", "arguments": ""}}
            ),
            chunk({"function_call": {"arguments": '{"cmd": '}}),
            chunk({"function_call": {"arguments": '"ls"}'}}),
            chunk({}, "function_call"),
            "[DONE]",
        ),
        asked={"tools": None, "functions": [TOOLS[0]["function"]]},
        streamed=True,
        **CHAT,
    ),
    case("form, call in one chunk", raw=deltas(piece(0, LS, id_="a", name="shell")), streamed=True, **CHAT),
    case(
        "form, two calls in one chunk",
        raw=deltas(both(piece(0, LS, id_="a", name="shell"), piece(1, "{}", id_="b", name="whoami"))),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, id again in each",
        raw=deltas(
            piece(0, "", id_="a", name="shell"), piece(0, '{"cmd": ', id_="a"), piece(0, '"ls"}', id_="a")
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, empty id and name later",
        raw=deltas(
            piece(0, "", id_="a", name="shell"),
            {
                "tool_calls": [
                    {"index": 0, "id": "", "type": "function", "function": {"name": "", "arguments": LS}}
                ]
            },
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, null name later",
        raw=deltas(
            piece(0, "", id_="a", name="shell"),
            {
                "tool_calls": [
                    {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": LS}}
                ]
            },
        ),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, arguments null at first",
        raw=deltas(piece(0, None, id_="a", name="shell"), piece(0, LS)),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, words after the call",
        raw=deltas(piece(0, LS, id_="a", name="shell"), {"content": " I list them."}),
        streamed=True,
        **CHAT,
    ),
    case(
        "form, content parts",
        raw=whole({"content": [{"type": "text", "text": "Done."}]}),
        streamed=False,
        may="protocol:engine",
        **CHAT,
    ),
    case(
        "form, system fingerprint",
        raw=whole(
            {"content": "Done.", "annotations": [], "audio": None},
            system_fingerprint="fp",
            service_tier="default",
        ),
        streamed=False,
        **CHAT,
    ),
    case(
        "form, eos as a finish",
        raw=whole({"content": "Done."}, "eos"),
        streamed=False,
        may="protocol:engine finish_contradicts:engine",
        **CHAT,
    ),
    case(
        "form, stop reason of vllm",
        raw=json.dumps(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "role": "assistant",
                            "content": "Done.",
                            "reasoning": None,
                            "tool_calls": [],
                        },
                        "finish_reason": "stop",
                        "stop_reason": 151645,
                    }
                ],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
            }
        ),
        streamed=False,
        **CHAT,
    ),
]
