"""Recorded mode: the requests that a trace stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import PlanError, TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Fidelity,
    Header,
    OpaqueItem,
    ReasoningItem,
    Source,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolSchema,
    UserItem,
)
from replayer.traces.writer import TraceWriter
from tests.generate import long_session

HEADER = Header(trace_id="t", source=Source(format="test"), fidelity=Fidelity())
TOOL = ToolSchema(name="ls", description="Lists.", parameters={"type": "object"})


def _history(
    path: Path, turns: Sequence[tuple[Sequence[AnyItem], Sequence[AnyItem]]], **more: Any
) -> RecordedHistory:
    with TraceWriter(path, HEADER) as writer:
        tools = writer.add_tool_set([TOOL])
        for context, produced in turns:
            writer.add_turn(
                context=[writer.add_item(item) for item in context],
                produced=[writer.add_item(item) for item in produced],
                tool_set=tools,
            )
    return RecordedHistory(Trace.open(path), **more)


SYSTEM = SystemItem(id=0, text="Be brief.")
ASK = UserItem(id=0, content='List "it"\n')
THINK = ReasoningItem(id=0, text="hm")
SAY = AssistantItem(id=0, text="Looking.")
CALL = ToolCallItem(id=0, call_id="c1", name="ls", arguments='{"p": 1}')
BROKEN = ToolCallItem(id=0, call_id="c2", name="ls", arguments='{"p": ')
RESULT = ToolResultItem(id=0, call_id="c1", content="a")
BROKEN_RESULT = ToolResultItem(id=0, call_id="c2", content="bad JSON", is_error=True)


def _body(history: RecordedHistory, turn: int, **more: Any) -> Any:
    request = history.request(turn, {"model": "m", "temperature": 0}, **more)
    raw = b"".join(request.body)
    assert request.content_length == len(raw)
    return orjson.loads(raw)


def test_a_reply_becomes_one_assistant_message(tmp_path: Path) -> None:
    reply = [THINK, SAY, CALL, BROKEN]
    history = _history(
        tmp_path / "t.jsonl",
        [([SYSTEM, ASK], reply), ([SYSTEM, ASK, *reply, RESULT, BROKEN_RESULT], [SAY])],
    )
    body = _body(history, 1)
    assert list(body) == ["model", "messages", "tools", "temperature", "stream"]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": 'List "it"\n'},
        {
            "role": "assistant",
            "content": "Looking.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": '{"p": '}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "tool", "tool_call_id": "c2", "content": "bad JSON"},
    ]
    assert body["tools"] == history.tools(1)
    assert body["messages"] == history.messages(1)


def test_replies_that_follow_each_other_stay_apart(tmp_path: Path) -> None:
    other = AssistantItem(id=0, text="And more.")
    history = _history(
        tmp_path / "t.jsonl", [([ASK], [SAY]), ([ASK, SAY], [other]), ([ASK, SAY, other], [THINK])]
    )
    assert [m["role"] for m in history.messages(2)] == ["user", "assistant", "assistant"]


def test_compaction_is_a_user_message_and_opaque_records_are_not_sent(tmp_path: Path) -> None:
    compaction = CompactionItem(id=0, text="So far: nothing.")
    history = _history(tmp_path / "t.jsonl", [([OpaqueItem(id=0, record={"x": 1}), compaction, ASK], [SAY])])
    assert history.messages(0) == [
        {"role": "user", "content": "So far: nothing."},
        {"role": "user", "content": 'List "it"\n'},
    ]


@pytest.mark.parametrize(
    "ask",
    [
        ASK,
        UserItem(
            id=0, content=({"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}})
        ),
        CompactionItem(id=0, text="So far: nothing."),
    ],
)
def test_a_marker_ends_the_first_message_of_the_client(
    tmp_path: Path, ask: UserItem | CompactionItem
) -> None:
    history = _history(tmp_path / "t.jsonl", [([SYSTEM, ask, SAY, ASK], [SAY])])
    plain, marked = history.messages(0), history.messages(0, marker=' "7"')
    content = marked[1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert text.endswith(' "7"') and marked[0] == plain[0] and marked[2:] == plain[2:]
    assert _body(history, 0, marker=' "7"')["messages"] == marked


def test_every_request_of_a_long_session_extends_the_last(tmp_path: Path) -> None:
    with Trace.open(long_session(tmp_path / "long.jsonl", turns=20, tokens=20_000)) as trace:
        history = RecordedHistory(trace)
        before: list[dict[str, Any]] = []
        for turn in history.turns:
            messages = history.messages(turn)
            assert messages[: len(before)] == before and len(messages) > len(before)
            before = messages


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="did you mean 'openai-verbatim'"):
        _history(tmp_path / "t.jsonl", [([ASK], [SAY])], dialect_name="openai-verbatm")
    with pytest.raises(TraceError, match=r"thread 'x' has no turn to replay \(threads: main\)"):
        _history(tmp_path / "t.jsonl", [([ASK], [SAY])], thread="x")


def test_sessions_share_the_bytes_of_their_history(tmp_path: Path) -> None:
    with Trace.open(long_session(tmp_path / "long.jsonl", turns=20, tokens=20_000)) as trace:
        history = RecordedHistory(trace)
        requests = [history.request(history.turns[-1], {"model": "m"}, marker=f" [{n}]") for n in range(50)]
        assert len({b"".join(request.body) for request in requests}) == 50
        own = sum(len(piece) for request in requests for piece in request.body if isinstance(piece, bytes))
        whole = sum(request.content_length for request in requests)
        shared = {
            id(piece.obj) for request in requests for piece in request.body if isinstance(piece, memoryview)
        }
        assert own < 0.03 * whole and len(shared) == 1
