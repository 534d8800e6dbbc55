"""Calls that stand in the text, as faults: in the answer, or in the reasoning; and who is to blame for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from replayer.tools.verdicts.call_text import TextCall, bare_name
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
    return Fault("leaked_markup", _blame(seen, leak), f"{message} ({leak.family}): {leak.excerpt}", decides)


def _is_lost(written: TextCall, seen: Seen) -> bool:
    """Whether a sound call in the text is none of those that were delivered."""
    check = read_call(written, seen.case.validator)
    if check is None or not check.valid:
        return False
    delivered = zip(seen.reply.tool_calls, seen.checks, strict=True)
    return not any(
        call.name == bare_name(written.name) and same_value(one.value, check.value) for call, one in delivered
    )


def _blame(seen: Seen, leak: Leak) -> Blame:
    if leak.family == "fenced":
        return "model"
    if leak.hard:
        no_parser = not seen.case.validator.names or seen.tool_choice == "none"
        if no_parser:
            return "model"
        torn_by_the_end = seen.ended_early and not leak.complete
        left_over = seen.checks and not TAG.sub("", leak.text).strip()  # marks of what was delivered
        return "parser" if torn_by_the_end or left_over else _who_lost(leak, seen.case.validator)
    return "parser" if leak.family in ("control_token", "closing_tag") else "unknown"


def _who_lost(leak: Leak, validator: Validator) -> Blame:
    """The parser, where the text holds a valid call of an offered tool, or what a parser left of one; else the
    model, of whose text no parser could have made a call."""
    if leak.family == "tool_response":
        return "model"
    if not leak.calls:
        return "parser" if leak.complete else "model"
    checks = (read_call(call, validator) for call in leak.calls)
    return "parser" if any(check and check.valid for check in checks) else "model"


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
        return text


_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
"""Parsers of tags without types take these as well."""


def hidden_calls(seen: Seen) -> Iterable[Fault]:
    """A call in the reasoning, where none was delivered."""
    if not seen.hidden:
        return ()
    leak = seen.hidden[0]
    of = f" of {leak.calls[0].name!r}" if leak.calls else ""
    message = f"a call{of} stands in the reasoning and none was delivered: {leak.excerpt}"
    blame = _who_lost(leak, seen.case.validator)
    return [Fault("call_in_reasoning", blame, message, not (seen.ended_early and not leak.complete))]
