"""What two lanes say of one figure, put together by cluster.

A cluster is a session: a recorded trace with all its repeats, whose turns resemble each other. Below six sessions nothing
is tested, and the interval within these sessions takes a turn with its repeats as the cluster. So a repeat is never counted
as more evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from replayer.journal.packing import bin_ms
from replayer.journal.turns import Attempt, TurnFacts
from replayer.lazy import dataclass
from replayer.metrics.stats import quantile, weighted_quantile
from replayer.metrics.turn_values import Count

if TYPE_CHECKING:
    from replayer.journal.view import LaneView
    from replayer.metrics.catalogue import Metric

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

    values: dict[Key, Any]
    sessions: Times | None = None
    turns: Counter[Hashable] = field(default_factory=Counter)
    """With `sessions`: how many turns of each had such times."""
    _clustered: dict[Callable[[Key], Hashable], Any] = field(default_factory=dict)
    """What has been put together, by how."""

    def names(self) -> set[Hashable]:
        return set(self.sessions) if self.sessions is not None else {key[0] for key in self.values}

    def n_turns(self) -> int:
        return len(self.values) or sum(self.turns[name] for name in self.names())

    def only(self, keep: Container[Key]) -> Sample:
        return Sample({key: value for key, value in self.values.items() if key in keep})

    def of(self, names: Collection[Hashable]) -> Sample:
        """Of these sessions only."""
        wanted = set(names)
        if wanted == self.names():
            return self
        if self.sessions is not None:
            return Sample(
                {}, {name: found for name, found in self.sessions.items() if name in wanted}, self.turns
            )
        return Sample({key: value for key, value in self.values.items() if key[0] in wanted})

    def ratios(self, cluster: Callable[[Key], Hashable]) -> Ratios:
        """Numerators and denominators summed over each cluster, repeats and all: they are inside it."""
        if cluster not in self._clustered:
            sums: dict[Hashable, list[float]] = {}
            for key, (top, bottom) in self.values.items():
                found = sums.setdefault(cluster(key), [0.0, 0.0])
                found[0] += top
                found[1] += bottom
            self._clustered[cluster] = {name: (top, bottom) for name, (top, bottom) in sums.items() if bottom}
        return cast(Ratios, self._clustered[cluster])

    def total(self) -> Count:
        parts = self.ratios(by_session).values()
        return math.fsum(top for top, _ in parts), math.fsum(bottom for _, bottom in parts)

    def times(self, cluster: Callable[[Key], Hashable]) -> Times:
        """How often each time occurs, by cluster."""
        if self.sessions is not None:
            return self.sessions
        if cluster not in self._clustered:
            listed: dict[Hashable, list[float]] = {}
            for key, value in self.values.items():
                listed.setdefault(cluster(key), []).append(value)
            self._clustered[cluster] = {name: Counter(values) for name, values in listed.items()}
        return cast(Times, self._clustered[cluster])


def sample(metric: Metric, turns: Turns, attempts: Iterable[Attempt] = ()) -> Sample:
    """`attempts` serve the times between tokens."""
    if metric.judged and any(turn.judged for turn in turns.values()):
        turns = {key: turn for key, turn in turns.items() if turn.judged}
    if metric.ratio is not None:
        return Sample(
            {key: found for key, turn in turns.items() if (found := metric.ratio(turn)) is not None}
        )
    if metric.time is not None:
        return Sample({key: time for key, turn in turns.items() if (time := metric.time(turn)) is not None})
    bins: dict[Hashable, Counter[int]] = {}
    for attempt in attempts:
        if attempt.gaps:
            bins.setdefault(attempt.trace, Counter()).update(attempt.gaps)
    middle = {index: bin_ms(index) for counts in bins.values() for index in counts}
    times = {
        name: Counter({middle[index]: n for index, n in counts.items()}) for name, counts in bins.items()
    }
    return Sample({}, times, Counter(key[0] for key, turn in turns.items() if turn.tpot_ns is not None))


def pooled(metric: Metric, found: Sample) -> float | None:
    """The figure itself: how the catalogue pools it."""
    if metric.share is None:
        top, bottom = found.total()
        return top / bottom if bottom else None
    if found.sessions is None:
        return quantile(sorted(found.values.values()), metric.share)
    every: Counter[float] = Counter()
    for counts in found.sessions.values():
        every.update(counts)
    return weighted_quantile(sorted(every.items()), metric.share)


def repeats(found: Sample) -> int:
    """How often the turns were replayed, at most."""
    return 1 + max((key[1] for key in found.values), default=0)
