"""Is a run worse than the baseline? Red needs a difference beyond noise and beyond its margin; what cannot be tested is
said, never counted as passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist, fmean

from replayer.errors import PlanError
from replayer.gate.baseline import Baseline, asked
from replayer.gate.margins import Margin
from replayer.gate.times import compared, value
from replayer.journal.sealed import Attempts
from replayer.journal.several_runs import against, prompt_differences
from replayer.journal.view import LaneView, RunView
from replayer.metrics.catalogue import COMPARED, PRIMARY, Metric
from replayer.metrics.compare import AGAIN, compare, is_aa
from replayer.metrics.decide import ALPHA, PRIMARY_SHARE
from replayer.metrics.run_documents import Pair
from replayer.metrics.stats import MIN_SESSIONS, sample_size
from replayer.wire.types import JsonObject

TARGET = 0.02
"""The regression that the recommended size finds: 2 points of usable turns."""
POWER = 0.9
_SPARE = 1.15
"""The rate of a baseline is an estimate itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A turn to look at: unusable now, where the baseline's was usable if such a turn can be found."""

    lane: str
    trace: str
    repeat: int
    turn: int
    fault: str
    blame: str


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of one lane against its margin. `state`: worse, held, or not proven where it is beyond its margin and
    may be noise."""

    pair: Pair
    margin: str
    state: str

    @property
    def red(self) -> bool:
        return self.state == "worse"


@dataclass(frozen=True, slots=True)
class Decision:
    checks: list[Check]
    untested: list[str]
    failures: list[Failure]
    changed: list[str]
    """What is different about the lanes' servers: version, model, flags, sampling."""
    small: list[str]
    """Lanes whose baseline is too small to find TARGET: green says less of them."""
    lost: list[str]
    """Why sessions did not come to their end: without them nothing is green."""

    @property
    def red(self) -> list[Check]:
        return [check for check in self.checks if check.red]


def decided(view: RunView, traces: dict[str, str], base: Baseline, margins: dict[str, Margin]) -> Decision:
    """Raises PlanError where the two did not replay the same."""
    _same_work(view, traces, base)
    joined, lanes = against(view, base.view)
    whole = _with_repeats(lanes)
    rates = [key for key, margin in margins.items() if not margin.metric.drifts]
    pairs = compare(joined, pairs=whole, metrics=rates) + _times(lanes, base, margins)
    stuck = [pair for pair in pairs if not margins[pair.metric].has_room(pair)]
    checks = [_check(p, margins[p.metric]) for p in pairs if p.p_value is not None and p not in stuck]
    untested = [pair.conclusion for pair in pairs if pair.p_value is None]
    untested += [
        f"{pair.b}, {COMPARED[pair.metric].words}: the baseline has {pair.value_a:.1%}, which cannot get worse by more than is allowed"
        for pair in stuck
    ]
    failures = [one for first, lane in whole for one in _failures(first, lane)]
    changed = [
        words for first, lane in lanes if not lane.name.endswith(AGAIN) for words in _changes(first, lane)
    ]
    return Decision(checks, list(dict.fromkeys(untested)), failures, changed, _small(base.view), lost(view))


def lost(view: RunView) -> list[str]:
    if not view.incomplete:
        return []
    return list(view.reasons) or [f"sessions of {view.run} that did not come to their end: {view.incomplete}"]


def _small(base: RunView) -> list[str]:
    """By the first of the baseline's runs, which `init` spoke of: the others are further repeats."""
    repeats = base.plan.get("repeat") or 1
    lanes = tuple(
        replace(lane, attempts=Attempts(one for one in lane.attempts if one.repeat < repeats))
        for lane in base.lanes
    )
    view = replace(base, lanes=lanes)
    sizes = {lane.name: size(view, lane) for lane in lanes if not lane.name.endswith(AGAIN)}
    return [f"{name}: {found.words()}" for name, found in sizes.items() if not found.enough]


def _check(pair: Pair, margin: Margin) -> Check:
    state = "worse" if margin.is_broken(pair) else "not proven" if margin.is_beyond(pair) else "held"
    return Check(pair, margin.words(), state)


