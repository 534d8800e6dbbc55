"""Claude Code: a session file and the stream of `--output-format stream-json`."""

from __future__ import annotations

from typing import Any


def _line(kind: str, uuid: str, parent: str | None, second: int, message: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s1",
        "cwd": "/p",
        "version": "2.1.0",
        "gitBranch": "main",
        "timestamp": f"2026-01-05T10:00:{second:02d}.000Z",
        "message": message,
        **more,
    }


def claude_user(uuid: str, parent: str | None, second: int, content: Any, **more: Any) -> dict[str, Any]:
    return _line("user", uuid, parent, second, {"role": "user", "content": content}, **more)


def claude_block(
    uuid: str,
    parent: str | None,
    second: int,
    message: str,
    block: dict[str, Any],
    tokens: int = 100,
    **more: Any,
) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": tokens - 3, "output_tokens": 1}
    body = {"id": message, "role": "assistant", "model": "claude-x", "content": [block], "usage": usage}
    return _line("assistant", uuid, parent, second, {**body, "stop_reason": None}, **more)


def claude_call(call_id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"command": "ls"}}


def claude_result(call_id: str, text: str, error: bool = False) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}]


def claude_session() -> list[dict[str, Any]]:
    """Parallel calls whose results fork, a block after a result, a rewind, a compaction, a subagent, an API error."""
    synthetic = _line(
        "assistant", "x1", "r3", 19, {"id": "e", "role": "assistant", "model": "<synthetic>", "content": []}
    )
    return [
        {"type": "summary", "summary": "Tidy up", "leafUuid": "a9"},
        {"type": "file-history-snapshot", "messageId": "snap", "snapshot": {}},
        claude_user("u1", None, 0, "Tidy up"),
        claude_block("a1", "u1", 2, "m1", {"type": "thinking", "thinking": "Look first", "signature": "s"}),
        claude_block("a2", "a1", 3, "m1", claude_call("t1")),
        claude_user("r1", "a2", 4, claude_result("t1", "a.py")),
        claude_block("a3", "a2", 5, "m1", claude_call("t2", "Task")),
        claude_user("r2", "a3", 6, claude_result("t2", "sub done"), toolUseResult={"agentId": "ag1"}),
        claude_block("d1", "r2", 7, "m2", {"type": "text", "text": "Wrong way"}, 200),
        claude_user("u2", "r2", 8, "Other way"),
        claude_block("a4", "u2", 9, "m3", claude_call("t3"), 300),
        claude_user("r3", "a4", 10, claude_result("t3", "Exit code 1", True)),
        synthetic,
        {**claude_user("b1", None, 11, ""), "type": "system", "subtype": "compact_boundary"},
        claude_user("k1", "b1", 12, "We tidied.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        claude_user("u3", "k1", 13, [{"type": "text", "text": "Go on"}]),
        claude_block("a9", "u3", 14, "m4", {"type": "text", "text": "Done"}, 50),
        claude_user("q1", None, 5, "sub prompt", isSidechain=True, agentId="ag1"),
        claude_block(
            "q2", "q1", 6, "m5", {"type": "text", "text": "sub done"}, 20, isSidechain=True, agentId="ag1"
        ),
        {"type": "future-record", "uuid": "f1", "parentUuid": "a9", "sessionId": "s1"},
    ]


def claude_stream() -> list[dict[str, Any]]:
    def line(kind: str, content: Any, parent: str | None = None, message: str = "m1") -> dict[str, Any]:
        usage = {"input_tokens": 10, "cache_read_input_tokens": 30}
        body = {"id": message, "role": kind, "content": content, "usage": usage}
        return {"type": kind, "message": body, "parent_tool_use_id": parent, "session_id": "s"}

    return [
        {
            "type": "system",
            "subtype": "init",
            "tools": ["Bash", "Task"],
            "model": "claude-x",
            "session_id": "s",
        },
        line("user", "Tidy up"),
        line("assistant", [{"type": "text", "text": "Look"}]),
        line("assistant", [claude_call("t1", "Task")]),
        line("user", "sub prompt", "t1"),
        line("assistant", [{"type": "text", "text": "sub done"}], "t1", "m2"),
        line("user", claude_result("t1", "sub done", True)),
        line("assistant", [{"type": "text", "text": "Done"}], None, "m3"),
        {"type": "result", "subtype": "success", "num_turns": 2, "session_id": "s"},
    ]
