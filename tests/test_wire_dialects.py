"""Requests as Claude Code and Codex write them, and request logs of both wires as turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from replayer.requests.history import RecordedHistory
from replayer.traces.library import find
from replayer.traces.reader import Trace
from tests.tools import exchanges

TRACE = "fix-failing-test"


def body(history: RecordedHistory, turn: int, **fields: Any) -> dict[str, Any]:
    request = history.request(turn, {"model": "m", **fields})
    parsed: dict[str, Any] = json.loads(b"".join(map(bytes, request.body)))
    return parsed


def test_claude_code_marks_the_cache_and_answers_calls_in_one_user_message() -> None:
    with Trace.open(find(TRACE)) as trace:
        history = RecordedHistory(trace, "claude-code").over(None)
        assert history.wire == "messages"
        sent = body(history, history.turns[2], max_tokens=50)
        assert list(sent)[:3] == ["model", "messages", "system"] and sent["max_tokens"] == 50
        assert sent["system"][-1]["cache_control"] == {"type": "ephemeral"}
        roles = [message["role"] for message in sent["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        marks = [b.get("cache_control") for m in sent["messages"] for b in m["content"]]
        assert marks[-1] and not any(marks[:-1])
        called = [b["id"] for m in sent["messages"] for b in m["content"] if b["type"] == "tool_use"]
        answered = [
            b["tool_use_id"] for m in sent["messages"] for b in m["content"] if b["type"] == "tool_result"
        ]
        assert called == answered and len(called) > 1
        assert all(isinstance(tool["input_schema"], dict) for tool in sent["tools"])


def test_codex_sends_items_and_its_own_fields() -> None:
    with Trace.open(find(TRACE)) as trace:
        history = RecordedHistory(trace, "codex").over(None)
        assert history.wire == "responses"
        sent = body(history, history.turns[2], max_tokens=50)
        assert list(sent)[:3] == ["model", "instructions", "input"] and sent["max_output_tokens"] == 50
        assert (sent["store"], sent["tool_choice"], sent["parallel_tool_calls"]) == (False, "auto", True)
        kinds = [item["type"] for item in sent["input"]]
        assert (
            kinds[0] == "message" and kinds.count("function_call") == kinds.count("function_call_output") > 1
        )
        assert sent["input"][0]["content"][0]["type"] == "input_text"


@pytest.mark.parametrize("name", ["openai-verbatim", "codex", "claude-code"])
def test_what_the_model_said_is_a_list_of_output_texts_on_responses(name: str) -> None:
    """vLLM 0.21 answers a string there with 400: nine of twelve turns of a real run."""
    with Trace.open(find(TRACE)) as trace:
        history = RecordedHistory(trace, name, wire="responses")
        rebuilt = history.build(history.turns[-1], history.messages(history.turns[-1]), {}, stream=True)
        for sent in (body(history, history.turns[-1]), json.loads(b"".join(map(bytes, rebuilt.body)))):
            said = [item["content"] for item in sent["input"] if item.get("role") == "assistant"]
            assert said and all([part["type"] for part in parts] == ["output_text"] for parts in said)


def test_the_attribution_header_can_be_left_out(tmp_path: Path) -> None:
    history = [{"role": "system", "content": "x-anthropic-billing-header: cch=abcde;"}]
    lines = [
        json.dumps({"request": {"model": "m", "messages": [*history, {"role": "user", "content": "hi"}]}})
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    assert main(["import", str(tmp_path / "log.jsonl"), "-o", str(tmp_path / "out")]) == 0
    (path,) = (tmp_path / "out").iterdir()
    with Trace.open(path) as trace:
        kept = RecordedHistory(trace, "claude-code", wire="messages")
        left = RecordedHistory(trace, "claude-code:attribution=off", wire="messages")
        assert "cch=abcde" in json.dumps(body(kept, 0)) and "cch" not in json.dumps(body(left, 0))
        bare = RecordedHistory(trace, "claude-code:cache=off", wire="messages")
        assert "cache_control" in json.dumps(body(kept, 0)) and "cache_control" not in json.dumps(
            body(bare, 0)
        )


@pytest.mark.parametrize("wire", ["messages", "responses"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "no-stream"])
def test_a_log_of_a_wire_becomes_turns_that_are_sent_as_they_were(
    wire: Any, stream: bool, tmp_path: Path
) -> None:
    call = {"id": "c1", "name": "Bash", "arguments": '{"command":"ls /tmp"}'}
    reply = {
        "content": "I look.",
        "tool_calls": [call],
        "finish_reason": "tool_calls",
        "completion_tokens": 9,
    }
    events = {"messages": exchanges.messages_events, "responses": exchanges.responses_events}[wire]
    whole = {"messages": exchanges.messages_whole, "responses": exchanges.responses_whole}[wire](reply)
    assert whole is not None
    answer = exchanges.events(events(reply)).decode() if stream else json.loads(whole)
    request = exchanges.on_wire(exchanges.request({}), wire)
    (tmp_path / "log.jsonl").write_text(json.dumps({"request": request, "response": answer}))
    assert main(["import", str(tmp_path / "log.jsonl"), "-o", str(tmp_path / "out")]) == 0
    (path,) = (tmp_path / "out").iterdir()
    with Trace.open(path) as trace:
        (turn,) = trace.turns
        kinds = [trace.item(number).kind for number in turn.produced]
        assert kinds == ["assistant", "tool_call"] and turn.usage is not None
        assert (turn.usage.prompt_tokens, turn.usage.completion_tokens) == (100, 9)
        history = RecordedHistory(trace).over("recorded")
        assert history.wire == wire and body(history, 0) == request | {"stream": True}


CODEX = [
    {"type": "message", "id": "m0", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0", "turn": {"id": "t"}},
    {"type": "message", "id": "m1", "role": "assistant", "phase": "commentary",
     "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "id": "fc_1", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "a.py", "turn": {"id": "t"}},
    {"type": "tool_search_call", "call_id": "c2", "status": "completed", "execution": "client",
     "arguments": {"query": "issues"}},
    {"type": "tool_search_output", "call_id": "c2", "status": "completed", "execution": "client",
     "tools": [{"type": "function", "name": "list_issues"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]  # fmt: skip
"""Items as newer Codex clients keep them: with ids, a phase, and what they pass on."""


def test_codex_items_are_sent_as_the_client_keeps_them(tmp_path: Path) -> None:
    records = [{"type": "session_meta", "payload": {"id": "s", "cli_version": "0.140.0"}}]
    records += [{"type": "response_item", "payload": item} for item in CODEX]
    (tmp_path / "rollout.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert main(["import", str(tmp_path / "rollout.jsonl"), "-o", str(tmp_path / "out")]) == 0
    (path,) = (tmp_path / "out").iterdir()
    with Trace.open(path) as trace:
        history = RecordedHistory(trace, "codex").over(None)
        sent = body(history, history.turns[-1])["input"]
        assert json.dumps(sent) == json.dumps(CODEX[: len(sent)]) and len(sent) > 6
        bare = RecordedHistory(trace, "codex:encrypted=off").over(None)
        assert "encrypted_content" not in json.dumps(body(bare, bare.turns[-1]))
        assert "tool_use_id" not in json.dumps(body(history.over("messages"), history.turns[0]))


def test_claude_code_sends_results_as_it_keeps_them(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    result = {"content": "a.py", "is_error": False, "tool_use_id": "toolu_1", "type": "tool_result"}
    said = [
        ("user", "List."),
        ("assistant", [call]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "."}]),
    ]
    lines = [
        {"type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s",
         "version": "2.1.0", "message": {"role": role, "content": content, "id": f"msg_{n}", "model": "m"}}
        for n, (role, content) in enumerate(said)
    ]  # fmt: skip
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["import", str(tmp_path / "s.jsonl"), "-o", str(tmp_path / "out")]) == 0
    (path,) = (tmp_path / "out").iterdir()
    with Trace.open(path) as trace:
        history = RecordedHistory(trace, "claude-code:cache=off").over(None)
        (block,) = body(history, history.turns[-1])["messages"][2]["content"]
        assert json.dumps(block) == json.dumps(result)
