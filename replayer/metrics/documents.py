"""The documents of a report as types. Field names are the keys of `report --json`; None is unknown, never 0.

They become dictionaries only where JSON is written (`orjson` writes dataclasses as they are).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of `n` events with its Wilson interval; `value` is None where `n` is 0."""

    value: float | None
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of `n` values, in the unit of the key."""

    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Speed(Quantiles):
    """`value`: all tokens over all their time. The quantiles are over turns."""

    value: float | None


@dataclass(frozen=True, slots=True)
class ToolCalls:
    total: int
    invalid: int
    executed: int
    failed_execution: int | None
    """None where no call was executed."""
    outcomes: dict[str, int]
    divergent_results: int | None
    loops: int


@dataclass(frozen=True, slots=True)
class TurnAt:
    """A turn as people count: from 1. `onset` is the character where a repetition begins."""

    trace: str
    repeat: int
    turn: int
    onset: int | None


@dataclass(frozen=True, slots=True)
class Repetition:
    """`precision` comes from the turns whose alarm was left running, and from those alone."""

    collapsed_turns: int
    rate: Rate
    stopped_turns: int
    wasted_tokens: int
    """Generated after the onset; of a turn that was left running, to the end of its reply."""
    saved_tokens_at_most: int | None
    """What the limits of the stopped turns still allowed; None where one had no limit."""
    precision: Rate
    observed_turns: int = 0
    """Collapsed turns whose alarm was left running."""
    first: TurnAt | None = None
    """Where it happened first, in the order of sessions."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Shares of the prompts of one turn number, pooled over sessions."""

    turn: int
    ideal: float | None
    reported: float | None


@dataclass(frozen=True, slots=True)
class LostTokens:
    """What was computed again, and at least how long that took."""

    tokens: int
    ms: float | None


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """Shares of prompt tokens: what could have been reused, and what the engine reports. `evicted` is what could have
    been on top, had the KV pool no limit."""

    ideal: float | None
    evicted: float | None
    reported: float | None
    source: str | None
    cause: str | None
    causes: dict[str, int]
    curve: list[CurvePoint]
    verdict: str | None
    range: tuple[float, float] | None = None
    """Between which the best possible lies: overlapping requests, and tokens that are estimated."""
    evidence: list[str] = field(default_factory=list)
    cost: LostTokens | None = None
    """Of the chief cause."""
    fix: str | None = None
    above: float | None = None
    """Share reused beyond the range: the cache was warm before the run, or the estimate is low."""
    pressure: JsonObject | None = None
    """The pool is too small for the sessions in flight: the facts, and `sentence`."""
    counted: str | None = None
    """"in N of M turns" where many turns have no cached tokens: a stream that was stopped ends without its usage."""

    @property
    def possible(self) -> float | None:
        """The best possible; what was reused was possible, where the estimate ends a little below it."""
        low = self.above is None and self.ideal is not None and self.reported is not None
        return max(self.ideal or 0.0, self.reported or 0.0) if low else self.ideal


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that keep every limit (Zhong et al., DistServe, OSDI 2024), and those of them whose turns were usable too."""

    limits: dict[str, float]
    met: Rate
    requests_per_s: float | None
    usable: Rate
    usable_per_s: float | None


@dataclass(frozen=True, slots=True)
class Tail:
    """TTFT p99 over p50; None where too few requests were made."""

    ratio: float | None
    flagged: bool | None


@dataclass(frozen=True, slots=True)
class Load:
    """What a lane delivers under load. Rates are per second of `busy_s`, the time with a request in flight."""

    concurrency: int
    requests: int
    in_flight: float | None
    busy_s: float
    requests_per_s: float | None
    output_tok_s: float | None
    ttft_ms: Quantiles
    tpot_ms: Quantiles
    e2e_ms: Quantiles
    error_rate: Rate | None
    goodput: Goodput | None
    tail: Tail
    exact_prompts: Rate | None
    exact_answers: Rate | None
    schema_valid: Rate | None


@dataclass(frozen=True, slots=True)
class Slice:
    """Some turns of a lane: of a stretch of time, of a place in the session, of a prompt length. `alive` are the sessions
    alive in the mean, `requests_per_s` and `output_tok_s` per second of the stretch: None for other slices."""

    of: str
    turns: int
    usable_turn_rate: Rate
    error_rate: Rate
    within_limits: Rate | None
    ttft_ms: Quantiles
    tpot_ms: Quantiles
    decode_tok_s: float | None
    prefix_reuse: float | None
    prefix_ideal: float | None
    alive: float | None = None
    requests_per_s: float | None = None
    output_tok_s: float | None = None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When sessions started, held against when they were asked to. `distance` is Kolmogorov's: of the gaps to the asked
    distribution where they come at random (by chance over `critical` in 1 of 20 runs), else of the times to the asked times,
    of which those within 10 ms are equal."""

    asked: str
    n: int
    per_s: float | None
    late_ms: Quantiles
    distance: float | None
    critical: float | None


