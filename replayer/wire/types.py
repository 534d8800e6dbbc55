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
    "too_large",
]
"""Closed set of ways in which an engine can fail a request (adapters map their own words to it)."""


Json = Any
"""A JSON value as `orjson.loads` gives it."""

JsonObject = dict[str, Json]
"""A JSON object as `orjson.loads` gives it: what stands in it is known to who wrote it."""

Wire = Literal["chat", "messages", "responses"]
"""The API that a request goes over: OpenAI's Chat Completions, Anthropic's Messages, OpenAI's Responses."""

WIRES: tuple[Wire, ...] = ("chat", "messages", "responses")
PATHS: dict[Wire, str] = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
"""Where each wire is served, behind the base URL."""
END_OF: dict[Wire, str] = {"chat": "[DONE]", "messages": "message_stop", "responses": "response.completed"}
"""The event that ends a stream of each wire."""

StampClock = Literal["kernel", "client", "mixed"]
"""Who stamped the bytes of a reply: the kernel as they came in, or the client as it read them."""

NoteCode = Literal[
    "arguments_object",  # a call's arguments came as JSON, not as a string: its exact text is unknown
    "arguments_before_name",  # argument text of a call that had no name yet
    "bad_event",  # an event that is not a JSON object
    "bad_field",  # a field of another type than the protocol gives it; what it held is lost
    "block_index_gap",  # a content block under another index than the next: clients find blocks by their place
    "block_not_stopped",  # the reply ended while a content block was open
    "blocks_overlap",  # a content block began before the one before it was stopped
    "call_before_role",  # a call before any delta that names the role
    "call_not_streamed",  # a call that only the final object holds: a client that reads the events never sees it
    "changed_id",  # a later delta of the same call bears another id; the first one is kept
    "content_parts",  # content as a list of parts; their text is joined
    "data_after_done",  # an event after [DONE]; it is ignored
    "delta_after_finish",  # text or a call after the finish reason
    "delta_after_stop",  # a delta for a content block or item that was already closed
    "delta_type",  # a delta of another type than its content block or item
    "delta_without_block",  # a delta for a content block or item that never began
    "duplicate_id",  # two calls with the same id
    "final_differs",  # the final object is not the sum of the deltas
    "final_id_differs",  # a call has another id in the final object than in all of its events
    "index_out_of_order",  # calls appear in another order than 0, 1, 2, ...
    "invalid_utf8",  # bytes that are not UTF-8; replaced by U+FFFD
    "item_id_changed",  # an output item has one id in the events and another in the final object
    "item_not_added",  # an output item that was done and never announced
    "item_not_done",  # an output item that no `output_item.done` closed
    "legacy_function_call",  # `function_call` instead of `tool_calls`
    "late_start",  # an event of the reply before `message_start`
    "lone_surrogate",  # an escape that is half a character; replaced by U+FFFD
    "merged_arguments",  # the arguments of two calls, one behind the other, in one block
    "missing_id",  # a call with no id, or a null or empty one
    "missing_index",  # a call delta without an index
    "missing_name",  # a call that never got a name
    "no_arguments",  # a call whose block was closed without any delta: its arguments were cut, or lost on the way
    "no_deltas",  # a stream that carried the whole reply in its last event: it has no time to first token
    "no_finish_reason",  # the stream ended properly, but no choice said why
    "not_json",  # valid for Python only: NaN or Infinity outside a string
    "other_choice",  # text for a choice that was not asked for; it is ignored
    "other_mode",  # a stream where none was asked for, or the other way round
    "repeated_block",  # a content block or item began under an index already in use
    "repeated_index",  # another call under an index already in use; id or name distinguished them
    "repeated_name",  # the name again in a later delta of the same call
    "repeated_start",  # a second `message_start`
    "sequence_gap",  # sequence numbers that do not follow each other
    "split_name",  # the name in pieces; they are joined
    "unknown_event",  # an event that the protocol does not have; kept in `extra["unknown_events"]` and counted
    "usage_zero",  # a usage object of zeros: not reported, so it counts as unknown
    "two_reasonings",  # `reasoning_content` and `reasoning` in one delta; only the first is kept
]


