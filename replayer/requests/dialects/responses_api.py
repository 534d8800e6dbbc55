"""Items as the input of OpenAI's Responses API: plainly, and as the Codex CLI writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import orjson

from replayer.requests.dialects.base import (
    FREEFORM,
    OWN,
    STORED,
    Message,
    Verbatim,
    in_order,
    is_off,
    own_form,
)
from replayer.requests.dialects.given import for_responses
from replayer.traces.chat import definition
from replayer.traces.grouping import Outputs
from replayer.traces.requests import fields_as_sent, sent_over
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Content,
    OpaqueItem,
    ReasoningItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolSchema,
    ToolSet,
    Turn,
    UserItem,
)
from replayer.wire.types import Wire


class ResponsesVerbatim(Verbatim):
    """Option `state=on`: with live history a request goes on from the response that the server has stored."""

    wire: ClassVar[Wire] = "responses"
    changes: ClassVar[tuple[str, ...]] = (
        "the first system item becomes `instructions`, later ones are messages",
        "a compaction summary becomes a user message",
        "the error flag of a tool result has no place in the format and is left out",
    )
    _order: ClassVar[tuple[str, ...]] = (
        *("model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls"),
        *("max_output_tokens", "temperature", "store", "stream"),
    )
    _listed: ClassVar[bool] = False
    """Texts are lists of parts, as Codex writes them, where other clients send strings."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self.keeps_state = self._options.get("state") in ("on", "yes", "true", "1")

    def groups(self, items: Sequence[AnyItem], outputs: Outputs) -> Iterator[Sequence[AnyItem]]:
        """Every item is one of the input; the first, where it is the system's, stands apart."""
        for number, item in enumerate(items):
            first = number == 0 and isinstance(item, SystemItem) and item.role == "system"
            yield (item, item) if first else (item,)  # twice: the mark of instructions

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        item = items[0]
        if isinstance(item, SystemItem):
            if len(items) > 1:
                return {"instructions": item.text}
            begins = (0, *item.cuts, len(item.text) + 1)
            texts = [item.text[a : b - 1] for a, b in pairwise(begins)]
            parts = tuple({"type": "text", "text": text} for text in texts)
            return self._message(item.role, parts if item.cuts else item.text)
        if isinstance(item, UserItem):
            return self._message("user", item.content)
        if isinstance(item, CompactionItem):
            return self._message("user", item.text)
        if isinstance(item, AssistantItem):
            return self._message("assistant", item.text) if item.text else None
        if isinstance(item, ReasoningItem):
            return self._reasoning(item)
        if isinstance(item, ToolCallItem):
            return self._call(item)
        return self._result(item) if isinstance(item, ToolResultItem) else None

    def tools(self, tools: ToolSet) -> list[dict[str, Any]]:
        if isinstance(tools.wire, list) and all(_is_own(tool) for tool in tools.wire):
            return tools.wire
        return [self._tool(tool) for tool in tools.tools]

    def _tool(self, tool: ToolSchema) -> dict[str, Any]:
        return {"type": "function", **definition(tool)["function"]}

    def fields(self, turn: Turn, given: Mapping[str, Any], tools: bool) -> dict[str, Any]:
        values = for_responses(given) | ({"store": True} if self.keeps_state else {})
        if sent_over(turn) == "responses":
            return fields_as_sent(turn, values, tools)
        return in_order(values, self._defaults(turn, tools), self._order, tools)

    def _defaults(self, turn: Turn, tools: bool) -> dict[str, Any]:
        return {"model": turn.model, "instructions": None, "input": None, "store": False}

    def _message(self, role: str, content: Content) -> Message:
        return {"type": "message", "role": role, "content": _content(role, content, self._listed)}

    def _reasoning(self, item: ReasoningItem) -> Message | None:
        if not item.text:
            return None
        parts = [{"type": "reasoning_text", "text": item.text}]
        return {"type": "reasoning", "id": f"rs_{item.id}", "summary": [], "content": parts}

    def _call(self, item: ToolCallItem) -> Message:
        text = orjson.dumps({"input": item.arguments}).decode() if item.freeform else item.arguments
        return {"type": "function_call", "call_id": item.call_id, "name": item.name, "arguments": text}

    def _result(self, item: ToolResultItem) -> Message:
        output = _content("user", item.content, False)
        return {"type": "function_call_output", "call_id": item.call_id, "output": output}


