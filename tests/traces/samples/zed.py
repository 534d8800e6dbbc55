"""Zed: threads in every version, the store, the Markdown form."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import orjson
import zstandard


def zed_use(
    call_id: str, name: str, value: Any, raw: str | None = None, tagged: bool = True
) -> dict[str, Any]:
    text = orjson.dumps(value).decode() if raw is None else raw
    given = {"type": "json", "value": value} if tagged else value
    return {
        "ToolUse": {"id": call_id, "name": name, "raw_input": text, "input": given, "is_input_complete": True}
    }


def zed_result(
    call_id: str, name: str, text: str, error: bool = False, listed: bool = True
) -> dict[str, Any]:
    content: Any = [{"Text": text}] if listed else text
    return {"tool_use_id": call_id, "tool_name": name, "is_error": error, "content": content, "output": None}


def zed_thread(tagged: bool = True) -> dict[str, Any]:
    """A thread of version 0.3.0: mention, thinking, parallel calls answered in the other order, a cancelled call."""
    mention = {"uri": {"File": {"abs_path": "/p/app.py"}}, "content": "print('hi')"}
    results = {
        "c2": zed_result("c2", "grep", "no match", listed=tagged),
        "c1": zed_result("c1", "read_file", " \n", listed=tagged),
    }
    agent = {
        "content": [
            {"Thinking": {"text": "First I look.", "signature": "sig"}},
            {"Text": "Looking."},
            zed_use("c1", "read_file", {"path": "p/app.py"}, '{"path": "p/app.py"}', tagged),
            zed_use("c2", "grep", {"regex": "é", "offset": 0}, None, tagged),
            zed_use("c3", "terminal", {}, '{"command": "ls', tagged),
        ],
        "tool_results": results,
        "reasoning_details": None,
    }
    failed = {
        "content": [zed_use("c4", "edit_file", {"path": "p/app.py"}, None, tagged)],
        "tool_results": {"c4": zed_result("c4", "edit_file", "old_text not found", True, tagged)},
    }
    return {
        "title": "Fix the greeting",
        "updated_at": "2026-03-01T10:00:00.123456789Z",
        "version": "0.3.0",
        "model": {"provider": "vllm", "model": "gemma"},
        "messages": [
            {"User": {"id": "u1", "content": [{"Text": "Fix "}, {"Mention": mention}]}},
            {"Agent": agent},
            "Resume",
            {"Agent": failed},
            {"User": {"id": "u2", "content": [{"Text": "And now?"}]}},
            {"Agent": {"content": [{"Text": "Done."}], "tool_results": {}}},
        ],
        "request_token_usage": {
            "u1": {"input_tokens": 900},
            "u2": {"input_tokens": 40, "cache_read_input_tokens": 960},
        },
        "initial_project_snapshot": {
            "worktree_snapshots": [
                {"worktree_path": "/p", "git_state": {"remote_url": "r", "head_sha": "abc", "diff": "+x"}}
            ]
        },
    }


def zed_compacted() -> dict[str, Any]:
    thread = zed_thread()
    thread["messages"][4:4] = [{"Compaction": {"Summary": "We read app.py."}}]
    return thread


def zed_legacy(version: str | None) -> dict[str, Any]:
    call = {"id": "t1", "name": "grep", "input": {"regex": "x"}}
    result = {"tool_use_id": "t1", "is_error": True, "content": "bad regex", "output": None}
    if version is None:
        messages: list[dict[str, Any]] = [
            {"id": 0, "role": "user", "text": "Find x"},
            {"id": 1, "role": "assistant", "text": "On it.", "tool_uses": [call], "tool_results": [result]},
            {"id": 2, "role": "assistant", "text": "None."},
        ]
    else:
        own = [result] if version == "0.2.0" else []
        messages = [
            {
                "id": 0,
                "role": "user",
                "segments": [{"type": "text", "text": "Find x"}],
                "context": "<files>f</files>",
            },
            {
                "id": 1,
                "role": "assistant",
                "segments": [
                    {"type": "thinking", "text": "hm", "signature": "s"},
                    {"type": "text", "text": "On it."},
                ],
                "tool_uses": [call],
                "tool_results": own,
            },
            {"id": 2, "role": "user", "segments": [], "tool_results": [] if own else [result]},
            {"id": 3, "role": "assistant", "segments": [{"type": "text", "text": "None."}]},
        ]
    document = {"summary": "Find x", "updated_at": "2025-05-08T18:20:34Z", "messages": messages}
    if version is not None:
        usage = [{"input_tokens": 10, "cache_creation_input_tokens": 90}, {"input_tokens": 5}]
        document |= {"version": version, "request_token_usage": usage}
    return document


def zed_database(folder: Path) -> bytes:
    """Rows of every version, zstd and JSON, one subagent, one damaged."""
    path = folder / "made.db"
    path.unlink(missing_ok=True)
    pack = zstandard.ZstdCompressor(level=3).compress
    parent = zed_thread()
    spawn = zed_use("s1", "spawn_agent", {"label": "look", "message": "Look around"})
    answer = zed_result("s1", "spawn_agent", "session_id: child-1\nAll is well.")
    parent["messages"].append({"Agent": {"content": [spawn], "tool_results": {"s1": answer}}})
    rows = [
        ("parent-1", "Fix the greeting", "2026-03-02", "zstd", pack(orjson.dumps(parent)), None),
        ("child-1", "Look", "2026-03-02", "zstd", pack(orjson.dumps(zed_thread(tagged=False))), "parent-1"),
        ("old-1", "Find x", "2025-05-08", "json", orjson.dumps(zed_legacy("0.2.0")), None),
        ("older-1", "Find x", "2025-04-01", "json", orjson.dumps(zed_legacy(None)), None),
        ("bad-1", "Broken", "2025-03-01", "zstd", pack(orjson.dumps(parent))[:60], None),
    ]
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, "
        "data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT)"
    )
    connection.executemany("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path.read_bytes()


ZED_MARKDOWN = b"""## User

Fix the greeting.

## Assistant

<think>
First I look.
</think>
Looking.

**Tool Use**: read_file (ID: c1)
```json
{
  "path": "p/app.py"
}
```

**Tool Result**: read_file (ID: c1)

**ERROR:**
no such file

## Assistant

Done.
"""
