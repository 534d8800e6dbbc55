"""Folds a journal into a frozen view. Every screen, table and report is drawn from one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from zlib import crc32

from replayer.engines.base import origin
from replayer.errors import RunFolderError
from replayer.journal import turns as facts
from replayer.journal.events import (
    AnyEvent,
    LaneReady,
    LoadEnded,
    LoadStarted,
    Primed,
    RunFinished,
    RunResumed,
    RunStarted,
    ShardClock,
    ShardHealth,
    SignalFinding,
    StoppedEarly,
    TelemetryRead,
    TurnFinished,
    TurnStarted,
    Warned,
)
from replayer.journal.lines import damaged
from replayer.journal.log import Reading
from replayer.journal.parts import Line, journal_of
from replayer.journal.readings import Readings
from replayer.journal.sealed import Archive, Archives, Attempts, Keeping
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view_parts import Asked, LoadPeriod, ShardView
from replayer.lazy import dataclass
from replayer.traces.compact import uncollected

MISFITS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What a journal brings about whose lines are sound one by one and do not fit together: a damaged one, or a forged one."""


@dataclass(frozen=True, slots=True, eq=False)
class LaneView:
    """One column. `attempts` are the counted ones: per session the last complete, else the newest with a finished turn."""

    name: str
    kind: str
    model: str | None
    base_url: str
    facts: dict[str, Any]
    settings: dict[str, Any]
    attempts: Attempts
    running: tuple[Attempt, ...]
    telemetry: Sequence[TelemetryRead]
    sessions_planned: int
    sessions_done: int
    turns_planned: int
    plan: dict[str, Any] = field(default_factory=dict)
    """The lane as the plan has it, and of the plan what holds for it: sessions `in_flight`, `slo`."""
    resumed_wall: float = 0.0
    """When the process that goes on with an interrupted run began; 0 where none had to."""
    run: str = ""
    asked_of_server: Asked = field(default_factory=lambda: Asked())
    load: LoadPeriod | None = None
    last_at: int = 0
    """When the journal's newest event was."""

    @property
    def turns(self) -> Iterator[TurnFacts]:
        """Of the counted attempts."""
        return chain.from_iterable(attempt.turns.values() for attempt in self.attempts)

    @property
    def turns_done(self) -> int:
        return self.attempts.finished


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """A whole run at one moment. `state`: running, finished or interrupted."""

    run: str
    state: str
    mode: str
    tools: str
    plan: dict[str, Any]
    environment: dict[str, Any]
    started_wall: float
    last_at: int
    lanes: tuple[LaneView, ...]
    warnings: tuple[Warned, ...]
    exit_code: int | None
    reasons: tuple[str, ...]
    incomplete: int
    """Sessions without a complete attempt."""
    stopped_early: str | None = None
    """Why the plan's `stop_when_decided` ended the run before all sessions were done."""
    shards: tuple[ShardView, ...] = ()
    """The processes that drove the sessions, where there were several."""


