"""A page of the run's counts and times for Prometheus, fed from what is journalled, while the run goes on.

The receiving process knows nothing of it. Names of times and tokens are those of the OpenTelemetry GenAI conventions as
Prometheus writes them; what they have no name for begins with `replayer_`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from replayer.errors import ReplayerError
from replayer.journal.events import (
    Alarm,
    AnyEvent,
    LaneReady,
    SessionFinished,
    SessionStarted,
    ToolRunFinished,
    TurnEvent,
    TurnFinished,
    VerdictGiven,
)
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_SECONDS = tuple(0.01 * 2**power for power in range(14))
_TOKENS = tuple(float(4**power) for power in range(14))
_CALLS = tuple(float(2**power) for power in range(12))
"""Upper bounds as the conventions fix them; of calls, doubling."""
GENAI = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "error.type",
    "gen_ai.token.type",
)
"""Attributes of the conventions; as labels their dots are `_`."""
_SEEN: dict[str, tuple[str, str, tuple[float, ...], str, tuple[str, ...]]] = {
    "turn": ("gen_ai.client.operation.duration", "s", _SECONDS, "Whole time of a turn's exchange.", ("error.type",)),
    "first": ("gen_ai.client.operation.time_to_first_chunk", "s", _SECONDS, "Until the first delta of a reply.", ()),
    "tool": ("gen_ai.execute_tool.duration", "s", _SECONDS, "Time of an executed call.", ("error.type",)),
    "session": ("gen_ai.invoke_agent.duration", "s", _SECONDS, "Whole time of a session.", ()),
    "tokens": ("gen_ai.client.token.usage", "{token}", _TOKENS, "Tokens of a turn.", ("gen_ai.token.type",)),
    "turns": ("gen_ai.invoke_agent.inference_calls", "{call}", _CALLS, "Turns of a session.", ()),
    "calls": ("gen_ai.invoke_agent.tool_calls", "{call}", _CALLS, "Tool calls of a session.", ()),
}  # fmt: skip
"""Histograms of the conventions: name and unit there, bounds, words, and labels beside those that all have."""
_TOTAL: dict[str, tuple[str, ...]] = {
    "judged": ("judged_turns", "Turns that have a verdict."),
    "usable": ("usable_turns", "Turns whose reply is usable."),
    "calls": ("tool_calls", "Tool calls by their worst fault, none where valid.", "fault", "blame"),
    "faults": ("turn_faults", "Faults of turns that belong to no call.", "fault", "blame"),
    "collapsed": ("collapsed", "Turns that fell into repetition."),
}
_NOW = (
    ("sessions_live", "Sessions that are being replayed."),
    ("loop_lag_seconds", "How late the receiver was at worst during the lane's newest turn."),
)
OnEvent = Callable[[AnyEvent], None]


class _Open(NamedTuple):
    lane: str
    at: int


class MetricsPage:
    """Takes events in order; the registry is read by another thread."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # late: 50 ms of a start
        from prometheus_client.metrics import disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry: CollectorRegistry = CollectorRegistry()
        registry = self.registry
        self.conventions: dict[str, tuple[str, str]] = {}
        """Name and unit in the conventions, by the name on the page."""

        self._seen: dict[str, Histogram] = {}
        for key, (name, unit, bounds, words, more) in _SEEN.items():
            plain = name.replace(".", "_") + ("_seconds" if unit == "s" else "")
            self.conventions[plain] = name, unit
            labels = ["lane", *(label.replace(".", "_") for label in (*GENAI[:3], *more))]
            self._seen[key] = Histogram(plain, words, labels, buckets=bounds, registry=registry)
        self._total = {
            key: Counter(f"replayer_{name}_total", words, ("lane", *labels), registry=registry)
            for key, (name, words, *labels) in _TOTAL.items()
        }
        self._live, self._lag = (
            Gauge(f"replayer_{name}", words, ("lane",), registry=registry) for name, words in _NOW
        )
        self._lanes: dict[str, tuple[str, str]] = {}
        self._open: dict[tuple[str, int], _Open] = {}
        self._made: dict[tuple[str, int], list[int]] = {}
        """Turns and calls of each live session."""
        self._indices: dict[tuple[str, int, int], list[int]] = {}
        """Calls of each turn that has no verdict yet."""

    def event(self, event: AnyEvent) -> None:
        if (
            isinstance(event, TurnEvent | SessionFinished)
            and (event.session, event.attempt) not in self._open
        ):
            return  # a late word on a session that is over must not end the run
        match event:
            case LaneReady():
                self._lanes[event.lane] = event.kind, event.model or ""
                totals = (self._total[key] for key in ("judged", "usable", "collapsed"))
                for counted in (*totals, self._live, self._lag):
                    counted.labels(event.lane)  # from the start 0, so that a rate has a first value
            case SessionStarted():
                self._open[event.session, event.attempt] = _Open(event.lane, event.at)
                self._made[event.session, event.attempt] = [0, 0]
                self._live.labels(event.lane).inc()
            case TurnFinished():
                self._turn(event)
            case VerdictGiven():
                self._verdict(event)
            case Alarm() if event.finding.get("level") == "collapsed":
                self._total["collapsed"].labels(self._lane(event)).inc()
            case ToolRunFinished() if event.duration_ns is not None:
                failed = "" if event.outcome == "ok" else event.outcome
                labels = self._labels(self._lane(event), "execute_tool", failed)
                self._seen["tool"].labels(*labels).observe(event.duration_ns / 1e9)
            case SessionFinished():
                self._ended(event)
            case _:
                pass

    def _lane(self, event: Alarm | TurnFinished | VerdictGiven | ToolRunFinished) -> str:
        return self._open[event.session, event.attempt].lane

    def _labels(self, lane: str, operation: str, *more: str) -> tuple[str, ...]:
        return (lane, operation, *self._lanes[lane], *more)

    def _turn(self, event: TurnFinished) -> None:
        lane = self._lane(event)
        chat = self._labels(lane, "chat")
        error = event.fault["kind"] if event.fault else ""
        self._seen["turn"].labels(*chat, error).observe(event.total_ns / 1e9)
        if event.ttft_ns is not None:
            self._seen["first"].labels(*chat).observe(event.ttft_ns / 1e9)
        for kind, key in (("input", "prompt_tokens"), ("output", "completion_tokens")):
            if (tokens := (event.usage or {}).get(key)) is not None:
                self._seen["tokens"].labels(*chat, kind).observe(tokens)
        self._lag.labels(lane).set(event.lag_ns / 1e9)
        made = self._made[event.session, event.attempt]
        made[0], made[1] = made[0] + 1, made[1] + len(event.tool_calls)
        self._indices[event.session, event.attempt, event.turn] = [
            call.get("index", place) for place, call in enumerate(event.tool_calls)
        ]

    def _verdict(self, event: VerdictGiven) -> None:
        lane = self._lane(event)
        self._total["judged"].labels(lane).inc()
        self._total["usable"].labels(lane).inc(event.usable)
        worst: dict[int, JsonObject] = {}
        indices = self._indices.pop((event.session, event.attempt, event.turn), [])
        for fault in event.faults:
            index = fault["call_index"]
            if index not in indices:
                self._total["faults"].labels(lane, fault["klass"], fault["blame"]).inc()
            elif index not in worst or (fault["fatal"] and not worst[index]["fatal"]):
                worst[index] = fault
        for index in indices:
            found = worst.get(index, {"klass": "none", "blame": "none"})
            self._total["calls"].labels(lane, found["klass"], found["blame"]).inc()

    def _ended(self, event: SessionFinished) -> None:
        key = event.session, event.attempt
        opened, (turns, calls) = self._open.pop(key), self._made.pop(key)
        labels = self._labels(opened.lane, "invoke_agent")
        self._live.labels(opened.lane).dec()
        self._seen["session"].labels(*labels).observe((event.at - opened.at) / 1e9)
        self._seen["turns"].labels(*labels).observe(turns)
        self._seen["calls"].labels(*labels).observe(calls)


@contextmanager
def served(port: int | None, on_event: OnEvent | None) -> Iterator[OnEvent | None]:
    """The page on 127.0.0.1 while the block runs; whom to tell of events. Raises ReplayerError for a port in use."""
    if port is None:
        yield on_event
        return
    from prometheus_client import start_http_server

    page = MetricsPage()
    try:
        server, thread = start_http_server(port, "127.0.0.1", page.registry)
    except OSError as error:
        raise ReplayerError(
            f"--metrics-port {port} cannot be served ({error}); choose another, 0 for a free one"
        ) from None
    print(f"metrics: http://127.0.0.1:{server.server_port}/metrics", file=sys.stderr)

    def tell(event: AnyEvent) -> None:
        page.event(event)
        if on_event is not None:
            on_event(event)

    try:
        yield tell
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