def baseline_of(
    views: Sequence[RunView], traces: dict[str, str], margins: dict[str, str], times: Sequence[Metric]
) -> Baseline:
    """Of several runs of one plan. Their sessions are repeats as far as rates go; of a time each run is one value."""
    first = views[0]
    lanes = {lane.name: lane for lane in first.lanes}
    for view in views[1:]:
        for lane in view.lanes:
            lanes[lane.name] = _joined(lanes[lane.name], lane)
    found = {
        name: {
            metric.key: [one for view in views if (one := _of_run(view, name, metric)) is not None]
            for metric in times
        }
        for name in lanes
        if not name.endswith(AGAIN)
    }
    return Baseline(replace(first, lanes=tuple(lanes.values())), traces, margins, found)


def _of_run(view: RunView, name: str, metric: Metric) -> float | None:
    """Of a lane and its second run in the same job."""
    both = [value(lane, metric) for lane in view.lanes if lane.name.removesuffix(AGAIN) == name]
    known = [one for one in both if one is not None]
    return fmean(known) if known else None


def _with_repeats(lanes: Sequence[tuple[LaneView, LaneView]]) -> list[tuple[LaneView, LaneView]]:
    """A lane's second run in the same job is a repeat of its sessions, as far as rates go."""
    again = {lane.name: (first, lane) for first, lane in lanes if lane.name.endswith(AGAIN)}
    return [
        (_joined(first, found[0]), _joined(lane, found[1]))
        if (found := again.get(lane.name + AGAIN))
        else (first, lane)
        for first, lane in lanes
        if not lane.name.endswith(AGAIN)
    ]


def _joined(lane: LaneView, again: LaneView) -> LaneView:
    repeats = 1 + max((attempt.repeat for attempt in lane.attempts), default=0)
    more = (replace(attempt, repeat=attempt.repeat + repeats) for attempt in again.attempts)
    return replace(lane, attempts=Attempts((*lane.attempts, *more)))


def _times(
    lanes: Sequence[tuple[LaneView, LaneView]], base: Baseline, margins: dict[str, Margin]
) -> list[Pair]:
    now = {lane.name: lane for _, lane in lanes}
    asked = [
        (margin, lane, again)
        for name, lane in now.items()
        if not name.endswith(AGAIN)
        for again in [now.get(name + AGAIN)]
        for margin in margins.values()
        if margin.metric.drifts
    ]
    found = (
        compared(
            margin.metric, base.times.get(lane.name, {}).get(margin.metric.key, []), lane, again,
            of=len(asked), level=margin.level,
        )
        for margin, lane, again in asked
    )  # fmt: skip
    return [pair for pair in found if pair is not None]


def _same_work(view: RunView, traces: dict[str, str], base: Baseline) -> None:
    differing = prompt_differences([view, base.view])
    differing += [key for key in ("mode", "max_turns") if view.plan.get(key) != base.view.plan.get(key)]
    if differing:
        raise PlanError(
            f"this plan and the baseline's differ in {', '.join(differing)}: they do not replay the same turns"
        )
    other = [name for name, digest in traces.items() if base.traces.get(name, digest) != digest]
    if other:
        raise PlanError(
            f"trace {other[0]!r} is not the one of the baseline: make a new baseline with `replayer gate init`"
        )
    missing = sorted(base.traces.keys() - traces.keys())
    if missing:
        raise PlanError(f"the baseline replayed {', '.join(missing)} as well: replay the same traces")


def _failures(first: LaneView, lane: LaneView) -> list[Failure]:
    """Turns that became unusable, those of the baseline that were usable first."""
    before = {(a.trace, a.repeat, t.turn): t.usable for a in first.attempts for t in a.turns.values()}
    found = []
    for attempt in lane.attempts:
        for turn in attempt.turns.values():
            if turn.usable is False:
                mark = next((mark for mark in turn.marks if mark.fatal), None)
                klass, blame = (mark.klass, mark.blame) if mark else (turn.error or "unusable", "unknown")
                found.append(Failure(lane.name, attempt.trace, attempt.repeat, turn.turn, klass, blame))
    return sorted(found, key=lambda one: before.get((one.trace, one.repeat, one.turn)) is not True)


