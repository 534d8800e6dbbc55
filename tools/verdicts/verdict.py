"""The judgement on one reply: usable or not, and which faults. Plain data (see the table in docs/faults.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

FaultClass = Literal[
    "arguments_not_json",
    "arguments_not_object",
    "missing_parameter",
    "wrong_type",
    "bad_value",
    "unexpected_parameter",
    "unknown_tool",
    "leaked_markup",
    "swallowed_parameter",
    "damaged_text",
    "call_in_reasoning",
    "truncated",
    "empty_turn",
    "breaks_schema",
    "bad_call_id",
    "bad_call_index",
    "finish_contradicts",
    "protocol",
    "choice_ignored",
    "parallel_ignored",
    "silent_repair",
    "silent_drop",
    "stream_differs",
    "history_rejected",
    "unusable_schema",
    "collapsed",
    "engine_error",
]

Blame = Literal["model", "parser", "budget", "input", "engine", "unknown"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a reply. `fatal` faults make the turn unusable; `path` is a JSON pointer into the arguments."""

    klass: FaultClass
    blame: Blame
    message: str
    fatal: bool
    call_index: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class RecordingFinding:
    """How a reply differs from the recorded one; secondary, never fatal."""

    kind: Literal["call_absent", "call_unexpected", "other_tool", "other_arguments"]
    message: str
    call_index: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`usable`: every call is valid, or there is none and the answer is not empty; neither collapsed nor cut."""

    usable: bool
    faults: tuple[Fault, ...] = ()
    against_recording: tuple[RecordingFinding, ...] = ()
    schema_valid: bool | None = None
    """Whether the answer holds to the schema of `response_format`; None where there was none, or no answer to hold."""


Mode = Literal["streamed", "unstreamed"]


@dataclass(frozen=True, slots=True)
class ModeVerdict:
    """A reply in one mode, judged for itself; `faults` are its fatal classes."""

    usable: bool
    faults: tuple[FaultClass, ...] = ()


Modes = Mapping[Mode, ModeVerdict]
"""One prompt answered streamed and not."""


def modes_as_dict(modes: Modes) -> JsonObject | None:
    return {mode: asdict(found) for mode, found in modes.items()} or None
