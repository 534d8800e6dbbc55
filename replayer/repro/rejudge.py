"""`report --rejudge`: today's rules over the raw facts of an older run.

Replies are judged again, and searched for repetition again, from what the journal keeps of them and from their requests
built anew, and so is prefix reuse (`rejudge_reuse`). What a stream that we cut would have gone on to say is not known: it
stays collapsed. Call loops are kept as they were found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from replayer.journal.events import Alarm, AnyEvent, SignalFinding, TurnFinished, TurnStarted, VerdictGiven
from replayer.journal.lines import encoded, seal
from replayer.journal.log import read
from replayer.journal.parts import JOURNAL
from replayer.journal.progress import plan_of
from replayer.journal.run_traces import copies
from replayer.journal.turns import Attempt
from replayer.journal.view import LaneView, RunView, load
from replayer.metrics.lane_answers import RECORDED
from replayer.plan.model import Plan
from replayer.repro.rebuild import Rebuilder
from replayer.repro.rejudge_reuse import ReuseAgain
from replayer.run.audit import audit
from replayer.run.audit import read as read_recording
from replayer.run.turn import alarm_event, recorded_text, verdict_event
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector, scan_reply
from replayer.signals.repetition.finding import Finding
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import by_mode, judge
from replayer.tools.verdicts.verdict import Modes, Verdict, modes_as_dict
from replayer.traces.schema import Usage
from replayer.traces.summary import check
from replayer.wire.types import JsonObject, ProtocolNote, Reply, Timing, ToolCall, WireFault

_OF_TOKENS = ("silent_repair", "silent_drop")
"""Faults that may rest on token ids, which no journal keeps."""

Key = tuple[str, int, int]


@dataclasses.dataclass(slots=True)
class Rejudged:
    """`folder` is a run folder in the scratch folder that holds the new verdicts, under the old name."""

    folder: Path
    judged: int = 0
    changed: int = 0


def rejudged(folder: Path, scratch: Path) -> Rejudged:
    """Raises RunFolderError."""
    result = Rejudged(scratch / folder.resolve().name)
    result.folder.mkdir(parents=True)
    (result.folder / "traces").symlink_to((folder / "traces").resolve())
    view = load(folder)
    if all(lane.kind == RECORDED for lane in view.lanes):
        _audited(folder, view, result)
        return result
    judging = _Judging(folder, view, plan_of(folder), result)
    with (result.folder / JOURNAL).open("wb") as journal:
        lines = (line for event in read(folder) for line in judging.take(event))
        for number, line in enumerate(lines, 1):
            journal.write(seal(number, encoded(line)))
    return result


def _audited(folder: Path, view: RunView, result: Rejudged) -> None:
    """An audit's replies are the traces' own: they are judged from there."""
    recordings = [
        dataclasses.replace(read_recording(check(path)), name=name) for name, path in copies(folder).items()
    ]
    anew, _ = audit(recordings, result.folder)
    before, now = _outcomes(view), _outcomes(anew)
    result.judged = len(now)
    result.changed = sum(before.get(key) != outcome for key, outcome in now.items())


def _outcomes(view: RunView) -> dict[Key, object]:
    turns = (
        (attempt.session, turn)
        for lane in view.lanes
        for attempt in lane.attempts
        for turn in attempt.turns.values()
    )
    return {
        (key, 1, turn.turn): (turn.usable, sorted(turn.faults))
        for key, turn in turns
        if turn.usable is not None
    }


class _Judging:
    """Follows a journal; what was found of each reply is replaced when its verdict comes by."""

    def __init__(self, folder: Path, view: RunView, plan: Plan, result: Rejudged) -> None:
        self._result = result
        self._rebuilders = {lane.name: Rebuilder(folder, plan, lane) for lane in view.lanes if lane.facts}
        self._places = _places(view.lanes)
        self._reuse = ReuseAgain({lane.name: lane for lane in view.lanes}, self._rebuilders)
        self._lengths = {lane.name: lane.facts.get("context_length") for lane in view.lanes}
        self._started: dict[tuple[str, int], list[JsonObject]] = {}
        self._finished: dict[Key, TurnFinished] = {}
        self._pairs: dict[Key, JsonObject] = {}
        self._call_ids: dict[tuple[str, int], set[str]] = {}

    def take(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """The lines that stand for an event."""
        if isinstance(event, SignalFinding) and event.signal == "prefix_reuse":
            return
        yield from self._verdicts(event)
        yield from self._reuse.take(event)

    def _verdicts(self, event: AnyEvent) -> Iterator[AnyEvent]:
        match event:
            case TurnStarted():
                self._started.setdefault((event.session, event.attempt), []).append(event.model_dump())
            case TurnFinished():
                self._finished[event.session, event.attempt, event.turn] = event
            case SignalFinding(signal="other_mode"):
                self._pairs[event.session, event.attempt, event.turn] = event.finding
            case _:
                pass
        key = _key(event)
        place = self._places.get(key[:2]) if key else None
        if key is None or place is None or self._is_filler(place, key):
            yield event
        elif isinstance(event, VerdictGiven):
            yield from self._again(event, key, *place)
        elif not (isinstance(event, Alarm) and event.signal == "repetition"):
            yield event

    def _is_filler(self, place: tuple[LaneView, Attempt], key: Key) -> bool:
        lane, attempt = place
        recorded_turn = attempt.turns[key[2]].recorded_turn
        return (
            self._rebuilders[lane.name].history(attempt.trace).trace.turns[recorded_turn].tokens is not None
        )

    def _again(self, old: VerdictGiven, key: Key, lane: LaneView, attempt: Attempt) -> Iterator[AnyEvent]:
        rebuilder = self._rebuilders[lane.name]
        finished = self._finished.pop(key)
        body = rebuilder.built(attempt, key[2], self._started[key[:2]][: key[2] + 1]).body
        request = orjson.loads(body)
        facts, reply = read_request(request), reply_of(finished, streamed=bool(request.get("stream")))
        recorded = rebuilder.history(attempt.trace).recorded(attempt.turns[key[2]].recorded_turn)
        expected = Expected(facts.prompt_contains, recorded_text(recorded) if recorded else None)
        alarms = scan_reply(reply, expected)
        ids = self._call_ids.setdefault(key[:2], set())
        given = self._pairs.pop(key, None)
        pair = _pair(given) if given else None
        usage = finished.usage
        case = Case(
            reply,
            Validator(facts.tools),
            dataclasses.replace(facts, seen_call_ids=ids),
            usage=Usage(**usage) if usage else None,
            context_length=self._lengths[lane.name],
            collapsed=_unit(alarms),
            recorded=recorded,
            pair=pair,
        )
        verdict = judge(case)
        other = _unit(scan_reply(pair, expected)) if pair else None
        modes = by_mode(case, stream=reply.streamed, collapsed=other)
        ids.update(call.id for call in reply.tool_calls if call.id)
        where: JsonObject = {"at": old.at, "session": key[0], "attempt": key[1], "turn": key[2]}
        stopped = finished.stopped_by_us is not None
        for finding in alarms:
            yield alarm_event(where, RepetitionDetector, finding, stopped=stopped)
        yield self._counted(old, _given(verdict, old, where, modes))

    def _counted(self, old: VerdictGiven, new: VerdictGiven) -> VerdictGiven:
        self._result.judged += 1
        self._result.changed += (old.usable, _classes(old)) != (new.usable, _classes(new))
        return new


def _key(event: AnyEvent) -> Key | None:
    if isinstance(event, VerdictGiven | Alarm):
        return event.session, event.attempt, event.turn
    return None


def _places(lanes: Sequence[LaneView]) -> dict[tuple[str, int], tuple[LaneView, Attempt]]:
    """Only the attempts that count are judged again."""
    return {
        (attempt.session, attempt.number): (lane, attempt)
        for lane in lanes
        if lane.facts
        for attempt in lane.attempts
    }


def reply_of(event: TurnFinished, *, streamed: bool) -> Reply:
    """The reply as the journal keeps it."""
    return Reply(
        Timing(0, event.headers_ns, event.ttft_ns, event.total_ns),
        content=event.content,
        reasoning=event.reasoning,
        tool_calls=tuple(ToolCall(**call) for call in event.tool_calls),
        finish_reason=event.finish_reason,
        usage=((event.usage or {}).get("raw") if event.wire == "chat" else None) or event.usage,
        wire=event.wire,
        done=event.done,
        fault=WireFault(**event.fault) if event.fault else None,
        stopped_by_us=event.stopped_by_us is not None,
        streamed=streamed,
        notes=tuple(ProtocolNote(**note) for note in event.notes),
        extra=event.extra,
    )


def _pair(finding: JsonObject) -> Reply:
    known = {key: finding[key] for key in ("content", "reasoning", "finish_reason", "usage", "streamed")}
    return Reply(
        Timing(0, None, None, 0),
        tool_calls=tuple(ToolCall(**call) for call in finding["tool_calls"]),
        fault=WireFault(**finding["fault"]) if finding["fault"] else None,
        done=True,
        **known,
    )


def _unit(alarms: Sequence[Finding]) -> str | None:
    return next((finding.words for finding in alarms if finding.level == "collapsed"), None)


def _given(verdict: Verdict, old: VerdictGiven, where: JsonObject, modes: Modes) -> VerdictGiven:
    """Without the other mode's answer, faults that rest on tokens are taken over."""
    new = verdict_event(where, verdict, modes_as_dict(modes))
    kept = [fault for fault in old.faults if not modes and fault["klass"] in _OF_TOKENS]
    usable = new.usable and not any(fault["fatal"] for fault in kept)
    return new.model_copy(update={"faults": [*new.faults, *kept], "usable": usable})


def _classes(verdict: VerdictGiven) -> list[str]:
    return sorted(fault["klass"] for fault in verdict.faults)
