"""The native trace: what one recorded coding-agent session is made of.

A trace file is JSON lines: a header, then records in the order in which they happened. Items are immutable
and stored once; a turn names the items it was sent (its context) and the items it produced.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import Json, JsonObject, Wire

SCHEMA = 1

Provenance = Literal["recorded", "derived", "authored", "absent"]
Content = str | tuple[JsonObject, ...]
"""Text, or the parts of an OpenAI content list (text and images)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a trace came from. `sha256` is the hex digest of the source file."""

    format: str
    version: str | None = None
    sha256: str | None = None
    importer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How much of each aspect the source really held."""

    system: Provenance = "absent"
    tools: Provenance = "absent"
    text: Provenance = "absent"
    arguments: Provenance = "absent"
    timing: Provenance = "absent"
    usage: Provenance = "absent"
    boundaries: Provenance = "absent"
    """Where one LLM call ends and the next begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a trace file."""

    trace_id: str
    source: Source
    fidelity: Fidelity
    schema: int = SCHEMA
    agent: str | None = None
    title: str | None = None
    workspace: JsonObject | None = None
    """How to build the session's workspace: {"tar": FILE, "environment": NAME, "check": [ARGV]} and the like."""
    meta: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One immutable piece of a conversation. `id` is local to the file and grows."""

    id: int
    own: Json = None
    """The object that its client keeps and sends for it, where that has more keys than the dialect writes: null for a
    value that the item holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemItem(Item):
    text: str
    role: Literal["system", "developer"] = "system"
    cuts: tuple[int, ...] = ()
    """Where the second part of the text begins, and each one after it, where the source had several; a newline
    stands before each."""
    kind: Literal["system"] = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserItem(Item):
    content: Content
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantItem(Item):
    """Text that the model said."""

    text: str
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningItem(Item):
    """Text that the model thought. `opaque` keeps signatures and encrypted forms as recorded."""

    text: str
    opaque: Json = None
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallItem(Item):
    """`arguments` is the exact text; `parsed` its value, None where it does not parse."""

    call_id: str
    name: str
    arguments: str
    parsed: Json = None
    freeform: bool = False
    """The arguments are not JSON by design (Codex `apply_patch`)."""
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultItem(Item):
    call_id: str
    content: Content
    name: str | None = None
    is_error: bool = False
    kind: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionItem(Item):
    """A summary that stands for dropped items; sent to the model as a user message."""

    text: str
    kind: Literal["compaction"] = "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueItem(Item):
    """A record of the source that has no meaning here, kept so that nothing is lost."""

    record: Json
    kind: Literal["opaque"] = "opaque"


AnyItem = (
    SystemItem
    | UserItem
    | AssistantItem
    | ReasoningItem
    | ToolCallItem
    | ToolResultItem
    | CompactionItem
    | OpaqueItem
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a turn was sent: the first `keep` items of turn `base`'s context and output, then `append`.

    The output of the base turn counts as following its context. `base=None` makes `append` the full list.
    """

    append: tuple[int, ...]
    base: int | None = None
    keep: int = 0
    forms: tuple[tuple[int, str], ...] = ()
    """Where the exact request is known: how `append` was cut into messages, as (number of items, form).

    A form is the JSON of the message with `@N.field` in place of what item N of the message holds (a literal leading
    `@` is doubled); it keeps key order and extra keys. An empty form is the standard one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """`prompt_tokens` includes `cached_tokens`. None is unknown, never 0. `raw` is the source's own form."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Part of the prompt that was written to the cache, where the API bills it apart."""
    cached_by_tier: dict[str, int] | None = None
    """Of the cached tokens, those from the `device`, the `host` and a `remote` store, where the engine tells them apart."""
    raw: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds since the Unix epoch, where the source recorded them."""

    started: float | None = None
    first_token: float | None = None
    ended: float | None = None
    arrivals: tuple[int, ...] = ()
    """Microseconds from `started` to each delta with text, where the proxy recorded them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShape:
    """A turn of a token-only trace: lengths and the hashes of its prompt's blocks."""

    input_tokens: int
    output_tokens: int
    block_size: int
    block_hashes: tuple[int, ...] = ()
    """Equal ids are equal content. Whether an id also stands for all that is before it depends on the source."""
    tool_calls: int = 0
    """Calls that the reply made, where the source counts them."""
    failed_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How the client wrote the request's JSON: top-level keys in order (values are in `params`), and the spacing."""

    keys: tuple[str, ...]
    style: Literal["compact", "spaced", "compact-ascii", "spaced-ascii", "compact-html", "compact-python"] = (
        "compact"
    )
    wire: Wire = "chat"
    """The API that the request went over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One LLM call. `id` is local to the file and grows; `tool_set` names a ToolSet record."""

    id: int
    context: Context
    produced: tuple[int, ...]
    thread: str = "main"
    tool_set: str | None = None
    model: str | None = None
    params: JsonObject = field(default_factory=dict)
    usage: Usage | None = None
    times: Times | None = None
    finish_reason: str | None = None
    tokens: TokenShape | None = None
    body: Body | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """One tool as it was offered. `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: JsonObject
    strict: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """The tools that a turn offered, in the order in which they were sent."""

    id: str
    tools: tuple[ToolSchema, ...]
    wire: Json = None
    """The definitions as they were sent, where that is not the standard form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """How a call was executed when the trace was recorded: item ids, seconds since the epoch, outcome."""

    call: int
    result: int | None
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A line of turns: the main session, or a subagent started by item `parent_call` of thread `parent`."""

    id: str
    parent: str | None = None
    parent_call: int | None = None
    title: str | None = None


def plain(content: Content) -> str:
    """The text of a content, its parts joined; parts that are not text are left out."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in content)
    return "".join(part for part in parts if isinstance(part, str))
