"""How an executed call ended."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

OutcomeKind = Literal["ok", "tool_error", "exit_code", "timeout", "limit", "denied", "not_executable_here"]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended. `output` is the text that this client shows to the model; `duration` in seconds."""

    kind: OutcomeKind
    output: str
    is_error: bool = False
    exit_code: int | None = None
    duration: float = 0.0
    detail: JsonObject = field(default_factory=dict)