class CodexResponses(ResponsesVerbatim):
    """The Codex CLI's own form (ResponsesApiRequest of codex-rs, 2026).

    Options: `encrypted=off` leaves out reasoning whose content is encrypted, which self-hosted engines refuse.
    """

    name: ClassVar[str] = "codex"
    headers: ClassVar[Mapping[str, str]] = {"originator": "codex_cli_rs"}
    changes: ClassVar[tuple[str, ...]] = (
        "`tool_choice`, `parallel_tool_calls`, `store`, `include` and `prompt_cache_key` are Codex's own",
        "reasoning is sent as recorded: encrypted or a summary",
    )
    _order: ClassVar[tuple[str, ...]] = (
        *("model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "reasoning"),
        *("store", "stream", "include", "service_tier", "prompt_cache_key", "text", "max_output_tokens"),
    )
    _listed: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        super().__init__(options)
        self._freeform: set[str] = set()

    def arrange(self, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
        """Calls that the API itself executed (a web search) are sent back as they came."""
        return [item for item in items if not isinstance(item, OpaqueItem) or _is_call(item.record)]

    def message(self, items: Sequence[AnyItem]) -> Message | None:
        first = items[0]
        if isinstance(first, OpaqueItem):
            return first.record if isinstance(first.record, dict) else None
        message = super().message(items)
        return message and own_form(first, message, of_messages=False)

    def _tool(self, tool: ToolSchema) -> dict[str, Any]:
        return {**super()._tool(tool), "strict": bool(tool.strict)}

    def _defaults(self, turn: Turn, tools: bool) -> dict[str, Any]:
        effort = turn.params.get("reasoning_effort")
        recorded = {key: turn.params[key] for key in self._order if key in turn.params}
        return {
            "model": turn.model,
            "instructions": None,
            "input": None,
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": effort, "summary": "auto"} if effort else None,
            "store": False,
            "stream": True,
            "include": ["reasoning.encrypted_content"] if effort else [],
            "prompt_cache_key": f"{turn.thread}",
            **recorded,
        }

    def _reasoning(self, item: ReasoningItem) -> Message | None:
        opaque = item.opaque if isinstance(item.opaque, dict) else {}
        secret, off = opaque.get("encrypted_content"), is_off(self._options, "encrypted")
        if off and not item.text:
            return None
        if opaque.get("type") == "reasoning":
            return {key: value for key, value in opaque.items() if not (off and key == "encrypted_content")}
        secret = None if off else secret
        texts = opaque.get("summary") or ([item.text] if item.text else [])
        summary = [{"type": "summary_text", "text": text} for text in texts]
        return {"type": "reasoning", "summary": summary} | ({"encrypted_content": secret} if secret else {})

    def _call(self, item: ToolCallItem) -> Message:
        if item.name == "local_shell" and isinstance(item.parsed, dict):
            return {
                "type": "local_shell_call",
                "call_id": item.call_id,
                "status": "completed",
                "action": item.parsed,
            }
        if item.freeform:
            self._freeform.add(item.call_id)
            named = {"call_id": item.call_id, "name": item.name}
            return {"type": "custom_tool_call", "status": "completed", **named, "input": item.arguments}
        return {
            "type": "function_call",
            "name": item.name,
            "arguments": item.arguments,
            "call_id": item.call_id,
        }

    def _result(self, item: ToolResultItem) -> Message:
        result = super()._result(item)
        return {**result, "type": "custom_tool_call_output"} if item.call_id in self._freeform else result


def _is_call(record: Any) -> bool:
    return isinstance(record, dict) and str(record.get("type")).endswith("_call")


def _is_own(tool: Any) -> bool:
    return isinstance(tool, dict) and "function" not in tool and "input_schema" not in tool


def _content(role: str, content: Content, listed: bool) -> Any:
    """What the model said is always a list: vLLM 0.21 answers a string there with 400."""
    kind = "output_text" if role == "assistant" else "input_text"
    if isinstance(content, str):
        return [{"type": kind, "text": content}] if listed or role == "assistant" else content
    return [_part(part, kind) for part in content]


def _part(part: dict[str, Any], kind: str) -> dict[str, Any]:
    if isinstance(part.get("text"), str):
        return {"type": kind, "text": part["text"]}
    if isinstance(part.get("image_url"), dict):
        return {"type": "input_image", "image_url": part["image_url"].get("url")}
    return part


def since_stored(messages: Sequence[Message]) -> tuple[str | None, Sequence[Message]]:
    """The id of the last response that the server has stored, and what is new since; instructions are sent again."""
    last = next((n for n in reversed(range(len(messages))) if messages[n].get(STORED)), None)
    if last is None:
        return None, messages
    head = messages[:1] if messages[0].get("role") == "system" and last else ()
    return messages[last][STORED], [*head, *messages[last + 1 :]]


def as_responses_body(messages: Sequence[Message]) -> tuple[Any, list[Message]]:
    """`instructions` and `input` for chat messages that replayer put together itself (live mode, a transform)."""
    instructions: Any = None
    found: list[Message] = []
    for number, message in enumerate(messages):
        role, content = str(message.get("role")), message.get("content")
        if number == 0 and role == "system" and isinstance(content, str):
            instructions = content
        elif role == "tool":
            named = {"call_id": message.get("tool_call_id"), "output": content or ""}
            kind = "custom_tool_call_output" if message.get(FREEFORM) else "function_call_output"
            found.append({"type": kind, **named})
        else:
            found += message.get(OWN) or list(_chat_items(role, content, message))
    return instructions, found


def _chat_items(role: str, content: Any, message: Message) -> Iterator[Message]:
    if content or not message.get("tool_calls"):
        parts: Content = tuple(content) if isinstance(content, list) else content or ""
        yield {"type": "message", "role": role, "content": _content(role, parts, False)}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        named = {"call_id": call.get("id"), "name": function.get("name")}
        yield {"type": "function_call", **named, "arguments": function.get("arguments") or ""}
