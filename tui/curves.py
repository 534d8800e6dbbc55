"""Telemetry and speed as values over the run's time. A gap is unknown, never zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from replayer.journal.events import TelemetryRead
from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView

_MOST = 1e300
"""No reading is larger; neither are infinity and NaN."""
Span = tuple[float, float, float | None]
"""From and to, in seconds of the run, and the value that held; None is unknown."""

Samples = Sequence[TelemetryRead]
_FINEST = 256
"""Spans that are kept of a curve: as many as the widest terminal has columns for."""


_SPIKE = 5.0


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: what held when, the newest known value and the highest."""

    spans: tuple[Span, ...]
    last: float
    highest: float
    usual: float


@dataclass(frozen=True, slots=True)
class LaneCurves:
    """All curves of a lane; None is one of which nothing is known. Telemetry by server, then by name."""

    decode: Series | None
    servers: dict[str, dict[str, Series | None]]


OF_TELEMETRY: dict[str, Callable[[Samples], list[Span]]] = {
    "server tok/s": lambda samples: rate(samples, "generated_tokens"),
    "draft acceptance": lambda samples: share(samples, "accepted", "drafted"),
    "KV cache in use": lambda samples: gauge(samples, "kv_used"),
    "requests running": lambda samples: gauge(samples, "running"),
    "requests waiting": lambda samples: gauge(samples, "waiting"),
    "preempted /s": lambda samples: rate(samples, "preempted"),
    "GPU in use": lambda samples: gauge(samples, "gpu_utilisation"),
    "GPU memory": lambda samples: gauge(samples, "gpu_memory"),
    "GPU power W": lambda samples: gauge(samples, "gpu_power"),
    "GPU °C": lambda samples: gauge(samples, "gpu_temperature"),
}


def lane_curves(view: RunView, lane: LaneView) -> LaneCurves:
    """Milliseconds per thousand turns or readings: not for the thread that answers keys."""
    turns = (turn for attempt in lane.attempts for turn in list(attempt.turns.values()))
    servers = by_instance(lane.telemetry) or {"": []}
    return LaneCurves(
        decode=series(speeds(turns, view.started_wall)),
        servers={
            server: {name: series(of(samples)) for name, of in OF_TELEMETRY.items()}
            for server, samples in servers.items()
        },
    )


def series(spans: Sequence[Span]) -> Series | None:
    values = known(spans)
    if not values:
        return None
    if len(spans) > _FINEST:
        end = max(end for _, end, _ in spans)
        width = end / _FINEST
        held = enumerate(over_time(spans, end, _FINEST))
        spans = [(n * width, (n + 1) * width, value) for n, value in held]
    return Series(tuple(spans), last=values[-1], highest=max(values), usual=usual(values))


def usual(values: Sequence[float]) -> float:
    """The top of a scale on which a spike of over five times the median does not flatten all others: a third above the
    98th percentile."""
    ordered = sorted(values)
    spikes = ordered[-1] > _SPIKE * ordered[len(ordered) // 2]
    return 1.3 * ordered[int(0.98 * (len(ordered) - 1))] if spikes else ordered[-1]


def gauge(samples: Sequence[TelemetryRead], name: str) -> list[Span]:
    """A reading holds until the next one."""
    spans = [(a.at / 1e9, b.at / 1e9, _value(a, name)) for a, b in pairwise(samples)]
    if samples:
        last = samples[-1].at / 1e9
        spans.append((last, last + 1e-3, _value(samples[-1], name)))
    return spans


def rate(samples: Sequence[TelemetryRead], counter: str) -> list[Span]:
    """Per second between readings; a counter that fell was reset, and that interval is unknown."""
    return [(begin, end, _over(_moved(a, b, counter), end - begin)) for begin, end, a, b in _pairs(samples)]


def share(samples: Sequence[TelemetryRead], part: str, whole: str) -> list[Span]:
    """Growth of one counter over the growth of another; unknown where the second did not move."""
    return [
        (begin, end, _over(_moved(a, b, part), _moved(a, b, whole))) for begin, end, a, b in _pairs(samples)
    ]


def speeds(turns: Iterable[TurnFacts], started_wall: float) -> list[Span]:
    """Decode speed of each finished turn over the time that it took, by the client's clock, in order of time."""
    found = []
    for turn in turns:
        if turn.total_ns is not None:
            begin = turn.wall - started_wall
            found.append((begin, begin + turn.total_ns / 1e9, turn.decode_tok_s))
    return sorted(found, key=lambda span: span[0])


def over_time(spans: Sequence[Span], seconds: float, width: int) -> list[float | None]:
    """The mean of what held in each of `width` slices of the run, weighted by time."""
    sums, weights = [0.0] * width, [0.0] * width
    begun, held = [0.0] * (width + 1), [0] * (width + 1)
    slice_ = max(seconds, 1e-9) / width
    for begin, end, value in spans:
        if value is None:
            continue
        first = int(max(0, min(width - 1, begin / slice_)))
        last = int(max(0, min(width - 1, end / slice_)))
        for n in {first, last}:
            weight = max(0.0, min(end, (n + 1) * slice_) - max(begin, n * slice_))
            sums[n] += weight * value
            weights[n] += weight
        if last > first + 1:  # the slices between are filled whole: only where that begins and ends is noted
            begun[first + 1] += value
            begun[last] -= value
            held[first + 1] += 1
            held[last] -= 1
    whole = [
        (total * slice_, number * slice_)
        for total, number in zip(accumulate(begun), accumulate(held), strict=True)
    ]
    return [
        (total + more) / (weight + longer) if weight + longer else None
        for total, weight, (more, longer) in zip(sums, weights, whole, strict=False)
    ]


def known(spans: Iterable[Span]) -> list[float]:
    return [value for _, _, value in spans if value is not None]


def by_instance(samples: Iterable[TelemetryRead]) -> dict[str, list[TelemetryRead]]:
    """Counters of two servers are never set against each other."""
    found: dict[str, list[TelemetryRead]] = {}
    for sample in samples:
        found.setdefault(sample.instance, []).append(sample)
    return found


def _pairs(samples: Sequence[TelemetryRead]) -> list[tuple[float, float, TelemetryRead, TelemetryRead]]:
    return [(a.at / 1e9, b.at / 1e9, a, b) for a, b in pairwise(samples)]


def _value(sample: TelemetryRead, name: str) -> float | None:
    value = sample.sample.get(name)
    if value is None:
        value = sample.sample.get("gauges", {}).get(name)
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST else None


def _moved(before: TelemetryRead, after: TelemetryRead, counter: str) -> float | None:
    a, b = _value(before, counter), _value(after, counter)
    return None if a is None or b is None or b < a else b - a


def _over(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
