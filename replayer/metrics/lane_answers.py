"""What the lanes of a run did, each question answered in a sentence: faults, blame, collapse, cache, load, times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from replayer.metrics.catalogue import METRICS, PRIMARY
from replayer.metrics.documents import LaneFigures, PrefixCache
from replayer.metrics.run_documents import Ramp
from replayer.metrics.shown import and_list, expected_words, fault_words, figure, number, percent
from replayer.signals.prefix_reuse.causes import FIXES, PHRASES

NAMED = 4
"""More lanes are counted instead of named."""
_COLD = 0.01
"""Share of the prompts that is worth a cause."""
RECORDED = "recorded"
"""The kind of a lane that no engine answered: an audit's."""
_PLACES = 2
"""Lanes whose collapse or cold cache is described."""
_MANY_STALLS = 0.1
_SEVERAL = 1.3
"""Deltas per chunk from which ITL says little of single tokens."""


def broke(lanes: Sequence[LaneFigures]) -> str:
    if not any(lane.turns for lane in lanes):
        return "No turn was answered."
    found = _per_lane(lanes, _troubles, "nothing")
    return found or "Nothing: no fault and no engine error was found."


def blame(lanes: Sequence[LaneFigures]) -> str:
    found = _per_lane(lanes, lambda lane: Counter(lane.blames), "")
    return f"{found} These turns are not usable." if found else ""


def _troubles(lane: LaneFigures) -> Counter[str]:
    """Kinds of engine errors stand for their fault class."""
    faults = Counter(lane.faults)
    if lane.errors:
        del faults["engine_error"]
    return faults + Counter(lane.errors)


def _per_lane(lanes: Sequence[LaneFigures], counts: Callable[[LaneFigures], Counter[str]], none: str) -> str:
    """`a: unknown tool in 3 turns, wrong type in 1; b: nothing.`; many lanes are summed."""
    found = [(lane.lane, counts(lane)) for lane in lanes]
    hit = [count for _, count in found if count]
    if not hit:
        return ""
    if len(lanes) > NAMED:
        return f"In {len(hit)} of {len(lanes)} lanes: {_counts(sum(hit, Counter()))}."
    parts = [f"{name}: {_counts(count) if count else none}" for name, count in found if count or none]
    return "; ".join(parts) + "."


def _counts(counts: Counter[str]) -> str:
    (name, first), *rest = counts.most_common()
    words = [f"{fault_words(name)} in {counted(first, 'turn')}"]
    return ", ".join(words + [f"{fault_words(name)} in {count:,}" for name, count in rest])


def collapse(lanes: Sequence[LaneFigures]) -> str:
    hit = [lane for lane in lanes if lane.repetition.collapsed_turns]
    shown = [
        f"{lane.lane}: {counted(lane.repetition.collapsed_turns, 'turn')}{_first(lane)}"
        for lane in sorted(hit, key=lambda one: -one.repetition.collapsed_turns)[:_PLACES]
    ]
    more = f"; and in {len(hit) - _PLACES} more lanes" if len(hit) > _PLACES else ""
    return f"{'; '.join(shown)}{more}." if shown else ""


def _first(lane: LaneFigures) -> str:
    at = lane.repetition.first
    if at is None:
        return ""
    onset = f", from character {at.onset:,} on" if at.onset is not None else ""
    return f", first in turn {at.turn} of {at.trace}{onset}"


def cache(lanes: Sequence[LaneFigures]) -> str:
    known = [lane for lane in lanes if lane.prefix_cache.reported is not None]
    silent = [
        one.lane
        for one in lanes
        if one.prefix_cache.cause == "not_reported" and one.prefix_cache.reported is None
    ]
    cold = sorted(filter(is_cold, known), key=lambda lane: -_gap(lane))
    parts = [_cold(lane) for lane in cold[:_PLACES]]
    parts += [f"{len(cold) - _PLACES} more lanes fall short"] if len(cold) > _PLACES else []
    warm = [lane for lane in known if lane not in cold and lane.prefix_cache.ideal is not None]
    if warm:
        parts += [_warm(warm) if cold else f"It is not: {_warm(warm)}"]
    parts += [f"unknown for {named(silent)}: cached tokens are not reported"] if silent else []
    return f"{'; '.join(parts)}." if parts else ""


def is_cold(lane: LaneFigures) -> bool:
    """Whether a cause has cost prompts worth a word: reuse falls short of the best possible, or the client changed what
    could have been reused."""
    found = lane.prefix_cache
    if found.cause is None or found.reported is None or found.ideal is None:
        return False
    lost = found.cost.tokens if found.cost else 0
    return found.ideal - found.reported > _COLD or lost > _COLD * (lane.tokens.prompt or math.inf)


def _warm(lanes: Sequence[LaneFigures]) -> str:
    if len(lanes) <= NAMED:
        return ", ".join(f"{lane.lane} reused {_reuse(lane)}" for lane in lanes)
    shares = [lane.prefix_cache.reported for lane in lanes]
    least, most = (percent(end(share for share in shares if share is not None)) for end in (min, max))
    return f"{len(lanes)} lanes reused {least} to {most}, all that was possible"


