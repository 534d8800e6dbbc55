"""What deltas become: text, calls, finish reason, usage, extras; every breach of the protocol is noted."""

import json
from typing import Any

import pytest

from replayer.wire.reply import assemble
from replayer.wire.types import Delta, Reply
from tests.wire.serving import DONE, delta, event, finish


def read(*pieces: bytes) -> Reply:
    return assemble([*pieces, finish(), DONE])


def codes(reply: Reply) -> list[tuple[str, int | None]]:
    return [(note.code, note.call_index) for note in reply.notes]


def calls(reply: Reply) -> list[tuple[str | None, str | None, str]]:
    return [(call.id, call.name, call.arguments) for call in reply.tool_calls]


def call(arguments: Any = None, *, role: str | None = "assistant", **fields: Any) -> bytes:
    """A delta with one call; `name` goes where it belongs."""
    function = {"name": fields.pop("name")} if "name" in fields else {}
    if arguments is not None:
        function["arguments"] = arguments
    return delta(
        **({"role": role} if role else {}), tool_calls=[{"index": 0, "function": function, **fields}]
    )


NO_INDEX: dict[str, Any] = {"index": None}


@pytest.mark.parametrize(
    ("pieces", "expected", "notes"),
    [
        pytest.param([call("", id="a", name="f"), call('{"x":'), call("1}")], [("a", "f", '{"x":1}')], [], id="plain"),
        pytest.param(
            [call("{", id="a", name="f"), call("[", id="b", name="g", index=1), call("}"), call("]", index=1)],
            [("a", "f", "{}"), ("b", "g", "[]")],
            [],
            id="interleaved",
        ),
        pytest.param(
            [call({"x": [1]}, id="a", name="f")], [("a", "f", '{"x":[1]}')], [("arguments_object", 0)], id="object"
        ),
        pytest.param([call("{}", id="a", name="f", role=None)], [("a", "f", "{}")], [("call_before_role", None)], id="role"),
        pytest.param([call("{}", id=None, name="f")], [(None, "f", "{}")], [("missing_id", 0)], id="null id"),
        pytest.param([call("{}", id="", name="f")], [(None, "f", "{}")], [("missing_id", 0)], id="empty id"),
        pytest.param([call("{}", id="a")], [("a", None, "{}")], [("arguments_before_name", 0), ("missing_name", 0)], id="no name"),
        pytest.param(
            [call("{}", id="a", name="f"), call("{}", id="a", name="g", index=1)],
            [("a", "f", "{}"), ("a", "g", "{}")],
            [("duplicate_id", 1)],
            id="duplicate id",
        ),
        pytest.param(
            [call("{", id="a", name="f"), call("}", id="b")], [("a", "f", "{}")], [("changed_id", 0)], id="changed id"
        ),
        pytest.param(
            [call("{", id="a", name="f"), call("}", id="b", name="f")],
            [("a", "f", "{}")],
            [("changed_id", 0), ("repeated_name", 0)],
            id="another id in every delta",
        ),
        pytest.param(
            [call("{", id="a", name="f"), call("}", id="a", name="f")],
            [("a", "f", "{}")],
            [("repeated_name", 0)],
            id="all in every delta",
        ),
        pytest.param(
            [call("", id="a", name="read_"), call(name="file"), call("{}")],
            [("a", "read_file", "{}")],
            [("split_name", 0)],
            id="name in pieces",
        ),
        pytest.param(
            [call("{}", id="a", name="f"), call("{}", id="b", name="g")],
            [("a", "f", "{}"), ("b", "g", "{}")],
            [("repeated_index", 1)],
            id="all calls have index 0",
        ),
        pytest.param(
            [call("{}", id="a", name="f"), call("{}", id="b", name="f")],
            [("a", "f", "{}"), ("b", "f", "{}")],
            [("repeated_index", 1)],
            id="the same tool twice with index 0",
        ),
        pytest.param(
            [call("{}", name="f"), call("{}", name="f")],
            [(None, "f", "{}"), (None, "f", "{}")],
            [("repeated_index", 1), ("missing_id", 0), ("missing_id", 1)],
            id="index 0 and no ids",
        ),
        pytest.param(
            [call("{", id="a", name="f", **NO_INDEX), call("}", **NO_INDEX), call("{}", id="b", name="g", **NO_INDEX)],
            [("a", "f", "{}"), ("b", "g", "{}")],
            [("missing_index", 0), ("missing_index", 1)],
            id="no index",
        ),
        pytest.param(
            [call("{}", id="a", name="f", index=1), call("[]", id="b", name="g", index=0)],
            [("a", "f", "{}"), ("b", "g", "[]")],
            [("index_out_of_order", 0), ("index_out_of_order", 1)],
            id="indexes out of order",
        ),
        pytest.param(
            [delta(role="assistant", tool_calls=["x", {"index": 0, "function": "f", "id": 3}])],
            [(None, None, "")],
            [("bad_field", None), ("missing_id", 0), ("missing_name", 0)],
            id="no calls at all",
        ),
        pytest.param(
            [delta(role="assistant", function_call={"name": "f", "arguments": "{"}), delta(function_call={"arguments": "}"})],
            [(None, "f", "{}")],
            [("legacy_function_call", None), ("missing_id", 0)],
            id="before tool_calls",
        ),
    ],
)  # fmt: skip
def test_calls(
    pieces: list[bytes], expected: list[tuple[str, str, str]], notes: list[tuple[str, int]]
) -> None:
    reply = read(*pieces)
    assert calls(reply) == expected
    assert codes(reply) == notes
    assert [c.index for c in reply.tool_calls] == list(range(len(expected)))


