"""Whatever a server sends is a reply that can be written down."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.wire.reply import assemble
from replayer.wire.types import Delta
from tests.wire.serving import chat, event

WORDS = (
    'data: |data:|event: error\n|\n\n|\n|[DONE]|{|}|[|]|"|,|:|null|1e999|NaN|"\\ud800"|"index":0|"choices":[{"delta":|"message":'
    '|"error":|"content":"a"|"reasoning":|"tool_calls":[{|"function":{|"name":"f"|"arguments":"{}"|"id":"a"'
    '|"finish_reason":"stop"|"usage":{|"token_ids":[1]|"logprobs":{"content":['
)
FRAGMENTS = st.sampled_from([*WORDS.encode().split(b"|"), b"9" * 30, b"\xff", *chat()])

FULL: dict[str, Any] = {
    "id": "x",
    "choices": [
        {
            "index": 0,
            "delta": {
                "role": "assistant",
                "content": "c",
                "reasoning": "r",
                "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}],
                "function_call": None,
            },
            "finish_reason": None,
            "token_ids": [1],
            "logprobs": {"content": [1]},
        }
    ],
    "usage": {"prompt_tokens": 1},
    "error": None,
}
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "{}", "0"])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["index", "content", "function", "name", "id", "message", "x"]), inner, max_size=3
        )
    ),
    max_leaves=4,
)


@st.composite
def odd_events(draw: st.DrawFn) -> bytes:
    """A chunk with anything in the place of some of its values."""

    def spoil(value: Any) -> Any:
        if draw(st.integers(0, 7)) == 0:
            return draw(ANYTHING)
        if isinstance(value, dict):
            return {key: spoil(element) for key, element in value.items()}
        return [spoil(element) for element in value] if isinstance(value, list) else value

    return event(spoil(FULL))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(FRAGMENTS, max_size=30) | st.lists(odd_events(), max_size=6),
    st.sampled_from([True, False, None]),
)
def test_whatever_comes_is_a_reply_that_can_be_written_down(pieces: list[bytes], stream: bool | None) -> None:
    seen: list[Delta] = []
    reply = assemble(pieces, stream=stream, on_delta=seen.append)
    orjson.dumps(reply)
    assert "".join(d.text for d in seen if d.channel == "content") == reply.content
    assert "".join(d.text for d in seen if d.channel == "reasoning") == reply.reasoning
    for call in reply.tool_calls:
        pieces_of_it = [d.text for d in seen if d.channel == "tool_arguments" and d.call_index == call.index]
        assert "".join(pieces_of_it) == call.arguments
    assert reply.fault or reply.done or reply.finish_reason
