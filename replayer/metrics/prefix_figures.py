"""Prefix reuse of a lane in figures: shares, the curve over by_position, the cause and a verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.turns import TurnFacts
from replayer.signals.prefix_reuse import PrefixFinding, session_verdict


def prefix_cache(turns: Sequence[TurnFacts]) -> dict[str, Any]:
    """Shares of prompt tokens: what could have been reused, and what the engine says was. `evicted` is what could have
    been on top, had the KV pool no limit; None where the pool is not known.

    `curve` has the same two shares for each turn, pooled over sessions: an average hides that reuse grows with a
    session (68.7 to 91.2 % within one). Both shares are over the turns whose reuse was reported, where any was: a
    stream that was stopped has no usage; and over those that have been worked out, where any have been: in a run that
    goes on the newest has not. `verdict` is of the session that lost most.
    """
    known = [turn for turn in turns if turn.cached_tokens is not None and turn.prompt_tokens]
    known = [turn for turn in known if turn.prefix and _known(turn.prefix)] or known
    findings = _findings(turns)
    causes = Counter(str(finding["cause"]) for finding in findings if finding.get("cause"))
    reported = _share((turn.cached_tokens, turn.prompt_tokens) for turn in known)
    source = "usage" if known else None
    if reported is None:
        counted = [f for f in findings if f.get("reported_tokens") is not None]
        reported = _share((f["reported_tokens"], f["prompt_tokens"]) for f in counted)
        source = "metrics" if counted else None
    comparable = _comparable(findings)
    return {
        "ideal": _share((finding["ideal_tokens"], finding["prompt_tokens"]) for finding in comparable),
        "evicted": _share(
            (f["evicted_tokens"], f["prompt_tokens"])
            for f in comparable
            if f.get("evicted_tokens") is not None
        ),
        "reported": reported,
        "source": source,
        "cause": causes.most_common(1)[0][0] if causes else None if source else "not_reported",
        "causes": dict(causes.most_common()),
        "curve": _curve(turns),
        "verdict": _verdict(findings),
    }


def _known(finding: dict[str, Any]) -> bool:
    return finding.get("ideal_tokens") is not None and finding.get("prompt_tokens") is not None


def _comparable(findings: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    return [finding for finding in findings if finding.get("reported_tokens") is not None] or findings


def _curve(turns: Sequence[TurnFacts]) -> list[dict[str, Any]]:
    by_position: dict[int, list[TurnFacts]] = defaultdict(list)
    for turn in turns:
        by_position[turn.turn].append(turn)
    return [
        {
            "turn": number,
            "ideal": _share((f["ideal_tokens"], f["prompt_tokens"]) for f in _comparable(_findings(of_turn))),
            "reported": _share(
                (s.cached_tokens, s.prompt_tokens) for s in of_turn if s.cached_tokens is not None
            ),
        }
        for number, of_turn in sorted(by_position.items())
    ]


def _findings(turns: Sequence[TurnFacts]) -> list[dict[str, Any]]:
    return [turn.prefix for turn in turns if turn.prefix and _known(turn.prefix)]


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