@dataclass(slots=True)
class Fold:
    """Takes events in order; `view` freezes what they add up to. Cheap to feed, a few ms to freeze."""

    opening: RunStarted | None = None
    resumed: int = 0
    resumed_wall: float = 0.0
    finished: RunFinished | None = None
    stopped_early: StoppedEarly | None = None
    lanes: dict[str, LaneReady] = field(default_factory=dict)
    attempts: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)
    archives: Archives = field(default_factory=Archives)
    """Sessions that left the attempts: of a long run on a screen, those that ended long ago."""
    loads: dict[str, LoadPeriod] = field(default_factory=dict)
    telemetry: dict[str, Readings] = field(default_factory=dict)
    warnings: list[Warned] = field(default_factory=list)
    shards: dict[int, ShardView] = field(default_factory=dict)
    asked: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Tokens asked for by lane, and requests of which they are not known."""
    last_at: int = 0
    keeping: Keeping = field(default_factory=Keeping)

    def apply(self, event: AnyEvent, line: Line | None = None) -> None:
        """`line` is where the event stands, so that a screen can load its text again."""
        self.last_at = max(self.last_at, event.at)
        if (
            event.type == "turn_started"
        ):  # `isinstance` of a model is slow, and there are five events to a turn
            facts.start(self.attempt(event.session, event.attempt), event)
            self._count(event, unknown=1)
        elif event.type == "turn_finished":
            facts.finish(self.attempt(event.session, event.attempt), event, line)
            self._count_usage(event)
        elif event.type == "verdict":
            facts.judge(self.attempt(event.session, event.attempt), event)
        elif event.type == "signal":
            facts.signal(self.attempt(event.session, event.attempt), event)
            if event.signal == "other_mode":
                self._count_other(event, event.finding.get("usage") or {})
        elif event.type == "alarm":
            facts.alarm(self.attempt(event.session, event.attempt), event)
        elif event.type == "substituted":
            facts.substituted(self.attempt(event.session, event.attempt), event)
        elif event.type == "tool_run":
            facts.ran(self.attempt(event.session, event.attempt), event)
        elif event.type == "telemetry":
            self._sample(event)
        elif event.type == "session_started":
            others = (a for a in self._attempts(event.session) if a.number != event.attempt)
            self.attempts[event.session] = (*others, Attempt.of(event))
        elif event.type == "session_finished":
            attempt = self.attempt(event.session, event.attempt)
            attempt.end(event)
            self.archives.put(self.keeping.ended(attempt), self.attempts, self.keeping.spill)
        else:
            self._milestone(event)

    def _milestone(self, event: AnyEvent) -> None:
        match event:
            case RunStarted():
                self.opening, self.finished, self.stopped_early = event, None, None
            case RunResumed():
                self.resumed += 1
                self.resumed_wall = event.wall
                self.finished = self.stopped_early = None
            case StoppedEarly():
                self.stopped_early = event
            case LaneReady():
                self.lanes[event.lane] = event
            case LoadStarted():
                self.loads[event.lane] = LoadPeriod(event.sessions, event.at, event.cache_reset)
            case LoadEnded():
                period = self.loads[event.lane]
                self.loads[event.lane] = replace(period, ended=event.at, outcome=event.outcome)
            case Primed():
                self._count(event, unknown=1)
                self._count_usage(event)
            case Warned():
                self.warnings.append(event)
            case ShardHealth() if event.shard not in self.shards:
                pass  # its clock was never compared: it drove nothing
            case ShardClock() | ShardHealth():
                known = self.shards.get(event.shard, ShardView(event.shard))
                self.shards[event.shard] = known.after(event)
            case RunFinished():
                self.finished = event
            case _:
                pass

    def attempt(self, session: str, number: int) -> Attempt:
        for attempt in reversed(self.attempts.get(session) or self._attempts(session)):
            if attempt.number == number:
                return attempt
        raise KeyError(number)

    def _attempts(self, session: str) -> tuple[Attempt, ...]:
        """At a session, one from an archive if need be: a fact may come after its end."""
        if session not in self.attempts and (found := self.archives.take(session, self.keeping.spill)):
            self.attempts[session] = found
        return self.attempts.get(session, ())

    def _count(self, event: TurnStarted | TurnFinished | Primed | SignalFinding, **counts: int) -> None:
        lane = self.attempt(event.session, event.attempt).lane
        total = self.asked[lane]
        for name, count in counts.items():  # `Counter.update` takes five times as long
            total[name] += count

    def _count_usage(self, event: TurnFinished | Primed) -> None:
        usage = event.usage or {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if (
            getattr(event, "usage_source", "usage") == "usage"
            and prompt is not None
            and completion is not None
        ):
            self._count(event, unknown=-1, prompt=prompt, completion=completion)

    def _count_other(self, event: SignalFinding, usage: dict[str, Any]) -> None:
        """The same turn in the other mode was asked for as well."""
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        known = isinstance(prompt, int) and isinstance(completion, int)
        self._count(event, **({"prompt": prompt, "completion": completion} if known else {"unknown": 1}))

    def _asked(self, name: str, plan: dict[str, Any]) -> Asked:
        """Over all lanes on the server of a lane."""
        ready = self.lanes.get(name)
        server = origin(ready.base_url) if ready else None
        lanes = [one for one, other in self.lanes.items() if origin(other.base_url) == server] or [name]
        total: Counter[str] = Counter()
        for lane in lanes:
            total.update(self.asked.get(lane, {}))
        whole = not total["unknown"]
        return Asked(
            lanes=tuple(lanes),
            prompt_tokens=total["prompt"] if whole else None,
            completion_tokens=total["completion"] if whole else None,
            in_flight=sum(_in_flight(lane, plan) for lane in lanes),
        )

    def _sample(self, event: TelemetryRead) -> None:
        known = self.telemetry.get(event.lane) or Readings(packs=self.keeping.most is not None)
        self.telemetry[event.lane] = known.and_then(event)

    def view(self, *, run: str, running: bool = False) -> RunView:
        plan = self.opening.plan if self.opening else {}
        name = run.encode("utf-8", "replace").decode()  # a folder's name may not be text at all
        lanes = tuple(replace(self._lane(lane, plan), run=name) for lane in _lane_names(plan, self.lanes))
        return RunView(
            run=name,
            state="running" if running else "finished" if self.finished else "interrupted",
            mode=plan.get("mode", "recorded"),
            tools=plan.get("tools", "recorded"),
            plan=plan,
            environment=self.opening.environment if self.opening else {},
            started_wall=self.opening.wall if self.opening else 0.0,
            last_at=self.last_at,
            lanes=lanes,
            warnings=tuple(self.warnings),
            shards=tuple(self.shards[number] for number in sorted(self.shards)),
            exit_code=self.finished.exit_code if self.finished else None,
            reasons=tuple(self.finished.reasons) if self.finished else (),
            incomplete=sum(lane.sessions_planned - lane.sessions_done for lane in lanes),
            stopped_early=self.stopped_early.reason if self.stopped_early else None,
        )

    def _lane(self, name: str, plan: dict[str, Any]) -> LaneView:
        ready = self.lanes.get(name)
        mine = [tries for tries in self.attempts.values() if tries[0].lane == name]
        archive, number = self.archives.get(name) or Archive(), attrgetter("number")
        counted = Attempts([_counted(tries) for tries in mine], archive)
        planned = archive.planned + sum(one.planned for one in counted.held)
        done = archive.complete + sum(any(a.complete for a in tries) for tries in mine)
        period, repeat = self.loads.get(name), plan.get("repeat", 1)
        # A load replays as many sessions as it has time for; a model's recordings are not those of all models.
        counts_itself = period is not None or (ready is not None and ready.kind == "recorded")
        # What a session is made of: the traces, or the independent parts of a trace.
        listed = self.opening.turns if self.opening else {}
        return LaneView(
            name=name,
            kind=ready.kind if ready else "unknown",
            model=ready.model if ready else None,
            base_url=ready.base_url if ready else "",
            facts=ready.facts if ready else {},
            settings=ready.settings if ready else {},
            attempts=counted,
            running=tuple(newest for tries in mine if (newest := max(tries, key=number)).ended is None),
            telemetry=self.telemetry[name].frozen() if name in self.telemetry else (),
            sessions_planned=done if counts_itself else len(listed or plan.get("traces", ())) * repeat,
            turns_planned=planned if counts_itself else sum(listed.values()) * repeat,
            sessions_done=done,
            plan=_lane_plan(name, plan),
            resumed_wall=self.resumed_wall,
            asked_of_server=self._asked(name, plan),
            load=period,
            last_at=self.last_at,
        )


def _in_flight(name: str, plan: dict[str, Any]) -> int:
    asked = int(_lane_plan(name, plan)["in_flight"])
    sessions = len(plan.get("traces", ())) * plan.get("repeat", 1)
    return asked if (plan.get("load") or {}).get("duration") else min(asked, sessions or 1)


def _lane_plan(name: str, plan: dict[str, Any]) -> dict[str, Any]:
    lanes: list[dict[str, Any]] = plan.get("lane", [])
    lane = next((lane for lane in lanes if lane["name"] == name), {})
    alive = (plan.get("load") or {}).get("sessions")
    in_flight = lane.get("concurrency") or alive or plan.get("concurrency", 1)
    return {**lane, "in_flight": in_flight, **{key: plan.get(key) for key in ("slo", "max_turns", "load")}}


def _lane_names(plan: dict[str, Any], ready: Iterable[str]) -> list[str]:
    planned = [lane["name"] for lane in plan.get("lane", ())]
    return planned + [name for name in ready if name not in planned]


_last: tuple[int, Following] | None = None
"""The checksum of what was folded last, and what became of it."""


def _checksum(folder: Path, offsets: dict[int, int]) -> int:
    """Of the first bytes of the journals; 0 where they cannot be read."""
    checksum = 0
    for part, size in sorted(offsets.items()):
        with suppress(OSError), journal_of(folder, part).open("rb") as stream:
            while size > 0 and (data := stream.read(min(size, 1 << 20))):
                checksum, size = crc32(data, checksum), size - len(data)
        if size:
            return 0
    return checksum


def _counted(tries: Sequence[Attempt]) -> Attempt:
    return max(tries, key=lambda attempt: (attempt.complete, attempt.finished > 0, attempt.number))


def load(folder: Path, *, running: bool = False) -> RunView:
    """The view of a run folder. Raises RunFolderError.

    What was loaded last is gone on with where the journal begins with it: a run's limits and its report read the same.
    """
    global _last
    before, _last = _last, None
    if before is None or before[0] != _checksum(folder, before[1].reading.offsets):
        before = 0, Following(folder)
    known = before[1]
    following = Following(folder, known.fold, replace(known.reading, folder=folder))
    following.read()
    _last = _checksum(folder, following.reading.offsets), following
    return following.view(running=running)


class Following:
    """Folds the journal of a run, and goes on with what is new in it."""

    def __init__(self, folder: Path, fold: Fold | None = None, reading: Reading | None = None) -> None:
        self.folder, self.fold, self.reading = folder, fold or Fold(), reading or Reading(folder)

    @uncollected()
    def read(self) -> None:
        for _ in fold_from(self.reading, self.fold):
            pass

    @uncollected()
    def view(self, *, running: bool = False) -> RunView:
        try:
            return self.fold.view(run=self.folder.name, running=running)
        except MISFITS as error:
            raise misfit(self.folder, error) from error


def fold_from(reading: Reading, fold: Fold) -> Iterator[None]:
    """Apply the events that are new, one at a time. Raises RunFolderError, also for an event that fits nothing before it."""
    for event, line in reading.events():
        try:
            fold.apply(event, line)
        except MISFITS as error:
            path = journal_of(reading.folder, line.part)
            raise damaged(path, line.offset, "that fits nothing before it") from error
        yield


def misfit(folder: Path, error: Exception) -> RunFolderError:
    """For a journal that can be read and makes no sense."""
    return RunFolderError(
        f"{journal_of(folder, 0)} holds values that no run has ({error}); the file is damaged"
    )
