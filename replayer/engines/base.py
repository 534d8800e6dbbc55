"""What replayer asks of an engine adapter. Every answer can be unknown (None); unknown is never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from replayer.lazy import dataclass
from replayer.traces.schema import Usage
from replayer.wire.counts import count
from replayer.wire.types import JsonObject, WireFault

if TYPE_CHECKING:
    import httpx

Sampling: TypeAlias = Mapping[str, tuple[str, ...]]
"""Names of sampling fields, with the JSON types that a kind of engine takes for each."""
Tristate = Literal["yes", "no", "unknown"]


@cache
def origin(url: str) -> str:
    """What distinguishes servers: scheme, host and port."""
    parts = urlsplit(url)
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


_LONGEST_WORD, _MOST_MODELS = 1000, 4096
_SETTINGS = {"weights": str, "lora": list, "speculation": dict, "slots": int}
"""Those that are read by their type; of the others any value is shown."""


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST_WORD else None


def _is_setting(key: str, value: object) -> bool:
    return isinstance(value, _SETTINGS.get(key, object)) and len(str(value)) <= _LONGEST_WORD


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What a server says of itself. `effective` holds settings the server reports (layout, KV dtype, pools, flags)."""

    kind: str
    base_url: str
    version: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    context_length: int | None = None
    kv_pool_tokens: int | None = None
    block_size: int | None = None
    promises_done: bool | None = None
    """This kind always ends a stream with `[DONE]`."""
    promises_usage: bool | None = None
    effective: JsonObject = field(default_factory=dict)
    features: dict[str, Tristate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A server may say anything: what is of another type, or larger than such a value is, counts as not said."""
        for name in ("version", "model"):
            object.__setattr__(self, name, _word(getattr(self, name)))
        for name in ("context_length", "kv_pool_tokens", "block_size"):
            object.__setattr__(self, name, count(getattr(self, name)) or None)
        object.__setattr__(self, "models", tuple(filter(_word, self.models[:_MOST_MODELS])))
        sound = {key: value for key, value in self.effective.items() if _is_setting(key, value)}
        object.__setattr__(self, "effective", sound)


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySample:
    """One reading of an engine's metrics in common words. Counters are cumulative since the server's start."""

    at: float
    """Seconds, monotonic clock of the runner."""
    prompt_tokens: float | None = None
    cached_tokens: float | None = None
    prefix_queries: float | None = None
    """Denominator of the prefix-cache hit counter, in tokens."""
    generated_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    preempted: float | None = None
    """Requests that lost their place in the KV pool and were computed anew (SGLang: retracted)."""
    evicted_tokens: float | None = None
    kv_used: float | None = None
    """Share of the KV pool in use, 0..1."""
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    accepted_per_position: tuple[float, ...] | None = None
    cached_device_tokens: float | None = None
    """Of the cached tokens, those that the accelerator itself still had, where the engine counts its tiers apart."""
    cached_host_tokens: float | None = None
    cached_remote_tokens: float | None = None
    """From a store beyond host memory."""
    external_cached_tokens: float | None = None
    """From behind vLLM's connector (LMCache, offloading): host memory or a remote store, which it does not say."""
    gauges: dict[str, float] = field(default_factory=dict)
    """Engine gauges with no common word, under their own names."""


class Engine(Protocol):
    """Adapter of one kind of engine at one base URL. Holds what is particular to it; streaming is not."""

    kind: str
    base_url: str
    """Without a login: what may be shown and written down."""
    dial_url: str
    """Where requests go: with the user name and password that the URL was given with."""
    sampling_fields: Sampling | None
    """Accepted in a request; None where the kind does not say (then fields are sent with one warning)."""
    http: httpx.AsyncClient
    model: str | None
    """The model that is asked for, where one is chosen: a metrics page may hold the figures of several."""

    async def facts(self) -> EngineFacts: ...

    @property
    def silence_is_unclear(self) -> bool:
        """Whether a reply without cached tokens may have had none, or comes from an engine that reports none."""

    def usage(self, usage: JsonObject | None, extra: JsonObject) -> Usage | None:
        """Normalise the usage object of a final chunk; None when the engine reported none."""

    def fault(self, status: int, body: str) -> WireFault:
        """Map an HTTP error to its kind, keeping the engine's own words."""

    def request_fields(self) -> JsonObject:
        """Fields to add to each request for better truth (`stream_options`, `return_token_ids`, …)."""

    def isolation(self, salt: str) -> JsonObject:
        """Request fields that keep one session's prefix cache from another's, or {} where the kind has none."""

    async def telemetry(self) -> TelemetrySample | None: ...

    async def reset_cache(self) -> Tristate:
        """Ask for an empty prefix cache: done, refused, or unknown."""

    async def tokenize(self, messages: list[JsonObject], tools: list[JsonObject] | None) -> list[int] | None:
        """Token ids of the rendered prompt, where the engine offers them."""

    async def aclose(self) -> None: ...
