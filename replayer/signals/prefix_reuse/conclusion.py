"""What is concluded of a lane's prefix reuse, once, and of a session in one sentence: every report and screen prints the
same words from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from replayer.lazy import dataclass
from replayer.signals.base import Signal, TurnFacts
from replayer.signals.prefix_reuse.causes import FIXES, LEAST_SHARE, PHRASES
from replayer.signals.prefix_reuse.diagnosis import NO_HIT, SAID_ON
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.signals.prefix_reuse.server_facts import FULL, Pressure, ServerFacts

_OFF_TURNS, _OFF_TOKENS = 3, 2000
_APART = 0.02
"""Share of the prompts by which the replies' counts and the server's own may differ."""
_MOST_TURNS = 0.9
"""Share of the turns that must have reported their reuse for it to stand for the lane without a word."""
_FELL = 0.05
"""Least fall of the reused share that is called pressure."""

WARM = "the cache was warm before the run, a reset or a salt had no effect, or our estimate is low"
"""Why more was reused than anything of this run explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseConclusion:
    """Shares are of prompt tokens; `low` and `high` are the range of the expectation. Costs are of the chief cause."""

    ideal: float | None
    low: float | None
    high: float | None
    evicted: float | None
    reported: float | None
    source: str | None
    cause: str | None
    causes: dict[str, int]
    """Turns by cause."""
    evidence: tuple[str, ...]
    lost_tokens: int
    lost_ms: float | None
    fix: str | None
    above: float | None
    """Share reused beyond the range; None where nothing was."""
    pressure: Pressure | None
    verdict: str | None
    counted: str | None = None
    """Of how many turns the share reused is, where it is not of all."""


def conclude(findings: Sequence[PrefixFinding], server: ServerFacts) -> ReuseConclusion:
    """Findings of one lane in order. A cause outweighs the error of the figures and contradicts none of them."""
    found = settled(_counted_otherwise(_counted_as_none(findings, server), server))
    found = [_in_the_light_of(f, server) for f in found]
    with_report = [f for f in found if f.reported_tokens is not None and f.reported_tokens <= f.prompt_tokens]
    judged = with_report or found
    prompt = sum(f.prompt_tokens for f in judged)
    reported, source = _reported(with_report, prompt, server)
    chief, lost = _chief([f for f in found if f.reported_tokens is not None] or found, prompt)
    if chief is None and not with_report and (found or reported is None):
        chief = "not_reported"
    pressure = _pressure(chief, judged, prompt, reported, server)
    above, miscounted = sum(f.above for f in judged), chief == "counter_broken"
    return ReuseConclusion(
        ideal=_share(sum(f.ideal_tokens for f in judged), prompt),
        low=_share(sum(_low(f) for f in judged), prompt),
        high=_share(sum(_high(f) for f in judged), prompt),
        evicted=_evicted(judged),
        reported=reported,
        source=source,
        cause=chief,
        causes=dict(Counter(f.cause for f in found if f.cause).most_common()),
        evidence=_evidence(chief, judged, server),
        lost_tokens=lost,
        lost_ms=lost * server.ms_per_token if lost and server.ms_per_token and not miscounted else None,
        fix=FIXES.get(chief or ""),
        above=_share(above, prompt) if above > LEAST_SHARE * prompt and not miscounted else None,
        pressure=pressure,
        verdict=_verdict(found, chief, reported, pressure, cost(lost, server.ms_per_token)),
        counted=_counted(with_report, found),
    )


def _counted(with_report: Sequence[PrefixFinding], found: Sequence[PrefixFinding]) -> str | None:
    few = 0 < len(with_report) < _MOST_TURNS * len(found)
    return f"in {len(with_report)} of {len(found)} turns" if few else None


def _counted_as_none(findings: Sequence[PrefixFinding], server: ServerFacts) -> Sequence[PrefixFinding]:
    """Where no reply says anything and the server's own counter says that there was no hit at all, each had none."""
    silent = all(f.reported_tokens is None for f in findings)
    if not silent or server.cached != 0 or not server.prompt:
        return findings
    zeros = [
        replace(
            f,
            reported_tokens=0,
            source="metrics",
            gap=f.ideal_tokens,
            lost_tokens=_low(f),
            cause="unknown" if _low(f) else None,
        )
        for f in findings
    ]
    missed = [f for f in zeros if f.lost_tokens]
    tokens = sum(f.lost_tokens for f in missed)
    if server.is_full or any(f.evicted_tokens for f in findings):
        return zeros
    if len(missed) < _OFF_TURNS or tokens < _OFF_TOKENS:
        return zeros
    fact = f"the server counted no hit in {len(missed)} turns that could have reused {tokens:,} tokens"
    return [replace(f, cause="cache_off", evidence=(fact,)) if f.cause else f for f in zeros]


