"""What was said in a turn, in the message parts of the GenAI conventions. Written only where the user asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from replayer.journal.run_traces import kept_history
from replayer.requests.history import RecordedHistory
from replayer.wire.types import JsonObject


@dataclass(slots=True)
class Content:
    """Messages of a run's requests: the recorded ones, or those that a live session journalled."""

    folder: Path
    plan: JsonObject
    _histories: dict[str, RecordedHistory | None] = field(default_factory=dict)
    _sent: dict[str, list[JsonObject]] = field(default_factory=dict)
    """The conversation so far of each live session and attempt."""

    def of(self, trace: str, started: JsonObject, reply: JsonObject) -> dict[str, object]:
        history, sent = self._history(trace), started.get("sent") or {}
        asked: list[JsonObject] = []
        if "messages" in sent:
            key = f"{started['session']}/{started['attempt']}"
            asked = self._sent[key] = self._sent.get(key, [])[: sent["keep"]] + sent["messages"]
        elif history is not None and started.get("asked") is None:
            asked = history.messages(started["recorded_turn"])
        tools = history.tools(started["recorded_turn"]) if history is not None else []
        return {
            "gen_ai.input.messages": _text(map(parts, asked)),
            "gen_ai.output.messages": _text([_answer(reply)]),
            "gen_ai.tool.definitions": _text(tools),
        }

    def _history(self, trace: str) -> RecordedHistory | None:
        if trace not in self._histories:
            self._histories[trace] = kept_history(self.folder, trace, self.plan)
        return self._histories[trace]


def _text(values: Iterable[JsonObject]) -> str | None:
    listed = list(values)
    return orjson.dumps(listed).decode() if listed else None


def _answer(reply: JsonObject) -> JsonObject:
    found = parts(
        {
            "role": "assistant",
            "reasoning_content": reply["reasoning"],
            "content": reply["content"],
            "tool_calls": [{"id": call.get("id"), "function": call} for call in reply["tool_calls"]],
        }
    )
    return found | {"finish_reason": reply["finish_reason"]}


def parts(message: JsonObject) -> JsonObject:
    """A message of Chat Completions as role and parts; arguments stay the text that they were."""
    role, content = message.get("role", "user"), message.get("content")
    if role == "tool":
        answer = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}
        return {"role": "tool", "parts": [answer]}
    found = (
        [{"type": "reasoning", "content": message["reasoning_content"]}]
        if message.get("reasoning_content")
        else []
    )
    if isinstance(content, str) and content:
        found.append({"type": "text", "content": content})
    elif isinstance(content, list):
        found += [
            {"type": "text", "content": part["text"]} if part.get("type") == "text" else part
            for part in content
        ]
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        found.append(
            {
                "type": "tool_call",
                "id": call.get("id"),
                "name": function.get("name"),
                "arguments": function.get("arguments"),
            }
        )
    return {"role": role, "parts": found}
