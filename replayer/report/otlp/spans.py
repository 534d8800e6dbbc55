"""A run as spans of the GenAI conventions: run > session (invoke_agent) > turn (chat) > executed call (execute_tool).

Verdicts are `gen_ai.evaluation.result` events on the turn they judge. Ids follow from the run's name and place, so that
an export done twice is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from replayer.journal.events import LaneReady, SessionStarted
from replayer.journal.lane_turn import LaneTurn, take
from replayer.journal.log import read
from replayer.journal.parts import facts
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView, load
from replayer.report.otlp.content import Content
from replayer.report.otlp.form import CLIENT, INTERNAL, event, lines, span, span_id, trace_id
from replayer.report.otlp.metrics import request
from replayer.report.otlp.receiver import export
from replayer.run.metrics_page import MetricsPage
from replayer.wire.types import JsonObject

_SAMPLING = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "seed": "seed",
    "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty",
}  # fmt: skip
Times = tuple[int, int]
"""Start and end in nanoseconds since the epoch."""


@dataclass(slots=True)
class _Turn:
    started: JsonObject
    lane_turn: LaneTurn
    sent: bool = False
    tools_sent: int = 0


@dataclass(slots=True)
class _Session:
    lane: dict[str, object]
    settings: JsonObject
    attempt: Attempt
    span: str
    turns: dict[int, _Turn] = field(default_factory=dict)
    times: Times | None = None


def export_runs(folders: Sequence[Path], target: str, *, content: bool) -> list[str]:
    """Write the spans and metrics of runs to files or send them to a receiver; where they went. Raises ReplayerError."""
    views = [(folder, load(folder)) for folder in folders]
    spans = chain.from_iterable(
        lines(_spans(folder, view, content), resource(view.run, view.plan)) for folder, view in views
    )
    counts = (_metrics(folder, view) for folder, view in views)
    return [place for place in (export(spans, target, "traces"), export(counts, target, "metrics")) if place]


def _metrics(folder: Path, view: RunView) -> bytes:
    counted = {(one.session, one.number) for lane in view.lanes for one in lane.attempts}
    page = MetricsPage()
    for found in read(folder):
        if not isinstance(found, SessionStarted) or (found.session, found.attempt) in counted:
            page.event(found)
    start = int(view.started_wall * 1e9)
    return request(page, (start, start + view.last_at), resource(view.run, view.plan))


def resource(run: str, plan: JsonObject) -> dict[str, object]:
    return {"replayer.run": run, "replayer.mode": plan.get("mode"), "replayer.tools": plan.get("tools")}


def _spans(folder: Path, view: RunView, content: bool) -> Iterator[JsonObject]:
    """The counted attempts, in one pass over the journal; those that did not end come last."""
    spans = RunSpans(view.run, view.started_wall, Content(folder, view.plan) if content else None)
    for lane in view.lanes:
        for attempt in lane.attempts:
            spans.open(lane.name, lane, attempt)
    for found in facts(folder):
        yield from spans.take(found)
    yield from spans.rest(view.state, view.exit_code)


class RunSpans:
    """Takes a run's events in order and gives the spans that are whole; a turn's text is let go with its span."""

    def __init__(self, run: str, started_wall: float, content: Content | None) -> None:
        self._run, self._start = run, int(started_wall * 1e9)
        self._trace = trace_id(run, started_wall)
        self._root = span_id(self._trace)
        self._content = content
        self._times: Times = self._start, self._start
        self._open: dict[tuple[str, int], _Session] = {}

    def open(self, name: str, lane: LaneView | LaneReady, attempt: Attempt) -> None:
        """Attempts that are not opened are left out. `attempt` is to hold the facts of a turn once it is judged."""
        own = span_id(self._trace, attempt.session, attempt.number)
        session = _Session(_lane(name, lane), lane.settings, attempt, own)
        self._open[attempt.session, attempt.number] = session

    def take(self, found: JsonObject) -> Iterator[JsonObject]:
        """File an event of the journal; the rest of a session's spans where it ends."""
        key = found.get("session", ""), found.get("attempt", 0)
        if key not in self._open:
            return
        if found["type"] == "session_finished":
            yield from self._ended(self._open.pop(key))
        elif "turn" in found:
            self._file(self._open[key], found)

    def judged(self) -> Iterator[JsonObject]:
        """What can be given before its session ends: turns that have a verdict, in the order in which they were sent."""
        for session in self._open.values():
            for number, turn in session.turns.items():
                if turn.lane_turn.verdict is None:
                    break
                yield from self._turn(session, number, turn)

    def rest(self, state: str, exit_code: int | None) -> Iterator[JsonObject]:
        """The sessions that did not end, and the run itself."""
        for session in self._open.values():
            yield from self._ended(session)
        values = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": self._run,
            "replayer.state": state,
            "replayer.exit_code": exit_code,
        }
        name = f"invoke_workflow {self._run}"
        yield span(self._trace, self._root, None, name, INTERNAL, self._times, values)

    def _file(self, session: _Session, found: JsonObject) -> None:
        found.pop("arrivals", None)
        if found["type"] == "turn_started":
            lane_turn = LaneTurn(session.attempt.lane, session.attempt.number)
            session.turns[found["turn"]] = _Turn(found, lane_turn)
        elif found["turn"] in session.turns:
            if self._content is None and found["type"] == "turn_finished":
                found["content"] = found["reasoning"] = ""
            take(session.turns[found["turn"]].lane_turn, found)

    def _ended(self, session: _Session) -> Iterator[JsonObject]:
        attempt = session.attempt
        for number, turn in sorted(session.turns.items()):
            if turn.lane_turn.reply is not None:
                yield from self._turn(session, number, turn)
        if session.times is None:
            return
        self._times = _around(self._times, session.times)
        values = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": attempt.trace,
            "gen_ai.conversation.id": attempt.session,
            **session.lane,
            "replayer.repeat": attempt.repeat,
            "replayer.attempt": attempt.number,
            "replayer.outcome": attempt.outcome,
            "replayer.cache_reset": attempt.cache_reset,
        }
        failed = attempt.outcome if not attempt.complete else None
        name = f"invoke_agent {attempt.trace}"
        yield span(self._trace, session.span, self._root, name, INTERNAL, session.times, values, error=failed)

    def _turn(self, session: _Session, number: int, turn: _Turn) -> Iterator[JsonObject]:
        """What was not given yet of the chat span and those of the calls that were executed for it."""
        reply, facts = turn.lane_turn.reply, session.attempt.turns[number]
        assert reply is not None
        own = span_id(session.span, number)
        start = int(facts.wall * 1e9)
        if not turn.sent:
            turn.sent = True
            times = start, start + reply["total_ns"]
            session.times = _around(session.times, times)
            values = _chat(session, facts, reply)
            if self._content is not None:
                values |= self._content.of(session.attempt.trace, turn.started, reply)
                reply["content"] = reply["reasoning"] = ""
            events = verdict_events(turn.lane_turn, times[1], with_text=self._content is not None)
            name = f"chat {session.lane['gen_ai.request.model'] or ''}".strip()
            yield span(
                self._trace, own, session.span, name, CLIENT, times, values, error=facts.error, events=events
            )
        for run in turn.lane_turn.tool_runs[turn.tools_sent :]:
            end = start + run["at"] - facts.at
            when = end - (run["duration_ns"] or 0), end
            session.times = _around(session.times, when)
            yield self._tool(own, run, reply["tool_calls"], when)
        turn.tools_sent = len(turn.lane_turn.tool_runs)

    def _tool(self, parent: str, run: JsonObject, calls: list[JsonObject], when: Times) -> JsonObject:
        call = calls[run["call_index"]] if run["call_index"] < len(calls) else {}
        name = run["name"] or "unknown"
        values = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.get("id"),
            "replayer.tool.outcome": run["outcome"],
            "replayer.tool.against_recorded": run["against_recorded"],
            "process.exit.code": run["exit_code"],
        }
        if self._content is not None:
            values["gen_ai.tool.call.arguments"] = call.get("arguments")
            values["gen_ai.tool.call.result"] = run["output"]
        failed = run["outcome"] if run["outcome"] != "ok" else None
        own = span_id(parent, "tool", run["call_index"])
        return span(self._trace, own, parent, f"execute_tool {name}", INTERNAL, when, values, error=failed)


