"""What a simulated reply is made of, and the forms that a request asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

import orjson

from replayer.simulated.token_bytes import WIDTH, call_markup
from replayer.wire.types import Json, JsonObject

_WORDS = """
    the function returns early when queue is empty so each call keeps its own buffer and a second reader
    sees stale bytes until flush runs again with new size limit from config file test then passes
    """.split()


@dataclass(slots=True)
class Call:
    """A tool call to deliver. `generated` is the argument text that the model wrote, where a parser changed it."""

    name: str
    arguments: str
    id: str | None = ""
    """Empty: the server makes one up. None: sent as null."""
    index: int | None = None
    generated: str | None = None
    dropped: bool = False
    """Generated, but not delivered."""
    leaked: bool = False
    """Delivered as the text that the model wrote."""


@dataclass(slots=True)
class Reply:
    """One reply before it is cut into events."""

    reasoning: str = ""
    content: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str | None = None
    """None: `tool_calls` with calls, else `stop`."""
    limit: int | None = None
    """Generation is cut after so many tokens, for which the reason is `finish` or `length`."""


def unparsed(reply: Reply) -> None:
    """What a server without a tool-call parser delivers: the calls as the model wrote them, in the text."""
    reply.content += "".join(call_markup(call.name, call.arguments) for call in reply.calls)
    reply.calls = []


def shaped(reply: Reply, body: JsonObject, rng: Random) -> Reply:
    """The reply under `response_format`, whose schema a stand-in holds to, and under `ignore_eos`, which makes
    generation go on to `max_tokens` (both are what the engines' documentation says; no capture shows them)."""
    form = body.get("response_format") or {}
    schema = (form.get("json_schema") or {}).get("schema") or (
        {"type": "object"} if form.get("type") == "json_object" else None
    )
    if schema is not None and not reply.calls:
        return Reply(content=orjson.dumps(sample(schema)).decode())
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if not body.get("ignore_eos") or not limit or reply.calls:
        return reply
    words = [reply.content]
    missing = int(limit) * WIDTH - len(reply.content)
    while missing > 0:
        words.append(rng.choice(_WORDS))
        missing -= len(words[-1]) + 1
    return replace(reply, content=" ".join(words))


def sample(schema: object) -> object:
    """A value that a JSON Schema allows, for the simple schemas that agents' tools have."""
    if not isinstance(schema, dict):
        return {}
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties") or {}
        return {
            name: sample(properties.get(name) or {"type": "string"}) for name in schema.get("required") or ()
        }
    minimum = schema.get("minimum", 1)
    simple: JsonObject = {"string": "src/main.py", "integer": minimum, "number": minimum, "boolean": True}
    return [sample(schema.get("items"))] if kind == "array" else simple.get(kind)


def forced(reply: Reply, body: JsonObject) -> Reply:
    """The reply under the request's `tool_choice`."""
    choice = body.get("tool_choice")
    tools = body.get("tools") or []
    if choice == "none" and reply.calls:
        return Reply(
            content=reply.content or "I would call a tool here, but may not.", reasoning=reply.reasoning
        )
    if isinstance(choice, dict):
        name = (choice.get("function") or {}).get("name")
        tools = [tool for tool in tools if (tool.get("function") or {}).get("name") == name]
        if any(call.name != name for call in reply.calls):
            reply = replace(reply, calls=[])
    if (choice == "required" or isinstance(choice, dict)) and not reply.calls and tools:
        return stand_in("forced", [{"role": "user"}], tools)
    return reply


def stand_in(key: str, messages: Sequence[JsonObject], tools: Json) -> Reply:
    """Without a recorded turn: a call of the first tool after a user message, else a deterministic text."""
    rng = Random(key)
    last = messages[-1].get("role") if messages else None
    if tools and last == "user":
        function = tools[0].get("function", {})
        schema = function.get("parameters") or {}
        return Reply(calls=[Call(str(function.get("name")), orjson.dumps(sample(schema)).decode())])
    words = [rng.choice(_WORDS) for _ in range(rng.randint(24, 48))]
    return Reply(content=" ".join(words).capitalize() + ".")
