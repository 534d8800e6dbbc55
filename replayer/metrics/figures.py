"""The figures of a lane, computed from counts at the end. Keys are the contract of `report --json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from replayer.journal.turns import Attempt, TurnFacts, bin_ms
from replayer.journal.view import LaneView, RunView
from replayer.metrics.compare import compare
from replayer.metrics.load_figures import load
from replayer.metrics.prefix_figures import prefix_cache
from replayer.metrics.stats import quantile, wilson
from replayer.metrics.sweep_figures import sweep_figures
from replayer.metrics.telemetry_figures import server_figures, speed_bands
from replayer.signals.repetition import AT_THE_LIMIT
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
        "incomplete_sessions": view.incomplete,
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
    turns = [turn for turn in all_turns(attempts) if turn.total_ns is not None]
    counted = tokens(turns)
    whole = not counted["computed_turns"] and not counted["unknown_turns"]
    server = server_figures(
        lane.telemetry, counted["completion"] if whole else None, counted["prompt"] if whole else None
    )
    fit = speed_bands(turns, lane.telemetry)
    return {
        "lane": lane.name,
        "kind": lane.kind,
        "model": lane.model,
        "sessions": sum(attempt.outcome is not None for attempt in attempts),
        "turns": len(turns),
        "usable_turn_rate": usable_turn_rate(turns),
        "tool_calls": tool_calls(turns),
        **fold(turn.marks for turn in turns).figures(),
        "repetition": repetition(turns),
        "prefix_cache": prefix_cache(turns),
        "stamped_by": dict(sorted(Counter(turn.stamped_by for turn in turns if turn.deltas).items())),
        "ttft_ms": milliseconds(turn.ttft_ns for turn in turns),
        "itl_ms": gap_quantiles(attempts),
        "e2e_ms": milliseconds(turn.total_ns for turn in turns if turn.error is None and not turn.stopped),
        "decode_tok_s": decode_speed(turns),
        "server_decode_tok_s": server_decode_speed(turns),
        "prefill_tok_s": prefill_speed(turns),
        "load": load(turns, lane.plan.get("in_flight", 1), lane.plan.get("slo")),
        "tokens": counted,
        "acceptance": acceptance(turns, server),
        "bands": fit["bands"] if fit and len(fit["bands"]) > 1 else [],
        "band_fit": fit,
        "server": server,
        "kv": kv(lane),
        "facts": lane_facts(lane.facts),
        "errors": dict(sorted(Counter(turn.error for turn in turns if turn.error).items())),
        "retries": sum(turn.retries for turn in turns),
        "substituted_turns": sum(turn.substituted is not None for turn in turns),
        "finished_sessions": finished_sessions(attempts),
    }


def all_turns(attempts: Iterable[Attempt]) -> Iterable[TurnFacts]:
    return chain.from_iterable(attempt.turns.values() for attempt in attempts)


def usable_turn_rate(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    judged = [turn.usable for turn in turns if turn.usable is not None]
    return rate(sum(judged), len(judged))


def rate(successes: int, n: int) -> dict[str, Any]:
    """A share with its Wilson interval; value None when nothing was judged."""
    low, high = wilson(successes, n)
    return {"value": successes / n if n else None, "low": low, "high": high, "n": n}


def tool_calls(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    outcomes = Counter(chain.from_iterable(turn.tool_outcomes for turn in turns))
    failed = sum(
        n for outcome, n in outcomes.items() if outcome not in ("ok", "not_executable_here", "recorded")
    )
    return {
        "total": sum(turn.calls for turn in turns),
        "invalid": sum(turn.invalid_calls for turn in turns),
        "executed": sum(n for kind, n in outcomes.items() if kind not in ("not_executable_here", "recorded")),
        "failed_execution": failed if outcomes else None,
        "outcomes": dict(sorted(outcomes.items())),
        "divergent_results": sum(turn.divergent for turn in turns) if outcomes else None,
        "loops": sum(turn.loops for turn in turns),
    }


def repetition(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    """`precision` comes from the turns whose alarm was left running, and from those alone.

    `saved_tokens_at_most` is what the token limits of the stopped turns still allowed; None where one had no limit.
    """
    collapsed = [turn for turn in turns if "collapsed" in turn.faults or turn.collapse]
    stopped = [turn for turn in collapsed if turn.stopped]
    observed = [turn for turn in collapsed if not turn.stopped and not _at_the_limit(turn)]
    false = [
        turn for turn in observed if turn.finish_reason in ("stop", "tool_calls") and _otherwise_valid(turn)
    ]
    return {
        "collapsed_turns": len(collapsed),
        "rate": rate(len(collapsed), len(turns)),
        "stopped_turns": len(stopped),
        "wasted_tokens": sum(wasted_tokens(turn) for turn in collapsed),
        "saved_tokens_at_most": _saved(stopped),
        "precision": rate(len(observed) - len(false), len(observed)),
    }


def _saved(stopped: Sequence[TurnFacts]) -> int | None:
    left = [turn.max_tokens and turn.max_tokens - (turn.completion_tokens or turn.deltas) for turn in stopped]
    return None if None in left else sum(max(0, tokens or 0) for tokens in left)


def _at_the_limit(turn: TurnFacts) -> bool:
    """Seen only once the token limit had ended the reply: whether it would have gone on is not known."""
    return turn.collapse is not None and turn.collapse.get("note") == AT_THE_LIMIT


def _otherwise_valid(turn: TurnFacts) -> bool:
    return set(turn.fatal) <= {"collapsed"} and turn.error is None


def wasted_tokens(turn: TurnFacts) -> int:
    """Tokens generated after the onset: the alarm's own count of characters, at four characters a token."""
    if turn.collapse is None:
        return 0
    return int(turn.collapse.get("wasted_chars", 0)) // 4


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


