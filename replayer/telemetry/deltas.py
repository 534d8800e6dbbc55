"""Cumulative counters as what happened between two readings, over restarts of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import Json

COUNTERS = tuple(
    """
    prompt_tokens cached_tokens prefix_queries generated_tokens preempted evicted_tokens drafts drafted
    accepted cached_device_tokens cached_host_tokens cached_remote_tokens external_cached_tokens
    """.split()
)
"""Fields of a TelemetrySample that only grow while a server lives."""

Sample = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Deltas:
    """What the server counted over some readings. `counters` holds only what it reports."""

    seconds: float = 0.0
    readings: int = 0
    missing: int = 0
    """Readings that failed; `why` keeps their reasons."""
    why: tuple[str, ...] = ()
    resets: int = 0
    """Times a counter fell or the server's process was another one: it was restarted or its counters cleared. What it counted between the last
    reading and that is lost, so every figure is then a lower bound."""
    counters: dict[str, float] = field(default_factory=dict)
    acceptance_from: Literal["metrics", "gauges"] = "metrics"
    """`gauges`: no counter of drafts, so they follow from the acceptance of each interval (SGLang)."""
    per_position: tuple[float, ...] | None = None

    @property
    def complete(self) -> bool:
        return self.resets == 0 and self.missing == 0 and self.readings >= 2

    def rate(self, part: str, whole: str) -> float | None:
        """A share from counts, None where either is unknown or nothing was counted."""
        if part not in self.counters or not self.counters.get(whole):
            return None
        return self.counters[part] / self.counters[whole]

    @property
    def acceptance_rate(self) -> float | None:
        return self.rate("accepted", "drafted")

    @property
    def acceptance_length(self) -> float | None:
        """Mean tokens per verification turn: 1 + accepted / drafts, as vLLM defines it."""
        accepted = self.rate("accepted", "drafts")
        return None if accepted is None else 1 + accepted

    @property
    def hit_rate(self) -> float | None:
        return self.rate("cached_tokens", "prefix_queries")


def deltas(samples: Sequence[Sample]) -> Deltas:
    """Over the readings of one instance, in order."""
    good = [sample for sample in samples if "missing" not in sample]
    why = tuple(dict.fromkeys(str(sample["missing"]) for sample in samples if "missing" in sample))
    seen = [name for name in COUNTERS if any(name in sample for sample in good)]
    counters: dict[str, float] = {}
    resets = 0
    for before, after in itertools.pairwise(good):
        restarted = _restarted(before, after, seen)
        resets += restarted
        for (
            name
        ) in seen:  # a counter with labels is on the page only once it counted something: until then it is 0
            start = 0.0 if restarted else before.get(name, 0.0)
            counters[name] = counters.get(name, 0.0) + after.get(name, 0.0) - start
    drafts = {} if "drafted" in counters else _drafts_from_gauges(good, counters.get("generated_tokens"))
    counters |= drafts
    return Deltas(
        acceptance_from="gauges" if drafts else "metrics",
        seconds=good[-1]["at"] - good[0]["at"] if good else 0.0,
        readings=len(good),
        missing=len(samples) - len(good),
        why=why,
        resets=resets,
        counters=counters,
        per_position=_positions(good) if not resets else None,
    )


def _drafts_from_gauges(good: Sequence[Sample], tokens: float | None) -> dict[str, float]:
    """SGLang shows the mean acceptance of its last forty steps, never a count, and counts tokens only once a request
    is done. Each reading of a busy server stands for as many steps, so their mean is that of the run: `tokens` came
    in tokens / length steps, with length - 1 accepted in each, out of accepted / rate drafted. {} where nothing was
    drafted."""
    pairs = itertools.pairwise(good)
    busy = [
        after.get("gauges", {}) for before, after in pairs if before.get("running") or after.get("running")
    ]
    means = [(gauges.get("spec_accept_length", 0.0), gauges.get("spec_accept_rate", 0.0)) for gauges in busy]
    seen = [(length, rate) for length, rate in means if length >= 1]
    length, rate = (sum(column) / len(seen) for column in zip(*seen, strict=True)) if seen else (0.0, 0.0)
    if not tokens or length <= 1 or rate <= 0:
        return {}
    steps = tokens / length
    return {"drafts": steps, "accepted": tokens - steps, "drafted": (tokens - steps) / rate}


def _restarted(before: Sample, after: Sample, names: Sequence[str]) -> bool:
    """Whether a counter fell, or the server's process is another one."""
    started = [sample.get("gauges", {}).get("started") for sample in (before, after)]
    if None not in started and started[0] != started[1]:
        return True
    return any(after.get(name, 0.0) < before.get(name, 0.0) for name in names)


def _positions(good: Sequence[Sample]) -> tuple[float, ...] | None:
    """Accepted tokens per draft position; a page lists a position only once it was seen."""
    known = [sample["accepted_per_position"] for sample in good if sample.get("accepted_per_position")]
    if not known:
        return None
    first, last = known[0], known[-1]
    start = (
        tuple(first) + (0.0,) * (len(last) - len(first)) if len(known) == len(good) else (0.0,) * len(last)
    )
    return tuple(after - before for before, after in zip(start, last, strict=False))


def merge(parts: Sequence[Deltas]) -> Deltas:
    """Several instances of one lane as one."""
    counters: dict[str, float] = {}
    for part in parts:
        for name, value in part.counters.items():
            counters[name] = counters.get(name, 0.0) + value
    return Deltas(
        seconds=max((part.seconds for part in parts), default=0.0),
        readings=sum(part.readings for part in parts),
        missing=sum(part.missing for part in parts),
        why=tuple(dict.fromkeys(reason for part in parts for reason in part.why)),
        resets=sum(part.resets for part in parts),
        counters=counters,
        acceptance_from="gauges" if any(part.acceptance_from == "gauges" for part in parts) else "metrics",
        per_position=parts[0].per_position if len(parts) == 1 else None,
    )


def foreign_tokens(server: float | None, ours: float | None) -> float | None:
    """Tokens that the server counted and we did not ask for: somebody else uses it, or a warm-up request ran.

    None where either side is unknown.
    """
    return None if server is None or ours is None else server - ours
