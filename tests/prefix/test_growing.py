"""Requests read as their thread grows: the same as read in full."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.prefix.chatml import PromptTokens
from replayer.prefix.growing import GrowingRequests, conversation
from replayer.prefix.tokenizers import Estimate

CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": 'A list: ["[", "]", ","]'},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "one\n\ntwo"},
    {"role": "tool", "tool_call_id": "c", "content": "}"},
    {"role": "assistant", "content": [{"type": "text", "text": "Done, ü.", "cache_control": {}, "x": 1}]},
    {"role": "user", "content": [{"type": "text", "text": "On.", "cache_control": {"type": "ephemeral"}}]},
]
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def body(messages: list[Any], comma: bytes, **fields: Any) -> tuple[bytes, slice]:
    head = orjson.dumps({"model": "m", **fields})[:-1] + b',"messages":['
    inside = comma.join(map(orjson.dumps, messages))
    return head + inside + b'],"stream":true}', slice(len(head), len(head) + len(inside))


requests = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from([b",", b", "]),
        st.fixed_dictionaries(
            {},
            optional={
                "tools": st.sampled_from([[], TOOLS]),
                "max_tokens": st.integers(1, 2),
                "thinking": st.just({"type": "enabled"}),
            },
        ),
        st.booleans(),
    ),
    max_size=8,
)


@given(requests, st.permutations(MESSAGES))
def test_growing_requests_are_read_as_in_full(asked: list[Any], messages: list[Any]) -> None:
    growing, prompts = GrowingRequests(), PromptTokens(Estimate())
    for length, comma, fields, changed in asked:
        sent = [*messages[:length], *([{"role": "user", "content": "Another"}] if changed else [])]
        text, entries = body(sent, comma, **fields)
        found, whole = growing.read("t", text, entries), conversation(orjson.loads(text))
        assert (found.fields, found.messages, found.tools) == (whole.fields, whole.messages, whole.tools)
        assert (found.digest.value, found.marks) == (whole.digest.value, whole.marks)
        assert prompts.prompt(found.messages, found.tools, found.rendered) == prompts.prompt(
            whole.messages, whole.tools
        )


def test_a_block_of_another_wire_makes_the_whole_request_one_of_it() -> None:
    growing = GrowingRequests()
    first = [{"role": "user", "content": "Hi"}]
    second = [
        *first,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    ]
    growing.read("t", *body(first, b","))
    found = growing.read("t", *body(second, b","))
    assert [orjson.loads(message)["role"] for message in found.messages] == ["user", "tool"]


@pytest.mark.parametrize(
    ("request_", "tools"),
    [
        ({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}, 0),
        ({"instructions": "Be brief.", "input": "Hi", "tools": [{"name": "read"}]}, 1),
    ],
)
def test_what_the_wires_call_messages(request_: dict[str, Any], tools: int) -> None:
    found = conversation(request_)
    assert [orjson.loads(message)["role"] for message in found.messages] == ["system", "user"]
    assert len(orjson.loads(found.tools)) == tools
