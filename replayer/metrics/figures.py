"""The figures of a lane, computed from counts at the end. Keys are the contract of `report --json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from replayer.journal.turns import Attempt, StepFacts, bin_ms
from replayer.journal.view import LaneView, RunView
from replayer.metrics.compare import compare
from replayer.metrics.load_figures import load
from replayer.metrics.prefix_figures import prefix_cache
from replayer.metrics.stats import quantile, wilson
from replayer.metrics.sweep_figures import sweep_figures
from replayer.metrics.telemetry_figures import server_figures, speed_bands
from replayer.signals.repetition_finding import AT_THE_LIMIT
from replayer.signals.tool_reliability import fold

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run_figures(view: RunView) -> dict[str, Any]:
    """The document of `report --json`."""
    lanes, comparisons = [lane_figures(lane) for lane in view.lanes], compare(view)
    return {
        "run": view.run,
        "state": view.state,
        "mode": view.mode,
        "tools": view.tools,
        "incomplete_cells": view.incomplete,
        "stopped_early": view.stopped_early,
        "exit_code": view.exit_code,
        "reasons": list(view.reasons),
        "lanes": lanes,
        "warnings": [{"lane": warning.lane, "message": warning.message} for warning in view.warnings],
        "comparisons": comparisons,
        **sweep_figures(view, lanes, comparisons),
    }


def lane_figures(lane: LaneView) -> dict[str, Any]:
    """Shapes as in the command-line reference. A figure that is not known is None, never 0."""
    attempts = lane.attempts
    steps = [step for step in all_steps(attempts) if step.total_ns is not None]
    counted = tokens(steps)
    whole = not counted["computed_steps"] and not counted["unknown_steps"]
    server = server_figures(
        lane.telemetry, counted["completion"] if whole else None, counted["prompt"] if whole else None
    )
    fit = speed_bands(steps, lane.telemetry)
    return {
        "lane": lane.name,
        "kind": lane.kind,
        "model": lane.model,
        "cells": sum(attempt.outcome is not None for attempt in attempts),
        "steps": len(steps),
        "usable_turn_rate": usable_turn_rate(steps),
        "tool_calls": tool_calls(steps),
        **fold(step.marks for step in steps).figures(),
        "repetition": repetition(steps),
        "prefix_cache": prefix_cache(steps),
        "stamped_by": dict(sorted(Counter(step.stamped_by for step in steps if step.deltas).items())),
        "ttft_ms": milliseconds(step.ttft_ns for step in steps),
        "itl_ms": gap_quantiles(attempts),
        "e2e_ms": milliseconds(step.total_ns for step in steps if step.error is None and not step.stopped),
        "decode_tok_s": decode_speed(steps),
        "server_decode_tok_s": server_decode_speed(steps),
        "prefill_tok_s": prefill_speed(steps),
        "load": load(steps, lane.plan.get("in_flight", 1), lane.plan.get("slo")),
        "tokens": counted,
        "acceptance": acceptance(steps, server),
        "bands": fit["bands"] if fit and len(fit["bands"]) > 1 else [],
        "band_fit": fit,
        "server": server,
        "kv": kv(lane),
        "facts": lane_facts(lane.facts),
        "errors": dict(sorted(Counter(step.error for step in steps if step.error).items())),
        "retries": sum(step.retries for step in steps),
        "substituted_steps": sum(step.substituted is not None for step in steps),
        "finished_sessions": finished_sessions(attempts),
    }


def all_steps(attempts: Iterable[Attempt]) -> Iterable[StepFacts]:
    return chain.from_iterable(attempt.steps.values() for attempt in attempts)


def usable_turn_rate(steps: Sequence[StepFacts]) -> dict[str, Any]:
    judged = [step.usable for step in steps if step.usable is not None]
    return rate(sum(judged), len(judged))


def rate(successes: int, n: int) -> dict[str, Any]:
    """A share with its Wilson interval; value None when nothing was judged."""
    low, high = wilson(successes, n)
    return {"value": successes / n if n else None, "low": low, "high": high, "n": n}


def tool_calls(steps: Sequence[StepFacts]) -> dict[str, Any]:
    outcomes = Counter(chain.from_iterable(step.tool_outcomes for step in steps))
    failed = sum(
        n for outcome, n in outcomes.items() if outcome not in ("ok", "not_executable_here", "recorded")
    )
    return {
        "total": sum(step.calls for step in steps),
        "invalid": sum(step.invalid_calls for step in steps),
        "executed": sum(n for kind, n in outcomes.items() if kind not in ("not_executable_here", "recorded")),
        "failed_execution": failed if outcomes else None,
        "outcomes": dict(sorted(outcomes.items())),
        "divergent_results": sum(step.divergent for step in steps) if outcomes else None,
        "loops": sum(step.loops for step in steps),
    }


def repetition(steps: Sequence[StepFacts]) -> dict[str, Any]:
    """`precision` comes from the steps whose alarm was left running, and from those alone.

    `saved_tokens_at_most` is what the token limits of the stopped steps still allowed; None where one had no limit.
    """
    collapsed = [step for step in steps if "collapsed" in step.faults or step.collapse]
    stopped = [step for step in collapsed if step.stopped]
    observed = [step for step in collapsed if not step.stopped and not _at_the_limit(step)]
    false = [
        step for step in observed if step.finish_reason in ("stop", "tool_calls") and _otherwise_valid(step)
    ]
    return {
        "collapsed_steps": len(collapsed),
        "rate": rate(len(collapsed), len(steps)),
        "stopped_steps": len(stopped),
        "wasted_tokens": sum(wasted_tokens(step) for step in collapsed),
        "saved_tokens_at_most": _saved(stopped),
        "precision": rate(len(observed) - len(false), len(observed)),
    }


def _saved(stopped: Sequence[StepFacts]) -> int | None:
    left = [step.max_tokens and step.max_tokens - (step.completion_tokens or step.deltas) for step in stopped]
    return None if None in left else sum(max(0, tokens or 0) for tokens in left)


def _at_the_limit(step: StepFacts) -> bool:
    """Seen only once the token limit had ended the reply: whether it would have gone on is not known."""
    return step.collapse is not None and step.collapse.get("note") == AT_THE_LIMIT


def _otherwise_valid(step: StepFacts) -> bool:
    return set(step.fatal) <= {"collapsed"} and step.error is None


def wasted_tokens(step: StepFacts) -> int:
    """Tokens generated after the onset: the alarm's own count of characters, at four characters a token."""
    if step.collapse is None:
        return 0
    return int(step.collapse.get("wasted_chars", 0)) // 4


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def milliseconds(durations: Iterable[int | None]) -> dict[str, float | None]:
    ordered = sorted(duration / 1e6 for duration in durations if duration is not None)
    return {name: quantile(ordered, share) for name, share in QUANTILES.items()} | {"n": len(ordered)}