def _changes(first: LaneView, lane: LaneView) -> list[str]:
    effective = {**(lane.facts.get("effective") or {}), **lane.facts}
    words = [
        f"{lane.name}: {key} {old} → {effective[key]}"
        for key, old in first.facts.items()
        if key in effective and effective[key] != old
    ]
    before, now = _flat(first.settings), _flat(asked(lane))
    words += [
        f"{lane.name}: {key} {before.get(key, 'not set')} → {now.get(key, 'not set')}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]
    return words + ([f"{lane.name}: {first.kind} → {lane.kind}"] if first.kind != lane.kind else [])


def _flat(settings: JsonObject) -> JsonObject:
    own = {key: value for key, value in settings.items() if key not in ("sampling", "extra")}
    parts = own, settings.get("sampling") or {}, settings.get("extra") or {}
    return {key: value for part in parts for key, value in part.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Size:
    """What a baseline has, and what a gate needs to find TARGET with POWER."""

    sessions: int
    turns: int
    needed_turns: int

    @property
    def needed_sessions(self) -> int:
        return max(MIN_SESSIONS, -(-self.needed_turns * self.sessions // max(1, self.turns)))

    @property
    def enough(self) -> bool:
        return self.turns >= self.needed_turns and self.sessions >= MIN_SESSIONS

    def words(self) -> str:
        have = f"{self.turns:,} turns of {self.sessions} sessions"
        need = f"{TARGET * 100:g} points worse are found 9 times of 10 with {self.needed_turns:,} turns"
        return (
            f"{have}; {need}: {'enough' if self.enough else f'about {self.needed_sessions:,} such sessions'}"
        )

    def document(self) -> dict[str, int]:
        return asdict(self) | {"needed_sessions": self.needed_sessions}


def size(view: RunView, lane: LaneView) -> Size:
    """Turns that two runs of this lane need. Fleiss' sample size for two shares at the level that the gate's first figure
    has, times how much more a lane's sessions vary than their turns alone would (its A/A pair; Kish 1965)."""
    judged = [turn.usable for turn in lane.turns if turn.usable is not None]
    rate = sum(judged) / len(judged) if judged else 1.0
    now = min(max(rate, TARGET), 1.0)
    lanes = sum(1 for other in view.lanes if not other.name.endswith(AGAIN))
    alpha = ALPHA * PRIMARY_SHARE / max(1, lanes)
    turns = sample_size(now, now - TARGET, POWER, alpha) or 0
    effect = _design_effect(view, lane, now)
    sessions = len({attempt.trace for attempt in lane.attempts})
    return Size(sessions, len(judged), round(turns * effect * _SPARE))


def _design_effect(view: RunView, lane: LaneView, rate: float) -> float:
    again = [
        pair for pair in compare(view, metrics=[PRIMARY]) if is_aa(pair.a, pair.b) and pair.a == lane.name
    ]
    if not again or again[0].low is None or again[0].high is None or not 0 < rate < 1:
        return 1.0
    pair = again[0]
    assert pair.low is not None and pair.high is not None
    error = (pair.high - pair.low) / 2 / NormalDist().inv_cdf(0.975)
    return max(1.0, error**2 / (2 * rate * (1 - rate) / pair.n_turns))


def headline(found: Decision, lanes: Sequence[str]) -> str:
    if found.red:
        first = found.red[0].pair.conclusion
        return f"red: {first}"
    if found.lost:
        return f"not decided: {found.lost[0]}"
    tested = len(found.checks)
    if not tested:
        return f"nothing could be tested: {found.untested[0] if found.untested else 'no figure has values in both runs'}"
    words = f"green: no figure of {', '.join(lanes)} is worse beyond noise and its margin ({tested} tested"
    open_ = [COMPARED[one.pair.metric].words for one in found.checks if one.state == "not proven"]
    return (
        f"{words}; beyond its margin and maybe noise: {', '.join(dict.fromkeys(open_))})"
        if open_
        else f"{words})"
    )
