"""What a load was: sessions alive over time, arrivals, the steady window, and the figures of that window alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.documents import Arrivals, Load, Slice, Steady
from replayer.metrics.load_figures import Limits, by_prompt, by_turn, figures, load, quantiles
from replayer.plan.load_shape import STEADY, LoadShape

BRIDGED = 1.0
"""Seconds: a shorter dip under the asked number, as one session follows another, is part of the window."""
EQUAL = 0.010
"""Seconds within which an arrival is on time."""
_CURVE = 400
"""Points of the curve of live sessions that are kept."""
_WIDTHS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
_MOST_SLICES = 12
Span = tuple[float, float]


def steady_load(lane: LaneView) -> Steady | None:
    """None where no sessions were kept alive. A load that goes on, or was interrupted, has come to its last event."""
    period = lane.load
    if period is None:
        return None
    begin, end = period.started, period.ended or max(lane.last_at, period.started)
    shape = LoadShape.model_validate(lane.plan.get("load") or {})
    mine, length = _attempts(lane, begin), (end - begin) / 1e9
    curve = _alive(mine, begin, length)
    window = _window(curve, period.sessions, shape.warm_up, length)
    seconds = math.fsum(high - low for low, high in window)
    timed = [(_sent(turn, begin), turn) for attempt in mine for turn in attempt.turns.values()]
    inside = [turn for at, turn in timed if _within(window, at) and turn.total_ns is not None]
    limits = {name: limit for name, limit in (lane.plan.get("slo") or {}).items() if limit is not None}
    return Steady(
        sessions=period.sessions,
        outcome=period.outcome,
        cache_reset=period.cache_reset,
        load_s=length,
        window=window,
        window_s=seconds,
        alive=curve[:: max(1, len(curve) // _CURVE)],
        alive_mean=_mean_alive(curve, window, seconds),
        started=len(mine),
        ended=sum(attempt.complete for attempt in mine),
        arrivals=_arrivals(shape, mine, begin),
        load=_loaded(lane, inside, timed, window, seconds),
        over_time=list(_over_time(timed, curve, length, limits)),
        by_turn=by_turn(inside, limits),
        by_prompt=by_prompt(inside, limits),
    )


def window_turns(lane: LaneView) -> list[TurnFacts]:
    """The finished turns of a load that were sent within its steady window, in the order of sending."""
    found, period = steady_load(lane), lane.load
    if found is None or period is None:
        return []
    turns = [
        turn
        for attempt in _attempts(lane, period.started)
        for turn in attempt.turns.values()
        if turn.total_ns is not None and _within(found.window, _sent(turn, period.started))
    ]
    return sorted(turns, key=lambda turn: turn.at)


def _attempts(lane: LaneView, begin: int) -> list[Attempt]:
    return [attempt for attempt in lane.attempts if attempt.started >= begin]


def _sent(turn: TurnFacts, begin: int) -> float:
    return (turn.at - begin) / 1e9


def _alive(attempts: Sequence[Attempt], begin: int, length: float) -> list[tuple[float, int]]:
    """(second, sessions alive from then on)."""
    changes: dict[float, int] = {0.0: 0}
    for attempt in attempts:
        since = (attempt.started - begin) / 1e9
        until = length if attempt.ended is None else min(length, (attempt.ended - begin) / 1e9)
        changes[since] = changes.get(since, 0) + 1
        changes[until] = changes.get(until, 0) - 1
    count, curve = 0, []
    for at in sorted(changes):
        count += changes[at]
        curve.append((at, count))
    return curve


def _window(
    curve: Sequence[tuple[float, int]], asked: int | None, warm_up: float, length: float
) -> list[Span]:
    """Where as many are alive as arrive, all the time after the warm-up."""
    if asked is None:
        return [(warm_up, length)] if length > warm_up else []
    ends = [*curve[1:], (length, 0)]
    spans: list[Span] = []
    for (low, alive), (high, _) in zip(curve, ends, strict=True):
        low = max(low, warm_up)
        if alive < STEADY * asked or high <= low:
            continue
        if spans and low - spans[-1][1] < BRIDGED:
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    return spans


def _within(window: Sequence[Span], at: float) -> bool:
    return any(low <= at < high for low, high in window)


def _overlap(window: Sequence[Span], low: float, high: float) -> float:
    return math.fsum(max(0.0, min(high, b) - max(low, a)) for a, b in window)


def _mean_alive(curve: Sequence[tuple[float, int]], window: Sequence[Span], seconds: float) -> float | None:
    if not seconds:
        return None
    parts = (alive * _overlap(window, low, high) for (low, alive), (high, _) in pairwise(curve))
    return math.fsum(parts) / seconds


def _loaded(
    lane: LaneView,
    inside: Sequence[TurnFacts],
    timed: Sequence[tuple[float, TurnFacts]],
    window: Sequence[Span],
    seconds: float,
) -> Load:
    """As of a whole run, with rates per second of the window. What came in it counts, whenever it was asked for."""
    found = load(inside, lane.plan.get("in_flight", 1), lane.plan.get("slo"))
    ended = [
        turn for at, turn in timed if turn.total_ns is not None and _within(window, at + turn.total_ns / 1e9)
    ]
    of_ended = load(ended, 1, lane.plan.get("slo")).goodput
    good = found.goodput
    if good is not None and of_ended is not None:
        per_s = [_per(round((one.value or 0) * one.n), seconds) for one in (of_ended.met, of_ended.usable)]
        good = replace(good, requests_per_s=per_s[0], usable_per_s=per_s[1])
    answered = [turn for turn in ended if turn.error is None and turn.ttft_ns is not None]
    return replace(
        found,
        busy_s=seconds,
        in_flight=_per(
            math.fsum(_overlap(window, at, at + (turn.total_ns or 0) / 1e9) for at, turn in timed), seconds
        ),
        requests_per_s=_per(len(answered), seconds),
        output_tok_s=_per(_tokens(timed, window), seconds),
        goodput=good,
    )


def _per(count: float | None, seconds: float) -> float | None:
    return count / seconds if seconds and count is not None else None


def _tokens(timed: Sequence[tuple[float, TurnFacts]], window: Sequence[Span]) -> float | None:
    """Tokens that came within the window; None where a reply's are not known."""
    parts = []
    for at, turn in timed:
        if turn.total_ns is None or turn.ttft_ns is None or turn.error is not None:
            continue
        first, last = at + turn.ttft_ns / 1e9, at + turn.total_ns / 1e9
        inside = (
            _overlap(window, first, last) / (last - first) if last > first else float(_within(window, last))
        )
        if inside and turn.completion_tokens is None:
            return None
        parts.append(inside * (turn.completion_tokens or 0))
    return math.fsum(parts)


