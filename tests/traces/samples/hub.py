"""Sessions in the forms of the hub: Pi, the simple format, OpenCode, and tables of rows."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from typing import Any

import orjson

Record = dict[str, Any]
_DAY = "2026-05-01T10:00:"


def _pi(key: str, parent: str | None, second: int, message: Record, kind: str = "message") -> Record:
    at = {"id": key, "parentId": parent, "timestamp": f"{_DAY}{second:02}.000Z"}
    return {"type": kind, **at, **({"message": message} if kind == "message" else message)}


def _pi_reply(second: int, blocks: list[Record], reason: str, cached: int) -> Record:
    usage = {"input": 10, "output": 5, "cacheRead": cached, "cacheWrite": 20, "totalTokens": 35 + cached}
    facts = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-x", "usage": usage}
    return {
        "role": "assistant",
        "content": blocks,
        **facts,
        "stopReason": reason,
        "timestamp": 1777629600000 + second * 1000,
    }


def pi() -> list[Record]:
    """Two calls, one failed; the user goes back and asks otherwise; a compaction that keeps the last question."""
    calls = [
        {"type": "toolCall", "id": f"c{n}", "name": "bash", "arguments": {"command": f"ls {n}"}}
        for n in (1, 2)
    ]
    thought = {"type": "thinking", "thinking": "Look first", "thinkingSignature": "sig"}

    def result(call: str, text: str, failed: bool) -> Record:
        content = [{"type": "text", "text": text}]
        return {
            "role": "toolResult",
            "toolCallId": call,
            "toolName": "bash",
            "content": content,
            "isError": failed,
        }

    def said(text: str) -> list[Record]:
        return [{"type": "text", "text": text}]

    ran = {"role": "bashExecution", "command": "pwd", "output": "/w", "exitCode": 0, "cancelled": False}
    return [
        {"type": "session", "version": 3, "id": "s1", "timestamp": f"{_DAY}00.000Z", "cwd": "/w"},
        _pi("m", None, 0, {"provider": "anthropic", "modelId": "claude-x"}, "model_change"),
        _pi("u1", "m", 1, {"role": "user", "content": "Tidy the parser", "timestamp": 1}),
        _pi("a1", "u1", 3, _pi_reply(2, [thought, *calls], "toolUse", 0)),
        _pi("r1", "a1", 4, result("c1", "one", False)),
        _pi("r2", "r1", 5, result("c2", "no such file", True)),
        _pi("a2", "r2", 7, _pi_reply(6, said("Done"), "stop", 300)),
        _pi("b1", "r2", 8, {"fromId": "a2", "summary": "It was done"}, "branch_summary"),
        _pi("x1", "b1", 9, ran),
        _pi("u2", "x1", 10, {"role": "user", "content": said("Again, please")}),
        _pi("a3", "u2", 12, _pi_reply(11, said("Half"), "aborted", 0)),
        _pi("k1", "a3", 13, {"summary": "A parser", "firstKeptEntryId": "u2", "tokensBefore": 900}, "compaction"),
        _pi("u3", "k1", 14, {"role": "user", "content": "Go on"}),
        _pi("a4", "u3", 16, _pi_reply(15, said("Finished"), "stop", 40)),
    ]  # fmt: skip


def sts() -> list[Record]:
    """A session of a harness of one's own: a call with its answer."""
    function = {"name": "get_time", "arguments": '{"zone": "UTC"}'}
    messages: list[Record] = [
        {"role": "system", "content": "You tell the time"},
        {"role": "user", "content": "What time is it?", "timestamp": 1777629600000},
        {
            "role": "assistant",
            "content": "",
            "toolCalls": [{"id": "t1", "function": function}],
            "timestamp": 1777629601000,
        },
        {"role": "tool", "toolCallId": "t1", "content": "15:00"},
        {"role": "assistant", "content": "It is 15:00", "model": "m"},
    ]
    header = {"type": "session", "harness": "my-agent", "id": "abc", "name": "Time"}
    return [header, *({"type": "message", "message": message} for message in messages)]


def _tokens(fresh: int, read: int) -> Record:
    return {"input": fresh, "output": 9, "reasoning": 2, "cache": {"read": read, "write": 0}}


def _tool(call: str, tool: str, state: Record) -> Record:
    return {
        "type": "tool",
        "callID": call,
        "tool": tool,
        "state": {"time": {"start": 2000, "end": 3000}, **state},
    }


