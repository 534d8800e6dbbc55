"""What a run shows, concluded once: per lane a verdict, per pair who is better, over sweeps what they found.

Terminal, `compare`, JSON, HTML, Markdown, JUnit and the screen print these words and make none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from replayer.metrics.answers import story
from replayer.metrics.catalogue import COMPARED, METRICS, PRIMARY
from replayer.metrics.decide import leans
from replayer.metrics.documents import LaneFigures
from replayer.metrics.lane_answers import cause_words, counted, is_cold
from replayer.metrics.run_documents import (
    Conclusions,
    Crossover,
    Difference,
    LaneConclusion,
    Pair,
    Ramp,
    Ranking,
    Verdict,
)
from replayer.metrics.shown import and_list, expected_words, fault_words, figure, percent
from replayer.signals.prefix_reuse.conclusion import WARM

K = TypeVar("K", bound=Hashable)
FULL_POOL = 0.95
"""Use of the KV pool from which on an engine must evict or make requests wait."""
_FEW = 4
"""Fewer comparisons of two lanes have a sentence each."""
_MANY = 4
"""Of more lanes, those without a fault share a sentence."""


def conclude(
    lanes: Sequence[LaneFigures],
    pairs: Sequence[Pair],
    ramps: Sequence[Ramp] = (),
    crossovers: Iterable[Crossover] = (),
    ranking: Ranking | None = None,
) -> Conclusions:
    concluded = [lane_conclusion(lane) for lane in lanes]
    return Conclusions(
        story=story(lanes, pairs, ramps, ranking),
        sweeps=sweep_sentences(ramps, crossovers, ranking),
        lanes=concluded,
        pairs=level_sentences(pairs, ramps) if ramps else pair_sentences(pairs),
        together=_together(lanes, concluded) if len(lanes) > _MANY else [],
    )


def _together(lanes: Sequence[LaneFigures], concluded: Sequence[LaneConclusion]) -> list[str]:
    """Sound lanes in one sentence, the others each in their own."""
    sound = [lane for lane, found in zip(lanes, concluded, strict=True) if found.verdict == "sound"]
    own = [found.words for found in concluded if found.verdict != "sound"]
    turns = sum(lane.turns for lane in sound)
    every = f"{len(sound)} of {len(lanes)} lanes answered {turns:,} turns, every one of them usable: no fault was found."
    return [every, *own] if len(sound) > 1 else []


def _grouped(pairs: Iterable[Pair], key: Callable[[Pair], K]) -> dict[K, list[Pair]]:
    """In their order; a sweep has thousands of pairs."""
    found: dict[K, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair)
    return found


def level_sentences(pairs: Sequence[Pair], ramps: Sequence[Ramp]) -> list[Difference]:
    """Pairs at equal load, all levels of one metric in one sentence."""
    place = {
        lane: (ramp.ramp, at) for ramp in ramps for lane, (at, _) in zip(ramp.lanes, ramp.points, strict=True)
    }
    inside = [pair for pair in pairs if pair.a in place and pair.b in place]
    found = pair_sentences([pair for pair in pairs if pair.a not in place or pair.b not in place])
    for (a, b), mine in _grouped(inside, lambda pair: (place[pair.a][0], place[pair.b][0])).items():
        by_metric = _grouped(mine, lambda pair: pair.metric)
        decided = dict.fromkeys(pair.metric for pair in mine if pair.decided)
        found += [_levels(metric, by_metric[metric], place, a, b) for metric in decided]
        rest = [metric for metric in by_metric if metric not in decided]
        if rest:
            names = and_list([COMPARED[metric].words for metric in rest], "or")
            found.append(
                Difference("open", None, f"{a} and {b}: no level with a decided difference in {names}.")
            )
    return found


def _levels(
    metric: str, pairs: Sequence[Pair], place: Mapping[str, tuple[str, float]], a: str, b: str
) -> Difference:
    """`b is worse than a in decode speed at 1, 2 and 4 requests at once, and better at 16`."""
    parts: list[str] = []
    tones: list[str] = []
    for tone in ("worse", "better", "differs"):
        levels = [f"{place[pair.b][1]:g}" for pair in pairs if _tone(pair) == tone]
        if levels:
            than = "" if parts else f" than {a} in {COMPARED[metric].words}"
            parts.append(f"{tone}{than} at {and_list(levels)}")
            tones.append(tone)
    return Difference(
        tones[0] if len(tones) == 1 else "differs", metric, f"{b} is {and_list(parts)} requests at once."
    )


def pair_sentences(pairs: Sequence[Pair]) -> list[Difference]:
    """By two lanes: each difference that is decided, the primary metric, and the rest in one sentence each."""
    found: list[Difference] = []
    for (a, b), mine in _grouped(pairs, lambda pair: (pair.a, pair.b)).items():
        few = len(mine) < _FEW
        rest: list[Pair] = []
        for pair in mine:
            if few or pair.decided or pair.metric == PRIMARY:
                found.append(Difference(_tone(pair), pair.metric, _sentence(pair)))
            else:
                rest.append(pair)
        for words, some in (
            ("no evidence of a difference in", [p for p in rest if p.p_value is not None and not leans(p)]),
            ("not decided, though the interval alone excludes zero:", list(filter(leans, rest))),
            ("not tested:", [pair for pair in rest if pair.p_value is None]),
        ):
            if some:
                names = and_list([COMPARED[pair.metric].words for pair in some], "or")
                found.append(Difference("open", None, f"{a} and {b}: {words} {names}."))
    return found


def _tone(pair: Pair) -> str:
    if not pair.decided:
        return "open"
    return "differs" if pair.aa else "better" if pair.winner == pair.b else "worse"


def _sentence(pair: Pair) -> str:
    """The conclusion with its lanes, and for the primary metric how often the two lanes' verdicts differed."""
    words = pair.conclusion
    if pair.aa or not pair.decided:
        words = f"{pair.a} and {pair.b}, {words}"
    flips = f" {pair.flips:.1%} of the turns were usable on one of the two only." if pair.flips else ""
    return f"{words}.{flips}"


