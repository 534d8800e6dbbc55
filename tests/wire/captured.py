"""Captured exchanges of all three wires, and a naive reading of their whole files to hold the readers against."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replayer.wire.types import Wire

FIXTURES = Path(__file__).parents[1] / "captures" / "wires"


@dataclass(frozen=True)
class Captured:
    """One exchange. `wire` is None for what is not a generation (model lists, token counts, stored responses)."""

    name: str
    wire: Wire | None
    status: int
    request: Any
    body: bytes
    streamed: bool

    @property
    def pieces(self) -> list[bytes]:
        return [self.body[i : i + 1] for i in range(len(self.body))]


def load(base: Path) -> Captured:
    """The capture whose files begin with `base`."""
    headers = Path(f"{base}.response.headers").read_bytes()
    answers = [p for p in base.parent.glob(f"{base.name}.response.*") if p.suffix != ".headers"]
    answer = answers[0] if answers else Path("none.txt")
    body = answer.read_bytes() if answers else b""
    request = Path(f"{base}.request.json")
    try:
        asked = json.loads(request.read_bytes()) if request.exists() else None
    except ValueError:
        asked = None
    return Captured(
        name=f"{base.parent.name}/{base.name}",
        wire=_wire(base),
        status=int(headers.split()[1]),
        request=asked,
        body=gzip.decompress(body) if answer.suffix == ".gz" else body,
        streamed=answer.suffix in (".sse", ".events"),
    )


def _wire(base: Path) -> Wire | None:
    """By the path that was asked where it is known, else by the name of the capture."""
    timing = Path(f"{base}.timing.json")
    if timing.exists():
        asked = json.loads(timing.read_bytes())
        path = asked["path"].partition("?")[0] if asked["method"] == "POST" else ""
        paths: dict[str, Wire] = {
            "chat/completions": "chat",
            "messages": "messages",
            "responses": "responses",
        }
        return paths.get(path.removeprefix("/v1/"))
    names: dict[str, Wire] = {
        "chat": "chat",
        "messages": "messages",
        "responses": "responses",
        "codex": "responses",
    }
    return next((wire for word, wire in names.items() if word in base.name), None)


def bases(folder: Path) -> list[Path]:
    ending = ".response.headers"
    return sorted(Path(str(p).removesuffix(ending)) for p in folder.rglob(f"*{ending}"))


def all_bases() -> list[Path]:
    """The fixtures and, where REPLAYER_WIRES names a folder, every capture below it."""
    more = os.environ.get("REPLAYER_WIRES")
    return bases(FIXTURES) + (bases(Path(more)) if more else [])


def naive(capture: Captured) -> dict[str, Any]:
    """Text by channel, calls, stop reason, usage and the order of the texts, from the whole body at once."""
    assert capture.wire is not None
    out = _Naive()
    if capture.streamed:
        payloads = [
            json.loads(line[6:])
            for line in capture.body.split(b"\n")
            if line.startswith(b"data: ") and line != b"data: [DONE]"
        ]
        _STREAMS[capture.wire](out, payloads)
    else:
        _WHOLE[capture.wire](out, json.loads(capture.body))
    return out.result()


class _Naive:
    def __init__(self) -> None:
        self.order: list[tuple[str, str]] = []
        self.calls: list[dict[str, Any]] = []
        self.stop: str | None = None
        self.usage: tuple[int | None, int | None, int | None] = (None, None, None)

    def say(self, channel: str, text: str | None) -> None:
        if text:
            self.order.append((channel, text))

    def call(self, call_id: str | None, name: str | None) -> dict[str, Any]:
        self.calls.append({"id": call_id, "name": name, "arguments": ""})
        self.say("tool_name", name)
        return self.calls[-1]

    def arguments(self, call: dict[str, Any], text: str | None) -> None:
        call["arguments"] += text or ""
        self.say("tool_arguments", text)

    def result(self) -> dict[str, Any]:
        texts = {
            channel: "".join(text for kind, text in self.order if kind == channel)
            for channel in ("content", "reasoning")
        }
        return {**texts, "calls": self.calls, "stop": self.stop, "usage": self.usage, "order": self.order}


def _chat_stream(out: _Naive, payloads: list[Any]) -> None:
    calls: dict[int, dict[str, Any]] = {}
    for chunk in payloads:
        _chat_usage(out, chunk.get("usage"))
        for choice in chunk["choices"]:
            delta = choice["delta"]
            out.stop = choice["finish_reason"] or out.stop
            out.say("content", delta.get("content"))
            out.say("reasoning", delta.get("reasoning_content") or delta.get("reasoning"))
            for piece in delta.get("tool_calls") or []:
                function = piece["function"]
                if piece["index"] not in calls:
                    calls[piece["index"]] = out.call(piece["id"], function["name"])
                out.arguments(calls[piece["index"]], function.get("arguments"))


def _chat_whole(out: _Naive, body: Any) -> None:
    _chat_usage(out, body["usage"])
    (choice,) = body["choices"]
    message = choice["message"]
    out.stop = choice["finish_reason"]
    out.say("content", message.get("content"))
    out.say("reasoning", message.get("reasoning_content") or message.get("reasoning"))
    for call in message.get("tool_calls") or []:
        out.arguments(out.call(call["id"], call["function"]["name"]), call["function"]["arguments"])


def _chat_usage(out: _Naive, usage: Any) -> None:
    if usage:
        details = usage.get("prompt_tokens_details") or {}
        out.usage = (usage["prompt_tokens"], details.get("cached_tokens"), usage.get("completion_tokens"))


def _messages_stream(out: _Naive, payloads: list[Any]) -> None:
    calls: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    ended = False
    for event in payloads:
        if event["type"] == "message_start":
            usage |= event["message"]["usage"]
        elif event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = event["content_block"]
            calls[event["index"]] = out.call(block["id"], block["name"])
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            out.say("content", delta.get("text"))
            out.say("reasoning", delta.get("thinking"))
            if "partial_json" in delta:
                out.arguments(calls[event["index"]], delta["partial_json"])
        elif event["type"] == "message_delta":
            out.stop, ended = event["delta"]["stop_reason"], True
            usage |= event["usage"]
    for call in calls.values():
        call["arguments"] = call["arguments"] or "{}"
    _messages_usage(out, usage, ended)


def _messages_whole(out: _Naive, body: Any) -> None:
    for block in body["content"]:
        out.say("content", block.get("text") if block["type"] == "text" else None)
        out.say("reasoning", block.get("thinking"))
        if block["type"] == "tool_use":
            text = json.dumps(block["input"], separators=(",", ":"), ensure_ascii=False)
            out.arguments(out.call(block["id"], block["name"]), text)
    out.stop = body["stop_reason"]
    _messages_usage(out, body["usage"], True)


def _messages_usage(out: _Naive, usage: Any, ended: bool) -> None:
    cached = usage.get("cache_read_input_tokens")
    prompt = (usage.get("input_tokens") or 0) + (cached or 0)
    if prompt:
        out.usage = (prompt, cached, usage["output_tokens"] if ended else None)


def _responses_stream(out: _Naive, payloads: list[Any]) -> None:
    """The events are the reply; where there are none, the last object is."""
    calls: dict[str, dict[str, Any]] = {}
    for event in payloads:
        kind = event["type"]
        if kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            named = event["item"].get("id") or event["item"]["call_id"]  # llama.cpp of early 2026 has no ids
            calls[named] = out.call(event["item"]["call_id"], event["item"]["name"])
        elif kind == "response.output_text.delta":
            out.say("content", event["delta"])
        elif kind == "response.reasoning_text.delta":
            out.say("reasoning", event["delta"])
        elif kind == "response.function_call_arguments.delta":
            out.arguments(calls[event["item_id"]], event["delta"])
        elif kind == "response.completed":
            items = [] if out.order else event["response"]["output"]
            _responses_whole(out, {**event["response"], "output": items})


def _responses_whole(out: _Naive, body: Any) -> None:
    for item in body["output"]:
        for part in item.get("content") or []:
            out.say("reasoning" if item["type"] == "reasoning" else "content", part["text"])
        if item["type"] == "function_call":
            out.arguments(out.call(item["call_id"], item["name"]), item["arguments"])
    details = body.get("incomplete_details") or {}
    out.stop = details.get("reason") or body["status"]
    usage = body.get("usage") or {}
    if usage.get("input_tokens"):
        cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
        out.usage = (usage["input_tokens"], cached, usage["output_tokens"])


_STREAMS = {"chat": _chat_stream, "messages": _messages_stream, "responses": _responses_stream}
_WHOLE = {"chat": _chat_whole, "messages": _messages_whole, "responses": _responses_whole}
