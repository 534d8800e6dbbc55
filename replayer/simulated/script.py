"""What the simulated model says to a request: the recorded reply of the turn it matches, or a stand-in."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import orjson

from replayer.simulated.token_bytes import WIDTH, JsonObject, call_markup, content_text
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AssistantItem,
    CompactionItem,
    Item,
    ReasoningItem,
    ToolCallItem,
    ToolResultItem,
    UserItem,
)

_WORDS = [
    "the",
    "function",
    "returns",
    "early",
    "when",
    "queue",
    "is",
    "empty",
    "so",
    "each",
    "call",
    "keeps",
    "its",
    "own",
    "buffer",
    "and",
    "a",
    "second",
    "reader",
    "sees",
    "stale",
    "bytes",
    "until",
    "flush",
    "runs",
    "again",
    "with",
    "new",
    "size",
    "limit",
    "from",
    "config",
    "file",
    "test",
    "then",
    "passes",
]


ROLES = {"assistant": "assistant", "user": "other", "tool": "other"}
OPENING = 160
"""Characters by which a session's first message is known again."""


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


@dataclass(frozen=True, slots=True)
class Match:
    """The recorded turn that a request belongs to. `key` seeds everything random about its reply."""

    key: str
    turn: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class _Entry:
    trace: Trace
    turn: int
    opening: str


class Script:
    """The replies of some traces, found by what a request's messages look like.

    Tolerant of what a replay changes: a marker or another system prompt, other call ids, live tool results.
    A turn is found by its last user or tool message and the number of assistant rounds before it; failing that by
    the rounds alone, within the trace that opens with the same user message.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._by_last: dict[tuple[str, int], list[_Entry]] = defaultdict(list)
        self._by_rounds: dict[int, list[_Entry]] = defaultdict(list)
        for path in paths:
            self._load(Trace.open(Path(path)))

    def match(self, messages: Sequence[JsonObject], tools: Any) -> Match:
        opening, last, rounds = _look(messages)
        entries = self._by_last.get((last, rounds)) or self._by_rounds.get(rounds, [])
        entries = [entry for entry in entries if _akin(opening, entry.opening)] or entries
        if not entries:
            key = last[:16]
            return Match(key, rounds, stand_in(key, messages, tools))
        entry = entries[0]
        key = f"{entry.trace.header.trace_id}/{entry.turn}"
        return Match(key, rounds, _recorded(entry))

    def _load(self, trace: Trace) -> None:
        roles: list[str] = []
        digests: dict[int, str] = {}
        openings: dict[int, str] = {}
        for item in trace.items():
            role, text = _shape(item)
            roles.append(role)
            if role == "other":
                digests[item.id] = _digest(text)
                openings[item.id] = text if len(text) <= 2 * OPENING else text[:OPENING] + text[-OPENING:]
        starts: dict[str, tuple[int, str]] = {}
        for turn in trace.turns:
            context = trace.context(turn.id)
            said = [number for number in context if number in digests]
            last, opening = (digests[said[-1]], openings[said[0]]) if said else ("", "")
            rounds = _rounds([roles[number] for number in context])
            position, first = starts.get(turn.thread, (0, opening))
            starts[turn.thread] = (position + 1, first)
            if not turn.produced:  # lengths, or a request that failed: nothing to play
                continue
            self._add(_Entry(trace, turn.id, opening), last, rounds)
            if (position, first) != (rounds, opening):
                # a client that did not drop what the recording's compaction dropped is known by its whole length
                self._add(_Entry(trace, turn.id, first), last, position)

    def _add(self, entry: _Entry, last: str, rounds: int) -> None:
        self._by_last[(last, rounds)].append(entry)
        self._by_rounds[rounds].append(entry)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _akin(opening: str, recorded: str) -> bool:
    """Whether a session opens as the recorded one does, a marker before or after the text forgiven."""
    size = min(len(recorded), OPENING)
    return size > 0 and (opening[:size] == recorded[:size] or opening[-size:] == recorded[-size:])


def _shape(item: Item) -> tuple[str, str]:
    """(assistant | other | none, text)."""
    match item:
        case AssistantItem() | ReasoningItem() | ToolCallItem():
            return "assistant", ""
        case UserItem(content=content) | ToolResultItem(content=content):
            return "other", content_text(content if isinstance(content, str) else list(content))
        case CompactionItem(text=text):
            return "other", text
    return "none", ""


def _look(messages: Sequence[JsonObject]) -> tuple[str, str, int]:
    """The first user message, the digest of the last user or tool message, and the assistant's rounds."""
    roles = [ROLES.get(str(message.get("role")), "none") for message in messages]
    said = [message for message, role in zip(messages, roles, strict=True) if role == "other"]
    if not said:
        return "", "", _rounds(roles)
    first, last = content_text(said[0].get("content")), content_text(said[-1].get("content"))
    return first, _digest(last), _rounds(roles)


def opening(messages: Sequence[JsonObject]) -> str:
    """What distinguishes a session's requests from another's: its first user or tool message, marker and all."""
    first = next((message for message in messages if ROLES.get(str(message.get("role"))) == "other"), {})
    return content_text(first.get("content"))


def _rounds(roles: Sequence[str]) -> int:
    roles = [role for role in roles if role != "none"]
    return sum(
        role == "assistant" and (at == 0 or roles[at - 1] != "assistant") for at, role in enumerate(roles)
    )


def _recorded(entry: _Entry) -> Reply:
    turn = entry.trace.turns[entry.turn]
    reply = Reply()
    for number in turn.produced:
        match entry.trace.item(number):
            case AssistantItem(text=text):
                reply.content += text
            case ReasoningItem(text=text):
                reply.reasoning += text
            case ToolCallItem(name=name, arguments=arguments):
                reply.calls.append(Call(name, arguments))
    if turn.finish_reason == "length":
        reply.finish = "length"
    return reply


def unparsed(reply: Reply) -> None:
    """What a server without a tool-call parser delivers: the calls as the model wrote them, in the text."""
    reply.content += "".join(call_markup(call.name, call.arguments) for call in reply.calls)
    reply.calls = []


def stand_in(key: str, messages: Sequence[JsonObject], tools: Any) -> Reply:
    """Without a recorded turn: a call of the first tool after a user message, else a deterministic text."""
    rng = Random(key)
    last = messages[-1].get("role") if messages else None
    if tools and last == "user":
        function = tools[0].get("function", {})
        schema = function.get("parameters") or {}
        return Reply(calls=[Call(str(function.get("name")), orjson.dumps(sample(schema)).decode())])
    words = [rng.choice(_WORDS) for _ in range(rng.randint(24, 48))]
    return Reply(content=" ".join(words).capitalize() + ".")


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


def sample(schema: Any) -> Any:
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
