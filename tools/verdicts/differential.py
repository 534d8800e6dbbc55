"""What an engine changed between the model and the client: shown by the other mode's answer, or by the tokens.

One exchange cannot show a silent repair or a silent drop. Two can, if both come from the same generation: the same
request answered streamed and not streamed, with the same number of tokens (or, where an engine reports none, at
temperature 0). The generated tokens themselves are better evidence where they are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from replayer.lazy import dataclass
from replayer.tools.verdicts.call_text import TextCall, bare_name
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.leak import Leak
from replayer.tools.verdicts.markup import find_leaks, strip_control
from replayer.tools.verdicts.prose import split_thinking
from replayer.tools.verdicts.schema_check import CallCheck, Validator
from replayer.tools.verdicts.strict_json import is_beginning, same_value
from replayer.tools.verdicts.verdict import Blame, Fault
from replayer.wire.counts import count
from replayer.wire.types import Reply, ToolCall


@dataclass(frozen=True, slots=True)
class Evidence:
    """Faults that only a second view shows, and who is to blame for a call's broken arguments."""

    faults: tuple[Fault, ...] = ()
    blames: Mapping[int, Blame] = field(default_factory=dict)

    def blamed(self, fault: Fault) -> Fault:
        """The fault with its blame settled, where there is evidence."""
        if fault.klass != "arguments_not_json" or fault.call_index is None:
            return fault
        return replace(fault, blame=self.blames.get(fault.call_index, fault.blame))


def token_counts(reply: Reply) -> tuple[int | None, int | None]:
    """(prompt, completion) tokens as the reply's own usage object gives them, in the fields that all engines share."""
    usage = reply.usage
    if not isinstance(usage, dict):
        return None, None
    return count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))


def token_text_of(reply: Reply) -> str | None:
    """The text of the generated tokens, where the engine was asked for log probabilities."""
    logprobs = reply.extra.get("logprobs")
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(entries, list) or not entries:
        return None
    tokens = [entry.get("token") if isinstance(entry, dict) else None for entry in entries]
    return "".join(token for token in tokens if isinstance(token, str)) or None


@dataclass(frozen=True, slots=True)
class _Side:
    """One answer: what was delivered, and which calls its text still holds."""

    reply: Reply
    checks: tuple[CallCheck, ...]
    leak: Leak | None
    answer: str

    @property
    def written(self) -> tuple[TextCall, ...]:
        return self.leak.calls if self.leak else ()

    @property
    def mode(self) -> str:
        return "streamed" if self.reply.streamed else "unstreamed"


def _side(reply: Reply, checks: tuple[CallCheck, ...], validator: Validator) -> _Side:
    answer = split_thinking(reply.content)[1]
    return _Side(reply, checks, _hard_leak(answer, validator), strip_control(answer))


def _hard_leak(text: str, validator: Validator) -> Leak | None:
    return next((leak for leak in find_leaks(text, validator.names) if leak.hard), None)


NONE = Evidence()


def evidence(case: Case, checks: tuple[CallCheck, ...], *, cut: bool) -> Evidence:
    """What `pair` and `token_text` add to a reply's own verdict. `cut`: the reply was cut by its budget."""
    pair = case.pair if case.pair is not None and case.pair.fault is None else None
    if pair is None and case.token_text is None:
        return NONE
    validator, temperature = case.validator, case.request.temperature
    here = _side(case.reply, checks, validator)
    faults: list[Fault] = []
    blames: dict[int, Blame] = {}
    if case.token_text is not None:
        leak = _hard_leak(split_thinking(case.token_text)[1], validator)
        faults += _against_text(here, leak, cut, "the answer", "the tokens")
        blames.update(_blames(here, leak.calls if leak else ()))
    if pair is not None:
        there = _side(pair, tuple(map(validator.check_call, pair.tool_calls)), validator)
        blames.update(_blames(here, there.written) or _blames_of_twin(here, there))
        if _same_generation(case.reply, pair, temperature, cut):
            faults += _between(here, there, cut)
        if temperature == 0 and _outcome(here) != _outcome(there):
            message = f"the {there.mode} answer to the same request is another"
            faults.append(Fault("stream_differs", "engine", message, False))
    return Evidence(tuple(dict.fromkeys(faults)), blames)


