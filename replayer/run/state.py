"""What is open while a run goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from replayer.journal.events import LoadEnded, LoadStarted, StoppedEarly, Warned
from replayer.journal.log import JournalWriter
from replayer.lazy import dataclass
from replayer.plan.model import Plan
from replayer.plan.schedule import Session, Share, trace_name
from replayer.requests.lengths import Length
from replayer.requests.transform import Transform
from replayer.run.lag import LagMeter
from replayer.run.live_feed import LiveFeed
from replayer.run.tool_runs import results
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.schema import ToolResultItem
from replayer.wire.remote import Receiver

if TYPE_CHECKING:
    from replayer.journal.progress import Attempts
    from replayer.requests.history import RecordedHistory
    from replayer.run.early_stop import Stopper
    from replayer.run.lanes import Lane
    from replayer.run.prefix_watch import Servers
    from replayer.run.session_tools import Tools


class Prompt(NamedTuple):
    """A prompt of filler, as one engine counts it."""

    engine: str
    model: str
    tag: str
    recorded_turn: int


@dataclass(slots=True)
class Traces:
    """The traces of a run, and what is made of each once for all its sessions."""

    histories: dict[str, RecordedHistory]
    transform: Transform | None = None
    lengths: dict[Prompt, Length] = field(default_factory=dict)
    """Prompts of filler that were fitted to an exact number of tokens."""
    _validators: dict[str, Validator] = field(default_factory=dict)
    _results: dict[str, dict[str, ToolResultItem]] = field(default_factory=dict)

    def results(self, trace: str) -> dict[str, ToolResultItem]:
        """The recorded tool results of a trace by call id."""
        if trace not in self._results:
            self._results[trace] = results(self.histories[trace])
        return self._results[trace]

    def validator(self, trace: str, recorded_turn: int) -> Validator:
        tool_set = self.histories[trace].tool_set(recorded_turn)
        key = f"{trace}/{tool_set.id if tool_set else ''}"
        if key not in self._validators:
            self._validators[key] = Validator(tool_set.tools if tool_set else ())
        return self._validators[key]


@dataclass(slots=True)
class Schedule:
    """How far a run has come, and whether it goes on."""

    attempts: Attempts
    left: int
    """Sessions that have not ended."""
    early_stop: Stopper | None = None
    stopped: str | None = None
    """Why no further session is started."""
    lost: dict[str, str] = field(default_factory=dict)
    """By lane why it could not be made ready, or was given up: its other sessions are left to `resume`."""


@dataclass(slots=True)
class Run:
    """What is open while a run goes on."""

    plan: Plan
    folder: Path
    journal: JournalWriter
    traces: Traces
    schedule: Schedule
    feed: LiveFeed
    tools: Tools | None
    receiver: Receiver
    """The process that reads the sockets."""
    lag: LagMeter
    servers: Servers
    lanes: dict[str, Lane]
    shares: dict[str, Share] = field(default_factory=dict)
    """By lane which share of a load is this process's, where several keep it up."""
    more: Callable[[str], Awaitable[Session | None]] | None = None
    """A further session of a lane, where several processes share what is left."""
    on_load: Callable[[LoadStarted | LoadEnded], None] | None = None
    """Takes the begin and the end of this process's share; the journal does where there is but one."""

    def tag(self, session: Session, attempt: int) -> str:
        """What tells an attempt's prompts apart from all others. Lanes see the same prompts, save those of one server,
        whose cache they share: a number there, so that prompts are equally long."""
        tag = f"{self.folder.name}/{trace_name(session.trace)}/{session.repeat}/{attempt}"
        lane = self.lanes.get(session.lane)
        beside = [self.servers.of(instance.engine).lanes for instance in lane.instances] if lane else []
        names = next((lanes for lanes in beside if len(lanes) > 1), [])
        place = names.index(session.lane) + 1 if session.lane in names else 0
        return f"{tag}/{place:0{len(str(len(names)))}}" if place else tag

    def warn(self, message: str, *, lane: str | None = None, code: str | None = None) -> None:
        self.journal.append(Warned(message=message, lane=lane, code=code))

    def load(self, event: LoadStarted | LoadEnded) -> None:
        """A load begins, or ends, on a lane."""
        (self.on_load or self.journal.append)(event)

    def stop_if_decided(self) -> None:
        schedule = self.schedule
        if schedule.early_stop is None or schedule.stopped is not None:
            return
        schedule.stopped = reason = schedule.early_stop.reason()
        if reason is not None and schedule.left:
            metric = schedule.early_stop.metric
            self.journal.append(StoppedEarly(metric=metric, reason=reason, sessions_left=schedule.left))
