"""Counting a recording directly, with json, sqlite3 and nothing of replayer: what an import is held against.

Each counter takes a file and returns (turns, calls, failed results, largest prompt), the last None where the source
holds no token counts.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard

Counts = tuple[int, int, int, int | None]
_EXIT = re.compile(r"(?:Process exited with code|Exit code:|exited with code) (-?\d+)")
_REFUSED = (
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
    "failed to parse function",
)


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def atif(path: Path) -> Counts:
    document = json.loads(path.read_text())
    steps = [s for part in (document, *document.get("subagent_trajectories", ())) for s in part["steps"]]
    agent = [step for step in steps if step["source"] == "agent"]
    prompts = [
        step["metrics"]["prompt_tokens"] for step in agent if "prompt_tokens" in (step.get("metrics") or {})
    ]
    return len(agent), sum(len(step.get("tool_calls") or ()) for step in agent), 0, max(prompts, default=None)


def claude_code(path: Path) -> Counts:
    replies, calls, failed, largest = set(), set(), 0, 0
    for line in _lines(path):
        message = line.get("message")
        if line["type"] == "assistant" and message["model"] != "<synthetic>":
            usage = message["usage"]
            replies.add(message["id"])
            sizes = (usage.get(f"{key}input_tokens", 0) for key in ("", "cache_read_", "cache_creation_"))
            largest = max(largest, sum(sizes))
            calls |= {block["id"] for block in message["content"] if block["type"] == "tool_use"}
        elif line["type"] == "user" and isinstance(message["content"], list):
            failed += sum(block.get("is_error") is True for block in message["content"])
    return len(replies), len(calls), failed, largest


def codex(path: Path) -> Counts:
    """A turn ends with a new total of tokens; replies that were broken off end with what comes next."""
    turns = calls = failed = largest = 0
    speaking, total = False, None
    for line in _lines(path):
        payload = line["payload"]
        kind, ends = payload.get("type", ""), line["type"] == "compacted"
        if line["type"] == "event_msg":
            info = payload.get("info") if kind == "token_count" else None
            if info and info["total_token_usage"] != total:
                total, ends = info["total_token_usage"], True
                if speaking:
                    largest = max(largest, info["last_token_usage"]["input_tokens"])
            ends = ends or kind == "turn_aborted"
        elif line["type"] == "response_item":
            said = kind in ("reasoning", "web_search_call") or kind.endswith("_call")
            if said or (kind == "message" and payload["role"] == "assistant"):
                speaking = True
                calls += kind.endswith("_call") and kind != "web_search_call"
            elif kind == "message":
                ends = True
            elif kind.endswith("_output"):
                text = payload.get("output") if isinstance(payload.get("output"), str) else ""
                code = _EXIT.search(text[:400])
                failed += bool(code and int(code.group(1))) or text.startswith(_REFUSED)
        turns += ends and speaking
        speaking = speaking and not ends
    return turns + speaking, calls, failed, largest


def copilot(path: Path) -> Counts:
    events = _lines(path)
    said = [e["data"] for e in events if e["type"] == "assistant.message"]
    done = [e["data"] for e in events if e["type"] == "tool.execution_complete"]
    replies = {m.get("apiCallId") or m["messageId"] for m in said}
    return (
        len(replies),
        sum(len(m.get("toolRequests") or ()) for m in said),
        sum(not d["success"] for d in done),
        None,
    )


def gemini(path: Path) -> Counts:
    said = [m for m in json.loads(path.read_text())["messages"] if m["type"] == "gemini"]
    calls = [call for m in said for call in m.get("toolCalls") or ()]
    failed = sum(call["status"] == "error" for call in calls)
    return len(said), len(calls), failed, max((m["tokens"]["input"] for m in said), default=0)


def kv_cache(path: Path) -> Counts:
    def flat(requests: list[Any]) -> Iterator[Any]:
        for request in requests:
            if request["type"] == "subagent":
                yield from flat(request["requests"])
            else:
                yield request

    found = list(flat(json.loads(path.read_text())["requests"]))
    return len(found), 0, 0, max(request["in"] for request in found)


def mini_swe_agent(path: Path) -> Counts:
    document = json.loads(path.read_text())
    messages = document if isinstance(document, list) else document["messages"]
    said = [m for m in messages if m["role"] == "assistant"]
    return len(said), sum(len(m.get("tool_calls") or ()) for m in said), 0, None


def mooncake(path: Path) -> Counts:
    lines = _lines(path)
    return len(lines), 0, 0, max(line["input_length"] for line in lines)


def openhands(path: Path) -> Counts:
    text = path.read_text()
    sessions = [json.loads(text)] if text.startswith("[") else [line["history"] for line in _lines(path)]
    replies, calls, failed, largest = set(), set(), 0, 0
    for number, events in enumerate(sessions):
        for event in events:
            metadata = event.get("tool_call_metadata") or {}
            if "action" in event and metadata:
                response = metadata["model_response"]
                replies.add((number, response["id"]))
                message = response["choices"][0]["message"]
                calls |= {(number, call["id"]) for call in message.get("tool_calls") or ()}
                largest = max(largest, response["usage"]["prompt_tokens"])
            elif "action" in event and event["action"] == "message" and event["source"] == "agent":
                replies.add((number, event["id"]))
            code = ((event.get("extras") or {}).get("metadata") or {}).get("exit_code")
            is_failed = event.get("observation") == "error" or code not in (None, 0, -1)
            # An error without a call (arguments that the agent refused) reaches the model as a message.
            failed += "observation" in event and is_failed and bool(metadata)
    return len(replies), len(calls), failed, largest


def otel(path: Path) -> Counts:
    spans = json.loads(path.read_text())["spans"]
    chats = [s["attributes"] for s in spans if "gen_ai.input.messages" in s["attributes"]]
    prompts = [
        n for a in chats if (n := a.get("gen_ai.usage.input_tokens", a.get("gen_ai.usage.prompt_tokens")))
    ]
    return len(chats), 0, 0, max(prompts, default=None)


def swe_agent(path: Path) -> Counts:
    document = json.loads(path.read_text())
    calls = sum(
        len(m.get("tool_calls") or ())
        for m in document["history"]
        if m["role"] == "assistant" and not m.get("is_demo")
    )
    return len(document["trajectory"]), calls, 0, None


def zed(path: Path) -> Counts:
    if path.suffix == ".json":
        return _zed_thread(json.loads(path.read_text()))
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    rows = connection.execute("SELECT data_type, data FROM threads").fetchall()
    connection.close()
    unpack = zstandard.ZstdDecompressor()
    documents = [json.loads(unpack.decompressobj().decompress(d) if t == "zstd" else d) for t, d in rows]
    found = [_zed_thread(document) for document in documents]
    turns, calls, failed = (sum(counts[n] for counts in found) for n in range(3))  # type: ignore[misc]
    return turns, calls, failed, max(counts[3] or 0 for counts in found)


def _zed_thread(document: dict[str, Any]) -> Counts:
    usage = document.get("request_token_usage") or {}
    sizes = [
        sum(u.get(f"{key}input_tokens", 0) for key in ("", "cache_read_", "cache_creation_"))
        for u in (usage.values() if isinstance(usage, dict) else usage)
    ]
    if document["version"] != "0.3.0":
        said = [m for m in document["messages"] if m["role"] == "assistant"]
        results = [r for m in document["messages"] for r in m["tool_results"]]
        calls, failed = sum(len(m["tool_uses"]) for m in said), sum(r["is_error"] for r in results)
        # A request that left no message (the title, a summary) stands behind the others.
        return len(said), calls, failed, max(sizes[: len(said)])
    agent = [m["Agent"] for m in document["messages"] if "Agent" in m]
    calls = sum("ToolUse" in part for m in agent for part in m["content"])
    failed = sum(r["is_error"] for m in agent for r in m["tool_results"].values())
    return len(agent), calls, failed, max(sizes, default=0)


COUNTERS: dict[str, Callable[[Path], Counts]] = {
    "atif": atif,
    "claude-code": claude_code,
    "codex": codex,
    "copilot-cli": copilot,
    "gemini-cli": gemini,
    "kv-cache-tester": kv_cache,
    "mini-swe-agent": mini_swe_agent,
    "mooncake": mooncake,
    "openhands-v0": openhands,
    "otel": otel,
    "swe-agent": swe_agent,
    "zed": zed,
}
"""By the folder of the recordings."""