def opencode_messages() -> list[tuple[Record, list[Record]]]:
    """Two steps in one message, a subagent, a failed call, then a compaction that everything behind it builds on."""
    finish: Record = {"type": "step-finish", "cost": 0}
    user: Record = {"role": "user", "time": {"created": 1777629600000}}
    reply: Record = {
        "role": "assistant",
        "modelID": "gpt-x",
        "time": {"created": 1777629601000, "completed": 1777629605000},
    }
    task = {
        "status": "completed",
        "input": {"prompt": "Look"},
        "output": "found",
        "metadata": {"sessionId": "ses_child"},
    }
    broken = {"status": "error", "input": {"filePath": "a"}, "error": "no such file"}
    steps = [
        {"type": "step-start"}, {"type": "reasoning", "text": "Hm", "time": {"start": 1}},
        _tool("c1", "task", task), _tool("c2", "read", broken), {**finish, "reason": "tool-calls", "tokens": _tokens(50, 0)},
        {"type": "step-start"}, {"type": "text", "text": "Done"}, {**finish, "reason": "stop", "tokens": _tokens(20, 60)},
    ]  # fmt: skip
    summary = [{"type": "text", "text": "We tidied"}, {**finish, "reason": "stop", "tokens": _tokens(200, 0)}]
    last = [{"type": "text", "text": "Yes"}, {**finish, "reason": "stop", "tokens": _tokens(30, 0)}]
    failed = {**reply, "error": {"name": "APIError", "data": {"message": "overloaded"}}}
    return [
        (
            {**user, "id": "m1"},
            [{"type": "text", "text": "Tidy"}, {"type": "file", "mime": "image/png", "url": "data:x"}],
        ),
        ({**reply, "id": "m2"}, steps),
        ({**user, "id": "m3"}, [{"type": "compaction", "auto": True}]),
        ({**reply, "id": "m4", "summary": True}, summary),
        ({**reply, "id": "m5", **failed}, []),
        ({**user, "id": "m6"}, [{"type": "text", "text": "All well?"}]),
        ({**reply, "id": "m7"}, last),
    ]


def opencode_export() -> Record:
    messages = [{"info": info, "parts": parts} for info, parts in opencode_messages()]
    return {
        "info": {"id": "ses_top", "title": "Tidy", "directory": "/w", "version": "1.2.0"},
        "messages": messages,
    }


def opencode_database(folder: Path) -> bytes:
    """The same session, with the subagent's beside it."""
    path = folder / "opencode.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INT);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, data TEXT);"
    )
    child = [
        ({"role": "user", "id": "n1"}, [{"type": "text", "text": "Look"}]),
        (
            {"role": "assistant", "id": "n2", "modelID": "gpt-x", "tokens": _tokens(7, 0)},
            [{"type": "text", "text": "found"}],
        ),
    ]
    for session, parent, messages in (
        ("ses_top", None, opencode_messages()),
        ("ses_child", "ses_top", child),
    ):
        connection.execute("INSERT INTO session VALUES (?, ?, '/w', 'Tidy', '1.2.0', 1)", (session, parent))
        for info, parts in messages:
            connection.execute(
                "INSERT INTO message VALUES (?, ?, 1, ?)", (info["id"], session, orjson.dumps(info))
            )
            for number, part in enumerate(parts):
                key = f"prt_{info['id']}_{number:03}"
                connection.execute(
                    "INSERT INTO part VALUES (?, ?, ?, 1, ?)", (key, info["id"], session, orjson.dumps(part))
                )
    connection.commit()
    connection.close()
    return path.read_bytes()


BAILIAN = [
    {"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 40, "output_length": 8, "type": "text", "turn": 1,
     "hash_ids": [1, 2, 3]},
    {"chat_id": 2, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 32, "output_length": 8, "type": "file", "turn": 1,
     "hash_ids": [4, 2]},
    {"chat_id": 3, "parent_chat_id": 1, "timestamp": 90.0, "input_length": 70, "output_length": 9, "type": "text", "turn": 2,
     "hash_ids": [1, 2, 3, 5, 6]},
]  # fmt: skip
"""Two conversations, the first of two requests; block 2 stands under two beginnings, which a cache does not share."""


def tracelab() -> list[Record]:
    """Two sessions, their rounds mixed and one out of order."""

    def one(
        session: str, number: int, second: int, total: int, cached: int, tools: int, failed: int = 0
    ) -> Record:
        events = [
            {
                "event_type": "user_message" if number == 0 else "tool_result",
                "timestamp": f"{_DAY}{second:02}Z",
            },
            {"event_type": "text", "timestamp": f"{_DAY}{second:02}.250Z"},
            {"event_type": "tool_call", "timestamp": f"{_DAY}{second + 1:02}Z"},
        ]
        calls = [
            {"tool_name": "Bash", "tool_wall_latency_ms": 40, "is_error": n < failed} for n in range(tools)
        ]
        return {"provider": "claude", "user": "u", "session_id": session, "round_index": number, "model": "claude-x",
                "input_tokens_total": total, "prefix_tokens": cached, "newly_append_tokens": total - cached,
                "output_tokens": 12, "timing_events": events, "tools": calls}  # fmt: skip

    return [
        one("claude:a", 0, 0, 640, 0, 2, 1), one("claude:b", 0, 1, 130, 64, 0),
        one("claude:a", 2, 20, 1000, 960, 0), one("claude:a", 1, 10, 960, 640, 1),
    ]  # fmt: skip


def table(rows: list[Record]) -> bytes:
    """Rows as Parquet."""
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), out)
    return out.getvalue()
