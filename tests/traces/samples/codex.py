"""Codex rollouts, wrapped and bare."""

from __future__ import annotations

from typing import Any


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
        {"record_type": "state"},
        _says("assistant", "Done"),
    ]
