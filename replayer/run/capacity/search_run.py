"""The search: a lane's levels are whole runs in folders of their own, one after another, seeded alike.

Then its document: what the limits alone say, tiers, energy, cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from replayer.errors import EngineUnavailable, Interrupted
from replayer.journal.events import AnyEvent, SessionFinished, SessionStarted, TurnStarted
from replayer.journal.parts import JOURNAL
from replayer.journal.turns import TurnFacts
from replayer.journal.view import Fold, load
from replayer.metrics.capacity.document import (
    Capacity,
    Costs,
    LaneCapacity,
    again,
    answer_words,
    crossings,
    eviction_from,
    within_limits,
)
from replayer.metrics.capacity.levels import Level, decided, level, shares_of, side
from replayer.metrics.capacity.limits import Limit
from replayer.metrics.capacity.search import Agents, Outcome, agents, next_level
from replayer.metrics.capacity.stamp import LEAST_SECONDS, LEAST_TURNS, too_idle
from replayer.metrics.lane_answers import counted
from replayer.plan.load_shape import STEADY, LoadShape
from replayer.plan.model import LanePlan, Plan
from replayer.run.capacity.shape import CapacityShape, level_load
from replayer.run.job import Job
from replayer.wire.types import JsonObject

_EVERY = 5
"""Turns between two looks."""


class LevelStop:
    """Takes every event of a level. Turns count in the order of sending, and none before all that were sent earlier have
    ended: those that are quick would otherwise speak for the slow ones."""

    metric = "share of good turns"

    def __init__(self, sessions: int, load: LoadShape, limits: tuple[Limit, ...], threshold: float) -> None:
        self._needed, self._warm_up = STEADY * sessions, load.warm_up * 1e9
        self._least = max(LEAST_TURNS, sessions)
        self._limits, self._threshold = limits, threshold
        self._fold = Fold()
        self._alive = 0
        self._steady: int | None = None
        """When enough sessions were alive, on the journal's clock."""
        self._sent: deque[TurnFacts] = deque()
        self._counted: list[TurnFacts] = []
        self._looked = 0
        self.outcome: Outcome | None = None

    def apply(self, event: AnyEvent) -> None:
        self._fold.apply(event)
        match event:
            case SessionStarted():
                self._alive += 1
                if self._alive >= self._needed and self._steady is None:
                    self._steady = event.at
            case SessionFinished():
                self._alive -= 1
            case TurnStarted() if self._is_steady(event.at):
                self._sent.append(self._fold.attempt(event.session, event.attempt).turns[event.turn])
            case _:
                pass
        while self._sent and (turn := self._sent[0]).total_ns is not None:
            if turn.usable is None and turn.error is None:
                break  # not judged yet
            self._counted.append(self._sent.popleft())

    def _is_steady(self, at: int) -> bool:
        begun = next(iter(self._fold.loads.values())).started if self._fold.loads else at
        return self._steady is not None and at >= begun + self._warm_up

    def reason(self) -> str | None:
        """Why the level need not go on."""
        n = len(self._counted)
        enough = n >= max(self._least, self._looked + _EVERY)
        if (
            self.outcome is None
            and enough
            and self._fold.last_at - self._counted[0].at >= LEAST_SECONDS * 1e9
        ):
            self._looked = n
            shares = shares_of(self._counted, self._limits, self._threshold)
            self.outcome = decided(shares, self._limits, self._threshold)
        if self.outcome is None:
            return None
        return f"{n} turns are enough: the level {self.outcome}"


_AWAY_SECONDS = 5.0
"""A level whose server went away says nothing: nobody waits for it to come back."""
_SAME = ("version", "model", "context_length", "kv_pool_tokens", "block_size")
"""Facts of a server that stay the same from level to level."""
Say = Callable[[str], None]


