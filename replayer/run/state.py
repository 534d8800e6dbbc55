"""What is open while a run goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from replayer.journal.events import StoppedEarly, Warned
from replayer.journal.log import JournalWriter
from replayer.journal.progress import Attempts
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.requests.history import RecordedHistory
from replayer.requests.lengths import Length
from replayer.requests.transform import Transform
from replayer.run.early_stop import EarlyStop
from replayer.run.lag import LagMeter
from replayer.run.lanes import Lane
from replayer.run.live_feed import LiveFeed
from replayer.run.prefix_watch import Servers
from replayer.run.session_tools import Tools
from replayer.run.tool_runs import results
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.schema import ToolResultItem
from replayer.wire.remote import Receiver


class Prompt(NamedTuple):
    """A prompt of filler, as one engine counts it."""

    engine: str
    model: str
    tag: str
    recorded_turn: int


@dataclass(slots=True)
class Run:
    """What is open while a run goes on."""

    plan: Plan
    folder: Path
    journal: JournalWriter
    histories: dict[str, RecordedHistory]
    attempts: Attempts
    feed: LiveFeed
    tools: Tools
    receiver: Receiver
    """The process that reads the sockets."""
    lag: LagMeter
    servers: Servers
    transform: Transform | None = None
    lanes: dict[str, Lane] = field(default_factory=dict)
    validators: dict[str, Validator] = field(default_factory=dict)
    lengths: dict[Prompt, Length] = field(default_factory=dict)
    """Prompts of filler that were fitted to an exact number of tokens."""
    recorded_results: dict[str, dict[str, ToolResultItem]] = field(default_factory=dict)
    left: int = 0
    """Sessions that have not ended."""
    early_stop: EarlyStop | None = None
    stopped: str | None = None
    """Why no further session is started."""

    def tag(self, session: Session, attempt: int) -> str:
        """What tells an attempt's prompts apart from all others. Lanes see the same prompts, save those of one server,
        whose cache they share."""
        tag = f"{self.folder.name}/{session.trace}/{session.repeat}/{attempt}"
        lane = self.lanes.get(session.lane)
        shared = lane is not None and any(len(self.servers.of(i.engine).lanes) > 1 for i in lane.instances)
        return f"{tag}/{session.lane}" if shared else tag

    def results(self, trace: str) -> dict[str, ToolResultItem]:
        """The recorded tool results of a trace by call id, gathered once."""
        if trace not in self.recorded_results:
            self.recorded_results[trace] = results(self.histories[trace])
        return self.recorded_results[trace]

    def warn(self, message: str, *, lane: str | None = None, code: str | None = None) -> None:
        self.journal.append(Warned(message=message, lane=lane, code=code))

    def stop_if_decided(self) -> None:
        if self.early_stop is None or self.stopped is not None:
            return
        self.stopped = self.early_stop.reason()
        if self.stopped is not None and self.left:
            metric = self.early_stop.metric
            self.journal.append(StoppedEarly(metric=metric, reason=self.stopped, sessions_left=self.left))

    def validator(self, trace: str, recorded_turn: int) -> Validator:
        tool_set = self.histories[trace].tool_set(recorded_turn)
        key = f"{trace}/{tool_set.id if tool_set else ''}"
        if key not in self.validators:
            self.validators[key] = Validator(tool_set.tools if tool_set else ())
        return self.validators[key]
