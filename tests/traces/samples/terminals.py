"""Copilot CLI and Gemini CLI."""

from __future__ import annotations

from typing import Any


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


def qwen() -> list[dict[str, Any]]:
    """Two calls, one answered with an error, and a compression before the last reply."""

    def line(number: int, kind: str, **more: Any) -> dict[str, Any]:
        at = f"2026-01-15T20:00:{number:02d}Z"
        ids = {"uuid": f"q{number}", "parentUuid": f"q{number - 1}" if number else None, "sessionId": "s"}
        return {**ids, "timestamp": at, "type": kind, "cwd": "/p", "version": "0.2.0", **more}

    def message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "parts": list(parts)}

    calls = [{"functionCall": {"id": f"c{n}", "name": "ls", "args": {"p": n}}} for n in (1, 2)]
    answers = [
        {"functionResponse": {"id": "c2", "name": "ls", "response": {"error": "no such file"}}},
        {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}},
    ]
    usage = {"promptTokenCount": 80, "cachedContentTokenCount": 40, "candidatesTokenCount": 5}
    kept = [message("user", {"text": "We listed."}), message("model", {"text": "Good."})]
    return [
        line(0, "user", message=message("user", {"text": "Tidy"})),
        line(1, "system", subtype="ui_telemetry", systemPayload={}),
        line(
            2, "assistant", model="m", message=message("model", {"text": "Look"}, *calls), usageMetadata=usage
        ),
        *(line(3 + n, "tool_result", message=message("user", answer)) for n, answer in enumerate(answers)),
        line(5, "system", subtype="chat_compression", systemPayload={"compressedHistory": kept}),
        line(6, "user", message=message("user", {"text": "Go on"})),
        line(7, "assistant", model="m", message=message("model", {"text": "Done"})),
    ]
