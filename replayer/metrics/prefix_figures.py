"""Prefix reuse of a lane in figures: shares, the curve over by_position, the cause and a verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.turns import TurnFacts
from replayer.metrics.documents import CurvePoint, PrefixCache
from replayer.metrics.turn_values import is_judged
from replayer.signals.prefix_reuse import PrefixFinding, session_verdict


def worked_out(turns: Sequence[TurnFacts]) -> Sequence[TurnFacts]:
    """Those that the prefix signal has judged, where it has judged any: in a run that goes on, it has not yet judged the
    newest, and the two shares are over the same turns."""
    found = [turn for turn in turns if is_judged(turn)]
    return found or turns


def prefix_cache(turns: Sequence[TurnFacts], reported: float | None) -> PrefixCache:
    """`reported` is the catalogue's figure over the same turns.

    `curve` has both shares for each turn number: an average hides that reuse grows with a session. The best possible is
    over the turns whose reuse was reported, where any was: a stream that was stopped has no usage. `verdict` is of the
    session that lost most.
    """
    findings = _findings(turns)
    causes = Counter(str(finding["cause"]) for finding in findings if finding.get("cause"))
    source = None if reported is None else "usage" if any(map(_in_usage, turns)) else "metrics"
    comparable = _comparable(findings)
    return PrefixCache(
        ideal=_share((finding["ideal_tokens"], finding["prompt_tokens"]) for finding in comparable),
        evicted=_share(
            (f["evicted_tokens"], f["prompt_tokens"])
            for f in comparable
            if f.get("evicted_tokens") is not None
        ),
        reported=reported,
        source=source,
        cause=causes.most_common(1)[0][0] if causes else None if source else "not_reported",
        causes=dict(causes.most_common()),
        curve=_curve(turns),
        verdict=_verdict(findings),
    )


def _in_usage(turn: TurnFacts) -> bool:
    return turn.cached_tokens is not None and bool(turn.prompt_tokens)


def _comparable(findings: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    return [finding for finding in findings if finding.get("reported_tokens") is not None] or findings


def _curve(turns: Sequence[TurnFacts]) -> list[CurvePoint]:
    by_position: dict[int, list[TurnFacts]] = defaultdict(list)
    for turn in turns:
        by_position[turn.turn].append(turn)
    return [
        CurvePoint(
            turn=number,
            ideal=_share((f["ideal_tokens"], f["prompt_tokens"]) for f in _comparable(_findings(of_turn))),
            reported=_share(
                (s.cached_tokens, s.prompt_tokens) for s in of_turn if s.cached_tokens is not None
            ),
        )
        for number, of_turn in sorted(by_position.items())
    ]


def _findings(turns: Sequence[TurnFacts]) -> list[dict[str, Any]]:
    return [turn.prefix for turn in turns if turn.prefix and is_judged(turn)]


def _verdict(findings: Sequence[dict[str, Any]]) -> str | None:
    sessions: dict[str, list[PrefixFinding]] = defaultdict(list)
    for finding in findings:
        sessions[str(finding.get("key", "")).rpartition("/")[0]].append(PrefixFinding.from_dict(finding))
    worst = max(sessions.values(), key=lambda session: sum(f.lost_tokens for f in session), default=None)
    return session_verdict(worst) if worst else None


def _share(parts: Iterable[tuple[int | None, int | None]]) -> float | None:
    pairs = list(parts)
    whole = sum(total or 0 for _, total in pairs)
    return sum(part or 0 for part, _ in pairs) / whole if whole else None