def _counted_otherwise(findings: Sequence[PrefixFinding], server: ServerFacts) -> Sequence[PrefixFinding]:
    """The server's own counters as a witness for what the replies count: no hit at all, or other hits."""
    prompt, replies = sum(f.prompt_tokens for f in findings), sum(f.reported_tokens or 0 for f in findings)
    if server.cached is None or not server.prompt or server.preempted:
        return findings
    if not replies and server.cached <= LEAST_SHARE * server.prompt:
        return called_off(findings, fact=f"the server's counter says {server.cached:,.0f}, too")
    apart = abs(replies - server.cached) > max(_APART * prompt, _OFF_TOKENS)
    low, high = sum(map(_low, findings)) - _APART * prompt, sum(map(_high, findings)) + _APART * prompt
    whole = all(f.reported_tokens is not None for f in findings)
    if not (server.alone and whole and apart and low <= server.cached <= high):
        return findings
    fact = f"the replies count {replies:,} cached tokens, the server's counter {server.cached:,.0f}"
    return [
        replace(f, cause="counter_broken", detail=fact, evidence=(fact,), lost_tokens=abs(f.gap))
        if f.gap
        else f
        for f in findings
    ]


def called_off(
    findings: Sequence[PrefixFinding], detail: str = "", fact: str | None = None
) -> Sequence[PrefixFinding]:
    """What only the replies reported, believed."""
    return [
        replace(f, cause="cache_off", detail=detail, evidence=(*f.evidence, *([fact] if fact else [])))
        if f.detail == NO_HIT
        else f
        for f in findings
    ]


def _in_the_light_of(found: PrefixFinding, server: ServerFacts) -> PrefixFinding:
    """What the server counted over the whole run holds for each turn."""
    if found.cause == "cache_off" and server.preempted:
        return replace(found, cause="unknown", evidence=(), detail="")
    at_engine = 2 * (found.gap or 0) > found.lost_tokens
    if found.cause == "unknown" and at_engine and server.preempted and not server.is_idle:
        return replace(found, cause="eviction", detail="the pool holds too few tokens", evidence=())
    if found.cause == "eviction" and server.is_idle and not found.detail.startswith("the server has"):
        used = server.fill if server.kv_peak is None else server.kv_peak
        return replace(found, cause="unknown", evidence=(f"KV use peaked at {used:.0%}",), detail="")
    return found


def _reported(
    with_report: Sequence[PrefixFinding], prompt: int, server: ServerFacts
) -> tuple[float | None, str | None]:
    if with_report:
        return _share(sum(f.reported_tokens or 0 for f in with_report), prompt), with_report[0].source
    if server.alone and server.cached is not None and server.prompt:
        return server.cached / server.prompt, "metrics"
    return None, None


def _chief(findings: Sequence[PrefixFinding], prompt: int) -> tuple[str | None, int]:
    weights: Counter[str] = Counter()
    for found in findings:
        if found.cause and found.cause != "not_reported":
            weights[found.cause] += found.lost_tokens
    if not weights:
        return None, 0
    cause, lost = weights.most_common(1)[0]
    return (cause, lost) if lost > LEAST_SHARE * prompt else (None, 0)


