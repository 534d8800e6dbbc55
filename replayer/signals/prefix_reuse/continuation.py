"""Requests whose messages only grew, but whose tokens did not: the template or the tokenizer changed the past."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replayer.signals.prefix_reuse.divergence import Divergence
from replayer.signals.prefix_reuse.finding import StepReuse
from replayer.signals.prefix_reuse.messages import Message, fields, is_reasoning

TEMPLATE_TAIL = 8
"""Tokens at the end of a prompt that may differ when it is continued: the generation prompt and an empty `<think>`."""

_THINK = re.compile(r"<think(?:ing)?>")


def template_divergence(
    previous: StepReuse | None, shared: int, total: int, messages: Sequence[Message] | None
) -> Divergence | None:
    """For messages that continue those of `previous` while the tokens part earlier than its generation prompt."""
    if previous is None or messages is None:
        return None
    lost = min(previous.prompt_tokens, total) - shared
    if lost <= TEMPLATE_TAIL:
        return None
    for index, message in enumerate(messages):
        for path, text in fields(message):
            if is_reasoning(path) or _THINK.search(text):
                detail = "the messages are the same, the template renders earlier reasoning otherwise"
                return Divergence(
                    "reasoning_stripped", index, f"messages[{index}].{path}", 0, text[:60], "", detail
                )
    detail = f"the messages are the same, the tokens part at token {shared}"
    return Divergence("retokenisation", None, "", 0, "", "", detail)
