"""The facts of a run, one line of `journal.jsonl` each.

Every number on any screen is recomputed from these. Times `at` are nanoseconds of the runner's monotonic clock
since the run's `run_started`; `wall` is seconds since the Unix epoch.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from replayer.wire.first_token import first_generated
from replayer.wire.types import JsonObject, Wire

JOURNAL_SCHEMA = 4
"""3: every line is sealed (`replayer.journal.lines`). 4: a run may have parts (`replayer.journal.parts`)."""

CHANNELS = ("content", "reasoning", "tool_arguments")
"""As the repetition signal names them."""
STALL_NS = 5_000_000
"""Lateness of the receiver from which on a turn is marked."""

IsolationKind = Literal["salt", "marker", "block", "salt+block"]
"""What keeps a session's prompts out of what earlier sessions left in the cache."""


def is_stalled(lag_ns: int, busy: bool) -> bool:
    """Whether a turn is marked: its times count in no figure."""
    return lag_ns > STALL_NS or busy


class Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    at: int = 0


class SessionEvent(Event):
    """`session` is LANE/TRACE/REPEAT, `attempt` counts from 1."""

    session: str
    attempt: int


class TurnEvent(SessionEvent):
    """`turn` is the position of the turn in the session."""

    turn: int


class RunStarted(Event):
    type: Literal["run_started"] = "run_started"
    schema_number: int = JOURNAL_SCHEMA
    run_id: str
    wall: float
    version: str
    plan: JsonObject
    turns: dict[str, int] = {}
    """Turns of one session, by trace; a trace whose threads are independent has a label for each."""
    coverage: list[str] = []
    """A sentence for each trace: how many of its recorded turns are sent, and why fewer."""
    environment: JsonObject = {}


class RunResumed(Event):
    """A later process goes on with the run; its `at` values follow the offset `at` of this line."""

    type: Literal["run_resumed"] = "run_resumed"
    wall: float
    version: str
    turns: dict[str, int] = {}


class LaneReady(Event):
    """What is known of a lane before its first session: adapter facts, asked settings, warnings."""

    type: Literal["lane_ready"] = "lane_ready"
    lane: str
    kind: str
    model: str | None
    base_url: str
    facts: JsonObject
    settings: JsonObject


class LoadStarted(Event):
    """From here on sessions are kept alive on a lane; `sessions` is None where as many are as arrive."""

    type: Literal["load_started"] = "load_started"
    lane: str
    sessions: int | None
    cache_reset: Literal["yes", "no", "unknown"]


class LoadEnded(Event):
    """No further turn is sent. `outcome`: duration, done (all sessions were), decided, or server_gone."""

    type: Literal["load_ended"] = "load_ended"
    lane: str
    outcome: str


class SessionStarted(SessionEvent):
    type: Literal["session_started"] = "session_started"
    lane: str
    trace: str
    repeat: int
    turns: int
    mode: Literal["recorded", "live"]
    tools: Literal["recorded", "sandbox", "matched"]
    cache_reset: Literal["yes", "no", "unknown"]
    isolation: IsolationKind | None = None
    """`salt` or `marker`: what keeps the session's prompts out of what earlier sessions left in the cache."""
    tag: str | None = None
    """The name that salt or marker carries."""
    late_ns: int | None = None
    """How much later than its load asked: for a free place, or because this machine was busy."""
    first_turn: int = 0
    """The position of the first turn that is sent; those before it were only put into the cache."""


class Primed(SessionEvent):
    """The prompt before a session's first turn was sent to fill the cache. It is in no figure of the turns."""

    type: Literal["primed"] = "primed"
    recorded_turn: int
    usage: JsonObject | None
    total_ns: int
    ago_ns: int = 0
    """How long before this line its reply ended: the first sessions of a load wait for each other."""
    fault: JsonObject | None = None


class TurnStarted(TurnEvent):
    type: Literal["turn_started"] = "turn_started"
    recorded_turn: int
    body_bytes: int
    body_sha256: str | None = None
    wall: float
    sent: JsonObject | None = None
    """What of the messages the trace alone does not tell. Live history: `{keep, messages}`, those after the first `keep`
    of the turn before; a recorded subagent's turn has its `{line}`, and its recorded history. A prompt of filler: its `{words, pads}`."""
    asked: dict[str, int] | None = None
    """Tokens in and out that the turn is to have, where it is made of lengths: {"input", "output"}."""
    max_tokens: int | None = None
    """The token limit that the request sets, if it sets one."""


class Alarm(TurnEvent):
    """A finding that fell while the reply was streaming, and whether the runner stopped it."""

    type: Literal["alarm"] = "alarm"
    signal: str
    version: int
    finding: JsonObject
    stopped: bool


