"""Calls while they stream: the arguments as far as they are known, and faults that are certain before the end.

For screens. Nothing here is a verdict: the partial parser forgives what strict parsing refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jiter

from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.verdict import Fault
from replayer.wire.types import Delta


@dataclass(slots=True)
class PartialCall:
    """A call so far. `name` is final with the first piece of arguments."""

    index: int
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def value(self) -> Any:
        """The arguments so far, strings cut where the text ends; None while nothing can be read."""
        try:
            return jiter.from_json(self.arguments.encode(), partial_mode="trailing-strings")
        except ValueError:
            return None


class CallWatch:
    """The calls of one reply, fed with its deltas."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._calls: dict[int, PartialCall] = {}
        self._named: set[int] = set()

    @property
    def calls(self) -> tuple[PartialCall, ...]:
        return tuple(self._calls.values())

    def feed(self, delta: Delta) -> list[Fault]:
        """Take a delta; returns the faults that became certain: a tool that was never offered."""
        if delta.channel not in ("tool_name", "tool_arguments"):
            return []
        call = self._calls.setdefault(delta.call_index, PartialCall(delta.call_index))
        if delta.channel == "tool_name":
            call.name += delta.text
            return []
        call.pieces.append(delta.text)
        if call.index in self._named:
            return []
        self._named.add(call.index)
        faults = self._validator.check(call.name, "{}", call.index).faults
        return [fault for fault in faults if fault.klass == "unknown_tool"]
