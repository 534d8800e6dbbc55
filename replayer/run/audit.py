"""What already happened, judged without an engine: a run folder made of recorded turns.

A lane is a model, a session is what one thread of a trace had that model say. Replies, usage and times are the
recording's; verdicts, repetition, loops and prefix diagnosis are those of any run, so that report and screen are too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from replayer import __version__
from replayer.journal.events import (
    Alarm,
    AnyEvent,
    LaneReady,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    ToolRunFinished,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
    Warned,
)
from replayer.journal.lines import encoded
from replayer.journal.log import JournalWriter
from replayer.journal.view import Following, RunView
from replayer.plan.model import LanePlan, Plan
from replayer.prefix.prefix_report import Settings, analyse
from replayer.prefix.tokenizers import Estimate
from replayer.requests.chat_requests import read_requests
from replayer.run.recorded_reply import (
    RecordedTrace,
    RecordedTurn,
    judge_recorded,
    recorded_turn,
)
from replayer.run.turn import alarm_event, collapse_words, finding_event, verdict_event
from replayer.signals.base import Expected, TurnFacts
from replayer.signals.every import every_signal
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.signals.repetition.detector import deltas_of
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.public.workloads import credits_of
from replayer.traces.reader import Trace
from replayer.traces.schema import ToolSchema, Turn, plain
from replayer.traces.summary import Summary
from replayer.wire.types import JsonObject

_UNSAFE = re.compile(r"[^\w.+@=-]+")
_OUTPUT_KEPT = 2_000
"""Characters of a call's result in the journal; the whole one is in the trace."""
NO_MODEL = "unknown-model"
COUNTS = ("turns", "calls", "failed", "unusable", "collapsed", "loops")


@dataclass(frozen=True, slots=True)
class Audited:
    """One recording within the folder: `name` is its trace's."""

    name: str
    path: Path
    source: str
    agent: str
    failed_results: int
    """As the import counts them, results without a call included."""
    turns: int
    models: tuple[str, ...]
    lengths: int
    """Turns of which nothing but lengths is known."""
    has_tools: bool
    credits: tuple[str, ...]


def read(summary: Summary) -> Audited:
    """What the report asks of a trace that was just imported."""
    path = Path(summary.trace)
    with Trace.open(path) as trace:
        return Audited(
            name=path.name.removesuffix(".trace.jsonl"),
            path=path,
            source=summary.source,
            agent=trace.header.agent or summary.format,
            failed_results=summary.failed_results,
            turns=len(trace.turns),
            models=tuple(dict.fromkeys(turn.model or NO_MODEL for turn in trace.turns)),
            lengths=sum(turn.tokens is not None for turn in trace.turns),
            has_tools=bool(trace.tool_sets),
            credits=tuple(credits_of([trace.header])),
        )


class Judged(NamedTuple):
    """The sessions of one recording: their counts by session, and their events as the journal's lines hold them."""

    counts: dict[str, JsonObject]
    events: list[bytes]


@dataclass(slots=True)
class _Session:
    """The turns of one thread that one model answered."""

    lane: str
    recorded: RecordedTrace
    recording: Audited
    turns: list[Turn]
    findings: dict[int, PrefixFinding]
    validators: dict[str | None, Validator] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.lane}/{self.recording.name}/0"


class Mapped(Protocol):
    """A `map` that may use other processes; results in order."""

    def __call__(
        self, work: Callable[[Audited], Judged], items: Sequence[Audited], /
    ) -> Iterable[Judged]: ...


def audit(
    recordings: Sequence[Audited], folder: Path, mapped: Mapped = map
) -> tuple[RunView, list[JsonObject]]:
    """Journal every recorded turn in a new run folder, judged. Returns the view, and the counts of each session."""
    lanes = _lanes(recordings)
    plan = _plan(recordings, lanes)
    (folder / "plan.json").touch(0o600)
    (folder / "plan.json").write_text(plan.model_dump_json(indent=2), "utf-8")
    journal, following = JournalWriter(folder), Following(folder)
    counts: list[JsonObject] = []
    try:
        for event in _opening(folder, plan, recordings, lanes):
            journal.append(event)
        for judged in mapped(partial(_judged, lanes=lanes), recordings):
            journal.append_encoded(judged.events)
            counts += judged.counts.values()
            following.read()  # while other processes judge what comes next
        journal.append(RunFinished(exit_code=0))
    finally:
        journal.close()
    following.read()
    return following.view(), counts