def decode_speed(turns: Sequence[TurnFacts]) -> dict[str, float | None]:
    """`value` is all tokens after the first over all decode time; the quantiles are over turns."""
    speeds = sorted(turn.decode_tok_s for turn in turns if turn.decode_tok_s is not None)
    counted = [turn for turn in turns if turn.decode_tok_s is not None]
    seconds = sum(turn.decode_ns or 0 for turn in counted) / 1e9
    total = sum(turn.decoded_tokens or 0 for turn in counted)
    return {"value": _share(total, seconds)} | {name: quantile(speeds, q) for name, q in QUANTILES.items()}


def server_decode_speed(turns: Sequence[TurnFacts]) -> dict[str, float | None] | None:
    """The engine's own decode speed per reply, kept apart from the client's; None where it states none."""
    speeds = sorted(turn.server_tok_s for turn in turns if turn.server_tok_s is not None)
    return {name: quantile(speeds, q) for name, q in QUANTILES.items()} if speeds else None


def prefill_speed(turns: Sequence[TurnFacts]) -> dict[str, float | None]:
    """Prompt tokens not taken from the cache over the time to the first token."""
    known = [
        (turn.prefilled_tokens, turn.ttft_ns)
        for turn in turns
        if turn.prefilled_tokens is not None and turn.ttft_ns and turn.cached_tokens is not None
    ]
    speeds = sorted(tokens / (ns / 1e9) for tokens, ns in known)
    value = _share(sum(tokens for tokens, _ in known), sum(ns for _, ns in known) / 1e9)
    return {"value": value} | {name: quantile(speeds, q) for name, q in QUANTILES.items()}


def tokens(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    return {
        "prompt": _sum(turn.prompt_tokens for turn in turns),
        "cached": _sum(turn.cached_tokens for turn in turns),
        "completion": _sum(turn.completion_tokens for turn in turns),
        "computed_turns": sum(turn.usage_source == "computed" for turn in turns),
        "unknown_turns": sum(turn.usage_source == "none" for turn in turns),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def acceptance(turns: Sequence[TurnFacts], server: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Share of drafted tokens that were accepted: the engine's counts per request, else its counters over the run."""
    counters: dict[str, Any] | None = server["acceptance"] if server else None
    known = [turn for turn in turns if turn.drafted]
    if not known:
        return counters
    drafted = sum(turn.drafted or 0 for turn in known)
    length = counters["length"] if counters else None
    return {"rate": sum(turn.accepted or 0 for turn in known) / drafted, "length": length, "source": "usage"}


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
