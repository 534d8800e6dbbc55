"""Faults that a simulated engine commits on purpose, drawn anew for every arrival.

Written `class[@rate][:key=value…]`: `unknown_tool@0.1`, `collapse@0.05:at=200`, `leaked_markup:family=kimi`. With
`above=N:per=X` the rate grows by X for each request in flight beyond N, itself counted: an engine that breaks under load.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from replayer.errors import PlanError
from replayer.text import nearest

STATUS_FAULTS = {"429": 429, "500": 500, "503": 503, "history_rejected": 400}
WIRE_FAULTS = frozenset(
    """
    disconnect stall malformed_sse stream_error no_usage null_details no_done slow_headers
    """.split()
)
REPLY_FAULTS = frozenset(
    """
    arguments_not_json arguments_not_object missing_parameter wrong_type bad_value unexpected_parameter
    unknown_tool leaked_markup swallowed_parameter damaged_text parallel_ignored call_in_reasoning
    bad_call_id bad_call_index silent_repair silent_drop truncated empty_turn finish_contradicts
    protocol choice_ignored stream_differs breaks_schema collapse merged_calls first_delta_dropped
    """.split()
)
CLASSES = REPLY_FAULTS | WIRE_FAULTS | STATUS_FAULTS.keys()
ALIASES = {
    "collapsed": "collapse",
    "overloaded": "429",
    "engine_error": "500",
    "stream_aborted": "disconnect",
}
ALIASES["text_leaked"] = "leaked_markup"
KEYS: dict[str, str] = {
    "arguments_not_json": "form",
    "arguments_not_object": "form",
    "leaked_markup": "family keep_call",
    "call_in_reasoning": "family",
    "bad_call_id": "form",
    "bad_call_index": "form",
    "protocol": "form",
    "truncated": "at finish",
    "collapse": "at unit channel tokens",
    "disconnect": "at",
    "stall": "at s",
    "malformed_sse": "at",
    "stream_error": "at",
    "slow_headers": "ms",
    "429": "retry_after",
    "503": "retry_after",
}
"""Settings of each class beside those that all know."""
COMMON = "turn above per wire"
"""`turn`: only that turn of a session, from 0. `above` and `per`: how the rate grows with load. `wire`: only there."""
NUMBERS = frozenset(["at", "s", "ms", "retry_after", "turn", "tokens", "above", "per"])


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One kind of fault: how often (0..1) and its settings."""

    klass: str
    rate: float = 1.0
    keys: dict[str, str] = field(default_factory=dict)

    def number(self, key: str, default: float) -> float:
        return float(self.keys.get(key, default))

    def strikes(self, rng: Random, turn: int, in_flight: int) -> bool:
        """Always one draw, so that one fault's settings do not move another's."""
        beyond = max(0.0, in_flight - self.number("above", 0))
        drawn = rng.random() < self.rate + self.number("per", 0) * beyond
        return drawn and self.number("turn", turn) == turn


class Arrivals:
    """The seeds of requests: each arrival has its own, so that repeats of a session are independent, and a run with
    the same seed and the same order of sessions draws the same."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._sessions: dict[str, dict[str, int]] = defaultdict(dict)
        self._seen: Counter[tuple[int, str]] = Counter()

    def draw(self, key: str, session: str) -> Random:
        """`key` names the recorded turn, `TRACE/TURN`. `session` is what the client marked its prompts with; a run's
        own name stands in it, so it counts only as the first, second, … session of its trace, and a turn that comes
        again in it as its first, second, … arrival."""
        known = self._sessions[key.rpartition("/")[0]]
        arrival = (known.setdefault(session, len(known)), key)
        self._seen[arrival] += 1
        return Random(f"{self._seed}/{arrival}/{self._seen[arrival]}")


def parse_fault(text: str) -> FaultSpec:
    """Raises PlanError naming the nearest right class or setting."""
    head, *settings = _split(text)
    klass, _, rate_text = head.partition("@")
    klass = ALIASES.get(klass, klass)
    if klass not in CLASSES:
        raise PlanError(f"fault {text!r}: no fault class {klass!r}{nearest(klass, CLASSES)}")
    try:
        rate = float(rate_text) if rate_text else 1.0
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise PlanError(f"fault {text!r}: the rate {rate_text!r} must be a number from 0 to 1")
    return FaultSpec(klass, rate, dict(_setting(text, klass, setting) for setting in settings))


def parse_faults(texts: Iterable[str]) -> list[FaultSpec]:
    return [parse_fault(text) for text in texts]


def _split(text: str) -> list[str]:
    """Cut at colons that begin a `key=`, so that a value (`unit=a: b`) may hold colons."""
    parts: list[str] = []
    for piece in text.split(":"):
        key, equals, _ = piece.partition("=")
        if parts and not (equals and key.isidentifier()):
            parts[-1] += ":" + piece
        else:
            parts.append(piece)
    return parts


def _setting(text: str, klass: str, setting: str) -> tuple[str, str]:
    key, _, value = setting.partition("=")
    allowed = f"{KEYS.get(klass, '')} {COMMON}".split()
    if key not in allowed:
        raise PlanError(f"fault {text!r}: {klass} has no setting {key!r}{nearest(key, allowed)}")
    if key in NUMBERS:
        try:
            float(value)
        except ValueError:
            raise PlanError(f"fault {text!r}: {key} must be a number, not {value!r}") from None
    return key, value
