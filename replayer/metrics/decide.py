"""What a comparison means, in one sentence that every output prints; and what sets two lanes apart besides what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replayer.metrics.run_documents import Pair

if TYPE_CHECKING:
    from replayer.journal.view import LaneView

import math
from collections.abc import Mapping

from replayer.metrics.catalogue import COMPARED, DEFAULT, PRIMARY
from replayer.metrics.shown import interval, signed
from replayer.metrics.stats import MIN_SESSIONS, holm

ALPHA = 0.05
PRIMARY_SHARE = 0.64
"""Of the 5 %: just enough that six sessions, whose least p is 0.031, can decide the primary metric of two lanes."""


def decide(pairs: list[Pair], primary: str = PRIMARY) -> list[Pair]:
    """Which differences hold when all that was compared here is counted as one family, and the sentence on each.

    Weighted Holm over every pair of lanes and every metric at once; the primary metric has PRIMARY_SHARE of the error. A
    difference whose own interval holds zero is not decided: words and interval never contradict each other.
    """
    tested = {str(n): pair.p_value for n, pair in enumerate(pairs) if pair.p_value is not None}
    adjusted = holm(tested, _weights({name: pairs[int(name)] for name in tested}, primary))
    found = []
    for number, pair in enumerate(pairs):
        p = adjusted.get(str(number))
        decided = p is not None and p < ALPHA and _off_zero(pair) and not _below_least(pair)
        pair = replace(pair, p_value_adjusted=p, decided=decided)
        found.append(replace(pair, conclusion=sentence(pair)))
    return found


def leans(pair: Pair) -> bool:
    """By itself it would be a difference; among all that was compared it is not decided."""
    alone = pair.p_value is not None and pair.p_value < ALPHA and _off_zero(pair)
    return alone and not pair.decided and not _below_least(pair)


def _off_zero(pair: Pair) -> bool:
    return pair.low is not None and pair.high is not None and (pair.low > 0 or pair.high < 0)


def _below_least(pair: Pair) -> bool:
    return abs(pair.difference) < COMPARED[pair.metric].least


def _weights(pairs: Mapping[str, Pair], primary: str) -> dict[str, float]:
    first = {name for name, pair in pairs.items() if pair.metric == primary}
    others = len(pairs) - len(first)
    return {
        name: PRIMARY_SHARE / len(first) if name in first else (1 - PRIMARY_SHARE) / others for name in pairs
    }


def sentence(pair: Pair) -> str:
    words = COMPARED[pair.metric].words
    if pair.aa and pair.decided:
        return f"the lane differs from itself in {words}: {amount(pair)}; no difference as small as this means anything"
    if pair.decided:
        better = (pair.difference > 0) == (pair.better == "higher")
        return f"{pair.b} is {'better' if better else 'worse'} than {pair.a} in {words}: {amount(pair)}"
    if pair.p_value is None:
        return f"{words}: not tested, {_untested(pair)} ({amount(pair)})"
    if pair.difference == 0:
        return f"{words}: no difference seen ({amount(pair)})"
    if _below_least(pair):
        return f"{words}: no difference beyond {COMPARED[pair.metric].least_is} ({amount(pair)})"
    looked = ", once everything compared here is counted" if leans(pair) else ""
    return f"{words}: no evidence of a difference{looked}{_needed(pair)} ({amount(pair)})"


def _untested(pair: Pair) -> str:
    """Why, and what it would take."""
    if pair.n_sessions < MIN_SESSIONS:
        count = f"{pair.n_sessions} session{'s' if pair.n_sessions > 1 else ''} of at least {MIN_SESSIONS}"
        return count + (f"; {pair.needed_for} would show this difference" if pair.needed_for else "")
    if "A/A" in pair.method:
        return "within what these lanes differ from themselves"
    return WHY_NOT[pair.one_after_other]


def _needed(pair: Pair) -> str:
    least = math.ceil(math.log2(2 * (len(DEFAULT) - 1) / (ALPHA * (1 - PRIMARY_SHARE))))
    if leans(pair) and pair.metric != PRIMARY and pair.n_sessions < least and not pair.sequential:
        return f"; this one can be decided from {least} such sessions on"
    if not pair.needed or pair.needed <= pair.n_sessions:
        return ""
    return f"; about {rounded(pair.needed):,} such sessions would show {pair.needed_for}"


def rounded(count: int) -> int:
    """To two digits: a needed sample is a rough figure."""
    return int(round(count, 2 - len(str(count)))) if count > 99 else count


def amount(pair: Pair) -> str:
    """`+2.2 points for b, 95 % interval −5.9 to +9.6`."""
    metric = COMPARED[pair.metric]
    of = " in the median session" if pair.sequential else ""
    name = "" if pair.aa else f" for {pair.b}"
    scope = " within these sessions" if pair.scope == "these sessions" else ""
    words = f"{signed(metric, pair.difference)} {metric.unit}{name}{of}"
    if pair.low is None:
        return f"{words}{scope}, interval unknown"
    return f"{words}, 95 % interval {interval(metric, pair)}{scope}"


WHY_NOT = (
    "between two runs the run itself varies: run both with --aa",
    "one lane ran after the other, and what changed meanwhile is in it: run with --aa",
)
"""Why a difference in times is not tested; the second where both lanes are of one run."""


def apart(pair: Pair, a: LaneView, b: LaneView) -> Pair:
    """With what lies between the two besides what they are."""
    runs = a.run != b.run
    return replace(pair, between_runs=runs, one_after_other=not runs and not pair.aa and gap(a, b) > 0)


def _span(lane: LaneView) -> tuple[int, int]:
    attempts = lane.attempts
    ends = max((one.ended or one.started for one in attempts), default=0)
    return min((one.started for one in attempts), default=0), ends


def gap(a: LaneView, b: LaneView) -> int:
    """Nanoseconds between the middles of two lanes, the sessions of one of which all began after those of the other had
    ended; else 0."""
    (start, end), (other_start, other_end) = _span(a), _span(b)
    after = end <= other_start or other_end <= start
    return abs(start + end - other_start - other_end) // 2 if after else 0
