"""Sends request.json again and says whether the answer shows a fault of verdict.json again.

Usage: repro.py [BASE_URL]. Needs the openai package only, and not even that for /messages and /responses. The judging was done by `replayer`: verdict.json keeps for
each fault a sign, a piece of text or an event that showed it, and this script looks for the signs. To judge a new
answer that differs: replayer judge request.json again.sse
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import openai

HERE = Path(__file__).resolve().parent
CHAT = "/chat/completions"
ENDS = ("message_stop", "response.completed", "response.incomplete", "response.failed")
CHAT_KEYS = ("model", "messages", "stream")
REFUSED = (400, 413, 422)
Facts = dict[str, Any]


def send(request: dict[str, Any], base_url: str, api_key_env: str | None, name: str = "again") -> Facts:
    """Ask once. The bytes of the answer go to again.sse (or again.json)."""
    key = os.environ.get(api_key_env or "", "none")
    client = openai.OpenAI(base_url=base_url, api_key=key, timeout=120, max_retries=0)
    stream = bool(request.get("stream"))
    fields = {key: value for key, value in request.items() if key not in CHAT_KEYS}
    raw, error = b"", ""
    try:
        with client.chat.completions.with_streaming_response.create(
            model=request["model"], messages=request["messages"], stream=stream, extra_body=fields
        ) as answer:
            for piece in answer.iter_bytes():
                raw += piece
    except openai.APIStatusError as status:
        error = "refused" if status.status_code in REFUSED else f"broken: status {status.status_code}"
    except Exception as broken:  # noqa: BLE001 - while a stream is read, openai lets through what its HTTP library raises
        error = f"broken: {type(broken).__name__}"
    finally:
        (HERE / f"{name}.{'sse' if stream else 'json'}").write_bytes(raw)
    return facts_of(raw, stream, error)


def post(path: str, base_url: str, api_key_env: str | None, stream: bool) -> Facts:
    """Ask once over another API than chat completions, with the very bytes of request.json."""
    key = os.environ.get(api_key_env or "", "none")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "x-api-key": key}
    url = base_url.rstrip("/") + path
    request = urllib.request.Request(url, (HERE / "request.json").read_bytes(), headers)
    request.add_header("anthropic-version", "2023-06-01")
    raw, error = b"", ""
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            while piece := answer.read1():
                raw += piece
    except urllib.error.HTTPError as status:
        error = "refused" if status.code in REFUSED else f"broken: status {status.code}"
    except (OSError, http.client.HTTPException) as broken:
        error = f"broken: {type(broken).__name__}"
    (HERE / f"again.{'sse' if stream else 'json'}").write_bytes(raw)
    return facts_of(raw, stream, error)


def facts_of(raw: bytes, stream: bool, error: str) -> Facts:
    """What came, piece after piece: nothing is assembled or judged here."""
    facts: Facts = {key: "" for key in ("text", "reasoning", "arguments", "ended", "error")}
    facts["closed"] = False
    facts |= {"names": [], "ids": [], "indexes": [], "oddities": [], "tokens": []}
    text = raw.decode("utf-8", "replace")
    lines = [line[5:].strip() for line in text.split("\n") if line.startswith("data:")] if stream else [text]
    for line in lines:
        try:
            if line not in ("", "[DONE]"):
                event = json.loads(line)
                take(facts, event)
                take_event(facts, event)
        except ValueError:
            facts["oddities"].append("bad_event")
    if stream and "[DONE]" not in lines and not facts["closed"]:
        facts["oddities"].append("no_done")
        error = error or ("" if facts["ended"] else "broken: no end")
    facts["error"] = error or facts["error"]
    return facts | summary(facts)


def take(facts: Facts, event: dict[str, Any]) -> None:
    if event.get("error"):
        facts["error"] = "broken: an error event"
    facts["tokens"] = (
        [(event.get("usage") or {}).get("completion_tokens")] if event.get("usage") else facts["tokens"]
    )
    for choice in event.get("choices") or []:
        delta = choice.get("delta") or choice.get("message") or {}
        thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
        calls = delta.get("tool_calls") or []
        if facts["ended"] and (delta.get("content") or thought or calls):
            facts["oddities"].append("delta_after_finish")
        facts["text"] += delta.get("content") or ""
        facts["reasoning"] += thought
        for place, call in enumerate(calls):
            take_call(facts, call, call.get("index", place if "message" in choice else None))
        facts["ended"] = choice.get("finish_reason") or facts["ended"]


def take_event(facts: Facts, event: dict[str, Any]) -> None:
    """An event, or a whole body, of /messages or /responses."""
    kind, delta = str(event.get("type")), event.get("delta")
    item = event.get("content_block") or (event.get("item") if kind == "response.output_item.added" else None)
    whole = event.get("content") if kind == "message" else event.get("output") if "output" in event else None
    for part in [item] if item else whole if isinstance(whole, list) else []:
        take_part(facts, part)
    if isinstance(delta, dict):
        facts["text"] += delta.get("text") or ""
        facts["reasoning"] += delta.get("thinking") or ""
        facts["arguments"] += delta.get("partial_json") or ""
    elif isinstance(delta, str):
        facts["reasoning" if "reasoning" in kind else "arguments" if "call" in kind else "text"] += delta
    response = event.get("response") if kind in ENDS else event if "output" in event else None
    stop = (delta.get("stop_reason") if isinstance(delta, dict) else None) or event.get("stop_reason")
    facts["ended"] = stop or (response or {}).get("status") or facts["ended"]
    facts["closed"] |= kind in ENDS or whole is not None
    usage = event.get("usage") or (response or {}).get("usage")
    facts["tokens"] = [usage.get("output_tokens")] if usage and "output_tokens" in usage else facts["tokens"]


def take_part(facts: Facts, part: dict[str, Any]) -> None:
    """A content block or an output item, as it begins or whole."""
    if part.get("type") in ("tool_use", "function_call", "custom_tool_call"):
        facts["indexes"].append(len(facts["names"]))
        facts["names"].append(part.get("name"))
        facts["ids"].append(part.get("call_id") or part.get("id") or None)
        facts["arguments"] += json.dumps(part["input"]) if part.get("input") else part.get("arguments") or ""
    for text in part.get("content") or [part]:
        if part.get("type") in ("text", "message"):
            facts["text"] += text.get("text") or ""
        elif part.get("type") in ("thinking", "reasoning"):
            facts["reasoning"] += text.get("text") or text.get("thinking") or ""


def take_call(facts: Facts, call: dict[str, Any], index: int | None) -> None:
    function = call.get("function") or {}
    if function.get("name"):
        facts["names"].append(function["name"])
        facts["ids"].append(call.get("id") or None)
        facts["indexes"].append(index)
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        facts["oddities"].append("arguments_object")
        arguments = json.dumps(arguments)
    facts["arguments"] += arguments or ""


def summary(facts: Facts) -> Facts:
    """The facts that a sign can name beside the texts themselves."""
    names, ids = facts["names"], facts["ids"]
    shown = {
        "call": names, "several calls": len(names) > 1, "no call": not names, "nothing": not names and not facts["text"].strip(),
        "ids": None in ids or len(set(ids)) < len(ids), "order": facts["indexes"] != list(range(len(names))),
        f"{facts['ended']} {'with' if names else 'without'} a call": True,
    }  # fmt: skip
    spoken = facts["reasoning"] + facts["text"] + facts["arguments"]
    return {"spoken": spoken, "came": [word for word, true in shown.items() if true]}


def differences(one: Facts, other: Facts) -> list[str]:
    """What the other mode (streamed or not) answers otherwise to the same request."""
    return [what for what in ("names", "arguments", "text") if one[what] != other[what]]


def other_mode(request: dict[str, Any]) -> dict[str, Any]:
    changed = {key: value for key, value in request.items() if key != "stream_options"}
    stream = not request.get("stream")
    return changed | {"stream": stream} | ({"stream_options": {"include_usage": True}} if stream else {})


def main() -> int:
    request = json.loads((HERE / "request.json").read_bytes())
    verdict = json.loads((HERE / "verdict.json").read_bytes())
    base_url = sys.argv[1] if len(sys.argv) > 1 else verdict["base_url"]
    path = verdict.get("path", CHAT)
    stream = bool(request.get("stream"))
    facts = (
        send(request, base_url, verdict["api_key_env"])
        if path == CHAT
        else post(path, base_url, verdict["api_key_env"], stream)
    )
    offered = {(tool.get("function") or tool).get("name") for tool in request.get("tools") or []}
    facts["came"] += ["a call not offered"] * bool(set(facts["names"]) - offered)
    if path == CHAT and not facts["error"] and any(fact == "differs" for _, fact, _ in verdict["signs"]):
        other = send(other_mode(request), base_url, verdict["api_key_env"], "again-other-mode")
        facts["differs"] = differences(facts, other)
    print(f"text ({len(facts['text'])} characters): {facts['text'][-300:]!r}")
    print(f"calls {facts['names']} {facts['arguments'][:300]!r}")
    print(f"finish reason {facts['ended'] or None}; error: {facts['error'] or None}")
    wanted = {fault for fault, _, _ in verdict["signs"]}
    matching = {fault for fault, fact, sign in verdict["signs"] if sign in facts.get(fact, "")}
    seen = (
        {fault for fault, fact, _ in verdict["signs"] if fact == "error" and fault in matching}
        if facts["error"]
        else matching
    )
    print(f"wanted {sorted(wanted)}, seen again {sorted(seen)}")
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
