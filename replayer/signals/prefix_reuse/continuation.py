"""Requests that continue an earlier one, message by message, while their tokens part from it all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replayer.lazy import dataclass
from replayer.signals.prefix_reuse.divergence import Divergence, edited
from replayer.signals.prefix_reuse.finding import TurnReuse
from replayer.signals.prefix_reuse.messages import Message, as_bytes, fields, is_reasoning, role_of
from replayer.signals.prefix_reuse.tokens import template_tail

_THINK = re.compile(r"<think(?:ing)?>")
_NEAR = 0.6
"""How near the tokens part to where reasoning stands by its share of the text, tools and markup not being in it."""


@dataclass(frozen=True, slots=True)
class Past:
    """The request that is continued, the tokens generated for it, and the message they made (None: not sent back)."""

    reuse: TurnReuse
    generated: int
    reply: bytes | None

    @property
    def sent(self) -> int:
        return self.reuse.prompt_tokens

    def expected(self, total: int) -> int:
        """What an append-only continuation shares; the reply counts only where it should come back."""
        return min(self.sent + (self.generated if self.reply else 0), total)


def later_divergence(
    past: Past | None, shared: int, total: int, messages: Sequence[Message] | None, tools: int
) -> Divergence | None:
    """For messages that only grew: the reply came back otherwise, or the template or the tokenizer changed the past.
    `tools`: how long their text is, before that of the messages."""
    if past is None or messages is None:
        return None
    tail = template_tail(past.reuse.token_source)
    if past.expected(total) - shared <= tail:
        return None
    if shared < min(past.sent, total) - tail:
        return _rendered_otherwise(messages, shared, total, tools)
    at = _first_reply(messages, past.reply)
    if past.reply is None or at is None:
        return None
    found = edited(past.reply, as_bytes(messages[at]), at)
    if found.before != found.after:
        return found
    path, detail = f"messages[{at}]", f"the messages are the same, the tokens part at token {shared}"
    thoughts = _reasoning(messages[at], at)
    return thoughts or Divergence("retokenisation", at, path, 0, "", "", detail)


def _first_reply(messages: Sequence[Message], reply: bytes | None) -> int | None:
    """The last assistant message: where the reply must have come back."""
    for at in range(len(messages) - 1, -1, -1):
        if role_of(messages[at]) == "assistant":
            return at
    return None


def _rendered_otherwise(messages: Sequence[Message], shared: int, total: int, tools: int) -> Divergence:
    """The template changed what was sent before: reasoning, where the tokens part about where some stands."""
    said = [sum(len(text) for path, text in fields(one) if not is_reasoning(path)) for one in messages]
    whole, before = tools + sum(said) or 1, tools
    for index, message in enumerate(messages):
        found = _reasoning(message, index)
        if found and _NEAR * shared <= total * before / whole <= shared / _NEAR:
            return found
        before += said[index]
    detail = f"the messages are the same, but the template rendered them otherwise from token {shared} on"
    return Divergence("unknown", None, "", 0, "", "", detail)


def _reasoning(message: Message, index: int) -> Divergence | None:
    for path, text in fields(message):
        if is_reasoning(path) or _THINK.search(text):
            detail = "the messages are the same, the template renders earlier reasoning otherwise"
            where = f"messages[{index}].{path}"
            return Divergence("reasoning_stripped", index, where, 0, text[:60], "", detail)
    return None
