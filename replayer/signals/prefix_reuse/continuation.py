"""Requests that continue an earlier one, message by message, while their tokens part from it all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replayer.signals.prefix_reuse.divergence import Divergence, edited
from replayer.signals.prefix_reuse.finding import TurnReuse
from replayer.signals.prefix_reuse.messages import Message, as_bytes, fields, is_reasoning, role_of
from replayer.signals.prefix_reuse.tokens import template_tail

_THINK = re.compile(r"<think(?:ing)?>")


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
    past: Past | None, shared: int, total: int, messages: Sequence[Message] | None
) -> Divergence | None:
    """For messages that only grew: the reply came back otherwise, or the template or the tokenizer changed the past."""
    if past is None or messages is None:
        return None
    tail = template_tail(past.reuse.token_source)
    if past.expected(total) - shared <= tail:
        return None
    if shared < min(past.sent, total) - tail:
        return _rendered_otherwise(messages, shared)
    at = _first_reply(messages, past.reply)
    if past.reply is None or at is None:
        return None
    found = edited(past.reply, as_bytes(messages[at]), at)
    return found if found.before != found.after else _rendered_otherwise(messages[at : at + 1], shared, at)


def _first_reply(messages: Sequence[Message], reply: bytes | None) -> int | None:
    """The last assistant message: where the reply must have come back."""
    for at in range(len(messages) - 1, -1, -1):
        if role_of(messages[at]) == "assistant":
            return at
    return None


def _rendered_otherwise(messages: Sequence[Message], shared: int, reply: int | None = None) -> Divergence:
    for index, message in enumerate(messages, reply or 0):
        for path, text in fields(message):
            if is_reasoning(path) or _THINK.search(text):
                detail = "the messages are the same, the template renders earlier reasoning otherwise"
                return Divergence(
                    "reasoning_stripped", index, f"messages[{index}].{path}", 0, text[:60], "", detail
                )
    detail = f"the messages are the same, the tokens part at token {shared}"
    path = "" if reply is None else f"messages[{reply}]"
    return Divergence("retokenisation", reply, path, 0, "", "", detail)