def test_exact_argument_text_is_kept() -> None:
    text = '{ "a" : 1.0,\t"b":"\\u00e9\\n" , "a":2 '
    reply = read(call("", id="a", name="f"), *[call(character) for character in text])
    assert reply.tool_calls[0].arguments == text and reply.notes == ()


def test_a_call_counts_as_the_first_token() -> None:
    seen: list[Delta] = []
    pieces = [
        delta(role="assistant", content=""),
        call("", id="a", name="f"),
        call("{}"),
        finish("tool_calls"),
        DONE,
    ]
    reply = assemble(pieces, at=[10, 20, 30, 40, 50], on_delta=seen.append)
    assert (reply.timing.first_token, reply.timing.arrivals) == (20, (20, 30))
    assert reply.timing.began == 10, "the role alone"
    assert seen == [Delta(20, "tool_name", "f", 0), Delta(30, "tool_arguments", "{}", 0)]


@pytest.mark.parametrize(
    ("fields", "reasoning", "field", "notes"),
    [
        ({"reasoning_content": "hm"}, "hm", "reasoning_content", []),
        ({"reasoning": "hm"}, "hm", "reasoning", []),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm", "reasoning_content", []),
        ({"reasoning": "hm", "reasoning_content": None}, "hm", "reasoning", []),
        ({"reasoning": "a", "reasoning_content": "b"}, "b", "reasoning_content", [("two_reasonings", None)]),
        ({"reasoning": None, "reasoning_content": ""}, "", None, []),
    ],
)
def test_reasoning(fields: dict[str, Any], reasoning: str, field: str | None, notes: list[Any]) -> None:
    reply = read(delta(role="assistant", **fields), delta(content="so"))
    assert (reply.reasoning, reply.reasoning_field, reply.content) == (reasoning, field, "so")
    assert codes(reply) == notes


