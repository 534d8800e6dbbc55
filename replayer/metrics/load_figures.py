"""What a lane delivers under load: throughput, time per output token, goodput, errors, tail. Sources: docs/plans.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.turns import StepFacts
from replayer.metrics.stats import quantile, wilson

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
TAIL_RATIO = 5.0
"""A TTFT p99 over so many times the median is flagged. Our own choice: sound lanes of the background's harness stayed
under 5 (189 ms against 42), and its stalled ones began at 14 (1,859 against 131)."""
TAIL_REQUESTS = 20
"""Fewer requests say nothing of a tail: their p99 is the slowest one."""


def load(steps: Sequence[StepFacts], concurrency: int, slo: dict[str, float | None] | None) -> dict[str, Any]:
    """Figures over all requests of a lane; what is not known is None.

    Rates are per second of `busy_s`, the time in which at least one request was in flight: rests, cache resets and
    token counting between requests are not the engine's doing. `in_flight` is how many requests there were at once in
    the mean: far below `concurrency`, this machine and not the engine was the limit, or the sessions ran out.
    """
    answered = [step for step in steps if step.error is None and step.ttft_ns is not None]
    busy = busy_seconds(steps)
    tokens = [step.completion_tokens for step in answered]
    known = sum(count for count in tokens if count is not None)
    return {
        "concurrency": concurrency,
        "requests": len(steps),
        "in_flight": sum(step.total_ns or 0 for step in steps) / 1e9 / busy if busy else None,
        "busy_s": busy,
        "requests_per_s": len(answered) / busy if busy else None,
        "output_tok_s": known / busy if busy and tokens and None not in tokens else None,
        "ttft_ms": spread(step.ttft_ns for step in answered),
        "tpot_ms": spread(step.tpot_ns for step in answered),
        "e2e_ms": spread(step.total_ns for step in answered if not step.stopped),
        "error_rate": share(step.error is not None for step in steps),
        "goodput": goodput(steps, slo, busy),
        "tail": tail(answered),
        "exact_prompts": share(
            step.prompt_tokens == step.asked_input
            for step in answered
            if _both(step.asked_input, step.prompt_tokens)
        ),
        "exact_answers": share(
            step.completion_tokens == step.asked_output
            for step in answered
            if _both(step.asked_output, step.completion_tokens)
        ),
        "schema_valid": share(step.schema_valid for step in steps if step.schema_valid is not None),
    }


def _both(asked: int | None, found: int | None) -> bool:
    return asked is not None and found is not None


def busy_seconds(steps: Iterable[StepFacts]) -> float:
    """Length of the union of the requests' times, in seconds."""
    spans = sorted(
        (step.wall, step.wall + step.total_ns / 1e9) for step in steps if step.total_ns is not None
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
    steps: Sequence[StepFacts], slo: dict[str, float | None] | None, busy: float
) -> dict[str, Any] | None:
    """Requests per second that keep every limit (Zhong et al., DistServe, OSDI 2024); None without limits.

    A request that failed keeps none. One of a single token has no time per token, which then holds.
    """
    limits = {name: limit for name, limit in (slo or {}).items() if limit is not None}
    if not limits:
        return None
    kept = [_keeps(step, limits) for step in steps]
    return {"limits": limits, "met": share(kept), "requests_per_s": sum(kept) / busy if busy else None}


def _keeps(step: StepFacts, limits: dict[str, float]) -> bool:
    if step.error is not None or step.ttft_ns is None:
        return False
    found = {"ttft_ms": step.ttft_ns, "tpot_ms": step.tpot_ns, "e2e_ms": step.total_ns}
    return all((value := found[name]) is None or value / 1e6 <= limit for name, limit in limits.items())


def tail(steps: Sequence[StepFacts]) -> dict[str, Any]:
    """TTFT p99 against p50, flagged where it is far above it; None where too few requests were made to tell."""
    times = spread(step.ttft_ns for step in steps)
    if len(steps) < TAIL_REQUESTS or not times["p50"] or times["p99"] is None:
        return {"ratio": None, "flagged": None}
    ratio = times["p99"] / times["p50"]
    return {"ratio": ratio, "flagged": ratio > TAIL_RATIO}
