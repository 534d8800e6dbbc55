"""Which earlier request a request was meant to continue."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from replayer.signals.prefix_reuse.divergence import Conversation
from replayer.signals.prefix_reuse.messages import Message, as_bytes, parsed, role_of
from replayer.text import shared_start

_KEPT = 32
_ROLES = 4
"""Roles that must agree at the start before two otherwise different requests count as one conversation."""


class Lineage:
    """The last requests of a lane. Interleaved sessions and subagents each find their own predecessor."""

    def __init__(self) -> None:
        self._recent: deque[tuple[str, Conversation]] = deque(maxlen=_KEPT)
        self._messages: dict[bytes, bytes] = {}
        self._bares: dict[bytes, bytes] = {}

    def intern(self, messages: Sequence[Message]) -> tuple[bytes, ...]:
        """The one kept copy of equal bytes, so that later comparisons are by identity. What the last request began with
        is known."""
        last, messages = self._recent[-1][1].messages if self._recent else (), tuple(messages)
        known = shared_start(last, messages)
        new = [as_bytes(message) for message in messages[known:]]
        return last[:known] + tuple(map(self._messages.setdefault, new, new))

    def add(self, key: str, conversation: Conversation) -> None:
        if len(self._recent) == _KEPT and len(self._messages) > 4 * len(conversation.messages) + 1000:
            kept = {m for _, earlier in self._recent for m in earlier.messages}
            self._messages = {m: m for m in kept}
            self._bares.clear()
        self._recent.append((key, conversation))

    def predecessor(self, new: Conversation) -> tuple[str, Conversation] | None:
        """The earlier request that `new` was made from: the one most of whose messages are still in it.

        Of several, one that is continued word for word goes first, then the newest. None for a new conversation.
        """
        if self._recent and self._goes_on(self._recent[-1][1], new):
            return self._recent[-1]
        ours = frozenset(map(self._bare, new.messages))
        best: tuple[str, Conversation] | None = None
        most = (0.0, False)
        for key, old in reversed(self._recent):
            if best is not None and len(old.messages) < most[0]:
                continue
            whole = shared_start(old.messages, new.messages) == len(old.messages)
            likeness = (len(old.messages) if whole else self._likeness(old, new, ours), whole)
            if likeness > most:
                best, most = (key, old), likeness
        return best

    def _goes_on(self, last: Conversation, new: Conversation) -> bool:
        """The common case, at the cost of its comparison: the longest request so far is continued word for word."""
        longest = max(len(old.messages) for _, old in self._recent)
        return longest <= len(last.messages) == shared_start(last.messages, new.messages)

    def _likeness(self, old: Conversation, new: Conversation, ours: frozenset[bytes]) -> float:
        """How many of the earlier request's messages are still there; 0 for another conversation.

        Another first message makes it a doubtful relative, for sessions can call the same tools with the same results.
        Without a common message beside the system prompt it is still the same conversation when the first user
        messages begin or end alike, or when the roles go on where the earlier ones ended (everything was rewritten):
        unless its instructions are another agent's.
        """
        heads = _heads(old)
        equal = sum(self._bare(message) in ours for message in old.messages[heads:])
        first, alike = new.messages[_heads(new) : _heads(new) + 1], _alike(_opening(old), _opening(new))
        if equal and (alike or first[0] in old.messages):
            return equal + sum(self._bare(message) in ours for message in old.messages[:heads])
        if not _same_agent(old, new):
            return 0.0
        if equal or alike:
            return 0.75 if equal else 0.5
        roles = [[role_of(message) for message in c.messages[:_ROLES]] for c in (old, new)]
        return 0.25 if _ROLES <= len(old.messages) <= len(new.messages) and roles[0] == roles[1] else 0.0

    def _bare(self, message: bytes) -> bytes:
        """The message without the ids of its calls, which some clients make anew each time."""
        if b"tool_call" not in message:
            return message
        found = self._bares.get(message)
        if found is None:
            value = parsed(message)
            value.pop("tool_call_id", None)
            calls = value.get("tool_calls")
            if isinstance(calls, list):
                value["tool_calls"] = [
                    {key: part for key, part in call.items() if key != "id"}
                    if isinstance(call, dict)
                    else call
                    for call in calls
                ]
            found = self._bares[message] = as_bytes(value)
        return found


def _same_agent(old: Conversation, new: Conversation) -> bool:
    """Whether the instructions are the same but for an edit; subagents have their own."""
    if not (_heads(old) and _heads(new)) or old.messages[0] == new.messages[0]:
        return True
    one, other = old.messages[0].decode("utf-8", "replace"), new.messages[0].decode("utf-8", "replace")
    head = shared_start(one, other)
    tail = shared_start(one[head:][::-1], other[head:][::-1])
    return 2 * (head + tail) >= min(len(one), len(other))


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    return shorter > 0 and (one[:24] == other[:24] or one[-24:] == other[-24:])


def _heads(conversation: Conversation) -> int:
    return int(bool(conversation.messages) and role_of(conversation.messages[0]) in ("system", "developer"))


def _opening(conversation: Conversation) -> str:
    for message in conversation.messages[_heads(conversation) :]:
        return str(parsed(message).get("content", ""))
    return ""
