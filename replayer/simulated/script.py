"""What the simulated model says to a request: the recorded reply of the turn it matches, or a stand-in."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replayer.simulated.replies import Call, Reply, stand_in
from replayer.simulated.token_bytes import content_text
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
from replayer.wire.types import JsonObject

ROLES = {"assistant": "assistant", "user": "other", "tool": "other"}
OPENING = 160
"""Characters by which a session's first message is known again."""


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

    def match(self, messages: Sequence[JsonObject], tools: object) -> Match:
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
        case UserItem(content=content) | ToolResultItem(content=content) | CompactionItem(text=content):
            return "other", content_text(content if isinstance(content, str) else list(content))
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
