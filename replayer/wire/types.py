"""What goes out and what comes back: requests, deltas and the assembled reply. Plain data, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Channel = Literal["content", "reasoning", "tool_name", "tool_arguments"]

FaultKind = Literal[
    "context_too_long",
    "unknown_model",
    "bad_request",
    "bad_tools",
    "unauthorized",
    "overloaded",
    "server_error",
    "unreachable",
    "stream_broken",
    "timeout",
]
"""Closed set of ways in which an engine can fail a request (adapters map their own words to it)."""


class Delta(NamedTuple):
    """One piece of a reply. `at` is a monotonic clock in nanoseconds, taken when its bytes arrived."""

    at: int
    channel: Channel
    text: str
    call_index: int = -1


@dataclass(frozen=True, slots=True)
class Request:
    """One chat completion to send. `body` is the exact JSON in pieces, so that shared history is never copied."""

    body: Sequence[bytes | memoryview]
    stream: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content_length(self) -> int:
        return sum(len(piece) for piece in self.body)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the engine delivered it; `arguments` is the exact text of all its deltas joined."""

    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class WireFault:
    """Why there is no complete reply. `message` keeps the engine's own words, `status` its HTTP status."""

    kind: FaultKind
    message: str
    status: int | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class ProtocolNote:
    """A breach of the streaming protocol that did not stop assembly, e.g. `delta_after_finish`."""

    code: str
    message: str
    call_index: int | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Monotonic nanoseconds of one exchange; `arrivals` are offsets from `sent` of every delta with text."""

    sent: int
    headers: int | None
    first_token: int | None
    """First delta that carries content, reasoning or a tool call: never headers, never a role delta."""
    ended: int
    arrivals: tuple[int, ...] = ()
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What the engine answered, assembled. Everything an engine says beyond the standard is in `extra`."""

    timing: Timing
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    done: bool = False
    """`[DONE]` was seen (for a non-streamed reply: the body was complete)."""
    fault: WireFault | None = None
    stopped_by_us: bool = False
    streamed: bool = True
    notes: tuple[ProtocolNote, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    """Merged top-level extras: `timings`, `metrics`, `sglext`, `system_fingerprint`, `model`, `id`, token ids."""
    reasoning_field: str | None = None
    """Which key carried the reasoning: `reasoning_content` or `reasoning`."""


OnDelta = Callable[[Delta], bool | None]
"""Called for every delta on the receiving loop; returning True ends the stream at once."""
