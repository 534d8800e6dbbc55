"""What lanes are compared on: figures per turn, and quantiles of times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from replayer.journal.turns import Attempt, TurnFacts, bin_ms

Count = tuple[float, float]
"""What one turn adds to a metric: (numerator, denominator)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure per turn. `rate`: a share of events, counted; otherwise a mean of measurements."""

    name: str
    words: str
    better: Literal["higher", "lower"]
    of: Callable[[TurnFacts], Count | None]
    """None where the turn says nothing about it."""
    unit: str = "points"
    rate: bool = True
    per_turn: bool = True
    """One value per turn, which pairs turn by turn; the others pair by session."""
    counted: str = "turns"
    """What its denominator counts."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """The `share` quantile, in milliseconds, of all times that a lane's sessions hold."""

    name: str
    words: str
    share: float
    of: Callable[[Attempt], Counter[float]]
    """How often each time occurs in one session."""
    of_turn: Callable[[TurnFacts], float | None] | None
    """None where only whole sessions are kept."""
    better: Literal["higher", "lower"] = "lower"
    unit: str = "ms"
    rate: bool = False


def _usable(turn: TurnFacts) -> Count | None:
    return None if turn.usable is None else (float(turn.usable), 1)


def _invalid_calls(turn: TurnFacts) -> Count | None:
    return None if turn.usable is None or not turn.calls else (turn.invalid_calls, turn.calls)


def _failed_calls(turn: TurnFacts) -> Count | None:
    ran = [outcome for outcome in turn.tool_outcomes if outcome not in ("recorded", "not_executable_here")]
    return (sum(outcome != "ok" for outcome in ran), len(ran)) if ran else None


def _collapsed(turn: TurnFacts) -> Count | None:
    return None if turn.total_ns is None else (float(turn.collapse is not None), 1)


def _errors(turn: TurnFacts) -> Count | None:
    return None if turn.total_ns is None else (float(turn.error is not None), 1)


def _cached(turn: TurnFacts) -> Count | None:
    if turn.cached_tokens is None or not turn.prompt_tokens:
        return None
    return turn.cached_tokens / turn.prompt_tokens, 1


def _ttft(turn: TurnFacts) -> Count | None:
    return None if turn.ttft_ns is None else (turn.ttft_ns / 1e6, 1)


def _decode(turn: TurnFacts) -> Count | None:
    return None if turn.decode_tok_s is None else (turn.decode_tok_s, 1)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("usable_turn_rate", "usable turns", "higher", _usable),
        Metric(
            "invalid_call_rate",
            "invalid tool calls",
            "lower",
            _invalid_calls,
            per_turn=False,
            counted="tool calls",
        ),
        Metric(
            "failed_call_rate",
            "failed executions",
            "lower",
            _failed_calls,
            per_turn=False,
            counted="tool calls",
        ),
        Metric("collapsed_rate", "collapsed turns", "lower", _collapsed),
        Metric("error_rate", "engine errors", "lower", _errors),
        Metric("prefix_hit_rate", "reported prefix-cache hits", "higher", _cached, rate=False),
        Metric("ttft_ms", "mean time to first token", "lower", _ttft, unit="ms", rate=False),
        Metric("decode_tok_s", "decode speed", "higher", _decode, unit="tok/s", rate=False),
    )
}
PRIMARY = "usable_turn_rate"


def _ttft_ms(turn: TurnFacts) -> float | None:
    return None if turn.ttft_ns is None else turn.ttft_ns / 1e6


def _e2e_ms(turn: TurnFacts) -> float | None:
    """Of whole replies only, as the table has it."""
    if turn.total_ns is None or turn.error is not None or turn.stopped:
        return None
    return turn.total_ns / 1e6


def _of_turns(of: Callable[[TurnFacts], float | None]) -> Callable[[Attempt], Counter[float]]:
    def count(attempt: Attempt) -> Counter[float]:
        return Counter(value for turn in attempt.turns.values() if (value := of(turn)) is not None)

    return count


def _gaps(attempt: Attempt) -> Counter[float]:
    return Counter({bin_ms(index): n for index, n in attempt.gaps.items()})


def _quantiles() -> Iterable[Quantile]:
    for name, words, of, of_turn in (
        ("ttft_ms", "time to first token", _of_turns(_ttft_ms), _ttft_ms),
        ("itl_ms", "time between deltas", _gaps, None),
        ("e2e_ms", "time of a whole reply", _of_turns(_e2e_ms), _e2e_ms),
    ):
        for place, share, where in (
            ("p50", 0.5, "median"),
            ("p95", 0.95, "95th percentile"),
            ("p99", 0.99, "99th percentile"),
        ):
            yield Quantile(f"{name}.{place}", f"{words} ({where})", share, of, of_turn)


QUANTILES = {quantile.name: quantile for quantile in _quantiles()}
"""By name: `ttft_ms.p50` … `e2e_ms.p99`."""

ALL: dict[str, Metric | Quantile] = {**METRICS, **QUANTILES}


def by_session(attempts: Sequence[Attempt], quantile: Quantile) -> dict[str, Counter[float]]:
    """The times of each session, its repeats together; sessions without one are left out."""
    found: dict[str, Counter[float]] = {}
    for attempt in attempts:
        found.setdefault(attempt.trace, Counter()).update(quantile.of(attempt))
    return {trace: counts for trace, counts in found.items() if counts}
