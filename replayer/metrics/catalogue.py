"""Every figure once: key, words, unit, which way is better, value of a turn, how turns are pooled, how it is explained.

Report, comparison, `--fail-if`, table, CSV, Markdown, HTML legend and screen read this; nothing else computes or names a
figure. Two ways of pooling:

- A *ratio* is the sum of its numerators over the sum of its denominators: tokens over tokens, tokens over seconds.
  A mean of the turns' own ratios would let a prompt of 50 tokens weigh as much as one of 50,000, and a reply of three
  tokens decide a speed.
- A *quantile* is read off all values of all turns, by linear interpolation between order statistics (type 7 of Hyndman
  and Fan 1996). It is the rule of numpy and so of vLLM's `bench serve`, AIPerf and guidellm: the same samples give the
  same figure there. Times between tokens are counted in bins of 1 %, read by the same rule.

A time has no mean here: one first answer of 91 s moves it beside a median of 142 ms. A condition on a time names its
quantile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.metrics import turn_values as of
from replayer.metrics.documents import Better, LaneFigures, number_at
from replayer.metrics.turn_values import Count
from replayer.text import nearest

Unit = Literal["points", "ms", "s", "tok/s", "requests/s", "tokens", "J", ""]
if TYPE_CHECKING:
    from replayer.journal.turns import TurnFacts
PRIMARY = "usable_turn_rate"
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
PLACES = {"p50": "median", "p90": "90th percentile", "p95": "95th percentile", "p99": "99th percentile"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure. `ratio` or (`share` with `time`) says how turns are pooled; a figure with neither stands in the
    lane's document under `path` and is not compared between lanes."""

    key: str
    label: str
    """In tables and gate messages."""
    words: str
    """In a sentence."""
    unit: Unit
    better: Better | None
    path: str
    """Where it stands in a lane of `report --json`."""
    explained: str
    ratio: Callable[[TurnFacts], Count | None] | None = None
    share: float | None = None
    time: Callable[[TurnFacts], float | None] | None = None
    """None for times between tokens, which only whole sessions keep."""
    counted: str = "turns"
    """What the denominator counts."""
    judged: bool = False
    """Only over turns that the prefix signal has judged, where it has judged any: in a run that goes on, the newest wait."""
    drifts: bool = False
    """It moves with the machine and the server from one run to the next, so that between runs the run is the cluster."""
    least: float = 0.0
    """A smaller difference says nothing of an engine: it is `least_is`."""
    least_is: str = ""

    @property
    def compared(self) -> bool:
        return self.ratio is not None or self.share is not None

    @property
    def is_rate(self) -> bool:
        """A share of counted events."""
        return self.unit == "points" and self.counted != "tokens"

    def read(self, lane: LaneFigures) -> float | None:
        """Its value in a lane's document."""
        return number_at(lane, self.path)


def _ratio(
    key: str, words: str, better: Better, ratio: Callable[[TurnFacts], Count | None], path: str, explained: str, *,
    label: str | None = None, unit: Unit = "points", counted: str = "turns", drifts: bool = False, judged: bool = False,
    least: float = 0.0, least_is: str = "",
) -> Metric:  # fmt: skip
    return Metric(
        key=key, label=label or words, words=words, unit=unit, better=better, path=path, explained=explained,
        ratio=ratio, counted=counted, drifts=drifts, judged=judged, least=least, least_is=least_is,
    )  # fmt: skip


def _count(
    key: str, words: str, path: str, explained: str, unit: Unit = "", better: Better | None = "lower"
) -> Metric:
    return Metric(key=key, label=words, words=words, unit=unit, better=better, path=path, explained=explained)


_TIMES: tuple[tuple[str, str, str, Callable[[TurnFacts], float | None] | None, str], ...] = (
    ("ttft_ms", "TTFT", "time to first token", of.ttft_ms,
     "our clock, from sending the request to the first delta with text, reasoning or a call"),
    ("itl_ms", "ITL", "time between tokens", None,
     "our clock, between deltas with text; with several tokens per chunk it is the time between chunks"),
    ("tpot_ms", "TPOT", "time per output token", of.tpot_ms,
     "time per output token after the first: (whole time - first token) / (tokens - 1), each reply apart"),
    ("e2e_ms", "whole reply", "time of a whole reply", of.e2e_ms,
     "our clock, from sending the request to the end of the stream; replies that were stopped or broke off are left out"),
)  # fmt: skip