def _opening(
    folder: Path, plan: Plan, recordings: Sequence[Audited], lanes: dict[str, str]
) -> Iterator[AnyEvent]:
    turns = {recording.name: recording.turns for recording in recordings}
    dumped = plan.model_dump(mode="json")
    yield RunStarted(run_id=folder.name, wall=time.time(), version=__version__, plan=dumped, turns=turns)
    for model, lane in lanes.items():
        facts = {"kind": "recorded"}
        yield LaneReady(lane=lane, kind="recorded", model=model, base_url="", facts=facts, settings={})
    named = dict.fromkeys(line for recording in recordings for line in recording.credits)
    for warning in (*_unchecked(recordings), *named):
        yield Warned(message=warning, code="audit")


def _judged(recording: Audited, lanes: dict[str, str]) -> Judged:
    judged = Judged({}, [])

    def emit(event: AnyEvent) -> None:
        _count(judged.counts, event)
        judged.events.append(encoded(event))

    with Trace.open(recording.path) as trace:
        for session in _sessions(recording, trace, lanes, _prefix_findings(recording.path)):
            _session(emit, session)
    return judged


def _lanes(recordings: Sequence[Audited]) -> dict[str, str]:
    """Model -> lane."""
    lanes: dict[str, str] = {}
    for model in dict.fromkeys(model for recording in recordings for model in recording.models):
        name = _UNSAFE.sub("-", model)
        lanes[model] = name if name not in lanes.values() else f"{name}={len(lanes) + 1}"
    return lanes


def _plan(recordings: Sequence[Audited], lanes: dict[str, str]) -> Plan:
    found = [
        LanePlan(
            name=lane, url="http://recorded.invalid", kind="recorded", model=model, on_collapse="observe"
        )
        for model, lane in lanes.items()
    ]
    return Plan(
        traces=tuple(recording.name for recording in recordings), lane=tuple(found), observe_share=1.0
    )


def _unchecked(recordings: Sequence[Audited]) -> Iterator[str]:
    """What the recordings do not let anybody judge."""
    without = sum(not recording.has_tools for recording in recordings)
    if without:
        yield (
            f"{without} of {len(recordings)} recordings hold no tool definitions: their calls are held to be JSON "
            "objects, and their names and parameters are not checked"
        )
    lengths = sum(recording.lengths for recording in recordings)
    if lengths:
        yield f"{lengths} recorded turns hold lengths only: they have no verdict"


def _prefix_findings(path: Path) -> dict[int, PrefixFinding]:
    """What each turn could have reused, by its number; tokens are estimated, and the recording's own where it has them."""
    report = analyse(read_requests(path), Estimate(), Settings())
    return {int(finding.key): finding for finding in report.findings}


def _sessions(
    recording: Audited, trace: Trace, lanes: dict[str, str], findings: dict[int, PrefixFinding]
) -> Iterator[_Session]:
    recorded = RecordedTrace(trace)
    parts: dict[str, list[Turn]] = {}
    for turn in trace.turns:
        parts.setdefault(lanes[turn.model or NO_MODEL], []).append(turn)
    for lane, turns in parts.items():
        yield _Session(lane, recorded, recording, turns, findings)


def _session(emit: Callable[[AnyEvent], None], session: _Session) -> None:
    lane, name = session.lane, session.recording.name
    emit(
        SessionStarted(
            session=session.key,
            attempt=1,
            lane=lane,
            trace=name,
            repeat=0,
            turns=len(session.turns),
            mode="recorded",
            tools="recorded",
            cache_reset="unknown",
        )
    )
    threads: dict[str, _Thread] = {}
    for turn in session.turns:
        _turn(emit, session, threads.setdefault(turn.thread, _Thread()), turn)
    verdicts = {key: words for thread in threads.values() for key, words in thread.verdicts().items()}
    emit(SessionFinished(session=session.key, attempt=1, outcome="done", verdicts=verdicts))


class _Thread:
    """What is remembered from turn to turn of one thread."""

    def __init__(self) -> None:
        self.signals = every_signal()
        self.call_ids: set[str] = set()

    def verdicts(self) -> dict[str, str]:
        return {key: words for signal in self.signals for key, words in signal.verdicts().items()}