def _around(known: Times | None, more: Times) -> Times:
    return (min(known[0], more[0]), max(known[1], more[1])) if known else more


def _lane(name: str, lane: LaneView | LaneReady) -> dict[str, object]:
    server = urlsplit(lane.base_url)
    return {
        "gen_ai.provider.name": lane.kind,
        "gen_ai.request.model": lane.model,
        "server.address": server.hostname,
        "server.port": server.port,
        "replayer.lane": name,
    }


def _chat(session: _Session, facts: TurnFacts, reply: JsonObject) -> dict[str, object]:
    settings, usage, extra = session.settings, reply["usage"] or {}, reply.get("extra") or {}
    sampling = settings.get("sampling") or {}
    return {
        "gen_ai.operation.name": "chat",
        **session.lane,
        **{f"gen_ai.request.{name}": sampling.get(key) for key, name in _SAMPLING.items()},
        "gen_ai.request.max_tokens": facts.max_tokens,
        "gen_ai.request.stream": settings.get("stream"),
        "gen_ai.conversation.id": session.attempt.session,
        "gen_ai.response.id": extra.get("id"),
        "gen_ai.response.model": extra.get("model"),
        "gen_ai.response.finish_reasons": [reply["finish_reason"]] if reply["finish_reason"] else None,
        "gen_ai.response.time_to_first_chunk": None if facts.ttft_ns is None else facts.ttft_ns / 1e9,
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens"),
        "gen_ai.usage.cache_write.input_tokens": usage.get("cache_write_tokens"),
        "gen_ai.usage.reasoning.output_tokens": usage.get("reasoning_tokens"),
        "replayer.turn": facts.turn + 1,
        "replayer.wire": facts.wire,
        "replayer.usage_source": facts.usage_source,
        "replayer.tool_calls": facts.calls,
        "replayer.stalled": facts.stalled or None,
        "replayer.stopped_by_us": reply.get("stopped_by_us"),
        "replayer.substituted": facts.substituted,
    }