@dataclass(slots=True)
class Found:
    """What a lane's levels showed. `agents` is None where a level does not allow a claim: the reasons say why."""

    lane: str
    agents: Agents | None
    levels: list[Level]
    reasons: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Search:
    plan: Plan
    shape: CapacityShape
    traces: dict[str, Path]
    folder: Path
    say: Say
    perform: Callable[..., int]
    """Runs one level (`replayer.run.runner.perform`)."""
    levels: list[Level] = field(default_factory=list)
    """Of the lane that is searched now."""
    _server: JsonObject = field(default_factory=dict)
    """What it said of itself at the first of them."""

    def lane(self, lane: LanePlan) -> Found:
        """Raises Interrupted where it was cut short, in a level or between two; what was found until then is in the folder."""
        shape, self.levels = self.shape, []
        try:
            tried = self._bisect(lane, {}, shape.limits)
            for tier in shape.tier_limits:
                known = {level.sessions: side(level.tiers[tier.words], shape.usable) for level in self.levels}
                self._bisect(lane, known, (*shape.limits, tier), f"-{tier.bound:g}")
        except (_NotValid, EngineUnavailable) as error:
            return Found(lane.name, None, self.levels, [str(error)])
        except KeyboardInterrupt:
            raise Interrupted("interrupted between two levels") from None
        found = agents(tried, cap=shape.cap)
        slow = [too_idle(one.sessions, one.idle) for one in self.levels if one.sessions == found.value]
        if reasons := [reason for reason in slow if reason is not None]:
            return Found(lane.name, None, self.levels, reasons[:1])
        return Found(lane.name, found, self.levels)

    def _bisect(
        self, lane: LanePlan, tried: dict[int, Outcome], limits: tuple[Limit, ...], name: str = ""
    ) -> dict[int, Outcome]:
        shape = self.shape
        while (
            n := next_level(tried, start=shape.first, cap=shape.cap, resolution=shape.resolution)
        ) is not None:
            found, outcome = self._level(lane, n, limits, name)
            self.levels.append(found)
            self.say(_words(lane.name, found, outcome))
            if not found.valid:
                raise _NotValid(f"at {counted(n, 'session')}: {'; '.join(found.reasons)}")
            tried[n] = outcome
        return tried

    def _level(
        self, lane: LanePlan, sessions: int, limits: tuple[Limit, ...], name: str
    ) -> tuple[Level, Outcome]:
        """With what it says of these limits."""
        folder = self.folder / "levels" / lane.name / f"{sessions:04d}{name}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        asked = level_load(self.plan.load, sessions)
        plan = _level_plan(self.plan, lane, sessions, asked)
        stop = LevelStop(sessions, asked, limits, self.shape.usable)
        try:
            self.perform(Job(plan, folder, self.traces), stopper=stop)
        except Interrupted:
            if (folder / JOURNAL).exists():
                self.levels.append(cut := self._read(folder, sessions, None))
                self.say(_words(lane.name, cut, cut.outcome))
            raise
        found = self._read(folder, sessions, None if name else stop.outcome)
        if not name:
            return found, found.outcome
        return found, stop.outcome or side(
            next(found.tiers[one.words] for one in limits[-1:]), self.shape.usable
        )

    def _read(self, folder: Path, sessions: int, outcome: Outcome | None) -> Level:
        shape, view = self.shape, load(folder)
        beyond = any(one.outcome.endswith("holds") and one.sessions < sessions for one in self.levels)
        found = level(
            view, sessions, shape.limits, shape.usable, outcome, str(folder.relative_to(self.folder)),
            emptied=not shape.keep_cache, tiers=shape.tier_limits, beyond=beyond,
        )  # fmt: skip
        facts = {key: view.lanes[0].facts.get(key) for key in _SAME}
        if not self.levels:
            self._server = facts
        changed = [f"{key} {was} → {facts[key]}" for key, was in self._server.items() if was != facts[key]]
        if not changed:
            return found
        reason = f"it is not the server of the first level: {', '.join(changed)}"
        return replace(found, valid=False, reasons=[*found.reasons, reason])


