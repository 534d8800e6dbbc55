"""What two lanes say of one figure, put together by cluster.

A cluster is a session: a recorded trace with all its repeats, whose turns resemble each other. Below six sessions nothing
is tested, and the interval within these sessions takes a turn with its repeats as the cluster. So a repeat is never counted
as more evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from replayer.journal.turns import Attempt, TurnFacts, bin_ms
from replayer.journal.view import LaneView
from replayer.metrics.catalogue import Metric
from replayer.metrics.stats import weighted_quantile
from replayer.metrics.turn_values import Count, is_judged

Key = tuple[str, int, int]
"""Trace, repeat, turn."""
Turns = dict[Key, TurnFacts]
Ratios = dict[Hashable, Count]
Times = dict[Hashable, Counter[float]]


def by_key(lane: LaneView) -> Turns:
    return {
        (attempt.trace, attempt.repeat, number): turn
        for attempt in lane.attempts
        for number, turn in attempt.turns.items()
    }


def by_session(key: Key) -> Hashable:
    return key[0]


def by_turn(key: Key) -> Hashable:
    return key[0], key[2]


@dataclass(slots=True)
class Sample:
    """One figure of one lane: `values` by turn (a count or a time), or `sessions` where only whole ones are kept."""

    values: dict[Key, Count | float]
    sessions: Times | None = None

    def names(self) -> set[Hashable]:
        return set(self.sessions) if self.sessions is not None else {key[0] for key in self.values}

    def only(self, keep: Callable[[Key], bool]) -> Sample:
        return Sample({key: value for key, value in self.values.items() if keep(key)})

    def of(self, names: Iterable[Hashable]) -> Sample:
        """Of these sessions only."""
        wanted = set(names)
        if self.sessions is not None:
            return Sample({}, {name: found for name, found in self.sessions.items() if name in wanted})
        return self.only(lambda key: key[0] in wanted)

    def ratios(self, cluster: Callable[[Key], Hashable]) -> Ratios:
        """Sums over the cluster of the mean of each turn over its repeats."""
        sums: dict[Hashable, list[float]] = {}
        for key, value in self.values.items():
            assert isinstance(value, tuple)
            found = sums.setdefault(cluster(key), [0.0, 0.0])
            found[0] += value[0]
            found[1] += value[1]
        return {name: (top, bottom) for name, (top, bottom) in sums.items() if bottom}

    def times(self, cluster: Callable[[Key], Hashable]) -> Times:
        if self.sessions is not None:
            return self.sessions
        found: Times = {}
        for key, value in self.values.items():
            assert isinstance(value, float)
            found.setdefault(cluster(key), Counter())[value] += 1
        return found


def sample(metric: Metric, turns: Turns, attempts: Iterable[Attempt] = ()) -> Sample:
    """`attempts` serve the times between tokens."""
    if metric.judged and any(map(is_judged, turns.values())):
        turns = {key: turn for key, turn in turns.items() if is_judged(turn)}
    if metric.ratio is not None:
        return Sample(
            {key: found for key, turn in turns.items() if (found := metric.ratio(turn)) is not None}
        )
    if metric.time is not None:
        return Sample({key: time for key, turn in turns.items() if (time := metric.time(turn)) is not None})
    gaps: Times = {}
    for attempt in attempts:
        if attempt.gaps:
            counts = gaps.setdefault(attempt.trace, Counter())
            counts.update({bin_ms(index): n for index, n in attempt.gaps.items()})
    return Sample({}, gaps)


def pooled(metric: Metric, found: Sample) -> float | None:
    """The figure itself: how the catalogue pools it."""
    if metric.share is None:
        parts = found.ratios(lambda _: None)
        top, bottom = parts.get(None, (0.0, 0.0))
        return top / bottom if bottom else None
    every: Counter[float] = Counter()
    for counts in found.times(by_session).values():
        every.update(counts)
    return weighted_quantile(sorted(every.items()), metric.share)


def repeats(found: Sample) -> int:
    """How often the turns were replayed, at most."""
    return 1 + max((key[1] for key in found.values), default=0)
