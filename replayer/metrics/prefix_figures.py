"""Prefix reuse of a lane in figures: the conclusion of the signal, and the curve over the turns of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import median

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.documents import CurvePoint, LostTokens, PrefixCache
from replayer.metrics.stats import quantile
from replayer.metrics.telemetry_figures import by_instance
from replayer.signals.prefix_reuse.conclusion import conclude
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.signals.prefix_reuse.server_facts import ServerFacts
from replayer.telemetry.deltas import deltas, merge

_LEAST_TIMES, _LEAST_COMPUTED = 6, 256
"""Turns from which the price of a computed token is worked out, and the tokens that each computed."""


def worked_out(turns: Sequence[TurnFacts]) -> Sequence[TurnFacts]:
    """Those that the prefix signal has judged, where it has judged any: in a run that goes on, it has not yet judged the
    newest, and the two shares are over the same turns."""
    found = [turn for turn in turns if turn.judged]
    return found or turns


def prefix_cache(lane: LaneView, turns: Sequence[TurnFacts], reported: float | None) -> PrefixCache:
    """`reported` is the catalogue's figure over the same turns; without one the server's own counters stand in.

    `curve` has both shares for each turn number: an average hides that reuse grows with a session. The best possible is
    over the turns whose reuse was reported, where any was: a stream that was stopped has no usage.
    """
    judged = ((id(turn), turn.prefix) for turn in turns if turn.judged)
    findings = {number: PrefixFinding.from_dict(found) for number, found in judged if found}
    found = conclude(list(findings.values()), server_facts(lane, turns))
    known = reported is not None and found.reported is None
    pressure = found.pressure
    return PrefixCache(
        ideal=found.ideal,
        evicted=found.evicted,
        reported=found.reported if reported is None else reported,
        source="usage" if known else found.source,
        cause=None if found.cause == "not_reported" and (known or not turns) else found.cause,
        causes=found.causes,
        curve=_curve(turns, findings),
        verdict=found.verdict,
        range=None if found.low is None or found.high is None else (found.low, found.high),
        evidence=list(found.evidence),
        cost=LostTokens(found.lost_tokens, found.lost_ms) if found.lost_tokens else None,
        fix=found.fix,
        above=found.above,
        pressure=asdict(pressure) | {"sentence": pressure.sentence} if pressure else None,
        counted=found.counted,
    )


def server_facts(lane: LaneView, turns: Sequence[TurnFacts]) -> ServerFacts:
    """What telemetry and the run itself say of the server."""
    total = merge([deltas(samples) for samples in by_instance(lane.telemetry).values()])
    asked, counted = lane.asked_of_server, total.counters.get("prompt_tokens")
    lost = 0.98 * (asked.prompt_tokens or 0) > (counted or 0)  # cleared between two readings
    whole = total.resets == 0 and total.readings >= 2 and not lost
    busy = [r.sample["kv_used"] for r in lane.telemetry if r.sample.get("running") and "kv_used" in r.sample]
    held = [  # at most by a session
        max((turn.prompt_tokens or 0) + (turn.completion_tokens or 0) for turn in attempt.turns.values())
        for attempt in lane.attempts
        if attempt.turns
    ]
    alone = len(asked.lanes) <= 1 and asked.prompt_tokens is not None and whole
    return ServerFacts(
        sessions=asked.in_flight,
        lanes=len(asked.lanes) or 1,
        session_tokens=round(median(held)) if any(held) else None,
        pool_tokens=lane.facts.get("kv_pool_tokens"),
        preempted=total.counters.get("preempted"),
        kv_peak=max(busy, default=None),
        cached=total.counters.get("cached_tokens") if whole else None,
        prompt=counted if whole else None,
        alone=alone and counted is not None and counted <= 1.02 * (asked.prompt_tokens or 0) + 100,
        ms_per_token=_ms_per_token(turns),
    )


def _ms_per_token(turns: Sequence[TurnFacts]) -> float | None:
    """Time to the first token per computed prompt token, of the turns that waited least; None where it says nothing."""
    rates = sorted(
        turn.prefill_ns / 1e6 / tokens
        for turn in turns
        if turn.prefill_ns
        and turn.cached_tokens is not None
        and (tokens := turn.prefilled_tokens or 0) >= _LEAST_COMPUTED
    )
    return quantile(rates, 0.1) if len(rates) >= _LEAST_TIMES else None


def _curve(turns: Sequence[TurnFacts], findings: dict[int, PrefixFinding]) -> list[CurvePoint]:
    by_position: dict[int, list[TurnFacts]] = defaultdict(list)
    for turn in turns:
        by_position[turn.turn].append(turn)
    return [
        CurvePoint(
            turn=number,
            ideal=_share(
                (f.ideal_tokens, f.prompt_tokens)
                for f in _comparable([findings[id(turn)] for turn in of_turn if id(turn) in findings])
            ),
            reported=_share(
                (s.cached_tokens, s.prompt_tokens) for s in of_turn if s.cached_tokens is not None
            ),
        )
        for number, of_turn in sorted(by_position.items())
    ]


def _comparable(findings: Sequence[PrefixFinding]) -> Sequence[PrefixFinding]:
    return [found for found in findings if found.reported_tokens is not None] or findings


def _share(parts: Iterable[tuple[int | None, int | None]]) -> float | None:
    pairs = list(parts)
    whole = sum(total or 0 for _, total in pairs)
    return sum(part or 0 for part, _ in pairs) / whole if whole else None