def _level_plan(plan: Plan, lane: LanePlan, sessions: int, asked: LoadShape) -> Plan:
    timeouts = plan.timeouts.model_copy(update={"server": min(plan.timeouts.server, _AWAY_SECONDS)})
    changed = {
        "lane": (lane.model_copy(update={"concurrency": sessions}),),
        "load": asked,
        "timeouts": timeouts,
        "fail_if": (),
    }
    return plan.model_copy(update=changed)


class _NotValid(Exception):
    """Nothing may be concluded from a level."""


def _words(lane: str, found: Level, outcome: Outcome) -> str:
    good = found.shares.good
    share = (
        "no turn"
        if good.value is None
        else f"{good.value:.1%} of {good.n} turns good [{good.low:.1%} to {good.high:.1%}]"
    )
    verdict = (
        outcome
        if outcome in ("holds", "fails")
        else f"not decided, more likely {outcome.removeprefix('leans_')}"
    )
    stamp = "" if found.valid else f"; NOT VALID: {'; '.join(found.reasons)}"
    return f"{lane}: {found.sessions} live sessions: {verdict}: {share}, {found.window_s:.0f} s{stamp}"


def document(
    shape: CapacityShape, found: Sequence[Found], notes: Sequence[str], turns_per_session: float
) -> Capacity:
    lanes = [_lane(shape, one, turns_per_session) for one in found]
    limits = [limit.words for limit in shape.limits]
    return Capacity(
        limits=limits,
        usable=shape.usable,
        cap=shape.cap,
        lanes=lanes,
        crossings=crossings(lanes),
        notes=list(notes),
    )


def _lane(shape: CapacityShape, found: Found, turns_per_session: float) -> LaneCapacity:
    levels = sorted((level for level in found.levels), key=lambda level: level.sessions)
    good = [level for level in levels if level.valid]
    of_tiers = {
        tier.words: {level.sessions: level.tiers[tier.words] for level in good if tier.words in level.tiers}
        for tier in shape.tier_limits
    }
    tiers = {words: again(shares, shape.usable, shape.cap) for words, shares in of_tiers.items()}
    claimed = found.agents is not None
    answer = next(
        (level for level in good if claimed and found.agents and level.sessions == found.agents.value), None
    )
    lane = LaneCapacity(
        lane=found.lane,
        agents=found.agents,
        within_limits=within_limits(good, shape.usable, shape.cap) if claimed else None,
        tiers={words: tier for words, tier in tiers.items() if tier is not None and claimed},
        levels=levels,
        eviction_from=eviction_from(levels),
        costs=_costs(shape, answer, turns_per_session) if answer else Costs(),
        valid=claimed,
        reasons=found.reasons,
    )
    return replace(lane, words=answer_words(lane, [limit.words for limit in shape.limits], shape.usable))


def _costs(shape: CapacityShape, level: Level, turns_per_session: float) -> Costs:
    gpus, power = shape.gpus or level.gpus, level.power_w
    usable = level.shares.usable
    sessions = (usable.value or 0.0) * usable.n / turns_per_session
    return Costs(
        agents_per_gpu=level.sessions / gpus if gpus else None,
        agents_per_kw=level.sessions / (power / 1000) if power else None,
        joules_per_usable_turn=level.joules_per_usable_turn,
        per_usable_session=_by_time(shape, gpus, level, sessions),
        per_usable_session_by_tokens=_by_tokens(shape, level, sessions),
    )


def _by_time(shape: CapacityShape, gpus: int | None, level: Level, sessions: float) -> float | None:
    if shape.price_gpu_hour is None or not gpus or not sessions:
        return None
    return shape.price_gpu_hour * gpus * level.window_s / 3600 / sessions


def _by_tokens(shape: CapacityShape, level: Level, sessions: float) -> float | None:
    prices, prompt, cached, completion = (
        shape.token_prices,
        *(level.tokens[k] for k in ("prompt", "cached", "completion")),
    )
    if prices is None or prompt is None or cached is None or completion is None or not sessions:
        return None
    return ((prompt - cached) * prices[0] + cached * prices[1] + completion * prices[2]) / sessions


def mean_turns(turns: Sequence[int]) -> float:
    return fmean(turns) if turns else 1.0