def _turn(emit: Callable[[AnyEvent], None], session: _Session, thread: _Thread, turn: Turn) -> None:
    """A turn's number is that of the trace, so that it is the same in the sessions of all its models."""
    where: JsonObject = {"session": session.key, "attempt": 1, "turn": turn.id}
    known = recorded_turn(session.recorded, turn)
    wall = (turn.times.started or turn.times.ended or 0.0) if turn.times else 0.0
    emit(TurnStarted(**where, recorded_turn=turn.id, body_bytes=known.prompt_chars, wall=wall))
    collapse = None if turn.tokens else _watched(emit, thread, where, known)
    emit(_finished(where, known, turn))
    if turn.tokens is None and known.judged:
        validator = _validator(session, turn)
        verdict = judge_recorded(known, validator, thread.call_ids, turn, collapse)
        emit(verdict_event(where, verdict))
        thread.call_ids.update(call.id for call in known.reply.tool_calls if call.id)
    for event in _tool_runs(where, known):
        emit(event)
    facts = TurnFacts(turn.id, known.reply, None, known.called, (), session.findings.get(turn.id))
    for signal in thread.signals:
        for found in signal.after_turn(facts):
            emit(finding_event(where, signal, found))


def _watched(
    emit: Callable[[AnyEvent], None], thread: _Thread, where: JsonObject, known: RecordedTurn
) -> str | None:
    """Feeds the reply to the signals as if it streamed; returns what collapsed, in words."""
    collapse: str | None = None
    for signal in thread.signals:
        signal.begin(Expected(known.prompt_contains, None))
        found = [finding for delta in deltas_of(known.reply) for finding in signal.observe(delta)]
        for finding in (*found, *signal.end(known.reply)):
            emit(alarm_event(where, signal, finding, stopped=False))
            if finding.level == "collapsed" and collapse is None:
                collapse = collapse_words(finding.as_dict())
    return collapse


def _finished(where: JsonObject, known: RecordedTurn, turn: Turn) -> TurnFinished:
    reply, usage, times = known.reply, turn.usage, turn.times
    start = times.started if times else None
    first, total = (
        None if start is None or end is None else max(0, round((end - start) * 1e9))
        for end in ((times.first_token, times.ended) if times else (None, None))
    )
    return TurnFinished(
        **where,
        content=reply.content,
        reasoning=reply.reasoning,
        tool_calls=[asdict(call) for call in reply.tool_calls],
        finish_reason=reply.finish_reason,
        usage={**asdict(usage), "raw": None} if usage else None,
        usage_source="usage" if usage else "none",
        done=True,
        fault=asdict(reply.fault) if reply.fault else None,
        retries=0,
        headers_ns=None,
        ttft_ns=first,
        total_ns=total or 0,
    )


def _tool_runs(where: JsonObject, known: RecordedTurn) -> Iterator[ToolRunFinished]:
    """The calls as the recorded agent ran them: those that have a result."""
    for index, result in known.results.items():
        yield ToolRunFinished(
            **where,
            call_index=index,
            name=known.reply.tool_calls[index].name,
            outcome="tool_error" if result.is_error else "ok",
            output=plain(result.content)[:_OUTPUT_KEPT],
        )


def _validator(session: _Session, turn: Turn) -> Validator:
    """Of the tools that the turn offered; where the source lacks them, any tool of any parameters."""
    if turn.tool_set not in session.validators:
        known = session.recorded.trace.tool_sets.get(turn.tool_set or "")
        tools: Sequence[ToolSchema] = known.tools if known else _any_tools(session.recorded)
        session.validators[turn.tool_set] = Validator(tools)
    return session.validators[turn.tool_set]


def _any_tools(recorded: RecordedTrace) -> list[ToolSchema]:
    return [ToolSchema(name=name, description="", parameters={}) for name in recorded.names]


def _count(counts: dict[str, JsonObject], event: AnyEvent) -> None:
    """For the table of sessions."""
    match event:
        case SessionStarted():
            none = dict.fromkeys(COUNTS, 0)
            counts[event.session] = {"trace": event.trace, "lane": event.lane, **none, "turns": event.turns}
        case TurnFinished():
            counts[event.session]["calls"] += len(event.tool_calls)
        case ToolRunFinished():
            counts[event.session]["failed"] += event.outcome != "ok"
        case VerdictGiven():
            counts[event.session]["unusable"] += not event.usable
        case Alarm():
            counts[event.session]["collapsed"] += event.finding.get("level") == "collapsed"
        case SignalFinding(signal="call_loops"):
            counts[event.session]["loops"] += event.finding.get("level") == "loop"
