"""Which earlier request a request was meant to continue."""

from __future__ import annotations

from collections import deque

from replayer.signals.prefix_reuse.divergence import Conversation, shared_messages
from replayer.signals.prefix_reuse.messages import parsed

_KEPT = 32
_ROLES = 4
"""Roles that must agree at the start before two otherwise different requests count as one conversation."""


class Lineage:
    """The last requests of a lane. Interleaved sessions and subagents each find their own predecessor."""

    def __init__(self) -> None:
        self._recent: deque[tuple[str, Conversation]] = deque(maxlen=_KEPT)
        self._messages: dict[bytes, bytes] = {}

    def intern(self, message: bytes) -> bytes:
        """The one kept copy of equal bytes, so that later comparisons are by identity."""
        return self._messages.setdefault(message, message)

    def add(self, key: str, conversation: Conversation) -> None:
        if len(self._recent) == _KEPT and len(self._messages) > 4 * len(conversation.messages) + 1000:
            kept = {m for _, earlier in self._recent for m in earlier.messages}
            self._messages = {m: m for m in kept}
        self._recent.append((key, conversation))

    def predecessor(self, new: Conversation) -> tuple[str, Conversation] | None:
        """The newest earlier request that `new` continues, else the one that it resembles most; None for none."""
        for key, old in reversed(self._recent):
            if len(old.messages) <= len(new.messages) and shared_messages(old, new) == len(old.messages):
                return key, old
        ours = set(new.messages)
        best: tuple[str, Conversation] | None = None
        most = 0.0
        for key, old in reversed(self._recent):
            likeness = _likeness(old, new, ours)
            if likeness > most:
                best, most = (key, old), likeness
        return best


def _likeness(old: Conversation, new: Conversation, ours: set[bytes]) -> float:
    """Share of the earlier request's messages that are still there; 0 for another conversation.

    Without a common message beside the system prompt it is still the same conversation when the first user
    messages begin or end alike, or when the roles go on where the earlier ones ended (everything was rewritten).
    """
    equal = sum(message in ours for message in old.messages[_heads(old) :])
    if equal:
        return 1 + equal / len(old.messages)
    if _alike(_opening(old), _opening(new)):
        return 0.5
    heads = [[_role(message) for message in c.messages[:_ROLES]] for c in (old, new)]
    return 0.25 if _ROLES <= len(old.messages) <= len(new.messages) and heads[0] == heads[1] else 0.0


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    return shorter > 0 and (one[:24] == other[:24] or one[-24:] == other[-24:])


def _heads(conversation: Conversation) -> int:
    return int(bool(conversation.messages) and _role(conversation.messages[0]) in ("system", "developer"))


def _opening(conversation: Conversation) -> str:
    for message in conversation.messages[_heads(conversation) :]:
        return str(parsed(message).get("content", ""))
    return ""


def _role(message: bytes) -> str:
    return str(parsed(message).get("role", ""))
