"""Fills a recorded trace's usage: tokens of the embedded model, counted on the very requests that replay sends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from replayer.engines.embedded import llama_server as embedded
from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace, records
from replayer.traces.schema import (
    AssistantItem,
    Item,
    Thread,
    Times,
    ToolCallItem,
    ToolRun,
    ToolSet,
    Turn,
    Usage,
)
from replayer.traces.writer import TraceWriter

Message = dict[str, Any]

_STOP = "@@end-of-reply@@"

STARTED = 1_763_000_000.0
PREFILL_TOKENS_PER_SECOND = 4000.0
DECODE_TOKENS_PER_SECOND = 60.0
TOOL_SECONDS = 0.4
"""Times are authored, so that a rebuild gives the same ones: a server of this speed, tools that take this long."""


class TokenCounter:
    """Token counts by the embedded model with our chat template, tools included."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def usage(self, messages: list[Message], tools: list[Message], reply: Message) -> Usage:
        prompt = await self.rendered(messages, tools)
        # The server takes a last message of the assistant's for one to go on with, so the user speaks after it.
        whole = await self.rendered([*messages, reply, {"role": "user", "content": _STOP}], tools)
        said, _, _ = whole[len(prompt) :].partition("\n<|im_start|>user\n" + _STOP)
        return Usage(prompt_tokens=await self._count(prompt), completion_tokens=await self._count(said))

    async def rendered(self, messages: list[Message], tools: list[Message]) -> str:
        answer = await self.client.post("/apply-template", json={"messages": messages, "tools": tools})
        answer.raise_for_status()
        return str(answer.json()["prompt"])

    async def _count(self, text: str) -> int:
        answer = await self.client.post("/tokenize", json={"content": text, "parse_special": True})
        answer.raise_for_status()
        return len(answer.json()["tokens"])


@asynccontextmanager
async def counter() -> AsyncIterator[TokenCounter]:
    server = await embedded.launch({"ctx": 256})
    try:
        base = server.base_url.removesuffix("/v1")
        async with httpx.AsyncClient(base_url=base, timeout=120) as client:
            yield TokenCounter(client)
    finally:
        await server.stop()


async def count_turns(path: Path, tokens: TokenCounter) -> dict[int, Usage]:
    """Usage of every turn of a trace, by turn id."""
    found = {}
    with Trace.open(path) as trace:
        for thread in trace.threads:
            history = RecordedHistory(trace, thread=thread.id)
            for number in history.turns:
                messages, tools = history.messages(number), history.tools(number)
                found[number] = await tokens.usage(messages, tools, _reply(trace, trace.turns[number]))
    return found


def _reply(trace: Trace, turn: Turn) -> Message:
    items = [trace.item(number) for number in turn.produced]
    calls = [
        {"id": item.call_id, "type": "function", "function": {"name": item.name, "arguments": item.arguments}}
        for item in items
        if isinstance(item, ToolCallItem)
    ]
    text = "".join(item.text for item in items if isinstance(item, AssistantItem))
    return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})


def with_usage(source: Path, target: Path, usage: dict[int, Usage]) -> None:
    """A copy of a trace with the usage and times of its turns filled in."""
    clock = STARTED
    with Trace.open(source) as trace:
        header = trace.header
    with TraceWriter(target, header) as writer:
        for located in records(source):
            record = located.record
            if isinstance(record, Turn):
                times = authored_times(clock, usage[record.id])
                clock = (times.ended or clock) + TOOL_SECONDS
                _add_turn(writer, replace(record, usage=usage[record.id], times=times))
            else:
                _copy(writer, record)


def authored_times(start: float, usage: Usage) -> Times:
    first = start + (usage.prompt_tokens or 0) / PREFILL_TOKENS_PER_SECOND
    ended = first + (usage.completion_tokens or 0) / DECODE_TOKENS_PER_SECOND
    return Times(started=round(start, 3), first_token=round(first, 3), ended=round(ended, 3))


def _add_turn(writer: TraceWriter, turn: Turn) -> None:
    writer.add_turn(
        context=turn.context,
        produced=turn.produced,
        thread=turn.thread,
        tool_set=turn.tool_set,
        usage=turn.usage,
        times=turn.times,
        finish_reason=turn.finish_reason,
    )


def _copy(writer: TraceWriter, record: object) -> None:
    if isinstance(record, Item):
        writer.add_item(record)  # type: ignore[arg-type]
    elif isinstance(record, ToolSet):
        writer.add_tool_set(record)
    elif isinstance(record, Thread):
        writer.add_thread(record)
    elif isinstance(record, ToolRun):
        writer.add_tool_run(record)
