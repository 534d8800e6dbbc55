"""Which level is tried next, and what the levels tried say: bracket by doubling, then bisection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["holds", "fails", "leans_holds", "leans_fails"]
"""Decided by its interval, or, where it was not by the level's end, by the share alone."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The answer: `value` sessions, at least `low` and at most `high` (None: not found below the cap)."""

    value: int | None
    low: int | None
    high: int | None
    capped: bool = False
    """The largest level that may be tried still holds."""

    @property
    def words(self) -> str:
        """`13`, or `13 (12 to 15)`: with the most that surely hold, and the most that do not surely fail."""
        if self.capped:
            return f"{self.value} or more"
        if self.low == self.high == self.value:
            return str(self.value)
        if self.high is None:
            return f"{self.value} ({self.low} or more)" if self.low else f"{self.value} (not sure)"
        return (
            f"{self.value} ({self.low} to {self.high})" if self.low else f"{self.value} (up to {self.high})"
        )


def next_level(tried: Mapping[int, Outcome], *, start: int, cap: int, resolution: float = 0.0) -> int | None:
    """None once the answer is known to one session, or to `resolution` as a share of it."""
    if not tried:
        return min(start, cap)
    holding, failing = _bracket(tried)
    if failing is None:
        return None if holding is None or holding >= cap else min(cap, 2 * holding)
    if holding is None:
        return None if failing <= 1 else max(1, failing // 2)
    if failing - holding <= max(1.0, resolution * holding):
        return None
    return (holding + failing) // 2


def _bracket(tried: Mapping[int, Outcome]) -> tuple[int | None, int | None]:
    """The largest level that holds below the smallest one that fails: more sessions are never easier."""
    failing = min((n for n, outcome in tried.items() if outcome.endswith("fails")), default=None)
    holding = max(
        (n for n, o in tried.items() if o.endswith("holds") and (failing is None or n < failing)),
        default=None,
    )
    return holding, failing


def agents(tried: Mapping[int, Outcome], *, cap: int) -> Agents:
    holding, failing = _bracket(tried)
    sure = max((n for n, o in tried.items() if o == "holds" and (failing is None or n < failing)), default=0)
    never = min((n for n, o in tried.items() if o == "fails" and n > (holding or 0)), default=None)
    if failing is None and holding is not None and holding >= cap:
        return Agents(holding, sure, None, capped=True)
    return Agents(holding or 0, sure, None if never is None else never - 1)