def _pressure(
    chief: str | None,
    findings: Sequence[PrefixFinding],
    prompt: int,
    reported: float | None,
    server: ServerFacts,
) -> Pressure | None:
    if chief != "eviction" or reported is None or server.sessions < 2 or not server.is_full:
        return None
    kept = sum(max(f.ideal_tokens + (f.evicted_tokens or 0), f.ideal_tokens) for f in findings)
    expected = _share(kept, prompt) or 0.0
    if expected - reported < _FELL:
        return None
    pool, each = server.pool_tokens, server.session_tokens
    fit = max(1, pool // each) if pool and each else None
    return Pressure(
        sessions=server.sessions,
        lanes=server.lanes,
        preempted=round(server.preempted or 0),
        kv_peak=server.kv_peak,
        expected=expected,
        reported=reported,
        would_fit=fit if fit is not None and fit < server.sessions else None,
        session_tokens=each,
        pool_tokens=pool,
    )


def _evidence(chief: str | None, findings: Sequence[PrefixFinding], server: ServerFacts) -> tuple[str, ...]:
    mine = [f for f in findings if f.cause == chief and f.evidence]
    facts = list(max(mine, key=lambda f: f.lost_tokens).evidence) if mine else []
    if chief == "eviction" and server.preempted:
        facts.append(f"{server.preempted:,.0f} preemptions or retractions over the run")
    if chief == "eviction" and server.kv_peak is not None and server.kv_peak >= FULL:
        facts.append(f"KV use peaked at {server.kv_peak:.0%}")
    return tuple(dict.fromkeys(facts))


def _evicted(findings: Sequence[PrefixFinding]) -> float | None:
    """What was reused all the same had not been evicted."""
    known = [(f, f.evicted_tokens) for f in findings if f.evicted_tokens is not None]
    kept = [max(0, (f.reported_tokens or 0) - f.ideal_tokens) for f, _ in known]
    gone = sum(max(0, tokens - more) for (_, tokens), more in zip(known, kept, strict=True))
    return _share(gone, sum(f.prompt_tokens for f, _ in known))


def _verdict(
    findings: Sequence[PrefixFinding],
    chief: str | None,
    reported: float | None,
    pressure: Pressure | None,
    price: str,
) -> str | None:
    """Where something was lost, of the session that lost most; else of the lane, as its figures are."""
    if pressure is not None:
        return f"{pressure.sentence}; {price}; fix: {FIXES['eviction']}."
    if chief is None:
        return _healthy(findings) if findings else None
    if chief == "not_reported" and reported is not None:
        return f"{reported:.1%} of the prompt tokens were reused by the server's own counter; its replies report nothing."
    sessions: dict[str, list[PrefixFinding]] = defaultdict(list)
    for found in findings:
        sessions[found.key.rpartition("/")[0]].append(found)
    worst = max(sessions.values(), key=lambda session: sum(f.lost_tokens for f in session), default=None)
    return session_verdict(worst) if worst else None


def _low(found: PrefixFinding) -> int:
    return found.ideal_tokens if found.least is None else found.least


def _high(found: PrefixFinding) -> int:
    return found.ideal_tokens if found.most is None else found.most


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


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
    price = "" if cause == "not_reported" else f"; {_price(cause, [findings[n] for n in hit])}"
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
        verb = "cannot be judged" if cause == "not_reported" else "fall short" if many else "falls short"
        detail = f" ({hit[-1].detail})" if hit[-1].detail else ""
        return f"{verb}: {PHRASES.get(cause, cause)}{detail}"
    mostly = "" if often == len(hit) else "mostly " if 2 * often > len(hit) else "at changing places, first "
    verb = "differ" if many else "differs"
    where = f"message {index} ({path})" if index is not None else path
    own = cause in ("attribution_header", "clock_or_date", "random_id_or_hash") and path.startswith(
        "messages[0]"
    )
    owner = " in the system prompt" if own else ""
    return f"{verb} {mostly}at {where}, character {(offset or 0) + 1}: {PHRASES.get(cause, cause)}{owner}"


def cost(tokens: int, ms_per_token: float | None) -> str:
    """What was recomputed, in tokens and where it is known in time."""
    took = f", at least {tokens * ms_per_token:,.0f} ms" if ms_per_token else ""
    return f"{tokens:,} prompt tokens recomputed{took}"


def _price(cause: str, hit: Sequence[PrefixFinding]) -> str:
    lost, prompt = (
        round(median(values)) for values in zip(*((f.lost_tokens, f.prompt_tokens) for f in hit), strict=True)
    )
    each = "each turn" if len(hit) > 1 else "there"
    what = "not reported as reused" if hit[-1].detail in (NO_HIT, SAID_ON) else "recomputed"
    what = "counted wrongly" if cause == "counter_broken" else what
    return f"{lost:,} of {prompt:,} prompt tokens are {what} {each}"


def _healthy(findings: Sequence[PrefixFinding]) -> str:
    with_report = [found for found in findings if found.reported_tokens is not None]
    judged = with_report or findings
    prompt = sum(found.prompt_tokens for found in judged)
    if not prompt:
        return "no request to judge."
    ideal = sum(found.ideal_tokens for found in judged) / prompt
    if not with_report:
        return f"healthy as far as the requests go: {ideal:.1%} of the prompt tokens can be reused; nothing was reported."
    real = sum(found.reported_tokens or 0 for found in with_report) / prompt
    if sum(found.above for found in with_report) > LEAST_SHARE * prompt:
        most = sum(found.ideal_tokens if found.most is None else found.most for found in with_report) / prompt
        return f"{real:.1%} of the prompt tokens were reused (expected at most {most:.1%}: {WARM})."
    where = _counted(with_report, findings)
    where = f" {where} (the others reported nothing)" if where else ""
    low = sum(map(_low, judged)) / prompt
    # What was reused was possible, where the estimate ends a little below it.
    possible = f"{low:.1%} to {ideal:.1%}" if ideal - real > LEAST_SHARE else f"{max(ideal, real):.1%}"
    return f"healthy: {real:.1%} of the prompt tokens were reused{where}, the ideal is {possible}."


class PrefixReuseSignal(Signal):
    """Keeps a session's findings for its verdict; the runner makes them, since tokens may have to be asked for."""

    name = "prefix_reuse"
    version = 1

    def __init__(self) -> None:
        self._found: list[PrefixFinding] = []

    def after_turn(self, turn: TurnFacts) -> Sequence[PrefixFinding]:
        if turn.reuse is None:
            return ()
        self._found.append(turn.reuse)
        return (turn.reuse,)

    def verdicts(self) -> dict[str, str]:
        return {"prefix_cache": session_verdict(self._found)} if self._found else {}