@dataclass(frozen=True, slots=True)
class Steady:
    """A load and its steady window: the time in which at least 90 % of the sessions asked for were alive. Times in seconds
    since the load began; a turn belongs to the window by when it was sent, a token by when it came."""

    sessions: int | None
    outcome: str | None
    cache_reset: str
    load_s: float
    window: list[tuple[float, float]]
    window_s: float
    alive: list[tuple[float, int]]
    alive_mean: float | None
    started: int
    ended: int
    """Sessions that came to their own end."""
    arrivals: Arrivals
    load: Load
    """Over the window alone."""
    over_time: list[Slice]
    by_turn: list[Slice]
    by_prompt: list[Slice]


@dataclass(frozen=True, slots=True)
class Tokens:
    prompt: int | None
    cached: int | None
    cached_by_tier: dict[str, int] | None
    """By `device`, `host` and `remote`, over the turns whose reply names them."""
    completion: int | None
    computed_turns: int
    unknown_turns: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Share of drafted tokens that were accepted. `length`: tokens per verification step, the sure one included."""

    rate: float | None
    length: float | None
    per_position: list[float] | None
    source: str
    shared_with: tuple[str, ...] = ()
    """Other lanes on the same server, where the figure is the server's: its counters are of all of them."""


@dataclass(frozen=True, slots=True)
class KvPool:
    pool_tokens: int | None
    peak_used: float | None


@dataclass(frozen=True, slots=True)
class LaneFigures:
    """One lane of `report --json`. `figures` holds every figure of the catalogue by its key."""

    lane: str
    kind: str
    model: str | None
    wire: str | None
    """The API that its turns went over; several, where traces were recorded on several, with a plus."""
    sessions: int
    """That came to their own end."""
    turns: int
    """That an engine answered or broke off."""
    usable_turn_rate: Rate
    tool_calls: ToolCalls
    faults: dict[str, int]
    fatal_faults: dict[str, int]
    blames: dict[str, int]
    faults_by_blame: dict[str, dict[str, int]]
    repetition: Repetition
    prefix_cache: PrefixCache
    stamped_by: dict[str, int]
    ttft_ms: Quantiles
    itl_ms: Quantiles
    tpot_ms: Quantiles
    e2e_ms: Quantiles
    decode_tok_s: Speed
    server_decode_tok_s: Quantiles | None
    prefill_tok_s: Speed
    load: Load
    tokens: Tokens
    acceptance: Acceptance | None
    bands: list[JsonObject]
    band_fit: JsonObject | None
    server: JsonObject | None
    kv: KvPool | None
    facts: JsonObject
    errors: dict[str, int]
    retries: int
    substituted_turns: int
    finished_sessions: Rate | None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    partial_sessions: int = 0
    """Sessions of which only some turns have finished; those turns are counted."""
    missing_sessions: int = 0
    """Planned sessions that did not come to their end, the partial ones among them."""
    outlier: str | None = None
    """One reply that makes the decode speed, in words."""
    stalled_turns: int = 0
    """Turns during which this machine was late to read: left out of every time."""
    deltas_per_chunk: float | None = None
    """Deltas that came together; over 1, the time between tokens is that between chunks."""
    steady: Steady | None = None
    """Of a lane on which sessions were kept alive."""
    by_turn: list[Slice] = field(default_factory=list)
    by_prompt: list[Slice] = field(default_factory=list)
    unreached_turns: int = 0
    """Requests that reached no engine: among `errors`, and in no other figure."""


def number_at(lane: LaneFigures, path: str) -> float | None:
    """The number at a path of a lane's document; counts by kind are summed."""
    value: object = lane
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
    if isinstance(value, Mapping):
        return float(sum(count for count in value.values() if isinstance(count, int | float)))
    return float(value) if isinstance(value, int | float) else None
