"""Loops of tool calls over a session: the same call again, a cycle of calls, the same error again.

Polling is not a loop: a call whose result changes is fed fresh facts. In recorded mode the history is the recording's,
so a repeated call may be the recording's own; only what exceeds it counts.

Thresholds follow the agents that act on such loops: identical calls, 3 seen by opencode and Roo, 5 by Qwen Code and
Gemini CLI; cycles of up to 5 calls, three times over; the same error 3 times (OpenHands).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from replayer.lazy import dataclass
from replayer.signals.base import Signal, TurnFacts
from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.wire.types import JsonObject

SUSPECT_AFTER = 3
LOOP_AFTER = 5
ERRORS_AFTER = 3
MAX_PERIOD = 5
CYCLES = 3
_HISTORY = LOOP_AFTER * MAX_PERIOD

COSMETIC = frozenset({"description", "display_description", "explanation", "task_progress", "security_risk"})
"""Arguments that say why, not what: a loop does not end because its excuse is worded anew."""


@dataclass(frozen=True, slots=True)
class Called:
    """One call as it went: `result` is None where it is not known."""

    name: str
    arguments: str
    result: str | None = None
    is_error: bool = False

    @property
    def key(self) -> str:
        """The call up to spelling: key order, white space, 130 or 130.0, cosmetic arguments."""
        return _key(self.name, self.arguments)


@lru_cache(64)  # repeats of a session compare with the same recorded calls
def _key(name: str, arguments: str) -> str:
    try:
        value = _plain(parse(arguments))
    except (NotJson, RecursionError):
        return f"{name}:{arguments}"
    if isinstance(value, dict):
        value = {key: inner for key, inner in value.items() if key not in COSMETIC}
    return f"{name}:{json.dumps(value, sort_keys=True)}"


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True, slots=True)
class LoopFinding:
    """`length` is how many calls the loop holds so far, beyond what the recording does itself; `period` in calls."""

    kind: Literal["identical", "cycle", "same_error"]
    level: Literal["suspect", "loop"]
    name: str
    length: int
    period: int
    turn: int

    def as_dict(self) -> JsonObject:
        return asdict(self)


class _Track:
    """The last calls of one side, each as (call, result) marks."""

    def __init__(self) -> None:
        self._calls: deque[tuple[str, str | None, bool]] = deque(maxlen=_HISTORY)

    def push(self, call: Called) -> None:
        self._calls.append((call.key, call.result, call.is_error))

    def run(self, period: int, *, errors_only: bool = False) -> int:
        """How many of the last calls repeat with that period, results included; an unknown result fits any."""
        calls = list(self._calls)
        if errors_only and not (calls and calls[-1][2]):
            return 0
        length = 0
        for index in range(len(calls) - 1, period - 1, -1):
            if not _alike(calls[index], calls[index - period]):
                break
            length += 1
        return length + period if length else 0

    def is_uniform(self, period: int) -> bool:
        """Whether the last `period` calls are all the same, so that a cycle of them is a plain repetition."""
        return len({key for key, _, _ in list(self._calls)[-period:]}) < 2


def _alike(a: tuple[str, str | None, bool], b: tuple[str, str | None, bool]) -> bool:
    return a[0] == b[0] and (a[1] is None or b[1] is None or a[1] == b[1])


class CallLoops(Signal):
    """Watches one session. Findings are stated when a threshold is reached, and once for each."""

    name = "call_loops"
    version = 1

    def __init__(self) -> None:
        self._ours = _Track()
        self._recorded = _Track()

    def after_turn(self, turn: TurnFacts) -> list[LoopFinding]:
        found: list[LoopFinding] = []
        for call, recorded in zip_longest(turn.calls, turn.recorded_calls):
            if call is not None:
                self._ours.push(call)
            if recorded is not None:
                self._recorded.push(recorded)
            if call is not None:
                found += self._findings(turn.number, call)
        return found

    def _findings(self, number: int, call: Called) -> Iterator[LoopFinding]:
        same = self._excess(1)
        if same in (SUSPECT_AFTER, LOOP_AFTER):
            level: Literal["suspect", "loop"] = "loop" if same == LOOP_AFTER else "suspect"
            yield LoopFinding("identical", level, call.name, same, 1, number)
        if self._excess(1, errors_only=True) == ERRORS_AFTER:
            yield LoopFinding("same_error", "loop", call.name, ERRORS_AFTER, 1, number)
        for period in range(2, MAX_PERIOD + 1):
            if self._excess(period) == period * CYCLES and not self._ours.is_uniform(period):
                yield LoopFinding("cycle", "loop", call.name, period * CYCLES, period, number)
                return

    def _excess(self, period: int, *, errors_only: bool = False) -> int:
        """Length of our run less what the recording repeats at the same place."""
        ours = self._ours.run(period, errors_only=errors_only)
        recorded = self._recorded.run(period)
        return ours - max(recorded - period, 0) if ours else 0