class Delta(NamedTuple):
    """One piece of a reply, or `pieces` that came together. `at` is a monotonic clock in nanoseconds, taken when its
    bytes arrived.

    `call_index` is the position of the call in `Reply.tool_calls`.
    """

    at: int
    channel: Channel
    text: str
    call_index: int = -1
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """One request to send. `body` is the exact JSON in pieces, so that shared history is never copied."""

    body: Sequence[bytes | memoryview]
    stream: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    wire: Wire = "chat"
    entries: slice | None = None
    """Where in the body the list of its messages lies, without the brackets; None where that is not known."""

    @property
    def content_length(self) -> int:
        return sum(len(piece) for piece in self.body)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the engine delivered it; `arguments` is the exact text of all its deltas joined.

    `index` is its position in `Reply.tool_calls`, the order in which calls first appeared.
    """

    index: int
    id: str | None
    name: str | None
    arguments: str
    freeform: bool = False
    """The arguments are text by design, not JSON (custom tools of the Responses API)."""


_LONGEST = 4000
"""Characters of a fault's message: servers have sent megabytes."""


@dataclass(frozen=True, slots=True)
class WireFault:
    """Why there is no complete reply. `message` keeps the engine's own words as far as anybody reads them, `status` its HTTP
    status."""

    kind: FaultKind
    message: str
    status: int | None = None
    body: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", self.message[:_LONGEST])


@dataclass(frozen=True, slots=True)
class ProtocolNote:
    """A breach of the streaming protocol that did not stop assembly, e.g. `delta_after_finish`."""

    code: NoteCode
    message: str
    call_index: int | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Monotonic nanoseconds of one exchange, without the time that connecting took.

    `arrivals` are offsets from `sent` of every event that carried text or a call (one event may hold several
    deltas); () for a reply that was not streamed.
    """

    sent: int
    """When the first byte of the last attempt's request was written."""
    headers: int | None
    first_token: int | None
    """First delta that carries content, reasoning or a tool call: never headers, never a role delta.

    None where no token came and where the reply was not streamed.
    """
    ended: int
    began: int | None = None
    """The chunk that opened a stream and carried nothing: a role, or `message_start`."""
    arrivals: tuple[int, ...] = ()
    retries: int = 0
    stamped_by: StampClock = "client"
    late_ns: int | None = None
    """How late the bytes were read at worst, by the kernel's stamps; None where it gave none."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the engine answered, assembled. Everything an engine says beyond the standard is in `extra`."""

    timing: Timing
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: JsonObject | None = None
    """By the names of chat, whatever the wire: `prompt_tokens` includes cached ones. The other wires' own object is
    `extra["usage"]`."""
    done: bool = False
    """The wire's own end was seen: `[DONE]`, `message_stop`, `response.completed` (for a non-streamed reply: the
    body was complete)."""
    fault: WireFault | None = None
    stopped_by_us: bool = False
    streamed: bool = True
    notes: tuple[ProtocolNote, ...] = ()
    extra: JsonObject = field(default_factory=dict)
    """What the engine said beyond content, calls, finish reason and usage: `id`, `model`, `timings`, `metrics`,
    `sglext`, `system_fingerprint`, `stop_reason`, token ids. The last value wins, null never does; `token_ids` and
    the lists in `logprobs` are joined over all chunks."""
    reasoning_field: str | None = None
    """Which key carried the reasoning: `reasoning_content` or `reasoning`."""
    wire: Wire = "chat"
    output: tuple[JsonObject, ...] = ()
    """The reply as its wire states it, in order, and as a client sends it back: the content blocks of Messages,
    the output items of Responses. () on chat."""


OnDelta = Callable[[Delta], bool | None]
"""Called for every delta; returning True ends the stream at once."""

OnDeltas = Callable[[list[Delta]], bool]
"""Called with what came together, pieces of one channel joined; returning True ends the stream at once."""


def each(on_delta: OnDelta) -> OnDeltas:
    """One call for each delta, up to the first that ends the stream."""
    return lambda deltas: any(on_delta(delta) for delta in deltas)
