"""What a verdict needs to know of the request that a reply answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replayer.errors import ReplayerError
from replayer.traces.schema import ToolSchema


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A chat completion request, reduced to what bears on the judgement. None: the request does not say."""

    tools: tuple[ToolSchema, ...] = ()
    tool_choice: Any = None
    max_tokens: int | None = None
    temperature: float | None = None
    seen_call_ids: frozenset[str] = frozenset()
    texts: tuple[str, ...] = field(default=(), repr=False)
    """Every text of the messages: content, reasoning, arguments of earlier calls."""

    def prompt_contains(self, text: str) -> bool:
        """Whether `text` stands in one of the messages, word for word."""
        return any(text in said for said in self.texts)


def read_request(body: Any, where: str = "the request") -> RequestFacts:
    """The facts of a request body as it was sent.

    Raises ReplayerError, naming `where` and the part, for what is no chat completion request.
    """
    if not isinstance(body, Mapping):
        raise ReplayerError(f"{where} is no chat completion request: it is not a JSON object")
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise ReplayerError(f"{where} is no chat completion request: `messages` is missing or not a list")
    limits = [n for key in ("max_tokens", "max_completion_tokens") if type(n := body.get(key)) is int]
    temperature = body.get("temperature")
    return RequestFacts(
        tools=tuple(_tools(body)),
        tool_choice=body.get("tool_choice"),
        max_tokens=min(limits, default=None),
        temperature=temperature if isinstance(temperature, (int, float)) else None,
        seen_call_ids=frozenset(call_id for message in messages for call_id in _call_ids(message)),
        texts=tuple(text for message in messages for text in _texts(message)),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[ToolSchema]:
    """The tools that can be called; entries without a name are passed over, as the engine's answer says enough."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        tools = body.get("functions")
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(name := function.get("name"), str):
            parameters, strict = function.get("parameters"), function.get("strict")
            yield ToolSchema(
                name=name,
                description=str(function.get("description") or ""),
                parameters=parameters if isinstance(parameters, dict) else {},
                strict=strict if isinstance(strict, bool) else None,
            )


def _calls(message: Any) -> Iterator[Mapping[str, Any]]:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            yield call


def _call_ids(message: Any) -> Iterator[str]:
    for call in _calls(message):
        if isinstance(call_id := call.get("id"), str):
            yield call_id


def _texts(message: Any) -> Iterator[str]:
    if not isinstance(message, Mapping):
        return
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    functions = (call.get("function") for call in _calls(message))
    arguments = (function.get("arguments") for function in functions if isinstance(function, Mapping))
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    for text in (*texts, message.get("reasoning_content"), message.get("reasoning"), *arguments):
        if isinstance(text, str) and text:
            yield text