def _same_generation(reply: Reply, pair: Reply, temperature: float | None, cut: bool) -> bool:
    counts = [token_counts(one)[1] for one in (reply, pair)]
    greedy = temperature in (None, 0)
    if None in counts:
        return greedy
    return counts[0] == counts[1] and (greedy or not cut)


def _between(here: _Side, there: _Side, cut: bool) -> Iterator[Fault]:
    """Repairs and drops that two answers from the same generation show, whichever of the two suffered them."""
    if here.reply.tool_calls and there.reply.tool_calls:
        yield from _twins(here, there)
    elif here.reply.tool_calls:
        yield from _against_text(here, there.leak, cut, f"the {here.mode} answer", f"the {there.mode} one")
        if there.leak is None:
            yield _drop(
                f"the call of {here.reply.tool_calls[0].name!r} is missing from the {there.mode} answer"
            )
    elif there.reply.tool_calls:
        yield from _against_text(there, here.leak, cut, f"the {there.mode} answer", f"the {here.mode} one")
        if here.leak is None:
            yield _drop(f"the {there.mode} answer has a call of {there.reply.tool_calls[0].name!r}", 0)
    else:
        yield from _neither_delivered(here, there, cut)


def _neither_delivered(here: _Side, there: _Side, cut: bool) -> Iterator[Fault]:
    for one, other in ((here, there), (there, here)):
        if one.leak and not other.leak and not (cut and not one.leak.complete):
            message = (
                f"of the call whose text is left in the {one.mode} answer, the {other.mode} one has nothing"
            )
            yield _drop(f"{message}: {one.leak.excerpt}")


def _twins(here: _Side, there: _Side) -> Iterator[Fault]:
    """Both answers hold calls: each call beside its twin."""
    ours, theirs = here.reply.tool_calls, there.reply.tool_calls
    if len(ours) != len(theirs):
        yield from _uneven(here, there) if len(ours) > len(theirs) else _uneven(there, here)
        return
    for index, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        mine, yours = here.checks[index], there.checks[index]
        if a.name != b.name:
            yield _repair(f"call {index} is {a.name!r} here and {b.name!r} in the {there.mode} answer", index)
        elif mine.defect and not yours.defect:
            yield _repair(f"broken here, but whole in the {there.mode} answer: {_short(b)}", index)
        elif yours.defect and not mine.defect:
            yield _repair(f"whole here, but broken in the {there.mode} answer: {_short(b)}", index)
        elif not mine.defect and not same_value(mine.value, yours.value):
            yield _repair(f"other arguments in the {there.mode} answer: {_short(b)}", index)


def _uneven(longer: _Side, shorter: _Side) -> Iterator[Fault]:
    """One answer holds more calls: those without a twin were dropped from the other, or stand in its text."""
    waiting = [call.name for call in shorter.reply.tool_calls]
    for index, (call, check) in enumerate(zip(longer.reply.tool_calls, longer.checks, strict=True)):
        if call.name in waiting:
            waiting.remove(call.name)
            continue
        written = next((text for text in shorter.written if bare_name(text.name) == call.name), None)
        message = _changed(call, check, written) if written else None
        if message and written:
            yield _repair(
                f"{message} in the {longer.mode} answer; the {shorter.mode} one has {_written(written)}",
                index,
            )
        else:
            yield _drop(f"the call of {call.name!r} is missing from the {shorter.mode} answer")