def sweep_sentences(
    ramps: Iterable[Ramp], crossovers: Iterable[Crossover], ranking: Ranking | None
) -> list[str]:
    """What a sweep shows: where a ramp saturates, where lanes cross over, which settings are best."""
    found = [
        f"{ramp.ramp} delivered {ramp.peak:,.0f} tok/s at best, with {ramp.peak_at:g} requests at once; "
        + (
            f"from {ramp.level:g} on, more bring less than 5 % more."
            if ramp.saturated
            else "it was not saturated yet."
        )
        for ramp in ramps
    ]
    found += [f"Answer lengths: {pair.conclusion}." for pair in crossovers]
    return found + ([f"Settings: {ranking.conclusion}."] if ranking else [])


_PRESSED = "Under pressure: "


def lane_conclusion(lane: LaneFigures) -> LaneConclusion:
    """What one lane did, in words."""
    missing, reuse, pressure = _missing(lane), _reuse(lane), _pressure(lane)
    sentence = (pressure or "").removeprefix(_PRESSED).removesuffix(".")
    again = bool(sentence) and sentence in (reuse or "")  # the chief cause has said it
    parts = [
        _answers(lane),
        missing,
        _troubles(lane),
        reuse,
        "" if again else pressure,
        _bands(lane),
        lane.outlier,
    ]
    return LaneConclusion(
        lane=lane.lane,
        verdict=verdict(lane),
        words=" ".join(filter(None, parts)),
        short=_short(lane),
        missing=missing,
        reuse=reuse,
        pressure=pressure,
        bands=_bands(lane),
    )


def verdict(lane: LaneFigures) -> Verdict:
    """The gravest thing first: a lane that did not finish may still hide the others."""
    if _missing(lane) or not lane.turns:
        return "unfinished"
    if lane.repetition.collapsed_turns:
        return "collapsed"
    rate = lane.usable_turn_rate
    return "faults" if lane.errors or (rate.value is not None and rate.value < 1) else "sound"


def _short(lane: LaneFigures) -> str:
    """In few words, for a title."""
    rate = lane.usable_turn_rate
    if rate.value is None:
        return "nothing judged yet"
    good = round(rate.value * rate.n)
    return (
        f"{'all ' if rate.n > 1 else ''}{rate.n} usable"
        if good == rate.n
        else f"{rate.n - good} of {rate.n} turns not usable"
    )


def _answers(lane: LaneFigures) -> str:
    found, name = lane.usable_turn_rate, lane.lane
    if found.value is None:
        return f"{name} gave no answer that could be judged ({lane.turns} turns)."
    good = round(found.value * found.n)
    return (
        f"{name} answered {lane.turns} turns; {good} of {found.n} turns were usable: {found.value:.1%} "
        f"(95 % interval {found.low:.0%} to {found.high:.0%})."
    )


