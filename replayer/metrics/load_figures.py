"""What a lane delivers under load: throughput, time per output token, goodput, errors, tail. Sources: docs/plans.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.turns import TurnFacts
from replayer.metrics.stats import quantile, wilson

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
TAIL_RATIO = 5.0
"""A TTFT p99 over so many times the median is flagged. Our own choice: sound lanes of the background's harness stayed
under 5 (189 ms against 42), and its stalled ones began at 14 (1,859 against 131)."""
TAIL_REQUESTS = 20
"""Fewer requests say nothing of a tail: their p99 is the slowest one."""


def load(turns: Sequence[TurnFacts], concurrency: int, slo: dict[str, float | None] | None) -> dict[str, Any]:
    """Figures over all requests of a lane; what is not known is None.

    Rates are per second of `busy_s`, the time in which at least one request was in flight: rests, cache resets and
    token counting between requests are not the engine's doing. `in_flight` is how many requests there were at once in
    the mean: far below `concurrency`, this machine and not the engine was the limit, or the sessions ran out.
    """
    answered = [turn for turn in turns if turn.error is None and turn.ttft_ns is not None]
    busy = busy_seconds(turns)
    tokens = [turn.completion_tokens for turn in answered]
    known = sum(count for count in tokens if count is not None)
    return {
        "concurrency": concurrency,
        "requests": len(turns),
        "in_flight": sum(turn.total_ns or 0 for turn in turns) / 1e9 / busy if busy else None,
        "busy_s": busy,
        "requests_per_s": len(answered) / busy if busy else None,
        "output_tok_s": known / busy if busy and tokens and None not in tokens else None,
        "ttft_ms": spread(turn.ttft_ns for turn in answered),
        "tpot_ms": spread(turn.tpot_ns for turn in answered),
        "e2e_ms": spread(turn.total_ns for turn in answered if not turn.stopped),
        "error_rate": share(turn.error is not None for turn in turns),
        "goodput": goodput(turns, slo, busy),
        "tail": tail(answered),
        "exact_prompts": share(
            turn.prompt_tokens == turn.asked_input
            for turn in answered
            if _both(turn.asked_input, turn.prompt_tokens)
        ),
        "exact_answers": share(
            turn.completion_tokens == turn.asked_output
            for turn in answered
            if _both(turn.asked_output, turn.completion_tokens)
        ),
        "schema_valid": share(turn.schema_valid for turn in turns if turn.schema_valid is not None),
    }


def _both(asked: int | None, found: int | None) -> bool:
    return asked is not None and found is not None


def busy_seconds(turns: Iterable[TurnFacts]) -> float:
    """Length of the union of the requests' times, in seconds."""
    spans = sorted(
        (turn.wall, turn.wall + turn.total_ns / 1e9) for turn in turns if turn.total_ns is not None
    )
    busy, reached = 0.0, float("-inf")
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def spread(durations: Iterable[float | None]) -> dict[str, float | None]:
    """Quantiles in milliseconds of durations in nanoseconds."""
    ordered = sorted(duration / 1e6 for duration in durations if duration is not None)
    return {name: quantile(ordered, at) for name, at in QUANTILES.items()} | {"n": len(ordered)}


def share(outcomes: Iterable[bool | None]) -> dict[str, Any] | None:
    """How many hold, with the Wilson interval; None where there is none to hold."""
    seen = [bool(outcome) for outcome in outcomes]
    if not seen:
        return None
    low, high = wilson(sum(seen), len(seen))
    return {"value": sum(seen) / len(seen), "low": low, "high": high, "n": len(seen)}


def goodput(
    turns: Sequence[TurnFacts], slo: dict[str, float | None] | None, busy: float
) -> dict[str, Any] | None:
    """Requests per second that keep every limit (Zhong et al., DistServe, OSDI 2024); None without limits.

    A request that failed keeps none. One of a single token has no time per token, which then holds.
    """
    limits = {name: limit for name, limit in (slo or {}).items() if limit is not None}
    if not limits:
        return None
    kept = [_keeps(turn, limits) for turn in turns]
    return {"limits": limits, "met": share(kept), "requests_per_s": sum(kept) / busy if busy else None}


def _keeps(turn: TurnFacts, limits: dict[str, float]) -> bool:
    if turn.error is not None or turn.ttft_ns is None:
        return False
    found = {"ttft_ms": turn.ttft_ns, "tpot_ms": turn.tpot_ns, "e2e_ms": turn.total_ns}
    return all((value := found[name]) is None or value / 1e6 <= limit for name, limit in limits.items())


def tail(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    """TTFT p99 against p50, flagged where it is far above it; None where too few requests were made to tell."""
    times = spread(turn.ttft_ns for turn in turns)
    if len(turns) < TAIL_REQUESTS or not times["p50"] or times["p99"] is None:
        return {"ratio": None, "flagged": None}
    ratio = times["p99"] / times["p50"]
    return {"ratio": ratio, "flagged": ratio > TAIL_RATIO}
