"""The sentences at the top of a report, made to be read aloud."""

from __future__ import annotations

from dataclasses import dataclass

from replayer.metrics.catalogue import COMPARED, PRIMARY
from replayer.metrics.documents import LaneFigures, Pair, PrefixCache, RunFigures
from replayer.metrics.stats import MIN_SESSIONS
from replayer.signals.prefix_reuse.causes import PHRASES


@dataclass(frozen=True, slots=True)
class Conclusions:
    """`lanes`: one sentence per lane. The comparisons that show a difference (`found`) and those that do not."""

    lanes: list[str]
    found: list[tuple[str, str]]
    """(`better`, `worse` or `differs`, sentence)."""
    open: list[str]


def conclude(document: RunFigures) -> Conclusions:
    """The comparisons were decided as one family: of all that stands here, one in twenty reports says something false."""
    pairs = document.comparisons
    found = [(_direction(pair), pair.conclusion) for pair in pairs if pair.decided]
    undecided = [pair for pair in pairs if not pair.decided]
    return Conclusions(
        [*sweep_sentences(document), *(lane_sentence(lane) for lane in document.lanes)],
        found,
        _open(undecided),
    )


def _direction(pair: Pair) -> str:
    if pair.aa:
        return "differs"
    return "better" if pair.winner == pair.b else "worse"


def _open(pairs: list[Pair]) -> list[str]:
    sentences = []
    for a, b in dict.fromkeys((pair.a, pair.b) for pair in pairs):
        mine = [pair for pair in pairs if (pair.a, pair.b) == (a, b)]
        sentences += [f"{a} and {b}, {pair.conclusion}." for pair in mine if pair.metric == PRIMARY]
        rest = [pair for pair in mine if pair.metric != PRIMARY]
        for said, words in (
            ("no evidence of a difference in", [_words(pair) for pair in rest if pair.p_value is not None]),
            ("not tested:", [_words(pair) for pair in rest if pair.p_value is None]),
        ):
            if words:
                sentences.append(f"{a} and {b}: {said} {and_list(words, 'or')}.")
    return sentences


def _words(pair: Pair) -> str:
    return COMPARED[pair.metric].words


def and_list(words: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def sweep_sentences(document: RunFigures) -> list[str]:
    """What a sweep shows: where a ramp saturates, where lanes cross over, which settings are best."""
    ramps = [
        f"{ramp.ramp} delivered {ramp.peak:,.0f} tok/s at best, with {ramp.peak_at:g} requests at once; "
        + (
            f"from {ramp.level:g} on, more bring less than 5 % more."
            if ramp.saturated
            else "it was not saturated yet."
        )
        for ramp in document.saturation
    ]
    crossings = [f"Answer lengths: {pair.conclusion}." for pair in document.crossovers]
    ranking = document.ranking
    return ramps + crossings + ([f"Settings: {ranking.conclusion}."] if ranking else [])


def lane_sentence(lane: LaneFigures) -> str:
    """What one lane did, in words."""
    found, name = lane.usable_turn_rate, lane.lane
    if found.value is None:
        return f"{name} gave no answer that could be judged ({lane.turns} turns)."
    good = round(found.value * found.n)
    words = (
        f"{name} answered {lane.turns} turns; {good} of {found.n} turns were usable: {found.value:.1%} "
        f"(95 % interval {found.low:.0%} to {found.high:.0%})."
    )
    return words + _troubles(lane) + _prefix(lane.prefix_cache) + _bands(lane)


def _troubles(lane: LaneFigures) -> str:
    collapsed = lane.repetition.collapsed_turns
    faults = [f"{name} in {n}" for name, n in lane.faults.items() if name != "collapsed"]
    errors = [f"{kind} in {n}" for kind, n in lane.errors.items()]
    words = (
        f" {collapsed} repeated themselves." if collapsed > 1 else " 1 repeated itself." if collapsed else ""
    )
    words += f" Faults found: {', '.join(faults)}." if faults else ""
    words += f" Engine errors: {', '.join(errors)}." if errors else ""
    return words or " No fault was found."


def _prefix(prefix: PrefixCache) -> str:
    ideal, reported = prefix.ideal, prefix.reported
    if ideal is None or reported is None:
        return ""
    short = prefix.cause and ideal - reported > 0.01
    cause = f" (chief cause: {PHRASES.get(str(prefix.cause), prefix.cause)})" if short else ""
    gone = f"; another {prefix.evicted:.1%} was evicted first" if prefix.evicted else ""
    limit = "expected at most" if reported > ideal + 0.0005 else "best possible"
    return f" Its prefix cache served {reported:.1%} of the prompts ({limit} {ideal:.1%}){cause}{gone}."


def _bands(lane: LaneFigures) -> str:
    if not lane.bands:
        return ""
    speeds = " and ".join(f"{band['median']:.0f}" for band in lane.bands)
    share = (lane.band_fit or {}).get("explained_by_acceptance")
    why = f"; draft acceptance explains {share:.0%} of it" if share is not None else ""
    return f" Its decode speed falls into separate bands around {speeds} tok/s{why}."


def few_sessions(document: RunFigures) -> bool:
    return any(pair.n_sessions < MIN_SESSIONS for pair in document.comparisons)