def test_one_event_may_hold_everything() -> None:
    seen: list[Delta] = []
    chunk = {"role": "assistant", "content": "c", "reasoning": "r", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    everything = {
        "choices": [{"index": 0, "delta": chunk, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1},
    }
    reply = assemble([event(everything), DONE], at=[7, 8], on_delta=seen.append)
    assert (reply.content, reply.reasoning, calls(reply)) == ("c", "r", [("a", "f", "{}")])
    assert (reply.finish_reason, reply.usage, reply.notes) == ("tool_calls", {"prompt_tokens": 1}, ())
    assert [d.channel for d in seen] == ["content", "reasoning", "tool_name", "tool_arguments"]
    assert reply.timing.arrivals == (7,)


def test_usage_on_every_chunk_and_null() -> None:
    chunks = [
        event({"choices": [], "usage": usage})
        for usage in ({"prompt_tokens": 1}, None, {"prompt_tokens": 2}, None)
    ]
    assert read(*chunks).usage == {"prompt_tokens": 2}
    assert read().usage is None


def test_extras_are_kept() -> None:
    def chunk(choice: dict[str, Any], **top: Any) -> bytes:
        return event({"choices": [{"index": 0, "delta": {}, **choice}], **top})

    reply = read(
        chunk({"token_ids": [1, 2], "matched_stop": None}, id="x", created=1, object="o", model="m"),
        chunk({"token_ids": [3], "logprobs": {"content": [{"token": "a"}]}}, timings={"n": 1}),
        chunk(
            {"token_ids": None, "logprobs": {"content": [{"token": "b"}]}, "stop_reason": 7},
            timings={"n": 2},
            x=None,
        ),
    )
    assert reply.extra == {
        "id": "x",
        "model": "m",
        "timings": {"n": 2},
        "token_ids": [1, 2, 3],
        "logprobs": {"content": [{"token": "a"}, {"token": "b"}]},
        "stop_reason": 7,
    }
    assert reply.notes == ()


@pytest.mark.parametrize(
    ("piece", "code"),
    [
        (b"data: {not json}\n\n", "bad_event"),
        (b"data: [1]\n\n", "bad_event"),
        (b"data: 5\n\n", "bad_event"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "bad_event"),
        (event({"choices": 5}), "bad_field"),
        (event({"choices": ["x"]}), "bad_field"),
        (event({"choices": [{"delta": "x"}]}), "bad_field"),
        (event({"usage": 5}), "bad_field"),
        (delta(content=5), "bad_field"),
        (delta(tool_calls={"index": 0}), "bad_field"),
        (event({"choices": [{"index": 1, "delta": {"content": "other"}}]}), "other_choice"),
        (delta(content=[{"type": "text", "text": ""}]), "content_parts"),
        (b'data: {"choices":[],"x":NaN}\n\n', "not_json"),
        (finish() + delta(content=""), None),
    ],
)
def test_bad_events_are_noted_and_the_rest_is_read(piece: bytes, code: str | None) -> None:
    reply = read(
        delta(role="assistant", content="a"),
        piece,
        piece,
        delta(role="assistant", content="b") if code else b"",
    )
    assert reply.content == ("ab" if code else "a") and reply.fault is None
    assert codes(reply) == ([(code, None)] if code else [])


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert read(delta(content=parts)).content == "ab"


def test_text_after_the_end() -> None:
    reply = assemble([delta(content="a"), finish(), delta(content="b"), DONE, delta(content="c")])
    assert reply.content == "ab"
    assert codes(reply) == [("delta_after_finish", None), ("data_after_done", None)]


def test_done_without_a_finish_reason() -> None:
    reply = assemble([delta(content="a"), DONE])
    assert reply.done and reply.fault is None and codes(reply) == [("no_finish_reason", None)]


def test_values_that_mean_nothing() -> None:
    """Some servers send an empty finish reason until the end, an empty usage, or the index as text."""
    choice = {"index": "0", "finish_reason": ""}
    pieces = [
        event({"choices": [{**choice, "delta": {"role": "assistant", "content": text}}], "usage": usage})
        for text, usage in (("a", {"prompt_tokens": 1}), ("b", {}))
    ]
    reply = read(*pieces)
    assert (reply.content, reply.finish_reason, reply.usage, reply.notes) == (
        "ab",
        "stop",
        {"prompt_tokens": 1},
        (),
    )


def test_a_stream_of_one_message_and_a_message_that_sums_up() -> None:
    whole = {"role": "assistant", "content": "ab"}
    only = read(event({"choices": [{"index": 0, "message": whole, "finish_reason": None}]}))
    summed = read(
        delta(content="a"),
        delta(content="b"),
        event({"choices": [{"index": 0, "delta": {}, "message": whole}]}),
    )
    assert only.content == summed.content == "ab"


def test_no_done() -> None:
    finished = assemble([delta(content="a"), finish()])
    assert (finished.done, finished.fault) == (False, None)
    unfinished = assemble([delta(content="a")])
    assert unfinished.fault is not None and unfinished.fault.kind == "stream_broken"
    assert unfinished.content == "a"


def test_an_empty_answer_is_a_fault() -> None:
    for stream in (True, False):
        reply = assemble(b"", stream=stream)
        assert reply.fault is not None and reply.timing.first_token is None


ERRORS = [
    (b'data: {"error":{"message":"out of memory","type":"x","code":500}}\n\n', "server_error", 500),
    (b'data: {"error":{"message":"out of memory"}}\n\n', "server_error", 200),
    (b'data: {"object":"error","message":"out of memory","code":503}\n\n', "overloaded", 503),
    (b'data: {"error":"out of memory"}\n\n', "server_error", 200),
    (b'error: {"message":"out of memory","code":500}\n\n', "server_error", 500),
    (b"event: error\ndata: out of memory\n\n", "server_error", 200),
    (b'event: error\ndata: {"message":"out of memory"}\n\n', "server_error", 200),
]


@pytest.mark.parametrize(("error", "kind", "status"), ERRORS)
@pytest.mark.parametrize("done", [b"", DONE])
def test_an_error_in_the_middle_of_a_stream(error: bytes, kind: str, status: int, done: bytes) -> None:
    reply = assemble([delta(role="assistant", content="so far"), error, done])
    assert reply.content == "so far"
    assert reply.fault is not None
    assert (reply.fault.kind, reply.fault.message, reply.fault.status) == (kind, "out of memory", status)
    assert reply.fault.body is not None and reply.fault.body in error.decode()


def test_an_error_object_instead_of_a_whole_reply() -> None:
    reply = assemble(b'{"error":{"message":"maximum context length is 10","code":400}}', stream=False)
    assert reply.fault is not None and reply.fault.kind == "context_too_long" and not reply.done


def test_a_byte_order_mark_before_a_whole_body_says_nothing() -> None:
    for whole in (
        b'{"error":{"message":"too long","code":400}}',
        b'{"choices":[{"message":{"content":"hi"}}]}',
    ):
        with_mark, without = (assemble(body, stream=True) for body in (b"\xef\xbb\xbf" + whole, whole))
        found, plain = (
            (r.content, r.fault and (r.fault.kind, r.fault.message)) for r in (with_mark, without)
        )
        assert found == plain


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_byte_order_mark_may_come_in_pieces(cut: int) -> None:
    body = b'\xef\xbb\xbf{"error":{"message":"too long","code":400}}'
    assert assemble([body[:cut], body[cut:]]) == assemble(body)


def test_characters_split_over_packets_and_broken_ones() -> None:
    body = 'data: {"choices":[{"index":0,"delta":{"content":"é漢😀"}}]}\n\n'.encode()
    assert assemble([body[i : i + 1] for i in range(len(body))]).content == "é漢😀"
    escaped = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d\\ude00 \\ud83d"}}]}\n\n'
    reply = read(escaped)
    assert reply.content == "😀 \ufffd" and codes(reply) == [("lone_surrogate", None)]
    reply = read(b'data: {"choices":[{"index":0,"delta":{"content":"a\xff"}}]}\n\n')
    assert reply.content == "a\ufffd" and codes(reply) == [("invalid_utf8", None)]
    json.dumps(reply.content).encode()


def test_a_whole_reply_needs_no_indexes() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "reasoning": "hm",
        "tool_calls": [
            {"id": name, "type": "function", "index": 7, "function": {"name": name, "arguments": "{}"}}
            for name in "ab"
        ],
    }
    body = {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    seen: list[Delta] = []
    reply = assemble(json.dumps(body).encode(), stream=False, on_delta=seen.append)
    assert (
        calls(reply) == [("a", "a", "{}"), ("b", "b", "{}")] and reply.reasoning == "hm" and reply.notes == ()
    )
    assert [d.channel for d in seen] == [
        "reasoning",
        "tool_name",
        "tool_arguments",
        "tool_name",
        "tool_arguments",
    ]
