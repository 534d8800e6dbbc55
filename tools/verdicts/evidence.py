"""What all rules need to know of a reply, looked up once."""

from __future__ import annotations

import re

from replayer.lazy import dataclass
from replayer.tools.verdicts import differential
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.leak import Leak, leak_at
from replayer.tools.verdicts.markup import ends_in_calls, find_leaks, strip_control
from replayer.tools.verdicts.prose import split_thinking
from replayer.tools.verdicts.schema_check import CallCheck
from replayer.wire.types import Reply

FOR_FAILURE = frozenset({"abort", "error", "content_filter", "refusal", "failed", "cancelled"})
_FOR_LENGTH = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"}
)


@dataclass(slots=True, eq=False)
class Seen:
    """A reply as the rules see it."""

    case: Case
    reply: Reply
    tool_choice: object
    checks: tuple[CallCheck, ...]
    cut: str | None
    """Why the reply must be taken for cut, whatever its finish reason says."""
    collapsed: str | None
    thought: str
    """Reasoning that stands in the content."""
    answer: str
    """The content without that, without control tokens, and without what nobody can see."""
    leaks: tuple[Leak, ...]
    hidden: tuple[Leak, ...]
    """Calls in the reasoning."""
    evidence: differential.Evidence
    schema_valid: bool | None = None

    @property
    def ended_early(self) -> bool:
        """Whether the end is nobody's choice: what is missing at it is then not a second fault."""
        return self.cut is not None or self.collapsed is not None

    def call_is_cut(self, index: int) -> bool:
        """Whether the end went through this call; what it lacks is then not the fault of whoever wrote it."""
        if not self.ended_early or index < 0 or index != len(self.checks) - 1:
            return False
        check = self.checks[index]
        lacks = any(fault.klass == "missing_parameter" for fault in check.faults)
        return check.defect in ("incomplete", "empty") or lacks


def see(case: Case) -> Seen:
    """The reply of a case, looked at once for all rules."""
    reply, check = case.reply, case.validator.check_call
    checks = tuple([check(call, index) for index, call in enumerate(reply.tool_calls)])
    cut = _cut(case)
    collapsed = case.collapsed
    if collapsed is None and reply.finish_reason == "repetition":
        collapsed = "the engine itself stopped a repetition"
    thought = answer = ""
    leaks: tuple[Leak, ...] = ()
    hidden: tuple[Leak, ...] = ()
    if reply.content:
        thought, spoken = split_thinking(reply.content)
        answer = visible(spoken)
        leaks = find_leaks(spoken, case.validator.names, case.request.prompt_contains)
        if thought and not leaks and reply.content.startswith(("<|channel|>", "<|start|>", "analysis")):
            leaks = (leak_at("control_token", reply.content, 0, hard=False),)
    if not checks and (thought or reply.reasoning):
        drafts = (
            "" if answer and "think>" not in reply.content else thought
        )  # a channel is not ended by a call
        hidden = hidden_in(f"{reply.reasoning}\n{drafts}", answer, case)
    evidence = differential.NONE
    if case.pair is not None or case.token_text is not None:
        evidence = differential.evidence(case, checks, cut=cut is not None)
    return Seen(
        case,
        reply,
        case.request.tool_choice,
        checks,
        cut,
        collapsed,
        thought,
        answer,
        leaks,
        hidden,
        evidence,
    )


def visible(text: str) -> str:
    """The text without control tokens and without what nobody can see."""
    if "<" in text:
        text = strip_control(text)
    return text.strip() if text.isascii() else _INVISIBLE.sub("", text.strip())


_INVISIBLE = re.compile(
    r"\A[\s\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0]+\Z"
)
"""Of an answer that has nothing else; inside words such characters have their use."""


def hidden_in(reasoning: str, answer: str, case: Case) -> tuple[Leak, ...]:
    """The call that the reasoning holds. Where an answer follows, only one that ends the reasoning was meant as a
    call: models draft calls while they think."""
    offered, quoted = case.validator.names, case.request.prompt_contains
    for leak in find_leaks(reasoning, offered, quoted):
        if leak.hard and (leak.calls or (not answer and not leak.complete)):
            return (leak,) if not answer or ends_in_calls(reasoning, leak) else ()
    return () if answer else _last_words(reasoning, case)


_LAST_LINES, _LAST_CHARACTERS = 20, 8000


def _last_words(reasoning: str, case: Case) -> tuple[Leak, ...]:
    """A call without markup of its own that ends the reasoning: there is nothing else that the turn came to."""
    lines = reasoning[-_LAST_CHARACTERS:].strip().splitlines(keepends=True)[-_LAST_LINES:]
    for first in reversed(range(len(lines))):
        for leak in find_leaks("".join(lines[first:]), case.validator.names, case.request.prompt_contains):
            if leak.hard or leak.family == "fenced":
                return (leak,)
    return ()


def _cut(case: Case) -> str | None:
    reason, most, full = case.reply.finish_reason, case.request.max_tokens, case.context_length
    prompt, generated = differential.token_counts(case.reply)
    if case.usage is not None:
        prompt, generated = case.usage.prompt_tokens, case.usage.completion_tokens
    if generated is not None and most is not None and 0 < most <= generated:
        return f"{generated} tokens of at most {most} (finish reason {reason!r})"
    if full and generated is not None and prompt is not None and prompt + generated >= full:
        return f"the context of {full} tokens is full (finish reason {reason!r})"
    return f"finish reason {reason!r}" if reason in _FOR_LENGTH else None
