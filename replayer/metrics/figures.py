"""The figures of a lane and of a run, computed from counts at the end by the catalogue's definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.catalogue import METRICS, SHARES
from replayer.metrics.compare import compare
from replayer.metrics.conclusions import conclude, outlier_words
from replayer.metrics.crossover import crossovers
from replayer.metrics.differential import differential
from replayer.metrics.documents import (
    Acceptance,
    KvPool,
    LaneFigures,
    Quantiles,
    Rate,
    Repetition,
    Speed,
    Tokens,
    ToolCalls,
    TurnAt,
)
from replayer.metrics.load_figures import by_prompt, by_turn, load, quantiles, rate
from replayer.metrics.model_grid import model_grid
from replayer.metrics.prefix_figures import prefix_cache, worked_out
from replayer.metrics.ranking import ranking
from replayer.metrics.run_documents import Note, RunFigures
from replayer.metrics.samples import Sample, by_session, sample
from replayer.metrics.stats import weighted_quantile
from replayer.metrics.steady import steady_load
from replayer.metrics.sweep import ramps
from replayer.metrics.telemetry_figures import server_figures, speed_bands
from replayer.metrics.turn_values import (
    NOT_RUN,
    Count,
    at_the_limit,
    decoded,
    false_alarm,
    has_collapsed,
    prefilled,
    wasted_tokens,
)
from replayer.metrics.variance import variance
from replayer.signals.tool_reliability import fold
from replayer.wire.types import JsonObject

_FROM_TURNS = ("invalid_call_rate", "failed_call_rate", "error_rate")
"""Rates that stand nowhere else in a lane's document."""


def run_figures(view: RunView) -> RunFigures:
    """The document of `report --json`."""
    stopped = view.stopped_early is not None
    lanes, comparisons = [lane_figures(lane, stopped=stopped) for lane in view.lanes], compare(view)
    saturated, crossing = ramps(view.lanes, lanes), crossovers(view.lanes)
    ranked = ranking(view.lanes, lanes, comparisons)
    return RunFigures(
        run=view.run,
        state=view.state,
        mode=view.mode,
        tools=view.tools,
        incomplete_sessions=view.incomplete,
        stopped_early=view.stopped_early,
        exit_code=view.exit_code,
        reasons=list(view.reasons),
        lanes=lanes,
        warnings=[Note(warning.lane, warning.message) for warning in view.warnings],
        comparisons=comparisons,
        saturation=saturated,
        crossovers=crossing,
        variance=[found for lane in view.lanes if (found := variance(lane)) is not None],
        ranking=ranked,
        differential=differential(view),
        models=model_grid(view.lanes, lanes, comparisons),
        conclusions=conclude(lanes, comparisons, saturated, crossing, ranked),
        shards=list(view.shards),
    )


def lane_figures(lane: LaneView, *, stopped: bool = False) -> LaneFigures:
    """Shapes as in the command-line reference. `stopped`: sessions that a decided run did not need are not missing."""
    turns = finished_turns(lane)
    counted, asked = tokens(turns), lane.asked_of_server
    server = server_figures(lane.telemetry, asked.completion_tokens, asked.prompt_tokens)
    fit = speed_bands(turns, lane.telemetry)
    slo = lane.plan.get("slo")
    limits = {name: limit for name, limit in (slo or {}).items() if limit is not None}
    loaded = load(turns, lane.plan.get("in_flight", 1), slo)
    judged = worked_out(turns)
    found = LaneFigures(
        lane=lane.name,
        kind=lane.kind,
        model=lane.model,
        wire="+".join(sorted({turn.wire for turn in turns})) or None,
        sessions=sum(attempt.complete for attempt in lane.attempts),
        turns=sum(turn.answered for turn in turns),
        usable_turn_rate=_rate_of(turns, "usable_turn_rate"),
        tool_calls=tool_calls(turns),
        **fold(turn.marks for turn in turns).figures(),
        repetition=repetition(turns, first_collapse(lane.attempts)),
        prefix_cache=prefix_cache(lane, judged, _ratio(judged, "prefix_hit_rate")),
        stamped_by=dict(sorted(Counter(turn.stamped_by for turn in turns if turn.deltas).items())),
        ttft_ms=loaded.ttft_ms,
        itl_ms=gap_quantiles(lane.attempts),
        tpot_ms=loaded.tpot_ms,
        e2e_ms=loaded.e2e_ms,
        decode_tok_s=_speed([found for turn in turns if (found := decoded(turn)) is not None]),
        server_decode_tok_s=server_decode_speed(turns),
        prefill_tok_s=_speed([found for turn in turns if (found := prefilled(turn)) is not None]),
        load=loaded,
        tokens=counted,
        acceptance=acceptance(lane, turns, server),
        bands=fit["bands"] if fit and len(fit["bands"]) > 1 else [],
        band_fit=fit,
        server=server,
        kv=kv(lane),
        facts=lane_facts(lane.facts),
        errors=dict(sorted(Counter(turn.error for turn in turns if turn.error).items())),
        retries=sum(turn.retries for turn in turns),
        substituted_turns=sum(turn.substituted is not None for turn in turns),
        finished_sessions=finished_sessions(lane.attempts, cut=lane.plan.get("max_turns") is not None),
        partial_sessions=sum(
            not attempt.complete and any(turn.answered for turn in attempt.turns.values())
            for attempt in lane.attempts
        ),
        missing_sessions=0 if stopped else max(0, lane.sessions_planned - lane.sessions_done),
        outlier=_outlier(lane),
        stalled_turns=sum(turn.stalled for turn in turns),
        deltas_per_chunk=_deltas_per_chunk(lane.attempts),
        steady=steady_load(lane),
        by_turn=by_turn(turns, limits),
        by_prompt=by_prompt(turns, limits),
        unreached_turns=sum(not turn.answered for turn in turns),
    )
    rates = {key: _ratio(turns, key) for key in _FROM_TURNS}
    return replace(found, figures={key: metric.read(found) for key, metric in METRICS.items()} | rates)