def gap_quantiles(attempts: Sequence[Attempt]) -> dict[str, float | None]:
    """Time between deltas; with speculation one delta carries several tokens."""
    gaps: Counter[int] = Counter()
    for attempt in attempts:
        gaps.update(attempt.gaps)
    total = sum(gaps.values())
    return {name: _gap_at(gaps, total, share) for name, share in QUANTILES.items()} | {"n": total}


def _gap_at(gaps: Counter[int], total: int, share: float) -> float | None:
    seen = 0
    for index in sorted(gaps):
        seen += gaps[index]
        if seen >= share * total:
            return bin_ms(index)
    return None


def decode_speed(steps: Sequence[StepFacts]) -> dict[str, float | None]:
    """`value` is all tokens after the first over all decode time; the quantiles are over steps."""
    speeds = sorted(step.decode_tok_s for step in steps if step.decode_tok_s is not None)
    counted = [step for step in steps if step.decode_tok_s is not None]
    seconds = sum(step.decode_ns or 0 for step in counted) / 1e9
    total = sum(step.decoded_tokens or 0 for step in counted)
    return {"value": _share(total, seconds)} | {name: quantile(speeds, q) for name, q in QUANTILES.items()}


def server_decode_speed(steps: Sequence[StepFacts]) -> dict[str, float | None] | None:
    """The engine's own decode speed per reply, kept apart from the client's; None where it states none."""
    speeds = sorted(step.server_tok_s for step in steps if step.server_tok_s is not None)
    return {name: quantile(speeds, q) for name, q in QUANTILES.items()} if speeds else None


def prefill_speed(steps: Sequence[StepFacts]) -> dict[str, float | None]:
    """Prompt tokens not taken from the cache over the time to the first token."""
    known = [
        (step.prefilled_tokens, step.ttft_ns)
        for step in steps
        if step.prefilled_tokens is not None and step.ttft_ns and step.cached_tokens is not None
    ]
    speeds = sorted(tokens / (ns / 1e9) for tokens, ns in known)
    value = _share(sum(tokens for tokens, _ in known), sum(ns for _, ns in known) / 1e9)
    return {"value": value} | {name: quantile(speeds, q) for name, q in QUANTILES.items()}


def tokens(steps: Sequence[StepFacts]) -> dict[str, Any]:
    return {
        "prompt": _sum(step.prompt_tokens for step in steps),
        "cached": _sum(step.cached_tokens for step in steps),
        "completion": _sum(step.completion_tokens for step in steps),
        "computed_steps": sum(step.usage_source == "computed" for step in steps),
        "unknown_steps": sum(step.usage_source == "none" for step in steps),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def acceptance(steps: Sequence[StepFacts], server: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Share of drafted tokens that were accepted: the engine's counts per request, else its counters over the run."""
    counters: dict[str, Any] | None = server["acceptance"] if server else None
    known = [step for step in steps if step.drafted]
    if not known:
        return counters
    drafted = sum(step.drafted or 0 for step in known)
    length = counters["length"] if counters else None
    return {"rate": sum(step.accepted or 0 for step in known) / drafted, "length": length, "source": "usage"}


def kv(lane: LaneView) -> dict[str, Any] | None:
    used = [s.sample["kv_used"] for s in lane.telemetry if s.sample.get("kv_used") is not None]
    pool = lane.facts.get("kv_pool_tokens")
    if pool is None and not used:
        return None
    return {"pool_tokens": pool, "peak_used": max(used) if used else None}


def lane_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """What a lane ran with, one word each: what the server tells, what its log tells, what the plan says."""
    words = {"version": facts.get("version"), "context_length": facts.get("context_length")}
    words |= {"block_size": facts.get("block_size"), "kv_pool_tokens": facts.get("kv_pool_tokens")}
    words |= {"swa_pool_tokens": (facts.get("log") or {}).get("swa_pool_tokens")}
    words |= (facts.get("effective") or {}) | (facts.get("plan") or {})
    weights = words.get("weights")
    if isinstance(weights, str) and weights.startswith("/"):
        words["weights"] = weights.rpartition("/")[2]
    return {word: value for word, value in words.items() if value is not None}


def finished_sessions(attempts: Sequence[Attempt]) -> dict[str, Any] | None:
    """Live mode: sessions whose check command passed."""
    checked = [attempt.check for attempt in attempts if attempt.check is not None]
    return rate(sum(bool(check.get("passed")) for check in checked), len(checked)) if checked else None
