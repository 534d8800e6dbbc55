"""The search for one lane: levels are whole runs in folders of their own, one after another, seeded alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from replayer.errors import EngineUnavailable, Interrupted
from replayer.journal.parts import JOURNAL
from replayer.journal.view import LaneView, RunView, load
from replayer.metrics.capacity.levels import Level, level, side
from replayer.metrics.capacity.limits import Limit
from replayer.metrics.capacity.search import Agents, Outcome, agents, next_level
from replayer.plan.load_shape import LoadShape
from replayer.plan.model import LanePlan, Plan
from replayer.run.capacity.level_stop import LevelStop
from replayer.run.capacity.shape import CapacityShape, level_load
from replayer.run.job import Job

_AWAY_SECONDS = 5.0
"""A level whose server went away says nothing: nobody waits for it to come back."""
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
        return Found(lane.name, agents(tried, cap=shape.cap), self.levels)

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
                raise _NotValid(f"at {n} sessions: {'; '.join(found.reasons)}")
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
        view = load(folder)
        return level(
            one_lane(view), sessions, self.shape.limits, self.shape.usable, outcome,
            str(folder.relative_to(self.folder)), view.state, away=any(warning.code == "server_away" for warning in view.warnings), emptied=not self.shape.keep_cache,
            tiers=self.shape.tier_limits,
        )  # fmt: skip


def one_lane(view: RunView) -> LaneView:
    [lane] = view.lanes
    return lane


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
    share = "no turn" if good.value is None else f"{good.value:.1%} [{good.low:.1%}, {good.high:.1%}] good"
    sign = {"holds": "holds", "fails": "fails"}.get(
        found.outcome, f"undecided, {found.outcome.replace('_', ' ')}"
    )
    stamp = "" if found.valid else f"; NOT VALID: {'; '.join(found.reasons)}"
    return (
        f"{lane}: {found.sessions} sessions {sign}: {share} of {good.n} turns, {found.window_s:.0f} s{stamp}"
    )