def finished_turns(lane: LaneView) -> list[TurnFacts]:
    return [turn for turn in lane.turns if turn.total_ns is not None]


def _counts(turns: Sequence[TurnFacts], key: str) -> list[Count]:
    of = METRICS[key].ratio
    assert of is not None
    return [count for turn in turns if (count := of(turn)) is not None]


def _ratio(turns: Sequence[TurnFacts], key: str) -> float | None:
    counts = _counts(turns, key)
    bottom = sum(bottom for _, bottom in counts)
    return sum(top for top, _ in counts) / bottom if bottom else None


def _rate_of(turns: Sequence[TurnFacts], key: str) -> Rate:
    counts = _counts(turns, key)
    return rate(round(sum(top for top, _ in counts)), round(sum(bottom for _, bottom in counts)))


_OUTLIER = 2.0
"""A reply that changes the decode speed of all replies together by such a factor is named."""
_WORTH_A_WORD = 1.0
"""Seconds: a shorter reply says nothing of an engine, whatever it does to a mean of hundred thousands of tokens/s."""


def _outlier(lane: LaneView) -> str | None:
    timed = [
        (count, attempt.trace, turn.turn)
        for attempt in lane.attempts
        for turn in attempt.turns.values()
        if (count := decoded(turn)) is not None
    ]
    if len(timed) < 3:
        return None
    (tokens, seconds), trace, turn = max(timed, key=lambda one: one[0][1])
    all_tokens, all_seconds = (sum(one[0][part] for one in timed) for part in (0, 1))
    if seconds < _WORTH_A_WORD or all_seconds <= seconds:
        return None
    value, without = all_tokens / all_seconds, (all_tokens - tokens) / (all_seconds - seconds)
    if without < _OUTLIER * value:
        return None
    return outlier_words(value, without, seconds, seconds / all_seconds, f"turn {turn + 1} of {trace}")


def _speed(counts: Sequence[Count]) -> Speed:
    """Tokens over seconds of all replies together; the quantiles are over replies."""
    seconds = sum(bottom for _, bottom in counts)
    over = quantiles(top / bottom for top, bottom in counts)
    value = sum(top for top, _ in counts) / seconds if seconds else None
    return Speed(over.p50, over.p90, over.p95, over.p99, over.n, value)


def tool_calls(turns: Sequence[TurnFacts]) -> ToolCalls:
    outcomes = Counter(chain.from_iterable(turn.tool_outcomes for turn in turns))
    executed = sum(n for outcome, n in outcomes.items() if outcome not in NOT_RUN)
    return ToolCalls(
        total=sum(turn.calls for turn in turns),
        invalid=sum(turn.invalid_calls for turn in turns),
        executed=executed,
        failed_execution=executed - outcomes["ok"] if outcomes else None,
        outcomes=dict(sorted(outcomes.items())),
        divergent_results=sum(turn.divergent for turn in turns) if outcomes else None,
        loops=sum(turn.loops for turn in turns),
    )


def first_collapse(attempts: Iterable[Attempt]) -> TurnAt | None:
    for attempt in sorted(attempts, key=lambda one: (one.trace, one.repeat)):
        for number, turn in sorted(attempt.turns.items()):
            if turn.total_ns is not None and has_collapsed(turn):
                onset = (turn.collapse or {}).get("onset")
                return TurnAt(attempt.trace, attempt.repeat + 1, number + 1, onset)
    return None