class TurnFinished(TurnEvent):
    """The raw facts of one exchange. Durations in nanoseconds from sending; None is unknown."""

    type: Literal["turn_finished"] = "turn_finished"
    content: str
    reasoning: str
    tool_calls: list[JsonObject]
    finish_reason: str | None
    usage: JsonObject | None
    """Normalised (prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, raw)."""
    usage_source: Literal["usage", "computed", "none"]
    extra: JsonObject = {}
    done: bool
    wire: Wire = "chat"
    fault: JsonObject | None
    stopped_by_us: str | None = None
    """Name of the signal whose alarm ended the stream."""
    retries: int
    headers_ns: int | None
    ttft_ns: int | None
    began_ns: int | None = None
    """The chunk that opened the stream and carried nothing."""
    total_ns: int
    stamped_by: Literal["kernel", "client", "mixed"] = "client"
    """Who took the time of the reply's arrivals (`replayer.wire.types.StampClock`)."""
    arrivals: str = ""
    """Offsets of every delta with text: base64 of zlib of little-endian uint32 microseconds, first-differenced."""
    deltas: int = 0
    notes: list[JsonObject] = []
    lag_ns: int = 0
    """How late the receiver was at worst during this turn: by its own bytes where the kernel stamps them, else by samples."""
    busy: bool = False
    """What receives was over its limit of CPU at the time: the turn counts as stalled."""

    @property
    def call_first(self) -> bool:
        return bool(self.tool_calls) and not (self.content or self.reasoning)

    @property
    def prefill_ns(self) -> int | None:
        """Until the engine had its first token; None where that is not known."""
        return first_generated(
            self.began_ns,
            self.ttft_ns,
            self.total_ns,
            deltas=self.deltas,
            tokens=(self.usage or {}).get("completion_tokens"),
            call_first=self.call_first,
        )


class VerdictGiven(TurnEvent):
    type: Literal["verdict"] = "verdict"
    usable: bool
    faults: list[JsonObject]
    against_recording: list[JsonObject] = []
    schema_valid: bool | None = None
    modes: JsonObject | None = None
    """The turn streamed and not, each reply judged for itself; where the plan asked for both."""


class SignalFinding(TurnEvent):
    """What a signal states after the reply, e.g. prefix reuse of the turn."""

    type: Literal["signal"] = "signal"
    signal: str
    version: int
    finding: JsonObject


class Substituted(TurnEvent):
    """The recorded turn stands for this turn's reply in the conversation that goes on."""

    type: Literal["substituted"] = "substituted"
    reason: str


class ToolRunFinished(TurnEvent):
    type: Literal["tool_run"] = "tool_run"
    call_index: int
    name: str | None
    outcome: str
    against_recorded: str | None = None
    duration_ns: int | None = None
    exit_code: int | None = None
    output: str = ""
    detail: JsonObject = {}


class TelemetryRead(Event):
    type: Literal["telemetry"] = "telemetry"
    lane: str
    instance: str
    sample: JsonObject


class ShardClock(Event):
    """The clocks of a shard's process against the run's, as found by the quickest of many round trips; holds for the lines
    that follow. All within `bound_ns`."""

    type: Literal["shard_clock"] = "shard_clock"
    shard: int
    pid: int
    host: str
    ahead_ns: int
    """By how much its wall clock is ahead."""
    shift_ns: int
    """What is added to its `at` to give the run's."""
    bound_ns: int


class ShardHealth(Event):
    """What a shard's processes needed since the line before: of one core the shares of what judges and of what receives,
    how late it received, and its sockets. `over`: limits that were passed, in words; the turns under way are marked."""

    type: Literal["shard_health"] = "shard_health"
    shard: int
    judge_cpu: float
    receiver_cpu: float
    lag_p99_ns: int
    sockets: int
    retransmits: int | None = None
    """Of TCP segments on its machine; None where it does not say."""
    over: list[str] = []


class SessionFinished(SessionEvent):
    """`outcome`: `done`, `failed` (errors over their limit), `cut` (its load was over) or, for live mode, how the session ended."""

    type: Literal["session_finished"] = "session_finished"
    outcome: str
    check: JsonObject | None = None
    verdicts: dict[str, str] = {}
    """Sentences on the whole session, by signal."""


class Warned(Event):
    type: Literal["warning"] = "warning"
    message: str
    lane: str | None = None
    code: str | None = None


class StoppedEarly(Event):
    """The plan's `stop_when_decided` ended the run: no session was started after this."""

    type: Literal["stopped_early"] = "stopped_early"
    metric: str
    reason: str
    sessions_left: int


class RunFinished(Event):
    type: Literal["run_finished"] = "run_finished"
    exit_code: int
    reasons: list[str] = []


AnyEvent = Annotated[
    RunStarted
    | RunResumed
    | LaneReady
    | LoadStarted
    | LoadEnded
    | SessionStarted
    | Primed
    | TurnStarted
    | Alarm
    | TurnFinished
    | VerdictGiven
    | SignalFinding
    | Substituted
    | ToolRunFinished
    | TelemetryRead
    | ShardClock
    | ShardHealth
    | SessionFinished
    | Warned
    | StoppedEarly
    | RunFinished,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
