"""Calls that stand in the text, as faults: in the answer, or in the reasoning; and who is to blame for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from replayer.tools.verdicts.call_text import TextCall, bare_name, structure_in
from replayer.tools.verdicts.leak import Leak
from replayer.tools.verdicts.prose import TAG
from replayer.tools.verdicts.schema_check import CallCheck, Validator
from replayer.tools.verdicts.strict_json import NotJson, parse, same_value
from replayer.tools.verdicts.verdict import Blame, Fault
from replayer.wire.types import Json, JsonObject

if TYPE_CHECKING:
    from replayer.tools.verdicts.evidence import Seen

_SOFT = {
    "control_token": "a control token of the chat template is left in the content",
    "fenced": "a call written as a code block",
    "closing_tag": "the end of call markup is left in the content, and no call",
}


def leaks(seen: Seen) -> Iterable[Fault]:
    """Markup in the answer. It decides the turn where a call was lost by it, unless the end tore it."""
    return [_of_leak(seen, leak) for leak in seen.leaks] if seen.leaks else ()


def _of_leak(seen: Seen, leak: Leak) -> Fault:
    lost = not seen.checks or any(_is_lost(call, seen) for call in leak.calls)
    decides = leak.hard and lost and not (seen.ended_early and not leak.complete)
    soft = _SOFT.get(leak.family, "call syntax is mentioned")
    message = "call syntax left in the content" if leak.hard else soft
    blame, why = _blame(seen, leak)
    about = f"{leak.family}; {why}" if why else leak.family
    return Fault("leaked_markup", blame, f"{message} ({about}): {leak.excerpt}", decides)


def _is_lost(written: TextCall, seen: Seen) -> bool:
    """Whether a sound call in the text is none of those that were delivered."""
    check = read_call(written, seen.case.validator)
    if check is None or not check.valid:
        return False
    delivered = zip(seen.reply.tool_calls, seen.checks, strict=True)
    return not any(
        call.name == bare_name(written.name) and same_value(one.value, check.value) for call, one in delivered
    )


def _blame(seen: Seen, leak: Leak) -> tuple[Blame, str]:
    """Who is to blame for a leak, and why."""
    if leak.family == "fenced":
        return "model", ""
    if not leak.hard:
        return "parser" if leak.family in ("control_token", "closing_tag") else "unknown", ""
    if not seen.case.validator.names:
        return "model", "no tools were offered"
    if seen.tool_choice == "none":
        return "model", "tool_choice is 'none'"
    if seen.ended_early and not leak.complete:
        return "parser", "torn by the end of the reply"
    if seen.checks and not TAG.sub("", leak.text).strip():
        return "parser", "marks of what was delivered"
    return _who_lost(leak, seen.case.validator)


def _who_lost(leak: Leak, validator: Validator) -> tuple[Blame, str]:
    """The parser, where the text holds a valid call of an offered tool, or what a parser left of one; else the
    model, of whose text no parser could have made a call."""
    if leak.family == "tool_response":
        return "model", "the model plays the tool"
    if not leak.calls:
        return ("parser", "the rest of a call") if leak.complete else ("model", "no call can be read in it")
    reasons = []
    for call in leak.calls:
        check, name = read_call(call, validator), bare_name(call.name)
        if check and check.valid:
            return "parser", f"a valid call of {name!r}"
        offered = f"{name!r} was not offered" if name not in validator.names else "its arguments are broken"
        reasons.append(check.faults[0].message if check else offered)
    return "model", reasons[0]


def read_call(written: TextCall, validator: Validator) -> CallCheck | None:
    """A call in text, judged as if it had been delivered; None where it is torn, or not of an offered tool. Where
    the syntax has no types, texts are read as what the schema wants."""
    name, value = bare_name(written.name), written.value
    if name not in validator.names or not written.intact or not isinstance(value, dict):
        return None
    check = _check(name, value, validator)
    if written.parameters is None or check.valid:
        return check
    wrong = {
        fault.path[1:] for fault in check.faults if fault.path and fault.klass in ("wrong_type", "bad_value")
    }
    return _check(
        name, {key: _typed(text) if key in wrong else text for key, text in value.items()}, validator
    )


def _check(name: str, value: JsonObject, validator: Validator) -> CallCheck:
    return validator.check(name, json.dumps(value))


def _typed(text: Json) -> Json:
    try:
        return parse(_PYTHON_WORDS.get(str(text)) or text)
    except NotJson:
        return structure_in(text)


_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
"""Parsers of tags without types take these as well."""


def hidden_calls(seen: Seen) -> Iterable[Fault]:
    """A call in the reasoning, where none was delivered."""
    if not seen.hidden:
        return ()
    leak = seen.hidden[0]
    of = f" of {leak.calls[0].name!r}" if leak.calls else ""
    blame, why = _who_lost(leak, seen.case.validator)
    message = f"a call{of} stands in the reasoning and none was delivered ({why}): {leak.excerpt}"
    return [Fault("call_in_reasoning", blame, message, not (seen.ended_early and not leak.complete))]
