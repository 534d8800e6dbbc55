"""`judge`: one reply, one verdict. The table of fault classes is docs/faults.md.

Two rules keep figures honest. A fault that another one explains is not counted again: a reply that was cut is
`truncated`, not also empty and not also a bad call. And verdicts come from strict parsing; what a repair would make
of the text only names the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from replayer.tools.verdicts import against_recording, differential
from replayer.tools.verdicts.engine_fault import engine_fault
from replayer.tools.verdicts.leak import Leak
from replayer.tools.verdicts.markup import end_tag_in, ends_in_calls, find_leaks, strip_control
from replayer.tools.verdicts.parallel import mixed_up
from replayer.tools.verdicts.prose import split_thinking
from replayer.tools.verdicts.protocol import id_faults, lost_on_the_way, note_faults
from replayer.tools.verdicts.schema_check import CallCheck, Validator, pointer
from replayer.tools.verdicts.structured import problem, schema_of
from replayer.tools.verdicts.tool_choice import demanded
from replayer.tools.verdicts.verdict import Blame, Fault, Verdict
from replayer.traces.schema import AnyItem, Usage
from replayer.wire.reply import END_OF
from replayer.wire.types import Reply, ToolCall

__all__ = ["Validator", "judge"]

_FOR_CALLS = frozenset({"tool_calls", "tool_use", "function_call"})
_FOR_TEXT = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})
_FOR_LENGTH = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"}
)
_FOR_FAILURE = frozenset({"abort", "error", "content_filter", "refusal", "failed", "cancelled"})


def judge(
    reply: Reply,
    validator: Validator,
    *,
    tool_choice: Any = None,
    max_tokens: int | None = None,
    usage: Usage | None = None,
    context_length: int | None = None,
    seen_call_ids: Container[str] = (),
    prompt_contains: Callable[[str], bool] | None = None,
    collapsed: str | None = None,
    recorded: tuple[AnyItem, ...] | None = None,
    pair: Reply | None = None,
    token_text: str | None = None,
    temperature: float | None = None,
    response_format: Any = None,
) -> Verdict:
    """The verdict on one reply. Raises nothing, whatever the engine sent.

    `tool_choice`, `max_tokens`, `temperature` and `response_format` are the request's own; `usage` defaults to the reply's.
    `seen_call_ids` are the ids of earlier calls in the prompt; `prompt_contains` says whether a text stands in the
    prompt word for word. `collapsed` is the repetition signal's finding. `recorded` are the items that the recorded
    turn produced. `pair` is the other mode's reply (streamed or not) to the same request, `token_text` the raw text
    of the generated tokens: both show what the engine changed on the way.
    """
    if reply.fault is not None:
        return Verdict(
            False, (engine_fault(reply.fault, wire=reply.wire, calls_in_history=bool(seen_call_ids)),)
        )
    if reply.stopped_by_us:
        return Verdict(False, (_collapse(collapsed or "stopped by replayer while it repeated itself"),))
    usage = usage or differential.usage_of(reply)
    case = _case(
        reply,
        validator,
        tool_choice,
        _cut(reply, max_tokens, usage, context_length),
        collapsed,
        prompt_contains,
    )
    evidence = differential.evidence(
        reply,
        case.checks,
        validator,
        pair=pair,
        token_text=token_text,
        temperature=temperature,
        cut=case.cut is not None,
    )
    faults = tuple(
        chain(
            _ending(case),
            _calls(case, evidence),
            id_faults(reply, seen_call_ids),
            note_faults(reply, broken=any(check.defect for check in case.checks)),
            _leaks(case),
            _leaks_into_arguments(case),
            _hidden(case),
            _choice(case),
            _emptiness(case),
            _finish(case),
            evidence.faults,
        )
    )
    schema_valid, broken = _structured(case, response_format)
    faults = (*faults, *broken)
    findings = against_recording.compare(reply, case.checks, recorded) if recorded is not None else ()
    return Verdict(not any(fault.fatal for fault in faults), faults, findings, schema_valid)


@dataclass(frozen=True, slots=True)
class _Case:
    """The reply and what all checks need to know of it."""

    reply: Reply
    validator: Validator
    tool_choice: Any
    cut: str | None
    collapsed: str | None
    checks: tuple[CallCheck, ...]
    answer: str
    leaks: tuple[Leak, ...]
    hidden: tuple[Leak, ...]
    """Hard leaks in the reasoning."""

    @property
    def choice_mode(self) -> str | None:
        """`auto`, `none`, `required`, or None where a tool is named or nothing is said."""
        return self.tool_choice if isinstance(self.tool_choice, str) else None


def _case(
    reply: Reply,
    validator: Validator,
    tool_choice: Any,
    cut: str | None,
    collapsed: str | None,
    prompt_contains: Callable[[str], bool] | None,
) -> _Case:
    checks = tuple(validator.check_call(call, i) for i, call in enumerate(reply.tool_calls))
    thought, answer = split_thinking(reply.content)
    leaks = tuple(find_leaks(answer, validator.names, prompt_contains))
    hidden: tuple[Leak, ...] = ()
    if not reply.tool_calls:
        hidden = tuple(_hidden_calls(f"{reply.reasoning}\n{thought}", answer, validator, prompt_contains))
    return _Case(reply, validator, tool_choice, cut, collapsed, checks, strip_control(answer), leaks, hidden)


def _hidden_calls(
    reasoning: str, answer: str, validator: Validator, prompt_contains: Callable[[str], bool] | None
) -> Iterator[Leak]:
    """Calls that the reasoning holds. Where an answer follows, only one that ends the reasoning was meant as a call:
    models draft calls while they think."""
    silent = not strip_control(answer)
    for leak in find_leaks(reasoning, validator.names, prompt_contains):
        if leak.hard and (leak.calls or (silent and not leak.complete)):
            if silent or ends_in_calls(reasoning, leak):
                yield leak
            return
    if silent:
        yield from _last_words(reasoning, validator, prompt_contains)


_LAST_LINES, _LAST_CHARACTERS = 20, 8000


def _last_words(
    reasoning: str, validator: Validator, prompt_contains: Callable[[str], bool] | None
) -> Iterator[Leak]:
    """A call without markup of its own that ends the reasoning: there is nothing else that the turn came to."""
    lines = reasoning[-_LAST_CHARACTERS:].strip().splitlines(keepends=True)[-_LAST_LINES:]
    for first in reversed(range(len(lines))):
        for leak in find_leaks("".join(lines[first:]), validator.names, prompt_contains):
            if leak.hard or leak.family == "fenced":
                yield leak
                return


def _cut(reply: Reply, max_tokens: int | None, usage: Usage | None, context_length: int | None) -> str | None:
    """Why the reply must be taken for cut, whatever its finish reason says; None if it was not."""
    generated = usage.completion_tokens if usage else None
    if generated is not None and max_tokens is not None and 0 < max_tokens <= generated:
        return f"{generated} tokens of at most {max_tokens} (finish reason {reply.finish_reason!r})"
    if generated is not None and usage and usage.prompt_tokens is not None and context_length:
        total = usage.prompt_tokens + generated
        if total >= context_length:
            return f"the context of {context_length} tokens is full (finish reason {reply.finish_reason!r})"
    return f"finish reason {reply.finish_reason!r}" if reply.finish_reason in _FOR_LENGTH else None


def _collapse(told: str) -> Fault:
    return Fault("collapsed", "model", told, True)


def _ending(case: _Case) -> Iterator[Fault]:
    reply, reason = case.reply, case.reply.finish_reason
    if case.collapsed or reason == "repetition":
        yield _collapse(case.collapsed or "the engine itself stopped a repetition")
    elif reason in _FOR_FAILURE:
        yield Fault("engine_error", "engine", f"finish reason {reason!r}", True)
    elif not reply.done and reason is None:
        yield Fault(
            "engine_error",
            "engine",
            f"the reply broke off: no finish reason and no {END_OF[reply.wire]}",
            True,
        )
    elif not reply.done:
        yield Fault("protocol", "engine", f"the stream ended without {END_OF[reply.wire]}", False)
    if case.cut:
        last = len(reply.tool_calls) - 1
        yield Fault(
            "truncated", "budget", f"cut: {case.cut}", True, last if _call_is_cut(case, last) else None
        )


def _call_is_cut(case: _Case, index: int) -> bool:
    """Whether the cut went through this call; what it lacks is then nobody's fault but the budget's."""
    if not case.cut or index < 0 or index != len(case.checks) - 1:
        return False
    check = case.checks[index]
    lacks = any(fault.klass == "missing_parameter" for fault in check.faults)
    return check.defect in ("incomplete", "empty") or lacks


def _calls(case: _Case, evidence: differential.Evidence) -> Iterator[Fault]:
    mixed = not case.cut and mixed_up(case.reply.tool_calls, case.checks, case.validator)
    for index, (call, check) in enumerate(zip(case.reply.tool_calls, case.checks, strict=True)):
        if not call.name:
            yield Fault("protocol", "engine", "a call without a name", True, index)
        if mixed and check.defect:
            told = "arguments of parallel calls came under each other's index: joined, they are sound"
            yield Fault("bad_call_index", "parser", told, True, index)
            continue
        for fault in check.faults:
            explained = fault.klass in ("arguments_not_json", "missing_parameter", "protocol")
            if not (explained and _call_is_cut(case, index)):
                yield _blamed(case.reply, evidence.blamed(fault), call, index)


def _blamed(reply: Reply, fault: Fault, call: ToolCall, index: int) -> Fault:
    """Who broke the arguments, where the reply itself shows it."""
    lacking = fault.klass == "missing_parameter" and any(
        note.code == "no_arguments" and note.call_index == index for note in reply.notes
    )
    broken = fault.klass == "arguments_not_json" and fault.blame == "unknown"
    if lacking or (broken and lost_on_the_way(reply, index, call.arguments)):
        return replace(fault, blame="parser")
    return fault


def _leaks(case: _Case) -> Iterator[Fault]:
    """Markup in the answer. Beside a delivered call, or torn by the cut, it does not decide the turn."""
    for leak in case.leaks:
        decides = leak.hard and not case.reply.tool_calls and not (case.cut and not leak.complete)
        told = (
            "call syntax left in the content"
            if leak.hard
            else _SOFT.get(leak.family, "call syntax is mentioned")
        )
        yield Fault(
            "leaked_markup", _leak_blame(case, leak), f"{told} ({leak.family}): {leak.excerpt}", decides
        )


def _leaks_into_arguments(case: _Case) -> Iterator[Fault]:
    for index, check in enumerate(case.checks):
        for key, value in check.value.items() if isinstance(check.value, dict) else ():
            if isinstance(value, str) and (tag := end_tag_in(value)):
                told = f"{tag!r} is left at the end of {pointer([key])}"
                yield Fault("leaked_markup", "parser", told, False, index, pointer([key]))


_SOFT = {
    "control_token": "a control token of the chat template is left in the content",
    "fenced": "a call written as a code block",
}


def _leak_blame(case: _Case, leak: Leak) -> Blame:
    if leak.family in ("fenced", "tool_response"):
        return "model"
    if leak.hard:
        no_parser = not case.validator.names or case.choice_mode == "none"
        return "model" if no_parser else "parser"
    return "parser" if leak.family == "control_token" else "unknown"


def _hidden(case: _Case) -> Iterator[Fault]:
    for leak in case.hidden[:1]:
        of = f" of {leak.calls[0].name!r}" if leak.calls else ""
        told = f"a call{of} stands in the reasoning and none was delivered"
        yield Fault(
            "call_in_reasoning", "parser", f"{told}: {leak.excerpt}", not (case.cut and not leak.complete)
        )


def _choice(case: _Case) -> Iterator[Fault]:
    calls = case.reply.tool_calls
    if case.choice_mode == "none" and calls:
        yield Fault("choice_ignored", "engine", "tool_choice is 'none', but a call came", True, 0)
        return
    asked = demanded(case.tool_choice)
    excused = case.cut or case.hidden or any(leak.hard for leak in case.leaks)
    if asked.call and not calls and not excused and case.reply.finish_reason not in _FOR_FAILURE:
        yield Fault("choice_ignored", "engine", f"no call came, but {asked.told} was asked for", True)
    for index, call in enumerate(calls):
        if asked.names and call.name not in asked.names:
            told = f"{call.name!r} came, but {asked.told} was asked for"
            yield Fault("choice_ignored", "engine", told, True, index)


def _emptiness(case: _Case) -> Iterator[Fault]:
    reply = case.reply
    if reply.tool_calls or case.answer or reply.extra.get("refusal"):
        return
    explained = (
        case.cut or case.hidden or case.collapsed or reply.finish_reason in (*_FOR_FAILURE, "repetition")
    )
    if explained or (not reply.done and reply.finish_reason is None):
        return
    thought = " (reasoning only)" if reply.reasoning.strip() or reply.content.strip() else ""
    yield Fault("empty_turn", "unknown", f"no content and no call{thought}", True)


def _structured(case: _Case, response_format: Any) -> tuple[bool | None, tuple[Fault, ...]]:
    """Whether the answer holds to its schema. One that was cut cannot, but that is the budget's doing; a call, a
    refusal and silence are no answers."""
    schema = schema_of(response_format)
    if schema is None or case.reply.tool_calls or not case.answer or case.reply.extra.get("refusal"):
        return None, ()
    told = problem(case.answer, schema)
    if told is None or case.cut:
        return told is None, ()
    return False, (Fault("breaks_schema", "engine", told, True),)


def _finish(case: _Case) -> Iterator[Fault]:
    reason, calls = case.reply.finish_reason, case.reply.tool_calls
    # OpenAI's API itself finishes a forced call with `stop`; Anthropic's does not
    named = isinstance(case.tool_choice, dict) and case.reply.wire != "messages"
    if calls and reason in _FOR_TEXT and not named:
        yield Fault("finish_contradicts", "engine", f"finish reason {reason!r} with a call", False)
    elif not calls and reason in _FOR_CALLS:
        yield Fault("finish_contradicts", "engine", f"finish reason {reason!r} without a call", False)