def _over_time(
    timed: Sequence[tuple[float, TurnFacts]],
    curve: Sequence[tuple[float, int]],
    length: float,
    limits: Limits,
) -> Iterator[Slice]:
    width = next((width for width in _WIDTHS if length / width <= _MOST_SLICES), _WIDTHS[-1])
    most = max(1, round(length / width))
    for number in range(most):
        span = (float(number * width), float((number + 1) * width) if number + 1 < most else length)
        seconds = span[1] - span[0]
        sent = [turn for at, turn in timed if span[0] <= at < span[1]]
        ended = [turn for at, turn in timed if turn.total_ns and _within([span], at + turn.total_ns / 1e9)]
        yield replace(
            figures(f"{span[0]:g}-{span[1]:.3g} s", sent, limits),
            alive=_mean_alive(curve, [span], seconds),
            requests_per_s=_per(sum(turn.error is None for turn in ended), seconds),
            output_tok_s=_per(_tokens(timed, [span]), seconds),
        )


def _arrivals(shape: LoadShape, attempts: Sequence[Attempt], begin: int) -> Arrivals:
    known = sorted((a.started - begin, a.late_ns) for a in attempts if a.late_ns is not None)
    at = [started / 1e9 for started, _ in known]
    asked = sorted((started - late) / 1e9 for started, late in known)
    gaps = sorted(high - low for low, high in pairwise([0.0, *at]))
    rate = shape.rate
    if rate is not None:
        distance = _to_law(gaps, lambda gap: -math.expm1(-rate * max(0.0, gap)))
    else:
        distance = _to_times(at, asked)
    return Arrivals(
        asked=shape.arrivals,
        n=len(at),
        per_s=len(at) / at[-1] if at and at[-1] > 0 else None,
        late_ms=quantiles(late / 1e6 for _, late in known),
        distance=distance,
        critical=1.358 / math.sqrt(len(gaps)) if rate is not None and gaps else None,
    )


def _to_law(ordered: Sequence[float], law: Callable[[float], float]) -> float | None:
    """Kolmogorov's distance of a sample to a distribution."""
    n = len(ordered)
    return max((max((k + 1) / n - law(x), law(x) - k / n) for k, x in enumerate(ordered)), default=None)


def _to_times(at: Sequence[float], asked: Sequence[float]) -> float | None:
    """Of two samples of times, of which those within EQUAL are the same time."""
    n = len(at)

    def share(times: Sequence[float], until: float) -> float:
        return bisect_right(times, until) / n

    return max(
        (
            max(share(at, t - EQUAL) - share(asked, t), share(asked, t - EQUAL) - share(at, t), 0.0)
            for t in (*at, *asked, *(x + EQUAL for x in at), *(x + EQUAL for x in asked))
        ),
        default=None,
    )
