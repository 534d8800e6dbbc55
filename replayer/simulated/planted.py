"""Faults that a simulated engine commits on purpose, seeded per request.

Written `class[@rate][:key=value…]`: `unknown_tool@0.1`, `collapse@0.05:at=200`, `leaked_markup:family=kimi`.
Classes are those of CLI.md that a server can cause, and the ways in which a connection fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from random import Random
from typing import Any

from replayer.errors import PlanError

CALL_FAULTS = frozenset(
    {
        "arguments_not_json",
        "arguments_not_object",
        "missing_parameter",
        "wrong_type",
        "bad_value",
        "unexpected_parameter",
        "unknown_tool",
        "leaked_markup",
        "call_in_reasoning",
        "bad_call_id",
        "bad_call_index",
        "silent_repair",
        "silent_drop",
    }
)
REPLY_FAULTS = frozenset(
    {
        "truncated",
        "empty_turn",
        "finish_contradicts",
        "protocol",
        "choice_ignored",
        "stream_differs",
        "breaks_schema",
        "collapse",
    }
)
STATUS_FAULTS = {"429": 429, "500": 500, "503": 503, "history_rejected": 400}
WIRE_FAULTS = frozenset(
    {
        "disconnect",
        "stall",
        "malformed_sse",
        "stream_error",
        "no_usage",
        "null_details",
        "no_done",
        "slow_headers",
    }
)
KEYS: dict[str, frozenset[str]] = {
    "arguments_not_json": frozenset({"form"}),
    "arguments_not_object": frozenset({"form"}),
    "leaked_markup": frozenset({"family", "keep_call"}),
    "call_in_reasoning": frozenset({"family"}),
    "bad_call_id": frozenset({"form"}),
    "bad_call_index": frozenset({"form"}),
    "protocol": frozenset({"form"}),
    "truncated": frozenset({"at", "finish"}),
    "collapse": frozenset({"at", "unit", "channel", "tokens"}),
    "disconnect": frozenset({"at"}),
    "stall": frozenset({"at", "s"}),
    "malformed_sse": frozenset({"at"}),
    "stream_error": frozenset({"at"}),
    "slow_headers": frozenset({"ms"}),
    "429": frozenset({"retry_after"}),
    "503": frozenset({"retry_after"}),
}
"""Settings of each class beside `turn` (only that turn of a session, from 0), which all know."""

CLASSES = CALL_FAULTS | REPLY_FAULTS | WIRE_FAULTS | STATUS_FAULTS.keys()


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One kind of fault: how often (0..1) and its settings."""

    klass: str
    rate: float = 1.0
    keys: dict[str, str] = field(default_factory=dict)

    def number(self, key: str, default: float) -> float:
        return float(self.keys.get(key, default))

    def strikes(self, rng: Random, turn: int) -> bool:
        wanted = self.keys.get("turn")
        return rng.random() < self.rate and (wanted is None or int(wanted) == turn)


def parse_fault(text: str) -> FaultSpec:
    """Raises PlanError naming the nearest right class or setting."""
    head, *settings = _split(text)
    klass, _, rate_text = head.partition("@")
    klass = {"collapsed": "collapse", "overloaded": "429", "engine_error": "500"}.get(klass, klass)
    if klass not in CLASSES:
        raise PlanError(f"fault {text!r}: no fault class {klass!r}{_near(klass, CLASSES)}")
    try:
        rate = float(rate_text) if rate_text else 1.0
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise PlanError(f"fault {text!r}: the rate {rate_text!r} must be a number from 0 to 1")
    keys = dict(_setting(text, klass, setting) for setting in settings)
    return FaultSpec(klass, rate, keys)


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
    allowed = KEYS.get(klass, frozenset()) | {"turn"}
    if key not in allowed:
        raise PlanError(f"fault {text!r}: {klass} has no setting {key!r}{_near(key, allowed)}")
    if key in {"at", "s", "ms", "retry_after", "turn", "tokens"}:
        try:
            float(value)
        except ValueError:
            raise PlanError(f"fault {text!r}: {key} must be a number, not {value!r}") from None
    return key, value


def _near(word: str, known: Any) -> str:
    near = get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(sorted(known))})"