def _against_text(
    side: _Side, leak: Leak | None, cut: bool, delivered_by: str, source: str
) -> Iterator[Fault]:
    """Delivered calls beside the calls as the model wrote them."""
    if leak is None:
        return
    calls = side.reply.tool_calls
    for index, (call, written) in enumerate(zip(calls, leak.calls, strict=False)):
        if message := _changed(call, side.checks[index], written):
            yield _repair(f"{message} in {delivered_by}; {source} has {_written(written)}", index)
    dropped = leak.calls[len(calls) :]
    if dropped and not (cut and not dropped[0].intact) and side.leak is None:
        yield _drop(f"{source} has a call of {dropped[0].name!r} that {delivered_by} lacks")


def _changed(call: ToolCall, check: CallCheck, written: TextCall) -> str | None:
    """How delivered arguments differ from the written ones; None where they carry the same."""
    if bare_name(written.name) != bare_name(call.name or ""):
        return f"the name is {call.name!r}"
    if written.parameters is not None:
        return _changed_parameters(check.value, written.parameters)
    if (written.arguments is None and written.code is None) or check.defect:
        return None
    if not written.intact:
        return f"broken arguments were repaired to {_short(call)}"
    value = written.value if isinstance(written.value, dict) else check.value
    return None if same_value(value, check.value) else f"the arguments are {_short(call)}"


def _changed_parameters(value: object, written: Sequence[tuple[str, str]]) -> str | None:
    """Parameters written one tag each have no types, so that only lost ones and changed strings count."""
    if not isinstance(value, dict):
        return None
    for key, text in written:
        if key not in value:
            return f"the parameter {key!r} is missing"
        if isinstance(value[key], str) and value[key].strip() != text.strip():
            return f"the parameter {key!r} is {value[key][:80]!r}"
    return None


def _blames(side: _Side, written: Sequence[TextCall]) -> dict[int, Blame]:
    """Who broke arguments that are no JSON: the model if it wrote them so, else the parser."""
    blames: dict[int, Blame] = {}
    for index, (call, check, text) in enumerate(
        zip(side.reply.tool_calls, side.checks, written, strict=False)
    ):
        if check.defect and text.arguments is not None:
            sound = text.intact or (
                is_beginning(text.arguments) and not _agree(call.arguments, text.arguments)
            )
            blames[index] = "parser" if sound else "model"
    return blames


def _agree(a: str, b: str) -> bool:
    """Whether one text begins with the other, white space aside."""
    a, b = "".join(a.split()), "".join(b.split())
    return a.startswith(b) or b.startswith(a)


def _blames_of_twin(here: _Side, there: _Side) -> dict[int, Blame]:
    """Broken alike in both modes: the model's own; whole in the other mode: this mode's parser."""
    blames: dict[int, Blame] = {}
    for index, (mine, yours) in enumerate(zip(here.checks, there.checks, strict=False)):
        if mine.defect:
            alike = here.reply.tool_calls[index].arguments == there.reply.tool_calls[index].arguments
            blames[index] = "model" if alike else "unknown"
            if not yours.defect and yours.valid:
                blames[index] = "parser"
    return blames


def _outcome(side: _Side) -> tuple[str, list[tuple[str | None, str]]]:
    values = [
        (call.name, call.arguments if check.defect else repr(_canonical(check.value)))
        for call, check in zip(side.reply.tool_calls, side.checks, strict=True)
    ]
    return side.answer, values


def _canonical(value: object) -> object:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _written(call: TextCall) -> str:
    text = call.arguments or call.code or str(dict(call.parameters or ()))
    return repr(text if len(text) <= 80 else text[:80] + "…")


def _short(call: ToolCall) -> str:
    return repr(call.arguments if len(call.arguments) <= 80 else call.arguments[:80] + "…")


def _repair(message: str, index: int | None = None) -> Fault:
    return Fault("silent_repair", "parser", message, True, index)


def _drop(message: str, index: int | None = None) -> Fault:
    return Fault("silent_drop", "parser", message, True, index)
