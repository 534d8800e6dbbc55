"""The story of a run: one headline, and the questions that every reader asks, answered in a sentence each.

Report, plain output and screen print these words. A question that the run does not raise is left out: one lane is not
compared, a run without a collapse has no place of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replayer.metrics import lane_answers as of_lanes
from replayer.metrics.catalogue import COMPARED, PRIMARY
from replayer.metrics.decide import WHY_NOT, leans
from replayer.metrics.documents import LaneFigures
from replayer.metrics.lane_answers import NAMED, counted, named
from replayer.metrics.ranking import FIRST, SECOND, effect_metric, standings
from replayer.metrics.run_documents import Answer, Pair, Ramp, Ranking, Standing, Story, sentences
from replayer.metrics.shown import and_list, chance, interval, number, percent, with_unit
from replayer.metrics.stats import MIN_SESSIONS

QUESTIONS = {
    "better": "Which lane is better?",
    "real": "Is it real?",
    "broke": "What broke?",
    "blame": "Who is to blame?",
    "collapse": "Where did it collapse?",
    "cache": "Why is the cache cold?",
    "load": "What does load do?",
    "sessions": "How many more sessions?",
    "next": "What to try next?",
    "times": "Can I trust the times?",
}


_HEADLINE = 2
"""Sentences of the first answer that fit a title."""


def story(
    lanes: Sequence[LaneFigures], pairs: Sequence[Pair], ramps: Sequence[Ramp], ranking: Ranking | None
) -> Story:
    between = [pair for pair in pairs if not pair.aa]
    again = {pair.b for pair in pairs if pair.aa and between}
    ranked = [] if ramps else standings([one for one in lanes if one.lane not in again], between or pairs)
    words = {
        "better": _fastest(ramps) if ramps else _better(between, ranked) or _same(pairs),
        "real": _real(pairs),
        "broke": of_lanes.broke(lanes),
        "blame": of_lanes.blame(lanes),
        "collapse": of_lanes.collapse(lanes),
        "cache": of_lanes.cache(lanes),
        "load": of_lanes.load(lanes, ramps),
        "sessions": "" if ramps else _sessions(between),
        "next": " ".join(list(_next(lanes, between, ramps, ranking))[:2]),
        "times": of_lanes.times(lanes),
    }
    found = [Answer(key, QUESTIONS[key], text) for key, text in words.items() if text]
    return Story(_headline(lanes, words), found, ranked)


def _headline(lanes: Sequence[LaneFigures], words: dict[str, str]) -> str:
    """The comparison where there is one; of one lane, how many of its turns were usable."""
    missing = sum(lane.missing_sessions for lane in lanes)
    partial = f" {missing} session{'s are' if missing > 1 else ' is'} missing." if missing else ""
    if words["better"]:
        return " ".join(sentences(words["better"])[:_HEADLINE]) + partial
    if not lanes:
        return "No lane has answered yet."
    name = lanes[0].lane if len(lanes) == 1 else f"{len(lanes)} lanes"
    rates = [lane.usable_turn_rate for lane in lanes if lane.usable_turn_rate.value is not None]
    if not rates:
        return f"{name} gave no answer that could be judged.{partial}"
    good, judged = sum(round((rate.value or 0) * rate.n) for rate in rates), sum(rate.n for rate in rates)
    collapsed = sum(lane.repetition.collapsed_turns for lane in lanes)
    again = f"; {collapsed} repeated {'themselves' if collapsed > 1 else 'itself'}" if collapsed else ""
    return f"{name}: {good:,} of {judged:,} turns were usable{again}.{partial}"


def _same(pairs: Sequence[Pair]) -> str:
    """Of a run that holds a lane against itself alone."""
    if not pairs:
        return ""
    found = [COMPARED[pair.metric].words for pair in pairs if pair.decided]
    if found:
        return f"{pairs[0].a} differs from itself in {and_list(found)}."
    return f"{pairs[0].a} does not differ from itself in anything that was compared (A/A)."


def _of(pairs: Iterable[Pair], metric: str) -> list[Pair]:
    return [pair for pair in pairs if pair.metric == metric]


def _better(pairs: Sequence[Pair], ranked: Sequence[Standing]) -> str:
    if not pairs:
        return ""
    if not any(pair.p_value is not None for pair in pairs):
        return _undecided(pairs, ranked)
    if len(ranked) == 2:
        return " ".join(_of_two(pairs))
    first = [one.lane for one in ranked if one.rank == 1]
    behind = [one.lane for one in ranked if one.rank > 1]
    if not behind:
        return "No lane is better than another in usable turns or decode speed."
    if len(first) == 1:
        by = {pair.metric for pair in pairs if pair.winner == first[0] and pair.metric in (FIRST, SECOND)}
        what = and_list([COMPARED[key].words for key in (FIRST, SECOND) if key in by])
        return f"{first[0]} is better than {named(behind)} in {what}."
    return f"{named(first, least=3)} share the first rank; {named(behind, least=3)} {'are' if len(behind) > 1 else 'is'} worse."


def _undecided(pairs: Sequence[Pair], ranked: Sequence[Standing]) -> str:
    shown = ", ".join(f"{one.lane} {percent(one.value)}" for one in ranked[:NAMED] if one.value is not None)
    seen = f" Usable turns: {shown}." if shown else ""
    first = _of(pairs, PRIMARY) or pairs
    if (count := max(pair.n_sessions for pair in first)) < MIN_SESSIONS:
        return f"Not decided: {counted(count, 'session')} of at least {MIN_SESSIONS}.{seen}"
    return f"Not decided: between two runs the run itself varies.{seen}"


def _of_two(pairs: Sequence[Pair]) -> Iterator[str]:
    """The primary metric first; then what else is decided, by winner; the first figure of each with both values."""
    names = (pairs[0].a, pairs[0].b)
    (primary,) = _of(pairs, PRIMARY) or (None,)
    main = effect_metric(pairs)
    ordered = sorted(pairs, key=lambda pair: pair.metric != main)
    ahead = {name: [pair for pair in ordered if pair.winner == name] for name in names}
    best = next((pair.winner for pair in ordered if pair.metric == main), None)
    for name in sorted(names, key=lambda one: one != best):
        if ahead[name]:
            first, *rest = ahead[name]
            yield f"{name} is better than {names[name == names[0]]} in {COMPARED[first.metric].words}: {_values(first, name)}."
            if rest:
                yield f"{name} is also better in {and_list([COMPARED[pair.metric].words for pair in rest])}."
    if primary and not primary.winner:
        open_ = [COMPARED[pair.metric].words for pair in pairs if leans(pair)]
        later = any(pair.one_after_other and pair.method.endswith(WHY_NOT[True]) for pair in pairs)
        more = "" if any(ahead.values()) or open_ or later else " or in anything else that was compared"
        yield f"No difference between {names[0]} and {names[1]} is shown in usable turns{more}."
        if open_:
            yield f"More sessions may decide {and_list(open_)}."
        if later:
            yield "One lane ran after the other: times and speeds are not tested without `--aa`."


def _values(pair: Pair, winner: str) -> str:
    metric = COMPARED[pair.metric]
    own, other = (pair.value_b, pair.value_a) if winner == pair.b else (pair.value_a, pair.value_b)
    return f"{with_unit(metric, own)} against {with_unit(metric, other)}"


def _fastest(ramps: Sequence[Ramp]) -> str:
    """Of a load plan: who delivers most. One run of each level is not tested."""
    if len(ramps) < 2:
        return ""
    first, second = sorted(ramps, key=lambda ramp: -ramp.peak)[:2]
    return (
        f"{first.ramp} delivers most: {number(first.peak)} tok/s with {first.peak_at:g} requests at once, "
        f"against {number(second.peak)} of {second.ramp} with {second.peak_at:g}. "
        "Each level was measured once, so this is not tested."
    )


def _real(pairs: Sequence[Pair]) -> str:
    main = [pair for pair in _of(pairs, PRIMARY) if not pair.aa]
    against_itself = "".join(
        f" A/A: {pair.a} differs from itself by {_reach(pair)}." for pair in _of(pairs, PRIMARY) if pair.aa
    )
    if not main:
        return against_itself.strip()
    if len(main) > 1:
        tests = sum(pair.p_value is not None for pair in pairs)
        decided = sum(pair.decided for pair in main)
        if not tests:
            return _untested(main[0]) + against_itself
        return (
            f"{decided} of {len(main)} pairs of lanes differ in usable turns "
            f"(Holm-adjusted over {tests} tests, family-wise error 5 %).{against_itself}"
        )
    return " ".join(filter(None, (_pair_real(main[0]), *_others_real(pairs)))) + against_itself


def _pair_real(pair: Pair) -> str:
    if pair.p_value is None:
        return _untested(pair)
    if pair.decided:
        return f"Yes: {_reach(pair)} over {pair.n_sessions} sessions, p (adjusted) {chance(pair.p_value_adjusted)}."
    return f"In usable turns no difference is shown: {_reach(pair)} over {pair.n_sessions} sessions."


def _others_real(pairs: Sequence[Pair]) -> list[str]:
    """The first other difference that is decided, where the primary one is not."""
    if any(pair.decided for pair in _of(pairs, PRIMARY)):
        return []
    main = effect_metric(pairs)
    return [
        f"The difference in {COMPARED[pair.metric].words} is real: {_reach(pair)}, p (adjusted) {chance(pair.p_value_adjusted)}."
        for pair in pairs
        if pair.decided and not pair.aa and pair.metric == main
    ][:1]


def _untested(pair: Pair) -> str:
    if pair.n_sessions < MIN_SESSIONS:
        return f"Unknown: {counted(pair.n_sessions, 'session')}; nothing is decided below {MIN_SESSIONS}."
    return f"Unknown: {pair.method}."


def _reach(pair: Pair) -> str:
    metric = COMPARED[pair.metric]
    if pair.low is None:
        return f"an unknown interval for {pair.b}"
    return f"{interval(metric, pair)} {metric.unit} for {pair.b} (95 % interval)"


def _sessions(pairs: Sequence[Pair]) -> str:
    main = _of(pairs, PRIMARY)
    if not main:
        return ""
    open_ = [pair for pair in main if not pair.decided]
    if not open_:
        return f"None: {main[0].n_sessions} sessions decided it."
    pair = max(open_, key=lambda one: one.needed or 0)
    if pair.p_value is None and pair.n_sessions < MIN_SESSIONS:
        would = f"; {pair.needed_for} would show this difference" if pair.needed_for else ""
        return f"{MIN_SESSIONS - pair.n_sessions} at least{would}."
    if not pair.needed:
        return ""
    if pair.needed <= pair.n_sessions:
        return f"None to show a difference of {pair.needed_for}: {pair.n_sessions} sessions are enough; a smaller one needs more."
    return f"About {pair.needed - pair.n_sessions:,}: {pair.needed:,} such sessions would show a difference of {pair.needed_for}."


def _next(
    lanes: Sequence[LaneFigures], pairs: Sequence[Pair], ramps: Sequence[Ramp], ranking: Ranking | None
) -> Iterator[str]:
    """What removes most trouble first; only advice that a figure of this run supports."""
    if any(lane.missing_sessions for lane in lanes):
        yield "Finish the run: `replayer resume RUN`."
    if ranking:
        yield f"Settings: {ranking.conclusion}."
    yield from of_lanes.remedies(lanes, swept=ranking is not None)
    for ramp in ramps:
        if not ramp.saturated:
            yield f"{ramp.ramp} is not saturated: try more than {ramp.points[-1][0]:g} requests at once."
    if ramps and all(ramp.saturated for ramp in ramps):
        best = and_list([f"{ramp.level:g} on {ramp.ramp}" for ramp in ramps[:NAMED]])
        yield f"Keep to this many requests at once: {best}."
    if len(lanes) == 1 and lanes[0].kind != of_lanes.RECORDED:
        yield "Add a lane to compare with: `replayer run --into RUN --engine NAME=URL`."
    elif any(pair.metric == PRIMARY and not pair.decided for pair in pairs) and not ramps:
        yield "Add sessions: start a new run with more `--trace FILE`; `--into` keeps a run's traces."
    yield "Look at single turns: `replayer watch RUN`, or the table of turns in the HTML report."
