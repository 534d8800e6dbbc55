"""A simulated reply in the form of OpenAI's Responses API, as vLLM and llama.cpp write it.

Cites `tests/captures/wires`: vLLM numbers its events and gives other ids in the final object, llama.cpp does neither
and calls a reply that was cut completed. SGLang 0.5.12's stream without deltas is not imitated: it refuses every tool.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from replayer.simulated.accepted import Job, call_id, delivered
from replayer.simulated.chat_events import Events, named_event
from replayer.simulated.generation import Piece
from replayer.wire.types import JsonObject

_LLAMA = ("llamacpp", "ik_llama")
_SPELLED = {
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
}
"""By a call's type: the word in its events' names, and its own key."""
Item = JsonObject


class ResponsesEvents(Events):
    """Turns pieces into the events of a Responses stream."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._items: list[Item] = []
        self._current: Item | None = None
        self._calls: dict[int, Item] = {}
        self._sequence = 0

    def first(self) -> bytes:
        begun = response_object(self._job, [], "in_progress", usage=False)
        return self._event("created", response=begun) + self._event("in_progress", response=begun)

    def end(self) -> bytes:
        return b"".join(map(self._named, self._close()))

    def done(self) -> bytes:
        status, reason = _status(self._job)
        final = [_renamed(self._job, item, place) for place, item in enumerate(self._items)]
        usage = "no_usage" not in self._job.wire
        return self._event(
            "completed", response=response_object(self._job, final, status, reason, usage=usage)
        )

    def error(self, message: str) -> bytes:
        return self._named({"type": "error", "code": "server_error", "message": message, "param": None})

    def _event(self, name: str, **fields: object) -> bytes:
        return self._named({"type": f"response.{name}", **fields})

    def _named(self, event: JsonObject) -> bytes:
        if self._job.kind.name not in _LLAMA:
            event = {**event, "sequence_number": self._sequence}
            self._sequence += 1
        return named_event(event)

    def _delta(self, delta: JsonObject) -> bytes:
        return b"".join(self._named(event) for event in delta["events"])

    def _text(self, piece: Piece, text: str) -> Iterator[JsonObject]:
        if not text or not piece.channel:
            return
        events: list[JsonObject] = []
        if piece.channel == "arguments":
            item = self._calls.get(piece.call)
            if item is None:
                return
            kind, key = _SPELLED[item["type"]]
            item[key] += text
        else:
            kind = "reasoning_text" if piece.channel == "reasoning" else "output_text"
            wanted = "reasoning" if piece.channel == "reasoning" else "message"
            if self._current is None or self._current["type"] != wanted:
                events += self._add(_new_item(self._job, wanted, len(self._items)))
            item = self._items[-1]
            item["content"][0]["text"] += text
        events.append({"type": f"response.{kind}.delta", **self._where(item, kind), "delta": text})
        yield {"events": events}

    def _open(self, number: int) -> JsonObject:
        item = _call_item(self._job, number, "")
        self._calls[number] = item
        return {"events": self._add(item)}

    def _add(self, item: Item) -> list[JsonObject]:
        events = self._close()
        self._items.append(item)
        self._current = item
        begun = {**item, "status": "in_progress"}
        if "content" in item:
            begun["content"] = []
        added: JsonObject = {"type": "response.output_item.added", **self._place(item), "item": begun}
        events.append(added)
        if item["type"] == "message":
            part = {"part": dict(item["content"][0]), "content_index": 0}
            events.append({"type": "response.content_part.added", **self._where(item, "output_text"), **part})
        return events

    def _close(self) -> list[JsonObject]:
        """The events that end the current item."""
        item, self._current = self._current, None
        if item is None:
            return []
        events: list[JsonObject] = []
        if item["type"] in ("message", "reasoning"):
            kind = "output_text" if item["type"] == "message" else "reasoning_text"
            text = item["content"][0]["text"]
            events.append({"type": f"response.{kind}.done", **self._where(item, kind), "text": text})
        elif self._job.kind.name not in _LLAMA:
            kind, key = _SPELLED[item["type"]]
            events.append({"type": f"response.{kind}.done", **self._where(item, kind), key: item[key]})
        return [*events, {"type": "response.output_item.done", **self._place(item), "item": dict(item)}]

    def _where(self, item: Item, kind: str) -> JsonObject:
        where = {"item_id": item["id"], **self._place(item)}
        texts = kind in ("output_text", "reasoning_text") and self._job.kind.name not in _LLAMA
        return where | ({"content_index": 0} if texts else {})

    def _place(self, item: Item) -> dict[str, int]:
        if self._job.kind.name in _LLAMA:
            return {}
        return {"output_index": next(place for place, known in enumerate(self._items) if known is item)}


def responses_body(job: Job) -> JsonObject:
    """The whole reply."""
    sent = delivered(job.generation.pieces)
    items: list[Item] = []
    for kind, text in (("reasoning", sent.reasoning), ("message", sent.content)):
        if text:
            item = _new_item(job, kind, len(items))
            item["content"][0]["text"] = text
            items.append(item)
    items += [_call_item(job, number, text) for number, text in sent.calls.items()]
    status, reason = _status(job)
    return response_object(job, items, status, reason, usage="no_usage" not in job.wire)


def response_object(
    job: Job, output: list[Item], status: str, reason: str | None = None, *, usage: bool
) -> JsonObject:
    counts = job.counts
    counted = {
        "input_tokens": counts.prompt,
        "input_tokens_details": {"cached_tokens": counts.cached if job.kind.spec.report_cached else 0},
        "output_tokens": counts.completion,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.prompt + counts.completion,
    }
    return {
        "id": f"resp_{job.ticket.hex[:16]}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": job.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": counted if usage else None,
    }


def _status(job: Job) -> tuple[str, str | None]:
    """llama.cpp calls a reply completed that its limit cut."""
    cut = job.generation.finish == "length" and job.kind.name not in _LLAMA
    return ("incomplete", "max_output_tokens") if cut else ("completed", None)


def _new_item(job: Job, kind: str, place: int) -> Item:
    own, ended = f"{job.ticket.hex[:12]}{place:04x}", {"status": "completed"}
    if kind == "reasoning":
        content = {"content": [{"type": "reasoning_text", "text": ""}]}
        return {"id": f"rs_{own}", "type": "reasoning", "summary": [], **content, **ended}
    text = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    return {"id": f"msg_{own}", "type": "message", "role": "assistant", **ended, "content": [text]}


def _call_item(job: Job, number: int, text: str) -> Item:
    call = job.reply.calls[number]
    own = f"{job.ticket.hex[:12]}{number:04x}"
    named = {"call_id": call_id(job, number), "name": call.name, "status": "completed"}
    if call.name in job.custom:
        return {"id": f"ctc_{own}", "type": "custom_tool_call", **named, "input": text}
    return {"id": f"fc_{own}", "type": "function_call", **named, "arguments": text}


def _renamed(job: Job, item: Item, place: int) -> Item:
    """vLLM makes up new ids for the final object."""
    if job.kind.name != "vllm":
        return item
    prefix = item["id"].partition("_")[0]
    changed = {"id": f"{prefix}_{job.ticket.hex[16:28]}{place:04x}"}
    if item["type"] == "function_call":
        changed["call_id"] = f"chatcmpl-tool-{job.ticket.hex[16:28]}{place:04x}"
    return {**item, **changed}