CLOCK_MS = 1.0
"""Of a time from sending to receiving: the 99th percentile that `benchmarks/run.py` must hold against true stamps."""


def _times() -> list[Metric]:
    return [
        Metric(
            key=f"{name}.{place}", label=f"{label} {place}", words=f"{words} ({PLACES[place]})", unit="ms", better="lower",
            path=f"{name}.{place}", explained=explained, share=share, time=time, drifts=True,
            least=CLOCK_MS if name in ("ttft_ms", "e2e_ms") else 0.0, least_is=f"the error of this clock, {CLOCK_MS:g} ms",
        )
        for name, label, words, time, explained in _TIMES
        for place, share in SHARES.items()
    ]  # fmt: skip


_SPEED = (
    "tokens after the first over the time from it to the end of the stream, over all replies together; the first is that "
    "of the first delta or, where a call's markup was held back, of the chunk that opens the stream; a reply that came at "
    "once has none"
)
_METRICS = [
    _ratio(PRIMARY, "usable turns", "higher", of.usable, "usable_turn_rate.value",
           "a turn is usable when every call is valid, or there is none and the answer is not empty, and it neither "
           "collapsed nor was cut; interval: Wilson 95 %"),
    _ratio("invalid_call_rate", "invalid tool calls", "lower", of.invalid_calls, "figures.invalid_call_rate",
           "tool calls with a fatal fault, checked here against the JSON Schema sent with the request", counted="tool calls"),
    _ratio("failed_call_rate", "failed executions", "lower", of.failed_calls, "figures.failed_call_rate",
           "tool calls that were executed in a sandbox and failed", counted="tool calls"),
    _ratio("collapsed_rate", "collapsed turns", "lower", of.collapsed, "repetition.rate.value",
           "turns that repeated themselves, by our own detector on the streamed text"),
    _ratio("error_rate", "engine errors", "lower", of.failed, "figures.error_rate",
           "turns that ended in an error of the engine or its connection"),
    _ratio("schema_valid_rate", "answers valid by schema", "higher", of.schema_valid, "load.schema_valid.value",
           "answers that keep the response schema that the request asked for"),
    _ratio("prefix_hit_rate", "prefix cache hits", "higher", of.cached, "prefix_cache.reported",
           "cached tokens over prompt tokens, as the engine reports them; best possible: the longest prefix shared with "
           "what the lane had seen, in whole blocks", counted="tokens", drifts=True, judged=True, least=0.01,
           least_is="what block sizes and templates make, 1 point"),
    _ratio("decode_tok_s", "decode speed", "higher", of.decoded, "decode_tok_s.value", _SPEED,
           label="decode tok/s", unit="tok/s", counted="tokens", drifts=True),
    _ratio("prefill_tok_s", "prefill speed", "higher", of.prefilled, "prefill_tok_s.value",
           "prompt tokens not taken from the cache over the time to the engine's first token, over all replies together",
           label="prefill tok/s", unit="tok/s", counted="tokens", drifts=True),
    _ratio("acceptance_rate", "draft acceptance", "higher", of.accepted, "acceptance.rate",
           "accepted over drafted tokens: the engine's counts per request where it gives them, else its metrics over the run",
           counted="tokens"),
    *_times(),
    _count("sessions", "sessions", "sessions", "sessions that came to their own end", better=None),
    _count("turns", "turns", "turns", "turns that an engine answered or broke off", better=None),
    _count("tool_calls", "tool calls", "tool_calls.total", "tool calls in all replies", better=None),
    _count("invalid_calls", "invalid tool calls", "tool_calls.invalid", "tool calls with a fatal fault"),
    _count("executed_calls", "executed calls", "tool_calls.executed", "calls run in a sandbox", better=None),
    _count("failed_executions", "failed executions", "tool_calls.failed_execution", "calls run in a sandbox that failed"),
    _count("collapsed_turns", "collapsed turns", "repetition.collapsed_turns", "turns that repeated themselves"),
    _count("wasted_tokens", "wasted tokens", "repetition.wasted_tokens",
           "tokens after the onset of a collapse: to the alarm where we stopped the stream (characters over four), to the "
           "end of the reply where it was left running", "tokens"),
    _count("errors", "engine errors", "errors", "turns that ended in an error, over all kinds"),
    _count("prompt_tokens", "tokens in", "tokens.prompt", "prompt tokens by the engine's usage", "tokens", None),
    _count("completion_tokens", "tokens out", "tokens.completion", "completion tokens by the engine's usage", "tokens", None),
    _count("prefix_ideal", "best possible prefix reuse", "prefix_cache.ideal",
           "the longest prefix shared with what the lane had seen, in whole blocks, over prompt tokens", "points", None),
    _count("prefix_evicted", "evicted first", "prefix_cache.evicted",
           "what a pool without limit would still have held, over prompt tokens", "points"),
    _count("acceptance_length", "tokens per draft", "acceptance.length", "tokens per verification step", better="higher"),
    _count("deltas_per_chunk", "deltas per chunk", "deltas_per_chunk",
           "deltas that came together; over 1, the time between tokens is that between chunks", better=None),
    _count("output_tok_s", "output tok/s of a lane", "load.output_tok_s",
           "over the time in which at least one of its requests was in flight", "tok/s", "higher"),
    _count("requests_per_s", "requests/s", "load.requests_per_s",
           "over the time in which at least one of its requests was in flight", "requests/s", "higher"),
    _count("goodput", "goodput", "load.goodput.requests_per_s",
           "requests per second that kept every limit of the plan's slo (DistServe, OSDI 2024)", "requests/s", "higher"),
    _count("goodput_share", "requests within limits", "load.goodput.met.value",
           "share of the requests that kept every limit of the plan's slo", "points", "higher"),
    _count("usable_goodput", "goodput of usable turns", "load.goodput.usable_per_s",
           "requests per second that kept every limit of the plan's slo and whose turn was usable", "requests/s", "higher"),
    _count("usable_goodput_share", "usable requests within limits", "load.goodput.usable.value",
           "share of the requests that kept every limit of the plan's slo and whose turn was usable", "points", "higher"),
    _count("steady_window", "steady window", "steady.window_s",
           "time in which at least 90 % of the sessions asked for were alive, after the load's warm-up; dips under a second "
           "are part of it", "s", None),
    _count("alive_sessions", "sessions alive", "steady.alive_mean", "mean over the steady window", better=None),
    _count("steady_output_tok_s", "output tok/s, steady", "steady.load.output_tok_s",
           "tokens that came within the steady window over its length; a reply's tokens are spread evenly from its first delta "
           "to its end", "tok/s", "higher"),
    _count("steady_requests_per_s", "requests/s, steady", "steady.load.requests_per_s",
           "replies that ended within the steady window over its length", "requests/s", "higher"),
    _count("arrival_distance", "distance of arrivals", "steady.arrivals.distance",
           "Kolmogorov distance of the sessions' starts to the process that was asked for"),
    _count("finished_sessions", "sessions finished", "finished_sessions.value",
           "live sessions whose check passed, of those that ran to their end", "points", "higher"),
    _count("kv_peak", "KV cache peak", "kv.peak_used", "the engine's own gauge, read while the run went on", "points"),
    _count("kv_pool", "KV pool", "kv.pool_tokens", "tokens that the engine's KV cache holds", "tokens", None),
]  # fmt: skip

METRICS = {metric.key: metric for metric in _METRICS}
COMPARED = {metric.key: metric for metric in _METRICS if metric.compared}
FAMILIES = tuple(name for name, *_ in _TIMES)
"""Times: a figure of one names its quantile."""

DEFAULT = (
    PRIMARY, "invalid_call_rate", "failed_call_rate", "collapsed_rate", "error_rate", "prefix_hit_rate",
    "ttft_ms.p50", "ttft_ms.p95", "itl_ms.p50", "decode_tok_s",
)  # fmt: skip
"""What report, `compare` and screen compare unasked: the same family everywhere, so that all decide the same. The more
is tested, the less can be decided."""


def resolve(key: str, *, among: dict[str, Metric] = METRICS) -> Metric:
    """Raises PlanError that names the choices: for a time its quantiles, else the nearest key."""
    if key in among:
        return among[key]
    family = key.partition(".")[0]
    if family in FAMILIES:
        choices = ", ".join(f"{family}.{place}" for place in SHARES)
        raise PlanError(f"{key!r} does not name a quantile: choose one of {choices}")
    raise PlanError(f"no figure {key!r}{nearest(key, among)}")
