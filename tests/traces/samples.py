"""Small recordings of every format, written for this project: name -> bytes, and what an import must find."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import zstandard


@dataclass(frozen=True)
class Sample:
    """`largest` is the largest prompt in tokens where the source counts them."""

    file: str
    format: str
    data: bytes
    turns: int
    calls: int
    failed: int
    threads: int = 1
    traces: int = 1
    largest: int | None = None


def jsonl(records: Iterable[Any]) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


# --- Zed -------------------------------------------------------------------------------------------------------------


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


# --- Claude Code -----------------------------------------------------------------------------------------------------


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


# --- Codex -----------------------------------------------------------------------------------------------------------


def _codex(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-06-26T12:00:{second:02d}.000Z", "type": kind, "payload": payload}


def _says(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _tokens(total: int, prompt: int) -> dict[str, Any]:
    last = {"input_tokens": prompt, "cached_input_tokens": prompt // 2, "output_tokens": 9}
    return {
        "type": "token_count",
        "info": {"total_token_usage": {"total_tokens": total}, "last_token_usage": last},
    }


def codex_call(call_id: str, text: str = '{"cmd": "ls"}') -> dict[str, Any]:
    return {"type": "function_call", "name": "exec_command", "arguments": text, "call_id": call_id}


def _codex_output(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def codex_session() -> list[dict[str, Any]]:
    """Parallel calls, a repeated count, a freeform call, a compaction with replacement history."""
    meta = {"id": "x", "cwd": "/p", "cli_version": "0.142.0", "base_instructions": {"text": "Be Codex."}}
    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "c3"}
    return [
        _codex("session_meta", meta),
        _codex("turn_context", {"model": "gpt-5", "effort": "high"}),
        _codex("response_item", _says("developer", "Rules.")),
        _codex("response_item", _says("user", "Tidy"), 1),
        _codex("event_msg", {"type": "user_message", "message": "Tidy"}, 1),
        _codex("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "zz"}, 2),
        _codex("response_item", codex_call("c1"), 3),
        _codex("response_item", codex_call("c2", '{"cmd":"false"}'), 3),
        _codex("response_item", _codex_output("c2", "Process exited with code 1\nOutput:\n"), 4),
        _codex("response_item", _codex_output("c1", "Process exited with code 0\nOutput:\na"), 5),
        _codex("event_msg", _tokens(100, 90), 5),
        _codex("event_msg", _tokens(100, 90), 5),
        _codex("response_item", patch, 6),
        _codex(
            "response_item", {"type": "custom_tool_call_output", "call_id": "c3", "output": "Exit code: 0"}, 7
        ),
        _codex("event_msg", _tokens(300, 190), 7),
        _codex(
            "compacted",
            {"message": "", "replacement_history": [_says("user", "Tidy"), _says("user", "Summary")]},
        ),
        _codex("response_item", _says("assistant", "Done"), 9),
        _codex("event_msg", _tokens(400, 60), 9),
        _codex("world_state", {"x": 1}),
    ]


def codex_bare() -> list[dict[str, Any]]:
    return [
        {"id": "y", "timestamp": "2025-05-01T10:00:00Z", "instructions": "Be Codex.", "git": {}},
        _says("user", "Tidy"),
        {"record_type": "state"},
        codex_call("c1"),
        _codex_output("c1", '{"output":"a","metadata":{"exit_code":0}}'),
        _says("assistant", "Done"),
    ]


# --- other agents ----------------------------------------------------------------------------------------------------

SWE_QUERY: list[dict[str, Any]] = [
    {"role": "system", "content": "Solve.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": [{"type": "text", "text": "Issue", "cache_control": {"type": "ephemeral"}}]},
]


def swe_agent(query: bool) -> dict[str, Any]:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command":  "ls"}'},
    }
    reply = {"role": "assistant", "content": "Look", "thought": "Look", "action": "ls", "tool_calls": [call]}
    result = {"role": "tool", "content": "OBSERVATION:\na", "tool_call_ids": ["call_1"], "agent": "main"}
    last = {"role": "assistant", "content": "Submit", "action": "submit", "agent": "main"}
    first, second = (
        [*SWE_QUERY],
        [*SWE_QUERY, reply, {**result, "content": "Old environment output: (1 line omitted)"}],
    )
    steps = [
        {
            "action": "ls",
            "observation": "a",
            "response": "Look",
            "thought": "Look",
            "state": "{}",
            "query": first,
        },
        {
            "action": "submit",
            "observation": "",
            "response": "Submit",
            "thought": "Submit",
            "state": {},
            "query": second,
        },
    ]
    if not query:
        steps = [{key: value for key, value in step.items() if key != "query"} for step in steps]
    demo = {"role": "user", "content": "A demonstration", "is_demo": True, "agent": "main"}
    history = [SWE_QUERY[0], demo, SWE_QUERY[1], {**reply, "agent": "main"}, result, last]
    return {
        "environment": "repo",
        "trajectory": steps,
        "history": history,
        "info": {"exit_status": "submitted"},
    }


def mini_swe_agent() -> dict[str, Any]:
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    extra = {
        "response": {"model": "m", "usage": usage},
        "timestamp": 1767000000.5,
        "actions": [{"command": "ls"}],
    }
    return {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted", "model_stats": {"api_calls": 1}},
        "messages": [
            {"role": "system", "content": "Solve."},
            {"role": "user", "content": "Issue"},
            {"role": "assistant", "content": "THOUGHT\n```bash\nls\n```", "extra": extra},
            {"role": "user", "content": "a", "extra": {"returncode": 0}},
            {"role": "exit", "content": "done"},
        ],
    }


def openhands_v0() -> list[dict[str, Any]]:
    calls = [
        {
            "index": n,
            "id": f"t{n}",
            "type": "function",
            "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'},
        }
        for n in (1, 2)
    ]
    message = {"role": "assistant", "content": "Look", "tool_calls": calls}
    response = {"id": "r1", "model": "m", "choices": [{"finish_reason": "tool_calls", "message": message}]}
    response["usage"] = {"prompt_tokens": 50, "completion_tokens": 5}

    def meta(n: int) -> dict[str, Any]:
        return {"function_name": "execute_bash", "tool_call_id": f"t{n}", "model_response": response}

    def event(number: int, **fields: Any) -> dict[str, Any]:
        return {"id": number, "timestamp": f"2025-04-30T16:00:{number:02d}", "source": "agent", **fields}

    def ran(number: int, call: int, code: int) -> dict[str, Any]:
        extras = {"metadata": {"exit_code": code, "working_dir": "/w"}}
        return event(number, observation="run", content="a", extras=extras, tool_call_metadata=meta(call))

    tools = [{"type": "function", "function": {"name": "execute_bash", "description": "", "parameters": {}}}]
    return [
        event(0, action="system", args={"content": "Be OpenHands.", "tools": tools}),
        event(1, action="message", args={"content": "Tidy"}) | {"source": "user"},
        event(2, action="run", args={"command": "ls"}, tool_call_metadata=meta(1)),
        event(3, action="run", args={"command": "ls"}, tool_call_metadata=meta(2)),
        ran(4, 2, 1),
        ran(5, 1, 0),
        event(6, action="change_agent_state", args={}),
        event(
            7,
            action="condensation",
            args={"forgotten_event_ids": [2, 3, 4, 5], "summary": "Listed.", "summary_offset": 2},
        ),
        event(8, action="message", args={"content": "Done"}),
    ]


def openhands_v1() -> list[dict[str, Any]]:
    def event(kind: str, number: int, source: str = "agent", **fields: Any) -> dict[str, Any]:
        return {
            "kind": kind,
            "id": f"e{number}",
            "timestamp": f"2026-01-01T00:00:{number:02d}",
            "source": source,
            **fields,
        }

    def text(value: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": value}]

    def act(number: int, call: str) -> dict[str, Any]:
        whole = {"id": call, "name": "terminal", "arguments": '{"command":  "ls"}'}
        more = {"tool_name": "terminal", "tool_call_id": call, "tool_call": whole, "llm_response_id": "r1"}
        return event("ActionEvent", number, thought=text("Look"), reasoning_content="hm", action={}, **more)

    tools = [{"type": "function", "function": {"name": "terminal", "description": "d", "parameters": {}}}]
    return [
        event("SystemPromptEvent", 0, system_prompt={"type": "text", "text": "Be OpenHands."}, tools=tools),
        event("MessageEvent", 1, "user", llm_message={"role": "user", "content": text("Tidy")}),
        act(2, "t1"),
        act(3, "t2"),
        event(
            "ObservationEvent",
            4,
            "environment",
            tool_call_id="t2",
            tool_name="terminal",
            observation={"content": text("b")},
        ),
        event("AgentErrorEvent", 5, tool_call_id="t1", tool_name="terminal", error="no such command"),
        event(
            "MessageEvent",
            6,
            llm_message={"role": "assistant", "content": text("Done")},
            llm_response_id="r2",
        ),
    ]


def atif() -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    reference = [{"trajectory_id": "sub"}]
    result = {
        "source_call_id": "c1",
        "content": "a",
        "subagent_trajectory_ref": reference,
        "extra": {"is_error": True},
    }
    tools = [{"type": "function", "function": {"name": "bash", "description": "d", "parameters": {}}}]
    agent = {"name": "terminus", "version": "2", "model_name": "m", "tool_definitions": tools}
    metrics = {"prompt_tokens": 30, "completion_tokens": 4, "cached_tokens": 10}
    sub = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": "sub",
        "agent": {"name": "sub", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Look"},
            {"step_id": 2, "source": "agent", "message": "ok"},
        ],
    }
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": agent,
        "steps": [
            {"step_id": 1, "source": "system", "message": "Be an agent."},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Tidy"}]},
            {
                "step_id": 3,
                "source": "agent",
                "timestamp": "2026-01-01T00:00:01Z",
                "message": "Look",
                "reasoning_content": "hm",
                "tool_calls": [call],
                "observation": {"results": [result]},
                "metrics": metrics,
            },
            {"step_id": 4, "source": "agent", "message": "Done", "llm_call_count": 1},
        ],
        "subagent_trajectories": [sub],
    }


def copilot() -> list[dict[str, Any]]:
    def event(kind: str, second: int, **data: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "data": data,
            "id": f"{kind}{second}",
            "timestamp": f"2026-06-23T04:00:{second:02d}Z",
        }

    request = [{"toolCallId": f"t{n}", "name": "bash", "arguments": {"command": "ls"}} for n in (1, 2)]
    return [
        event("session.start", 0, sessionId="s", copilotVersion="1.0.64", context={"cwd": "/p"}),
        event("hook.start", 0),
        event("system.message", 1, role="system", content="Be Copilot."),
        event("user.message", 2, content="Tidy", transformedContent="<now/>\nTidy"),
        event("assistant.turn_start", 2, turnId="0"),
        event(
            "assistant.message",
            3,
            content="",
            toolRequests=request,
            reasoningText="hm",
            outputTokens=7,
            apiCallId="a1",
        ),
        event("tool.execution_start", 3, toolCallId="t1"),
        event("tool.execution_complete", 4, toolCallId="t2", success=False, error={"message": "denied"}),
        event("tool.execution_complete", 5, toolCallId="t1", success=True, result={"content": "a"}),
        event("assistant.message", 6, content="Done", toolRequests=[], apiCallId="a2"),
        event("abort", 7),
    ]


def gemini() -> dict[str, Any]:
    answer = [{"functionResponse": {"id": "g1", "name": "ls", "response": {"error": "no such folder"}}}]
    call = {"id": "g1", "name": "ls", "args": {"path": "x"}, "status": "error", "result": answer}
    return {
        "sessionId": "s",
        "projectHash": "h",
        "startTime": "2026-01-15T20:00:00Z",
        "lastUpdated": "2026-01-15T20:00:09Z",
        "messages": [
            {"id": "1", "timestamp": "2026-01-15T20:00:00Z", "type": "user", "content": "Tidy"},
            {
                "id": "2",
                "timestamp": "2026-01-15T20:00:02Z",
                "type": "gemini",
                "content": "Look",
                "thoughts": [{"subject": "Looking", "description": "I look."}],
                "tokens": {"input": 80, "output": 5, "cached": 20, "thoughts": 3, "total": 88},
                "model": "gemini-x",
                "toolCalls": [call],
            },
            {"id": "3", "timestamp": "2026-01-15T20:00:03Z", "type": "info", "content": "note"},
            {
                "id": "4",
                "timestamp": "2026-01-15T20:00:04Z",
                "type": "gemini",
                "content": "Done",
                "tokens": {"input": 90},
            },
        ],
    }


def gemini_lines() -> list[dict[str, Any]]:
    whole = gemini()
    header = {key: value for key, value in whole.items() if key != "messages"}
    first, *rest = whole["messages"]
    early = {**rest[0], "toolCalls": [], "content": "Loo"}
    return [header, first, early, rest[0], *rest[1:], {"$set": {"lastUpdated": "2026-01-15T20:00:10Z"}}]


# --- logs ------------------------------------------------------------------------------------------------------------

TOOLS = [
    {
        "type": "function",
        "function": {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}},
    }
]
ASK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List it, please"},
]
CALLING: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p":  1}'}}],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "a"}
DONE = {"role": "assistant", "content": "One file."}


def completion(message: dict[str, Any], prompt: int) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}
    return {
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


def request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "m", "messages": messages, "temperature": 0.2, "tools": TOOLS}


def chat_log() -> list[dict[str, Any]]:
    other = [{"role": "user", "content": "Another talk altogether"}]
    return [
        {"request": request(ASK), "response": completion(CALLING, 20)},
        {"request": request([*ASK, CALLING, ANSWER]), "response": completion(DONE, 40)},
        {"request": request(other), "response": completion(DONE, 10)},
        {"note": "no request at all"},
    ]


def sse(message: dict[str, Any]) -> str:
    chunks: list[dict[str, Any]] = [{"role": "assistant"}]
    for n, call in enumerate(message.get("tool_calls") or ()):
        text = call["function"]["arguments"]
        chunks.append(
            {
                "tool_calls": [
                    {"index": n, "id": call["id"], "function": {"name": "ls", "arguments": text[:3]}}
                ]
            }
        )
        chunks.append({"tool_calls": [{"index": n, "function": {"arguments": text[3:]}}]})
    if message.get("content"):
        chunks += [{"content": part} for part in (message["content"][:2], message["content"][2:])]
    lines = [{"model": "m-1", "choices": [{"index": 0, "delta": delta}]} for delta in chunks]
    return "".join(f"data: {orjson.dumps(line).decode()}\n\n" for line in lines) + "data: [DONE]\n\n"


def har() -> dict[str, Any]:
    def entry(second: int, body: dict[str, Any], answer: str, packed: bool = False) -> dict[str, Any]:
        text = base64.b64encode(answer.encode()).decode() if packed else answer
        content = {"text": text, **({"encoding": "base64"} if packed else {})}
        return {
            "startedDateTime": f"2026-01-01T00:00:{second:02d}.000Z",
            "time": 500,
            "timings": {"send": 1, "wait": 200, "receive": 299},
            "request": {
                "url": "https://x/v1/chat/completions",
                "postData": {"text": orjson.dumps(body).decode()},
            },
            "response": {"status": 200, "content": content},
        }

    page = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"url": "https://x/"},
        "response": {"status": 200},
    }
    later = entry(3, request([*ASK, CALLING, ANSWER]), orjson.dumps(completion(DONE, 40)).decode())
    return {
        "log": {"version": "1.2", "entries": [page, later, entry(1, request(ASK), sse(CALLING), packed=True)]}
    }


def litellm() -> list[dict[str, Any]]:
    def line(messages: list[dict[str, Any]], message: dict[str, Any] | None, start: float) -> dict[str, Any]:
        return {
            "id": "x",
            "call_type": "acompletion",
            "status": "success" if message else "failure",
            "error_str": None if message else "RateLimitError",
            "model": "m",
            "messages": messages,
            "response": completion(message, 20) if message else {},
            "model_parameters": {"temperature": 0.5, "tools": TOOLS},
            "startTime": start,
            "endTime": start + 2,
            "completionStartTime": start + 1,
        }

    return [
        line(ASK, CALLING, 1767000000.0),
        line([*ASK, CALLING, ANSWER], DONE, 1767000005.0),
        line(ASK, None, 1767000009.0),
    ]


def otel_flat() -> dict[str, Any]:
    def span(number: int, messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.input.messages": orjson.dumps(messages).decode(),
            "gen_ai.output.text": text,
            "gen_ai.usage.prompt_tokens": 10 * number,
        }
        time = f"2026-02-25T10:00:0{number}.000000"
        return {
            "trace_id": "t",
            "span_id": str(number),
            "start_time": time,
            "end_time": time,
            "attributes": attributes,
        }

    ask = [{"role": "user", "content": "What is the capital?"}]
    more = [*ask, {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "And landmarks?"}]
    return {"trace_id": "t", "spans": [span(1, ask, "Paris."), span(2, more, "The tower.")]}


def otlp() -> dict[str, Any]:
    def attribute(key: str, value: Any) -> dict[str, Any]:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        return {"key": key, "value": {"stringValue": text}}

    call = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"p": 1}}
    answer = {"type": "tool_call_response", "id": "c1", "response": "a"}
    ask = [{"role": "user", "parts": [{"type": "text", "content": "List it, please"}]}]
    calling = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, call],
        "finish_reason": "tool_call",
    }
    done = {"role": "assistant", "parts": [{"type": "text", "content": "One."}], "finish_reason": "stop"}

    def span(number: int, messages: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, Any]:
        attributes = [
            attribute("gen_ai.system_instructions", [{"type": "text", "content": "Be brief."}]),
            attribute("gen_ai.input.messages", messages),
            attribute("gen_ai.output.messages", [reply]),
            attribute("gen_ai.tool.definitions", TOOLS),
            attribute("gen_ai.request.model", "m"),
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(10 * number)}},
        ]
        times = {"startTimeUnixNano": f"{number}000000000", "endTimeUnixNano": f"{number}500000000"}
        return {"traceId": "t", "spanId": str(number), "name": "chat m", "attributes": attributes, **times}

    tool = {
        "traceId": "t",
        "spanId": "9",
        "name": "execute_tool ls",
        "attributes": [attribute("gen_ai.tool.name", "ls")],
    }
    spans = [span(2, [*ask, calling, {"role": "tool", "parts": [answer]}], done), tool, span(1, ask, calling)]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def share_gpt() -> list[dict[str, Any]]:
    def turns(*values: str) -> list[dict[str, str]]:
        return [{"from": ("human", "gpt")[n % 2], "value": value} for n, value in enumerate(values)]

    return [
        {
            "id": "a",
            "conversations": [{"from": "system", "value": "Be brief."}, *turns("Hi", "Hello", "More", "Yes")],
        },
        {"id": "b", "conversations": turns("One", "Two")},
    ]


def kv_cache() -> dict[str, Any]:
    def one(t: float, tokens: int, hashes: list[int], **more: Any) -> dict[str, Any]:
        return {
            "t": t,
            "type": "s",
            "model": "m",
            "in": tokens,
            "out": 20,
            "hash_ids": hashes,
            "stop": "tool_use",
            **more,
        }

    sub = {
        "t": 2.0,
        "type": "subagent",
        "agent_id": "agent_001",
        "requests": [one(0.0, 70, [9]), one(1.0, 140, [9, 10])],
    }
    requests = [one(0.0, 130, [1, 2], ttft=0.4, api_time=1.5), sub, one(5.0, 200, [1, 2, 3])]
    return {
        "id": "trace_1",
        "models": ["m"],
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": requests,
    }


MOONCAKE = [
    {"timestamp": 0, "input_length": 1100, "output_length": 50, "hash_ids": [0, 1, 2]},
    {"timestamp": 1000, "input_length": 700, "output_length": 5, "hash_ids": [0, 7]},
    {"timestamp": 2000, "input_length": 1700, "output_length": 50, "hash_ids": [0, 1, 8, 9]},
]


def samples(folder: Path) -> list[Sample]:
    """Every sample; `folder` is scratch space for the database."""
    one = orjson.dumps
    return [
        Sample("thread.json", "zed-thread", one(zed_thread()), 3, 4, 1, largest=1000),
        Sample("old-shape.json", "zed-thread", one(zed_thread(tagged=False)), 3, 4, 1, largest=1000),
        Sample(
            "shared.zst", "zed-thread", zstandard.compress(one({**zed_thread(), "version": "1.0.0"})), 3, 4, 1
        ),
        Sample("compacted.json", "zed-thread", one(zed_compacted()), 3, 4, 1, largest=1000),
        Sample("v020.json", "zed-thread", one(zed_legacy("0.2.0")), 2, 1, 1, largest=100),
        Sample("v010.json", "zed-thread", one(zed_legacy("0.1.0")), 2, 1, 1, largest=100),
        Sample("v000.json", "zed-thread", one(zed_legacy(None)), 2, 1, 1),
        Sample("thread.md", "zed-markdown", ZED_MARKDOWN, 2, 1, 1),
        Sample("threads.db", "zed-threads-db", zed_database(folder), 11, 11, 4, 4, 3, largest=1000),
        Sample("claude.txt", "claude-code", jsonl(claude_session()), 5, 3, 1, 2, largest=300),
        Sample("stream.jsonl", "claude-code-stream", jsonl(claude_stream()), 3, 1, 1, 2, largest=40),
        Sample("rollout.log", "codex", jsonl(codex_session()), 3, 3, 1, largest=190),
        Sample(
            "rollout.jsonl.zst", "codex", zstandard.compress(jsonl(codex_session())), 3, 3, 1, largest=190
        ),
        Sample("bare.jsonl", "codex", jsonl(codex_bare()), 2, 1, 0),
        Sample("query.traj", "swe-agent", one(swe_agent(query=True)), 2, 1, 0),
        Sample("history.traj", "swe-agent", one(swe_agent(query=False)), 2, 1, 0),
        Sample("mini.traj.json", "mini-swe-agent", one(mini_swe_agent()), 1, 0, 0, largest=70),
        Sample("events.json", "openhands-v0", one(openhands_v0()), 2, 2, 1, largest=50),
        Sample(
            "output.jsonl",
            "openhands-v0",
            jsonl([{"instance_id": i, "instruction": "Tidy", "history": openhands_v0()} for i in ("a", "b")]),
            4,
            4,
            2,
            2,
            2,
            largest=50,
        ),
        Sample("v1.json", "openhands-v1", one(openhands_v1()), 2, 2, 1),
        Sample("trajectory.json", "atif", one(atif()), 3, 1, 1, 2, largest=30),
        Sample("events.jsonl", "copilot-cli", jsonl(copilot()), 2, 2, 1),
        Sample(
            "session.json",
            "gemini-cli",
            orjson.dumps(gemini(), option=orjson.OPT_INDENT_2),
            2,
            1,
            1,
            largest=90,
        ),
        Sample("session.jsonl", "gemini-cli", jsonl(gemini_lines()), 2, 1, 1, largest=90),
        Sample("chat.jsonl", "openai-log", jsonl(chat_log()), 3, 1, 0, 2, 2, largest=40),
        Sample(
            "requests.jsonl", "openai-log", jsonl([request(ASK), request([*ASK, CALLING, ANSWER])]), 2, 0, 0
        ),
        Sample("litellm.jsonl", "openai-log", jsonl(litellm()), 3, 1, 0, largest=20),
        Sample("page.har", "har", one(har()), 2, 1, 0, largest=40),
        Sample("spans.json", "otel", one(otel_flat()), 2, 0, 0, largest=20),
        Sample("otlp.json", "otel", one(otlp()), 2, 1, 0, largest=20),
        Sample("share.json", "sharegpt", one(share_gpt()), 3, 0, 0, 2, 2),
        Sample("tuning.jsonl", "messages", jsonl([{"messages": [*ASK, CALLING, ANSWER, DONE]}]), 2, 1, 0),
        Sample("bare-list.json", "messages", one([*ASK, CALLING, ANSWER, DONE]), 2, 1, 0),
        Sample("trace_1.json", "kv-cache-tester", one(kv_cache()), 4, 0, 0, 2, largest=200),
        Sample("mooncake.jsonl", "mooncake", jsonl(MOONCAKE), 3, 0, 0, 2, largest=1700),
    ]