def _missing(lane: LaneFigures) -> str | None:
    """What the figures of an unfinished lane lack."""
    if lane.steady is not None and lane.steady.outcome == "server_gone":
        return f"Partial: the load ended after {lane.steady.load_s:.1f} s, since its server was gone."
    if not lane.missing_sessions:
        return None
    total = lane.sessions + lane.missing_sessions
    never = lane.missing_sessions - lane.partial_sessions
    parts = (
        [f"{lane.partial_sessions} partly (their finished turns are counted)"]
        if lane.partial_sessions
        else []
    )
    parts += [f"{never} not at all"] if never else []
    reached = (
        f"; {counted(lane.unreached_turns, 'request')} reached no engine" if lane.unreached_turns else ""
    )
    return f"Partial: {lane.sessions} of {total} sessions were replayed to their end, {and_list(parts)}{reached}."


def _troubles(lane: LaneFigures) -> str:
    collapsed = lane.repetition.collapsed_turns
    faults = [f"{fault_words(name)} in {n}" for name, n in lane.faults.items() if name != "collapsed"]
    errors = [f"{kind} in {n}" for kind, n in lane.errors.items()]
    parts = [f"{collapsed} repeated {'themselves' if collapsed > 1 else 'itself'}."] if collapsed else []
    parts += [f"Faults found: {', '.join(faults)}."] if faults else []
    parts += [f"Engine errors: {', '.join(errors)}."] if errors else []
    return " ".join(parts) or ("No fault was found." if lane.turns else "")


def _reuse(lane: LaneFigures) -> str | None:
    """How much of the prompts the cache served, and why not more, in the words of the prefix signal's finding."""
    prefix = lane.prefix_cache
    ideal, reported = prefix.ideal, prefix.reported
    if reported is None:
        unknown = prefix.cause not in (None, "not_reported")
        return f"Prefix reuse was not reported; {cause_words(prefix)}." if unknown else None
    if ideal is None:
        return f"Its prefix cache served {percent(reported)} of the prompts; the best possible is not known."
    where = f" {prefix.counted}" if prefix.counted else ""
    gone = f"; another {percent(prefix.evicted)} was evicted first" if prefix.evicted else ""
    parts = [
        f"Its prefix cache served {percent(reported)} of the prompts{where} ({expected_words(prefix)}){gone}."
    ]
    parts += [f"{WARM.capitalize()}."] if prefix.above is not None else []
    if is_cold(lane):
        parts.append(
            f"Chief cause: {cause_words(prefix)}; {(prefix.verdict or 'no more is known').removesuffix('.')}."
        )
    return " ".join(parts)


def _pressure(lane: LaneFigures) -> str | None:
    """What the server's own counters say of a load that it could not hold: the finding's words, where there is one."""
    server, prefix = lane.server or {}, lane.prefix_cache.pressure
    used, waiting = lane.kv.peak_used if lane.kv else None, (server.get("peak") or {}).get("waiting")
    preempted = server.get("preempted")
    parts = [f"its KV pool was {used:.0%} full"] if used is not None and used >= FULL_POOL else []
    parts += [f"{preempted:,.0f} running requests were preempted"] if preempted else []
    parts += [f"up to {waiting:,.0f} request{'s' * (waiting != 1)} waited"] if waiting and parts else []
    words = prefix["sentence"] if prefix else and_list(parts)
    return f"{_PRESSED}{words}." if words else None


def _bands(lane: LaneFigures) -> str | None:
    if not lane.bands:
        return None
    speeds = " and ".join(f"{band['median']:.0f}" for band in lane.bands)
    share = (lane.band_fit or {}).get("explained_by_acceptance")
    why = f"; draft acceptance explains {share:.0%} of it" if share is not None else ""
    return f"Its decode speed falls into separate bands around {speeds} tok/s{why}."


def outlier_words(lane_value: float, without: float, seconds: float, share: float, where: str) -> str:
    """Of a decode speed that one reply makes."""
    speed = METRICS["decode_tok_s"]
    return (
        f"One reply ({where}) took {seconds:.1f} s, {share:.0%} of all decoding: the decode speed is "
        f"{figure(speed, lane_value)} tok/s with it and {figure(speed, without)} without."
    )