def verdict_events(turn: LaneTurn, at: int, *, with_text: bool) -> Iterator[JsonObject]:
    """The turn's verdict, then one for each call and fault. Explanations quote the reply: only `with_text`."""
    for alarm in turn.alarms:
        if alarm["finding"].get("level") == "collapsed":
            yield _evaluation(at, "replayer.repetition", 0.0, alarm["finding"].get("kind"))
    if turn.verdict is None:
        return
    usable, faults = turn.verdict["usable"], turn.verdict["faults"]
    yield _evaluation(at, "replayer.usable_turn", float(usable), "usable" if usable else "unusable")
    for fault in faults:
        text = fault["message"] if with_text else None
        name = "replayer.turn" if fault["call_index"] is None else "replayer.tool_call"
        more = {
            "replayer.blame": fault["blame"],
            "replayer.fatal": fault["fatal"],
            "replayer.call_index": fault["call_index"],
        }
        yield _evaluation(at, name, 0.0 if fault["fatal"] else 1.0, fault["klass"], text, more)
    broken = {fault["call_index"] for fault in faults}
    for index, call in enumerate(turn.reply["tool_calls"] if turn.reply else ()):
        if call.get("index", index) not in broken:
            more = {"replayer.call_index": call.get("index", index)}
            yield _evaluation(at, "replayer.tool_call", 1.0, "valid", None, more)


def _evaluation(
    at: int,
    name: str,
    score: float,
    label: str | None,
    explanation: str | None = None,
    more: JsonObject | None = None,
) -> JsonObject:
    values = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": score,
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.explanation": explanation,
    }
    return event("gen_ai.evaluation.result", at, values | (more or {}))
