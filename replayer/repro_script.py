"""Sends request.json again and says whether the fault of verdict.json shows. Needs the openai package only.

Usage: repro.py [BASE_URL]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI

HERE = Path(__file__).resolve().parent


def send(request: dict[str, Any], base_url: str, api_key_env: str | None) -> list[dict[str, Any]]:
    """The chunks of the answer; its bytes go to again.sse (or again.json)."""
    key = os.environ.get(api_key_env or "", "none")
    client = OpenAI(base_url=base_url, api_key=key, timeout=900, max_retries=0)
    stream = bool(request.get("stream"))
    fields = {name: value for name, value in request.items() if name not in ("model", "messages", "stream")}
    with client.chat.completions.with_streaming_response.create(
        model=request["model"], messages=request["messages"], stream=stream, extra_body=fields
    ) as answer:
        raw = answer.read()
    (HERE / ("again.sse" if stream else "again.json")).write_bytes(raw)
    if not stream:
        return [json.loads(raw)]
    lines = [
        line[5:].strip() for line in raw.decode("utf-8", "replace").split("\n") if line.startswith("data:")
    ]
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def collect(chunks: list[dict[str, Any]]) -> tuple[str, dict[int, dict[str, str]], str | None]:
    """Text (reasoning and content), calls by index, finish reason."""
    text, finish = "", None
    calls: dict[int, dict[str, str]] = {}
    for chunk in chunks:
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or choice.get("message") or {}
            text += (delta.get("reasoning_content") or delta.get("reasoning") or "") + (
                delta.get("content") or ""
            )
            finish = choice.get("finish_reason") or finish
            for position, piece in enumerate(delta.get("tool_calls") or []):
                call = calls.setdefault(piece.get("index", position), {"name": "", "arguments": ""})
                function = piece.get("function") or {}
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
    return text, calls, finish


def parses(words: str) -> bool:
    try:
        json.loads(words or "{}")
    except ValueError:
        return False
    return True


def shows(request: dict[str, Any], verdict: dict[str, Any], chunks: list[dict[str, Any]]) -> set[str]:
    """The faults that can be checked without replayer; `replayer judge` knows them all."""
    text, calls, finish = collect(chunks)
    tools = {tool["function"]["name"] for tool in request.get("tools") or []}
    unit = (verdict["collapse"] or {}).get("unit") or ""
    spoken = text + "".join(call["arguments"] for call in calls.values())
    checks = {
        "unknown_tool": any(call["name"] not in tools for call in calls.values()),
        "arguments_not_json": not all(parses(call["arguments"]) for call in calls.values()),
        "truncated": finish == "length",
        "empty_turn": not text.strip() and not calls,
        "collapsed": bool(unit) and unit * 4 in spoken,
    }
    return {name for name, seen in checks.items() if seen}


def main() -> int:
    request = json.loads((HERE / "request.json").read_bytes())
    verdict = json.loads((HERE / "verdict.json").read_bytes())
    base_url = sys.argv[1] if len(sys.argv) > 1 else verdict["base_url"]
    chunks = send(request, base_url, verdict["api_key_env"])
    text, calls, finish = collect(chunks)
    print(f"text ({len(text)} characters): {text[-300:]!r}")
    for call in calls.values():
        print(f"call {call['name']!r} {call['arguments'][:300]!r}")
    wanted = {fault["klass"] for fault in verdict["faults"] if fault["fatal"]}
    again = wanted & shows(request, verdict, chunks)
    print(f"finish reason {finish}; wanted {sorted(wanted)}, seen again {sorted(again)}")
    return 0 if again else 1


if __name__ == "__main__":
    sys.exit(main())
