"""Calls that stand in the text, as faults: in the answer, or in the reasoning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replayer.tools.verdicts.evidence import Seen
from replayer.tools.verdicts.leak import Leak
from replayer.tools.verdicts.verdict import Blame, Fault

_SOFT = {
    "control_token": "a control token of the chat template is left in the content",
    "fenced": "a call written as a code block",
}


def leaks(seen: Seen) -> Iterable[Fault]:
    """Markup in the answer. Beside a delivered call, or torn by the cut, it does not decide the turn."""
    return [_of_leak(seen, leak) for leak in seen.leaks] if seen.leaks else ()


def _of_leak(seen: Seen, leak: Leak) -> Fault:
    decides = leak.hard and not seen.checks and not (seen.cut and not leak.complete)
    soft = _SOFT.get(leak.family, "call syntax is mentioned")
    told = "call syntax left in the content" if leak.hard else soft
    return Fault("leaked_markup", _blame(seen, leak), f"{told} ({leak.family}): {leak.excerpt}", decides)


def _blame(seen: Seen, leak: Leak) -> Blame:
    if leak.family in ("fenced", "tool_response"):
        return "model"
    if leak.hard:
        no_parser = not seen.case.validator.names or seen.tool_choice == "none"
        return "model" if no_parser else "parser"
    return "parser" if leak.family == "control_token" else "unknown"


def hidden_calls(seen: Seen) -> Iterable[Fault]:
    """A call in the reasoning, where none was delivered."""
    return _hidden(seen) if seen.hidden else ()


def _hidden(seen: Seen) -> Iterator[Fault]:
    leak = seen.hidden[0]
    of = f" of {leak.calls[0].name!r}" if leak.calls else ""
    told = f"a call{of} stands in the reasoning and none was delivered: {leak.excerpt}"
    yield Fault("call_in_reasoning", "parser", told, not (seen.cut and not leak.complete))
