"""Odd but lawful forms of Messages and Responses."""

import json

from tests.tools.fifth_set.build import Case, case
from tests.tools.fifth_set.wires import (
    LS,
    ON_M,
    ON_R,
    block,
    flow,
    item,
    item_events,
    message,
    response,
    said,
    text_block,
    use,
)

USE_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "title": "A", "url": "https://a.example", "encrypted_content": "xx"}
    ],
}
SIGNED = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "I look."},
    {"type": "signature_delta", "signature": "c2ln"},
)
REASONED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "**Looking**"}],
    "encrypted_content": "gAAA",
}
SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
CUSTOM = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "call_9",
    "name": "apply",
    "input": "*** Begin\n+x\n*** End",
    "status": "completed",
}
CASES: list[Case] = [
    case(
        "form, ping",
        raw=message(text_block(0, "Done."), reason="end_turn").replace(
            "event: content_block_start",
            'event: ping\ndata: {"type": "ping"}\n\nevent: content_block_start',
            1,
        ),
        **ON_M,
    ),
    case("form, signed thinking", raw=message(SIGNED, text_block(1, "Done."), reason="end_turn"), **ON_M),
    case(
        "form, redacted thinking",
        raw=message(
            block(0, {"type": "redacted_thinking", "data": "xx"}), text_block(1, "Done."), reason="end_turn"
        ),
        **ON_M,
    ),
    case("form, thinking and a call", raw=message(SIGNED, use(1, "shell", '{"cmd"', ': "ls"}')), **ON_M),
    case(
        "form, server tool",
        raw=message(
            block(0, USE_SEARCH, {"type": "input_json_delta", "partial_json": '{"query": "x"}'}),
            block(1, FOUND),
            text_block(2, "Found."),
            reason="end_turn",
        ),
        **ON_M,
    ),
    case(
        "form, citations",
        raw=message(
            block(
                0,
                {"type": "text", "text": "", "citations": []},
                {"type": "text_delta", "text": "Found."},
                {
                    "type": "citations_delta",
                    "citation": {"type": "web_search_result_location", "url": "https://a.example"},
                },
            ),
            reason="end_turn",
        ),
        **ON_M,
    ),
    case("form, stop sequence", raw=message(text_block(0, "One"), reason="stop_sequence"), **ON_M),
    case(
        "form, two calls on messages",
        raw=message(text_block(0, "Both."), use(1, "shell", "", LS), use(2, "whoami", "")),
        **ON_M,
    ),
    case("form, call without input delta", may="protocol:engine", raw=message(use(0, "whoami")), **ON_M),
    case(
        "form, whole message",
        raw=json.dumps(
            {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I look.", "signature": "s"},
                    {"type": "text", "text": "Done."},
                    {"type": "tool_use", "id": "t", "name": "whoami", "input": {}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 9, "output_tokens": 8},
            }
        ),
        wire="messages",
        streamed=False,
    ),
    case(
        "form, reasoning item",
        raw=json.dumps(response(REASONED, said("Done."))),
        wire="responses",
        streamed=False,
    ),
    case(
        "form, search item",
        raw=json.dumps(response(SEARCHED, said("Found."))),
        wire="responses",
        streamed=False,
    ),
    case(
        "form, custom tool",
        raw=json.dumps(response(CUSTOM)),
        asked={"tools": [{"type": "custom", "name": "apply"}]},
        wire="responses",
        streamed=False,
    ),
    case(
        "form, two items of calls",
        raw=flow(
            *item_events(0, item("shell", LS, "a"), '{"cmd": ', '"ls"}'),
            *item_events(1, item("whoami", "{}", "b"), "{}"),
            last=response(item("shell", LS, "a"), item("whoami", "{}", "b")),
        ),
        **ON_R,
    ),
    case("form, completed alone", raw=flow(last=response(said("Done."))), **ON_R),
    case(
        "form, refusal part",
        raw=json.dumps(
            response(
                {
                    "type": "message",
                    "id": "m",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "refusal", "refusal": "I cannot."}],
                }
            )
        ),
        wire="responses",
        streamed=False,
    ),
    case(
        "form, null details",
        raw=json.dumps(
            response(
                said("Done."),
                incomplete_details=None,
                error=None,
                reasoning={"effort": "low", "summary": None},
            )
        ),
        wire="responses",
        streamed=False,
    ),
]
