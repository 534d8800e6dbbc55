"""Native traces as Harbor's ATIF 1.7.

ATIF is one line of steps, so a context that shrank (compaction, rewind) is written as it went: what a turn had not yet
been sent comes before it. Argument text becomes an object; text that is no JSON object goes under `_raw`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import orjson

from replayer.traces.chat import definition
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AssistantItem,
    CompactionItem,
    Content,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    Turn,
    UserItem,
)
from replayer.wire.types import JsonObject

VERSION = "ATIF-v1.7"
Step = JsonObject


def to_atif(trace: Trace, thread: str | None) -> Iterator[bytes]:
    """One JSON document: the main thread's trajectory, the other threads as its subagents."""
    names = list(dict.fromkeys(turn.thread for turn in trace.turns)) or ["main"]
    chosen = thread or ("main" if "main" in names else names[0])
    document = _trajectory(trace, chosen)
    others = [name for name in names if name != chosen] if thread is None else []
    if others:
        document["subagent_trajectories"] = [_trajectory(trace, name) for name in others]
    yield orjson.dumps(document) + b"\n"


def _trajectory(trace: Trace, thread: str) -> JsonObject:
    header = trace.header
    turns = [turn for turn in trace.turns if turn.thread == thread]
    agent: JsonObject = {"name": header.agent or "unknown", "version": header.source.version or "unknown"}
    model = next((turn.model for turn in turns if turn.model), None)
    if model:
        agent["model_name"] = model
    tool_set = next((turn.tool_set for turn in turns if turn.tool_set), None)
    if tool_set in trace.tool_sets:
        agent["tool_definitions"] = [definition(tool) for tool in trace.tool_sets[tool_set].tools]
    key = header.trace_id if thread == "main" else f"{header.trace_id}/{thread}"
    return {
        "schema_version": VERSION,
        "session_id": key,
        "trajectory_id": thread,
        "agent": agent,
        "steps": _Steps(trace).of(turns),
    }


class _Steps:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._steps: list[Step] = []
        self._step_of_call: dict[str, Step] = {}
        self._seen: set[int] = set()

    def of(self, turns: list[Turn]) -> list[Step]:
        for turn in turns:
            for number in self._trace.context(turn.id):
                self._sent(number)
            self._reply(turn)
        for number in range(max(self._seen, default=-1) + 1, self._trace.item_count):
            item = self._trace.item(number)
            if isinstance(item, ToolResultItem) and item.call_id in self._step_of_call:
                self._sent(number)
        return [{"step_id": number, **step} for number, step in enumerate(self._steps, start=1)]

    def _sent(self, number: int) -> None:
        if number in self._seen:
            return
        self._seen.add(number)
        item = self._trace.item(number)
        if isinstance(item, SystemItem):
            self._steps.append({"source": "system", "message": item.text})
        elif isinstance(item, UserItem):
            self._steps.append({"source": "user", "message": _content(item.content)})
        elif isinstance(item, CompactionItem):
            self._steps.append({"source": "user", "message": item.text, "extra": {"compaction": True}})
        elif isinstance(item, ToolResultItem):
            self._result(item)
        elif isinstance(item, AssistantItem):
            self._steps.append({"source": "agent", "message": item.text, "is_copied_context": True})

    def _result(self, item: ToolResultItem) -> None:
        result: JsonObject = {"source_call_id": item.call_id, "content": _content(item.content)}
        if item.is_error:
            result["extra"] = {"is_error": True}
        step = self._step_of_call.get(item.call_id)
        if step is None:
            step = {"source": "user", "message": ""}
            self._steps.append(step)
            result["source_call_id"] = None
        step.setdefault("observation", {"results": []})["results"].append(result)

    def _reply(self, turn: Turn) -> None:
        items = [self._trace.item(number) for number in turn.produced]
        if not items:
            return
        self._seen.update(turn.produced)
        step: Step = {"source": "agent"}
        if turn.times is not None and turn.times.ended is not None:
            step["timestamp"] = (
                datetime.fromtimestamp(turn.times.ended, UTC).isoformat().replace("+00:00", "Z")
            )
        if turn.model:
            step["model_name"] = turn.model
        step["message"] = "".join(item.text for item in items if isinstance(item, AssistantItem))
        reasoning = "".join(item.text for item in items if isinstance(item, ReasoningItem))
        if reasoning:
            step["reasoning_content"] = reasoning
        calls = [item for item in items if isinstance(item, ToolCallItem)]
        if calls:
            step["tool_calls"] = [_call(call) for call in calls]
            self._step_of_call.update({call.call_id: step for call in calls})
        if metrics := _metrics(turn):
            step["metrics"] = metrics
        self._steps.append(step)


def _call(call: ToolCallItem) -> JsonObject:
    arguments = call.parsed if isinstance(call.parsed, dict) else {"_raw": call.arguments}
    return {"tool_call_id": call.call_id, "function_name": call.name, "arguments": arguments}


def _metrics(turn: Turn) -> dict[str, int]:
    if turn.usage is None:
        return {}
    found = {key: getattr(turn.usage, key) for key in ("prompt_tokens", "completion_tokens", "cached_tokens")}
    return {key: value for key, value in found.items() if value is not None}


def _content(content: Content) -> object:
    if isinstance(content, str):
        return content
    return [_part(part) for part in content]


def _part(part: JsonObject) -> JsonObject:
    if part.get("type") == "image_url":
        url = (part.get("image_url") or {}).get("url", "")
        media = url[5:].partition(";")[0] if url.startswith("data:") else "image/png"
        return {"type": "image", "source": {"media_type": media, "path": url}}
    return {"type": "text", "text": str(part.get("text", ""))}