def repetition(turns: Sequence[TurnFacts], first: TurnAt | None = None) -> Repetition:
    collapsed = [turn for turn in turns if has_collapsed(turn)]
    stopped = [turn for turn in collapsed if turn.stopped]
    observed = [turn for turn in collapsed if not turn.stopped and not at_the_limit(turn)]
    right = len(observed) - sum(map(false_alarm, observed))
    return Repetition(
        collapsed_turns=len(collapsed),
        rate=_rate_of(turns, "collapsed_rate"),
        stopped_turns=len(stopped),
        wasted_tokens=sum(map(wasted_tokens, collapsed)),
        saved_tokens_at_most=_saved(stopped),
        precision=rate(right, len(observed)),
        observed_turns=len(observed),
        first=first,
    )


def _saved(stopped: Sequence[TurnFacts]) -> int | None:
    left = [turn.max_tokens and turn.max_tokens - (turn.completion_tokens or turn.deltas) for turn in stopped]
    return None if None in left else sum(max(0, tokens or 0) for tokens in left)


def _deltas_per_chunk(attempts: Sequence[Attempt]) -> float | None:
    together = sum(attempt.together for attempt in attempts)
    apart = sum(sum(attempt.gaps.values()) for attempt in attempts)
    return (together + apart) / apart if apart else None


def gap_quantiles(attempts: Sequence[Attempt]) -> Quantiles:
    """Time between deltas; with speculation one delta carries several tokens."""
    found: Sample = sample(METRICS["itl_ms.p50"], {}, attempts)
    every: Counter[float] = Counter()
    for counts in found.times(by_session).values():
        every.update(counts)
    ordered = sorted(every.items())
    places = {name: weighted_quantile(ordered, share) for name, share in SHARES.items()}
    return Quantiles(**places, n=every.total())


def server_decode_speed(turns: Sequence[TurnFacts]) -> Quantiles | None:
    """The engine's own decode speed per reply, kept apart from the client's; None where it states none."""
    speeds = [turn.server_tok_s for turn in turns if turn.server_tok_s is not None]
    return quantiles(speeds) if speeds else None


def tokens(turns: Sequence[TurnFacts]) -> Tokens:
    return Tokens(
        prompt=_sum(turn.prompt_tokens for turn in turns),
        cached=_sum(turn.cached_tokens for turn in turns),
        cached_by_tier=_by_tier(turns),
        completion=_sum(turn.completion_tokens for turn in turns),
        computed_turns=sum(turn.usage_source == "computed" for turn in turns),
        unknown_turns=sum(turn.usage_source == "none" for turn in turns),
    )


def _by_tier(turns: Sequence[TurnFacts]) -> dict[str, int] | None:
    sums: Counter[str] = Counter()
    for turn in turns:
        if turn.cached_by_tier:
            sums.update(turn.cached_by_tier)
    return dict(sums) or None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def acceptance(
    lane: LaneView, turns: Sequence[TurnFacts], server: JsonObject | None = None
) -> Acceptance | None:
    """Share of drafted tokens that were accepted: the engine's counts per request, else its counters over the run."""
    counters = server["acceptance"] if server else None
    over_turns = _ratio(turns, "acceptance_rate")
    if over_turns is None:
        others = tuple(name for name in sorted(lane.asked_of_server.lanes) if name != lane.name)
        return Acceptance(**counters, shared_with=others) if counters else None
    length = counters["length"] if counters else None
    return Acceptance(over_turns, length, None, "usage")


def kv(lane: LaneView) -> KvPool | None:
    used = [s.sample["kv_used"] for s in lane.telemetry if s.sample.get("kv_used") is not None]
    pool = lane.facts.get("kv_pool_tokens")
    return None if pool is None and not used else KvPool(pool, max(used) if used else None)


def lane_facts(facts: JsonObject) -> JsonObject:
    """What a lane ran with, one word each: what the server reports, what its log reports, what the plan says."""
    words = {"version": facts.get("version"), "context_length": facts.get("context_length")}
    words |= {"block_size": facts.get("block_size"), "kv_pool_tokens": facts.get("kv_pool_tokens")}
    words |= {"swa_pool_tokens": (facts.get("log") or {}).get("swa_pool_tokens")}
    words |= (facts.get("effective") or {}) | (facts.get("plan") or {})
    weights = words.get("weights")
    if isinstance(weights, str) and weights.startswith("/"):
        words["weights"] = weights.rpartition("/")[2]
    return {word: value for word, value in words.items() if value is not None}


def finished_sessions(attempts: Sequence[Attempt], *, cut: bool) -> Rate | None:
    """Live mode: sessions whose check command passed. `cut`: the plan ends sessions after so many turns, and one that it
    ended says nothing of whether it would have finished."""
    checked = [
        bool(attempt.check.get("passed"))
        for attempt in attempts
        if attempt.check is not None and not (cut and attempt.outcome == "budget")
    ]
    return rate(sum(checked), len(checked)) if checked else None
