"""Every captured stream, against a naive reading of the whole file; REPLAYER_CAPTURES names a bigger folder."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.wire.reply import assemble
from replayer.wire.sse import SseSplitter, events, read_block
from replayer.wire.types import Reply

FOLDERS = [
    Path(__file__).parents[1] / "captures",
    *map(Path, filter(None, [os.environ.get("REPLAYER_CAPTURES")])),
]
STREAMS = sorted(path for folder in FOLDERS for path in folder.rglob("*.sse"))


def is_chat(path: Path) -> bool:
    return b'"object":"chat.completion.chunk"' in path.read_bytes()


CHATS = [path for path in STREAMS if is_chat(path)]
OPAQUE = [path for path in STREAMS if not is_chat(path)]
# The client closed these on purpose.
ABORTED = "abort-midstream"


def name(path: Path) -> str:
    return "/".join(path.parts[-3:])


def naive_events(body: bytes) -> list[tuple[str | None, bytes]]:
    found = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line.split(b": ", 1) for line in block.split(b"\n") if line]
        data = [value for name, value in lines if name == b"data"]
        kinds = [value.decode() for name, value in lines if name == b"event"]
        if data:
            found.append((kinds[0] if kinds else None, b"\n".join(data)))
    return found


def naive_reply(body: bytes) -> dict[str, Any]:
    """Content, reasoning, calls by index, finish reason, usage, extras, `[DONE]` of a chat completion."""
    out: dict[str, Any] = {"content": "", "reasoning": "", "finish_reason": None, "usage": None, "extra": {}}
    calls: dict[int, dict[str, Any]] = {}
    payloads = [data for _, data in naive_events(body)]
    for payload in payloads:
        if payload == b"[DONE]":
            continue
        chunk = json.loads(payload)
        out["usage"] = chunk.get("usage") or out["usage"]
        _extras(out["extra"], chunk, {"choices", "object", "created", "usage"})
        for choice in chunk["choices"]:
            _extras(out["extra"], choice, {"index", "delta", "finish_reason"})
            out["finish_reason"] = choice["finish_reason"] or out["finish_reason"]
            delta = choice["delta"]
            out["content"] += delta.get("content") or ""
            out["reasoning"] += delta.get("reasoning_content") or delta.get("reasoning") or ""
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"id": None, "name": None, "arguments": ""})
                call["id"] = call["id"] or piece.get("id")
                call["name"] = call["name"] or piece["function"].get("name")
                call["arguments"] += piece["function"].get("arguments") or ""
    return out | {"tool_calls": [calls[index] for index in sorted(calls)], "done": b"[DONE]" in payloads}


def _extras(out: dict[str, Any], source: dict[str, Any], known: set[str]) -> None:
    for key, value in source.items():
        if key in known or value is None:
            continue
        if key == "token_ids":
            out[key] = out.get(key, []) + value
        elif key == "logprobs":
            before = out.get(key, {"content": []})
            out[key] = before | {"content": before["content"] + value["content"]}
        else:
            out[key] = value


def plain(reply: Reply) -> dict[str, Any]:
    """What the oracle knows of a reply."""
    return {
        "content": reply.content,
        "reasoning": reply.reasoning,
        "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "usage": reply.usage,
        "extra": reply.extra,
        "done": reply.done,
    }


def one_byte_at_a_time(body: bytes) -> list[bytes]:
    return [body[i : i + 1] for i in range(len(body))]


def test_the_fixtures_hold_chats_and_other_streams_of_every_engine() -> None:
    assert len(CHATS) > 100 and len(OPAQUE) > 10
    ours = [path.relative_to(FOLDERS[0]).parts for path in CHATS if FOLDERS[0] in path.parents]
    engines = [parts[1] if parts[0] == "wires" else parts[0] for parts in ours]
    assert {engine.split("-")[0] for engine in engines} == {
        "ik_llama.cpp",
        "llama.cpp",
        "sglang",
        "vllm",
    }


@pytest.mark.parametrize("path", CHATS, ids=name)
def test_chat_equals_a_naive_reading(path: Path) -> None:
    body = path.read_bytes()
    reply = assemble(body)
    assert plain(reply) == naive_reply(body)
    assert reply.streamed and reply.notes == ()
    if ABORTED in path.name:
        assert reply.fault is not None and reply.fault.kind == "stream_broken"
    else:
        assert reply.fault is None


@pytest.mark.parametrize("path", CHATS, ids=name)
def test_chat_is_the_same_one_byte_at_a_time(path: Path) -> None:
    body = path.read_bytes()
    assert assemble(one_byte_at_a_time(body)) == assemble(body)


@pytest.mark.parametrize("path", OPAQUE, ids=name)
def test_other_streams_pass_through_as_opaque_events(path: Path) -> None:
    body = path.read_bytes()
    assert [(event.event, event.data) for event in events(body)] == naive_events(body)
    splitter = SseSplitter()
    blocks = [
        block for piece in one_byte_at_a_time(body) for block in splitter.feed(piece)
    ] + splitter.flush()
    assert [event for event in map(read_block, blocks) if event] == events(body)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CHATS), st.data())
def test_splits_anywhere_and_other_line_ends_change_nothing(path: Path, data: st.DataObject) -> None:
    body = path.read_bytes()
    expected = assemble(body)
    line_end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    body = body.replace(b"\n", line_end)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=20)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert assemble(pieces) == expected


WHOLE = sorted(
    path
    for folder in FOLDERS
    for pattern in ("*nonstream*.response.json", "*nonstream*.response.body")
    for path in folder.rglob(pattern)
    if b'"choices"' in path.read_bytes()  # the other wires have tests of their own
)


@pytest.mark.parametrize("path", WHOLE, ids=name)
def test_whole_reply_equals_its_own_json(path: Path) -> None:
    body = path.read_bytes()
    (choice,) = json.loads(body)["choices"]
    message = choice["message"]
    reply = assemble(body, stream=False)
    assert reply.content == (message.get("content") or "")
    assert reply.reasoning == (message.get("reasoning_content") or message.get("reasoning") or "")
    expected = [
        (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or []
    ]
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == expected
    assert (reply.finish_reason, reply.usage) == (choice["finish_reason"], json.loads(body)["usage"])
    assert reply.done and not reply.streamed and reply.fault is None and reply.notes == ()
    assert reply.timing.first_token is None and reply.timing.arrivals == ()