def _gap(lane: LaneFigures) -> float:
    prefix = lane.prefix_cache
    return (prefix.ideal or 0.0) - (prefix.reported or 0.0)


def _reuse(lane: LaneFigures) -> str:
    return f"{percent(lane.prefix_cache.reported)} ({expected_words(lane.prefix_cache)})"


def _cold(lane: LaneFigures) -> str:
    prefix = lane.prefix_cache
    cause = cause_words(prefix)
    why = prefix.pressure["sentence"] if prefix.pressure else next(iter(prefix.evidence), "")
    return f"{lane.lane} reused {_reuse(lane)}: {cause}{f' ({why})' if why else ''}"


def cause_words(prefix: PrefixCache) -> str:
    if prefix.cause == "not_reported" and prefix.reported is not None:
        return "the cause is unknown, for its replies do not report cached tokens"
    return PHRASES.get(str(prefix.cause), str(prefix.cause))


def load(lanes: Sequence[LaneFigures], ramps: Sequence[Ramp]) -> str:
    by_name = {lane.lane: lane for lane in lanes}
    if ramps:
        shown = [_ramp(ramp, [by_name[name] for name in ramp.lanes]) for ramp in ramps[:NAMED]]
        return f"{'; '.join(shown)}."
    parts = [
        _loaded(lane) for lane in lanes if lane.steady or (lane.load.concurrency > 1 and lane.load.requests)
    ]
    return f"{'; '.join(parts[:NAMED])}." if parts else ""


def _loaded(lane: LaneFigures) -> str:
    load, what = lane.load, f"{lane.load.concurrency} requests at once"
    if lane.steady:
        load = lane.steady.load
        what = f"{number(lane.steady.alive_mean)} sessions alive, {number(load.in_flight)} requests at once"
    return (
        f"{lane.lane}: {number(load.output_tok_s)} tok/s with {what}, TTFT p95 {number(load.ttft_ms.p95)} ms"
    )


def _ramp(ramp: Ramp, lanes: Sequence[LaneFigures]) -> str:
    first, last = ramp.points[0][0], ramp.points[-1][0]
    end = f"saturated from {ramp.level:g}" if ramp.saturated else f"not saturated at {last:g}"
    waits = [figure(METRICS["ttft_ms.p95"], lane.figures["ttft_ms.p95"]) for lane in (lanes[0], lanes[-1])]
    usable = percent(lanes[-1].figures[PRIMARY])
    return (
        f"{ramp.ramp}: at best {number(ramp.peak)} tok/s with {ramp.peak_at:g} requests at once, {end}; from {first:g} to "
        f"{last:g} at once its TTFT p95 goes from {waits[0]} to {waits[1]} ms, with {usable} usable at the end"
    )


def remedies(lanes: Sequence[LaneFigures], *, swept: bool) -> Iterator[str]:
    """`swept`: sampling has been varied already."""
    hit = [lane.lane for lane in lanes if lane.repetition.collapsed_turns]
    if hit and not swept:
        yield f"Vary the sampling of {named(hit)}: a `[matrix]` over temperature and repetition penalty."
    for blame, words in _BLAMED.items():
        worst = max(lanes, key=lambda lane: lane.blames.get(blame, 0), default=None)
        if worst is not None and worst.blames.get(blame):
            yield words.format(lane=worst.lane)
    for lane in lanes:
        cause = lane.prefix_cache.cause
        if lane.kind != RECORDED and cause in FIXES and (cause == "not_reported" or is_cold(lane)):
            yield f"For {lane.lane}: {FIXES[cause]}."


_BLAMED = {
    "parser": "Check the tool-call parser of {lane}: `replayer doctor URL` names the flag.",
    "budget": "Raise max_tokens or the context length of {lane}.",
    "engine": "Read the log of {lane}: the engine itself failed.",
    "input": "Check what {lane} was sent: it rejects the recorded history.",
}


def times(lanes: Sequence[LaneFigures]) -> str:
    """Of the lanes that replayer timed; a recording's times are its own."""
    lanes = [lane for lane in lanes if lane.kind != RECORDED]
    turns, late = sum(lane.turns for lane in lanes), sum(lane.stalled_turns for lane in lanes)
    if not turns:
        return ""
    stamps = sum((Counter(lane.stamped_by) for lane in lanes), Counter[str]())
    clock = "the kernel's" if stamps["kernel"] * 2 > stamps.total() else "replayer's own"
    if late > turns * _MANY_STALLS:
        return (
            f"No: this machine was too busy in {late:,} of {turns:,} turns; the times of the others are used."
        )
    left = "; their times are left out" if late else ""
    words = (
        f"Yes: arrival times are {clock}, and this machine was too busy in {late:,} of {turns:,} turns{left}."
    )
    several = [lane.lane for lane in lanes if (lane.deltas_per_chunk or 1.0) > _SEVERAL]
    chunks = (
        f" ITL is the time between chunks on {named(several)}: several tokens come in one." if several else ""
    )
    return words + chunks


def named(names: Sequence[str], least: int = NAMED) -> str:
    return and_list(list(names)) if len(names) <= least else f"{len(names)} lanes"


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
