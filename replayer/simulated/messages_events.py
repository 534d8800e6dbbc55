"""A simulated reply in the form of Anthropic's Messages API, as vLLM, SGLang and llama.cpp write it.

Cites `tests/captures/wires`: llama.cpp leaves cached tokens out of `input_tokens` and stops all blocks at the end,
vLLM and SGLang include them and do not report them, SGLang's message_start counts nothing and it drops reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from replayer.simulated.accepted import Job, call_id, delivered
from replayer.simulated.chat_events import Events, named_event
from replayer.simulated.generation import Piece
from replayer.wire.types import JsonObject

STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_LLAMA = ("llamacpp", "ik_llama")


class MessagesEvents(Events):
    """Turns pieces into the events of a Messages stream."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._blocks: list[str] = []
        self._open_blocks: list[int] = []
        self._calls: dict[int, int] = {}

    def first(self) -> bytes:
        message = {**_head(self._job), "content": [], "stop_reason": None, "stop_sequence": None}
        return named_event({"type": "message_start", "message": message | {"usage": self._first_usage()}})

    def end(self) -> bytes:
        job = self._job
        out = b"".join(map(named_event, self._stops()))
        reason = STOPS.get(job.generation.finish, job.generation.finish)
        last: JsonObject = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}}
        usage = {"output_tokens": job.counts.completion}
        if job.kind.name not in _LLAMA:
            usage = {"input_tokens": job.counts.prompt, **usage}
        return out + named_event(last if "no_usage" in job.wire else last | {"usage": usage})

    def done(self) -> bytes:
        return named_event({"type": "message_stop"})

    def error(self, message: str) -> bytes:
        return named_event({"type": "error", "error": {"type": "api_error", "message": message}})

    def _first_usage(self) -> dict[str, int]:
        counts, name = self._job.counts, self._job.kind.name
        if name == "sglang":
            return {"input_tokens": 0, "output_tokens": 0}
        if name in _LLAMA:
            fresh = counts.prompt - counts.cached
            return {"cache_read_input_tokens": counts.cached, "input_tokens": fresh, "output_tokens": 0}
        return {"input_tokens": counts.prompt, "output_tokens": 0}

    def _delta(self, delta: JsonObject) -> bytes:
        return b"".join(map(named_event, delta.get("events") or [delta]))

    def _text(self, piece: Piece, text: str) -> Iterator[JsonObject]:
        dropped = piece.channel == "reasoning" and self._job.kind.name == "sglang"
        if not text or not piece.channel or dropped:
            return
        if piece.channel == "arguments":
            index = self._calls.get(piece.call)
            if index is not None:
                yield _delta(index, {"type": "input_json_delta", "partial_json": text})
            return
        kind = "thinking" if piece.channel == "reasoning" else "text"
        if not self._blocks or self._blocks[-1] != kind:
            yield from self._begin(kind, {"type": kind, kind: ""})
        yield _delta(len(self._blocks) - 1, {"type": f"{kind}_delta", kind: text})

    def _open(self, number: int) -> JsonObject:
        call = self._job.reply.calls[number]
        block: JsonObject = {"type": "tool_use", "id": call_id(self._job, number), "name": call.name}
        if self._job.kind.name not in _LLAMA:
            block["input"] = {}
        events = list(self._begin("tool_use", block))
        self._calls[number] = len(self._blocks) - 1
        return {"events": events}

    def _begin(self, kind: str, block: JsonObject) -> Iterator[JsonObject]:
        if self._job.kind.name not in _LLAMA:
            yield from self._stops()
        self._blocks.append(kind)
        self._open_blocks.append(len(self._blocks) - 1)
        yield {"type": "content_block_start", "index": len(self._blocks) - 1, "content_block": block}

    def _stops(self) -> list[JsonObject]:
        events: list[JsonObject] = []
        for index in self._open_blocks:
            if self._blocks[index] == "thinking" and self._job.kind.name == "vllm":
                signature = {"type": "signature_delta", "signature": f"{self._job.ticket.hex}"}
                events.append(_delta(index, signature))
            events.append({"type": "content_block_stop", "index": index})
        self._open_blocks = []
        return events


def messages_body(job: Job) -> JsonObject | None:
    """The whole reply; None where the server fails on arguments that are not an object, as vLLM and SGLang do."""
    sent = delivered(job.generation.pieces)
    content: list[JsonObject] = []
    if sent.reasoning and job.kind.name != "sglang":
        content.append({"type": "thinking", "thinking": sent.reasoning, "signature": job.ticket.hex})
    if sent.content:
        content.append({"type": "text", "text": sent.content})
    for number, arguments in sent.calls.items():
        value = _object(arguments)
        if value is None and job.kind.name not in _LLAMA:
            return None
        named = {"id": call_id(job, number), "name": job.reply.calls[number].name}
        content.append({"type": "tool_use", **named, "input": value or {}})
    counts = job.counts
    usage = {"input_tokens": counts.prompt, "output_tokens": counts.completion}
    if job.kind.name in _LLAMA:
        usage |= {"input_tokens": counts.prompt - counts.cached, "cache_read_input_tokens": counts.cached}
    reason = STOPS.get(job.generation.finish, job.generation.finish)
    ended = {"stop_reason": reason, "stop_sequence": None}
    return {**_head(job), "content": content, **ended} | ({} if "no_usage" in job.wire else {"usage": usage})


def _head(job: Job) -> JsonObject:
    own = job.kind.request_id(job.ticket)
    ident = f"msg_{job.ticket.hex[:24]}" if job.kind.name == "sglang" else own
    return {"id": ident, "type": "message", "role": "assistant", "model": job.model}


def _delta(index: int, delta: JsonObject) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _object(text: str) -> JsonObject | None:
    try:
        value = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
