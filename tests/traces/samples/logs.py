"""Logs of chat requests: JSON lines, HAR, LiteLLM."""

from __future__ import annotations

import base64
from typing import Any

import orjson

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
