"""What a verdict needs to know of the request that a reply answers, on any wire.

One reading serves all three: where two wires state a thing in different places, only one of them is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field

import orjson

from replayer.errors import ReplayerError
from replayer.lazy import dataclass
from replayer.traces.chat import tool_schema
from replayer.traces.schema import ToolSchema
from replayer.wire.types import Json

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CHOICES = {"any": "required", "auto": "auto", "none": "none", "required": "required"}
"""The types of a `tool_choice` object of Messages, by the words of chat."""


PromptContains = Callable[[str], bool]


def _nowhere(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request, reduced to what bears on the judgement. None: the request does not say."""

    tools: tuple[ToolSchema, ...] = ()
    tool_choice: Json = None
    parallel: bool | None = None
    """Whether several calls may come."""
    max_tokens: int | None = None
    temperature: float | None = None
    response_format: Json = None
    invited: Collection[str] = frozenset()
    """Codes of notes on the reply that are no breach here, as the request asked for that form."""
    seen_call_ids: Collection[str] = frozenset()
    """Ids of earlier calls in the prompt."""
    prompt_contains: PromptContains = field(default=_nowhere, repr=False)
    """Whether a text stands in one of the messages, word for word."""


def request_facts(body: Mapping[str, Json], **more: Json) -> RequestFacts:
    """The facts in the fields of a request; `more` are those that its messages and tools hold."""
    limits = [n for key in _LIMITS if type(n := body.get(key)) is int]
    temperature = body.get("temperature")
    forms = (body.get("text"), body.get("output_config"), {"format": body.get("response_format")})
    choices = body.get("n")
    invited = {"other_choice"} if isinstance(choices, int) and choices > 1 else set[str]()
    if body.get("functions") and not body.get("tools"):
        invited.add("legacy_function_call")
    return RequestFacts(
        tool_choice=tool_choice_of(body.get("tool_choice")),
        parallel=_parallel(body),
        max_tokens=min(limits, default=None),
        temperature=temperature if isinstance(temperature, (int, float)) else None,
        response_format=next(
            (form["format"] for form in forms if isinstance(form, Mapping) and form.get("format")), None
        ),
        invited=invited,
        **more,
    )


def _parallel(body: Mapping[str, object]) -> bool | None:
    choice, allowed = body.get("tool_choice"), body.get("parallel_tool_calls")
    if isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True:
        return False
    return allowed if isinstance(allowed, bool) else None


def read_request(body: object, where: str = "the request") -> RequestFacts:
    """The facts of a request body as it was sent: Chat Completions, Messages or Responses.

    Raises ReplayerError, naming `where` and the part, for what is none of them.
    """
    if not isinstance(body, Mapping):
        raise ReplayerError(f"{where} is not a request of any wire: it is not a JSON object")
    messages = _messages(body, where)
    texts = tuple(text for message in messages for text in _texts(message))
    return request_facts(
        body,
        tools=tuple(_tools(body)),
        seen_call_ids=frozenset(call_id for message in messages for call_id in _call_ids(message)),
        prompt_contains=lambda text: any(text in said for said in texts),
    )


def _messages(body: Mapping[str, object], where: str) -> list[Json]:
    """The messages of a request, or its input items; instructions and system blocks are the first of them."""
    first = [{"content": body[key]} for key in ("system", "instructions") if body.get(key)]
    given = body.get("input")
    if isinstance(given, str):
        return [*first, {"role": "user", "content": given}]
    if isinstance(given, list):
        return [*first, *given]
    messages = body.get("messages")
    if not isinstance(messages, list):
        if body.get("previous_response_id"):
            return first
        raise ReplayerError(
            f"{where} is not a request of any wire: `messages` (or `input`) is missing or not a list"
        )
    return [*first, *messages]


def tool_choice_of(choice: object) -> object:
    """In the forms of chat."""
    if not isinstance(choice, Mapping):
        return choice
    kind = choice.get("type")
    if kind == "tool":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return _CHOICES.get(kind, choice) if isinstance(kind, str) else choice


def _tools(body: Mapping[str, object]) -> Iterator[ToolSchema]:
    """The tools that can be called; entries without a name are passed over, as the engine's answer says enough."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        tools = body.get("functions")
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(tool, Mapping) and tool.get("type") == "namespace":
            yield from _tools(tool)
        elif isinstance(tool, Mapping) and tool.get("type") == "local_shell":
            yield ToolSchema(name="local_shell", description="", parameters={})
        elif isinstance(function, Mapping) and isinstance(function.get("name"), str):
            yield tool_schema(function)


def _calls(message: object) -> Iterator[tuple[Json, Json]]:
    """Id and arguments of the calls that a message, or an input item, holds."""
    if not isinstance(message, Mapping):
        return
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            function = call.get("function")
            yield call.get("id"), function.get("arguments") if isinstance(function, Mapping) else None
    if message.get("type") in ("function_call", "custom_tool_call"):
        yield message.get("call_id"), message.get("arguments", message.get("input"))
    for block in _parts(message):
        if block.get("type") == "tool_use":
            yield block.get("id"), orjson.dumps(block.get("input")).decode()


def _call_ids(message: object) -> Iterator[str]:
    for call_id, _ in _calls(message):
        if isinstance(call_id, str):
            yield call_id


def _parts(message: Mapping[str, object]) -> Iterator[Mapping[str, Json]]:
    for key in ("content", "summary", "output"):
        value = message.get(key)
        for part in value if isinstance(value, list) else ():
            if isinstance(part, Mapping):
                yield part


def _texts(message: Json) -> Iterator[str]:
    if not isinstance(message, Mapping):
        return
    content = message.get("content")
    texts = [content, message.get("reasoning_content"), message.get("reasoning"), message.get("output")]
    texts += [part for part in content if isinstance(part, str)] if isinstance(content, list) else []
    for part in _parts(message):
        texts += [part.get("text"), part.get("thinking")]
        if part.get("type") == "tool_result":
            texts += _texts(part)
    texts += [arguments for _, arguments in _calls(message)]
    for text in texts:
        if isinstance(text, str) and text:
            yield text
