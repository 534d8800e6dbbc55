"""`judge`: one reply, one verdict. The table of fault classes is docs/faults.md.

Two rules keep figures honest. A fault that another one explains is not counted again: a reply that was cut is
`truncated`, not also empty and not also a bad call. And verdicts come from strict parsing; what a repair would make
of the text only names the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from replayer.lazy import dataclass
from replayer.tools.verdicts.call_faults import arguments_damage, call_faults, id_faults, note_faults
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.damage import damage_in
from replayer.tools.verdicts.engine_fault import engine_fault, is_away
from replayer.tools.verdicts.evidence import FOR_FAILURE, Seen, see
from replayer.tools.verdicts.leak_faults import hidden_calls, leaks
from replayer.tools.verdicts.prose import without_code
from replayer.tools.verdicts.schema_check import CallCheck
from replayer.tools.verdicts.structured import check_answer
from replayer.tools.verdicts.verdict import Fault, Modes, ModeVerdict, RecordingFinding, Verdict
from replayer.traces.schema import AnyItem, ToolCallItem
from replayer.wire.types import END_OF, Reply

__all__ = ["Case", "alone", "by_mode", "judge"]

_FOR_CALLS = frozenset({"tool_calls", "tool_use", "function_call"})
_FOR_TEXT = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token"})


def judge(case: Case) -> Verdict:
    """The verdict on one reply. Raises nothing, whatever the engine sent."""
    reply = case.reply
    if reply.fault is not None:
        seen_calls = bool(case.request.seen_call_ids)
        return Verdict(False, (engine_fault(reply.fault, wire=reply.wire, calls_in_history=seen_calls),))
    if reply.stopped_by_us:
        return Verdict(False, (_collapse(case.collapsed or "stopped by replayer while it repeated itself"),))
    seen = see(case)
    faults: list[Fault] = []
    for rule in _RULES:
        faults += rule(seen)
    faults += seen.evidence.faults
    usable = not any(fault.fatal for fault in faults) if faults else True
    findings = () if case.recorded is None else _against_recording(reply, seen.checks, case.recorded)
    return Verdict(usable, tuple(faults), findings, seen.schema_valid)


def by_mode(case: Case, *, stream: bool, collapsed: str | None) -> Modes:
    """Both modes' replies to one prompt, each judged for itself: what only both together show is the turn's.

    `stream`: `case.reply` is the answer to the request for a stream; `collapsed` is what its pair fell into. Empty
    without a pair, where a stream was ended here, and where the engine was away for one of them.
    """
    if case.pair is None or case.reply.stopped_by_us or is_away(case.reply) or is_away(case.pair):
        return {}
    here = replace(case, pair=None, token_text=None)
    there = replace(here, reply=case.pair, usage=None, collapsed=collapsed)
    return {**alone(here, stream=stream), **alone(there, stream=not stream)}


def alone(case: Case, *, stream: bool) -> Modes:
    """A reply judged in the mode that was asked for."""
    verdict = judge(case)
    fatal = dict.fromkeys(fault.klass for fault in verdict.faults if fault.fatal)
    return {"streamed" if stream else "unstreamed": ModeVerdict(verdict.usable, tuple(fatal))}


def _collapse(found: str) -> Fault:
    return Fault("collapsed", "model", found, True)


def _ending(seen: Seen) -> Iterable[Fault]:
    reason, done = seen.reply.finish_reason, seen.reply.done
    if seen.collapsed:
        return [_collapse(seen.collapsed)]  # one that runs into a limit is still one fault
    faults = []
    if reason in FOR_FAILURE:
        faults.append(Fault("engine_error", "engine", f"finish reason {reason!r}", True))
    elif not done and reason is None:
        message = f"the reply broke off: no finish reason and no {END_OF[seen.reply.wire]}"
        faults.append(Fault("engine_error", "engine", message, True))
    elif not done:
        faults.append(
            Fault("protocol", "engine", f"the stream ended without {END_OF[seen.reply.wire]}", False)
        )
    if seen.cut:
        last = len(seen.checks) - 1
        faults.append(
            Fault("truncated", "budget", f"cut: {seen.cut}", True, last if seen.call_is_cut(last) else None)
        )
    return faults


def _choice(seen: Seen) -> Iterable[Fault]:
    if seen.tool_choice in (None, "auto"):
        return ()
    return _broken_demands(seen)


def _broken_demands(seen: Seen) -> Iterator[Fault]:
    calls = seen.reply.tool_calls
    if seen.tool_choice == "none" and calls:
        yield Fault("choice_ignored", "engine", "tool_choice is 'none', but a call came", True, 0)
        return
    asked = demanded(seen.tool_choice)
    excused = seen.ended_early or seen.hidden or any(leak.hard for leak in seen.leaks)
    if asked.call and not calls and not excused and seen.reply.finish_reason not in FOR_FAILURE:
        yield Fault("choice_ignored", "engine", f"no call came, but {asked.message} was asked for", True)
    for index, call in enumerate(calls):
        if asked.names and call.name not in asked.names:
            message = f"{call.name!r} came, but {asked.message} was asked for"
            yield Fault("choice_ignored", "engine", message, True, index)


def _parallel(seen: Seen) -> Iterable[Fault]:
    count = len(seen.checks)
    if count < 2 or seen.case.request.parallel is not False:
        return ()
    message = f"{count} calls came, but parallel_tool_calls is false"
    return [Fault("parallel_ignored", "engine", message, True, 1)]


def _emptiness(seen: Seen) -> Iterable[Fault]:
    reply = seen.reply
    if seen.checks or seen.answer or reply.extra.get("refusal"):
        return ()
    if seen.ended_early or seen.hidden or reply.finish_reason in FOR_FAILURE:
        return ()
    if any(leak.hard for leak in seen.leaks) or (not reply.done and reply.finish_reason is None):
        return ()
    thought = " (reasoning only)" if reply.reasoning.strip() or seen.thought.strip() else ""
    return [Fault("empty_turn", "unknown", f"no content and no call{thought}", True)]


def _structured(seen: Seen) -> Iterable[Fault]:
    """Whether the answer holds to its schema. One that was cut cannot, but that is the budget's doing; a call, a
    refusal and silence are not answers."""
    form = seen.case.request.response_format
    if form is None or seen.checks or not seen.answer or seen.reply.extra.get("refusal"):
        return ()
    seen.schema_valid, fault = check_answer(seen.answer, form)
    cut_short = fault is not None and fault.fatal and seen.ended_early
    return [fault] if fault and not cut_short else ()


def _damage(seen: Seen) -> Iterable[Fault]:
    content = seen.reply.content
    if not content or (content.isascii() and "<0x" not in content) or any(leak.hard for leak in seen.leaks):
        return ()  # `▁` of a torn token is no damage
    message = damage_in(without_code(content), seen.case.request.prompt_contains)
    return [Fault("damaged_text", "engine", f"the answer holds {message}", False)] if message else ()


def _finish(seen: Seen) -> Iterable[Fault]:
    reason, calls = seen.reply.finish_reason, seen.checks
    # OpenAI's API itself finishes a forced call with `stop`; Anthropic's does not
    named = isinstance(seen.tool_choice, dict) and seen.reply.wire != "messages"
    if calls and reason in _FOR_TEXT and not named:
        return [Fault("finish_contradicts", "engine", f"finish reason {reason!r} with a call", False)]
    if not calls and reason in _FOR_CALLS:
        return [Fault("finish_contradicts", "engine", f"finish reason {reason!r} without a call", False)]
    return ()


_RULES: tuple[Callable[[Seen], Iterable[Fault]], ...] = (
    _ending,
    call_faults,
    id_faults,
    note_faults,
    leaks,
    arguments_damage,
    hidden_calls,
    _choice,
    _parallel,
    _emptiness,
    _finish,
    _structured,
    _damage,
)


@dataclass(frozen=True, slots=True)
class Demand:
    """`call`: a call must come. `names`: it must be one of these; empty allows every tool."""

    call: bool = False
    names: frozenset[str] = frozenset()
    message: str = ""


def demanded(tool_choice: object) -> Demand:
    """The demand of `"required"`, of a named tool, or of `allowed_tools`; anything else demands nothing."""
    if tool_choice in ("required", "any"):
        return Demand(True, message="a call (tool_choice 'required')")
    if not isinstance(tool_choice, dict):
        return Demand()
    if tool_choice.get("type") == "allowed_tools":
        inner = tool_choice.get("allowed_tools")
        inner = inner if isinstance(inner, dict) else tool_choice
        tools = inner.get("tools")
        names = frozenset(filter(None, map(_name, tools if isinstance(tools, list) else ())))
        return Demand(inner.get("mode") == "required", names, f"one of {', '.join(sorted(names))}")
    name = _name(tool_choice)
    return Demand(True, frozenset({name}), f"the tool {name!r}") if name else Demand()


def _name(tool: object) -> str | None:
    if not isinstance(tool, dict):
        return None
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else tool.get("name")
    return name if isinstance(name, str) else None


def _against_recording(
    reply: Reply, checks: Sequence[CallCheck], recorded: Sequence[AnyItem]
) -> tuple[RecordingFinding, ...]:
    """Differences position by position. Arguments are compared by value: another key order is not a difference."""
    wanted = [item for item in recorded if isinstance(item, ToolCallItem)]
    found: list[RecordingFinding] = []
    for index, (call, check, item) in enumerate(zip(reply.tool_calls, checks, wanted, strict=False)):
        if call.name != item.name:
            found.append(RecordingFinding("other_tool", f"{call.name!r} instead of {item.name!r}", index))
        elif call.arguments != item.arguments and (check.value is None or check.value != item.parsed):
            found.append(RecordingFinding("other_arguments", f"{item.name!r} with other arguments", index))
    for item in wanted[len(reply.tool_calls) :]:
        found.append(RecordingFinding("call_absent", f"the recording calls {item.name!r} here"))
    for index, call in list(enumerate(reply.tool_calls))[len(wanted) :]:
        found.append(RecordingFinding("call_unexpected", f"{call.name!r} is not in the recording", index))
    return tuple(found)
