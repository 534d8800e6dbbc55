"""A session's prefix reuse in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from replayer.signals.prefix_reuse.causes import FIXES, PHRASES
from replayer.signals.prefix_reuse.finding import PrefixFinding

_MUCH_ABOVE = 0.005
"""Share of the prompt tokens reused beyond the expectation from which on it is said."""


def settled(findings: Sequence[PrefixFinding]) -> list[PrefixFinding]:
    """One server's findings in the light of all of them: a cache that proves to be off was off before, too."""
    if any(found.reported_tokens for found in findings):
        return list(findings)
    proof = next((found for found in findings if found.cause in ("cache_off", "counter_broken")), None)
    return [
        replace(found, cause=proof.cause, detail=proof.detail, evidence=proof.evidence)
        if proof and found.cause == "unknown" and found.reported_tokens == 0
        else found
        for found in findings
    ]


def session_verdict(findings: Sequence[PrefixFinding]) -> str:
    """One sentence: since when, where, why, at what price, and the fix where there is one."""
    weights: Counter[str] = Counter()
    for found in findings:
        if found.cause:
            weights[found.cause] += max(1, found.lost_tokens)
    if not weights:
        return _healthy(findings)
    cause = weights.most_common(1)[0][0]
    hit = [n for n, found in enumerate(findings) if found.cause == cause]
    price = "" if cause == "not_reported" else f"; {_price([findings[n] for n in hit])}"
    when, many = _when(hit, len(findings))
    sentence = f"{when} {_what(cause, [findings[n] for n in hit], many)}{price}"
    return f"{sentence}; fix: {FIXES[cause]}." if cause in FIXES else f"{sentence}."


def _when(hit: Sequence[int], total: int) -> tuple[str, bool]:
    """Which requests, and whether they take a plural verb."""
    if len(hit) == 1:
        return f"request {hit[0] + 1} of {total}", False
    if len(hit) == total - hit[0]:
        return f"every request since turn {hit[0] + 1}", False
    return f"{len(hit)} of {total} requests, from turn {hit[0] + 1} on,", True


def _what(cause: str, hit: Sequence[PrefixFinding], many: bool) -> str:
    place, often = Counter((found.message_index, found.path, found.offset) for found in hit).most_common(1)[0]
    index, path, offset = place
    if not path:
        return f"{'fall' if many else 'falls'} short: {PHRASES.get(cause, cause)}{_detail(hit)}"
    mostly = "" if often == len(hit) else "mostly " if 2 * often > len(hit) else "at changing places, first "
    verb = "differ" if many else "differs"
    return f"{verb} {mostly}at {_where(index, path)}, offset {offset}: {PHRASES.get(cause, cause)}{_owner(cause, path)}"


def _where(index: int | None, path: str) -> str:
    return f"message {index} ({path})" if index is not None else path or "the tokens"


def cost(tokens: int, ms_per_token: float | None) -> str:
    """What was recomputed, in tokens and where it is known in time."""
    took = f", at least {tokens * ms_per_token:,.0f} ms" if ms_per_token else ""
    return f"{tokens:,} prompt tokens recomputed{took}"


def _owner(cause: str, path: str) -> str:
    return (
        " in the system prompt"
        if cause in ("clock_or_date", "random_id_or_hash") and path.startswith("messages[0]")
        else ""
    )


def _detail(hit: Sequence[PrefixFinding]) -> str:
    return f" ({hit[-1].detail})" if hit[-1].detail else ""


def _price(hit: Sequence[PrefixFinding]) -> str:
    lost, prompt = (
        round(median(values)) for values in zip(*((f.lost_tokens, f.prompt_tokens) for f in hit), strict=True)
    )
    each = "each turn" if len(hit) > 1 else "there"
    return f"{lost:,} of {prompt:,} prompt tokens are recomputed {each}"


def _healthy(findings: Sequence[PrefixFinding]) -> str:
    told = [found for found in findings if found.reported_tokens is not None]
    judged = told or findings
    prompt = sum(found.prompt_tokens for found in judged)
    if not prompt:
        return "no request to judge."
    ideal = sum(found.ideal_tokens for found in judged) / prompt
    if not told:
        return f"healthy as far as the requests go: {ideal:.1%} of the prompt tokens can be reused; nothing was reported."
    real = sum(found.reported_tokens or 0 for found in told) / prompt
    if sum(found.above for found in told) > _MUCH_ABOVE * prompt:
        most = sum(found.ideal_tokens if found.most is None else found.most for found in told) / prompt
        return (
            f"{real:.1%} of the prompt tokens were reused (expected at most {most:.1%}: the cache was warm before the "
            "run, or our estimate is low)."
        )
    return f"healthy: {real:.1%} of the prompt tokens were reused, the ideal is {ideal:.1%}."
