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

import orjson

from replayer.journal.lane_turn import LaneTurn, take
from replayer.journal.log import JOURNAL
from replayer.journal.older import loads
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView, load
from replayer.report.otlp.content import Content
from replayer.report.otlp.form import CLIENT, INTERNAL, event, export, lines, span, span_id, trace_id
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


@dataclass(slots=True)
class _Session:
    lane: LaneView
    attempt: Attempt
    turns: dict[int, _Turn] = field(default_factory=dict)


def export_runs(folders: Sequence[Path], target: str, *, content: bool) -> None:
    """Write the spans of runs to a file or send them to a receiver. Raises ReplayerError."""
    export(chain.from_iterable(_lines(folder, content) for folder in folders), target)


def _lines(folder: Path, content: bool) -> Iterator[bytes]:
    view = load(folder)
    resource = {"replayer.run": view.run, "replayer.mode": view.mode, "replayer.tools": view.tools}
    return lines(RunSpans(folder, view, content).spans(), resource)


class RunSpans:
    """The counted attempts of a run, in one pass over its journal; a session's text is let go once it is written."""

    def __init__(self, folder: Path, view: RunView, content: bool) -> None:
        self._folder, self._view = folder, view
        self._trace = trace_id(view.run, view.started_wall)
        self._root = span_id(self._trace)
        self._content = Content(folder, view.plan) if content else None
        self._times: list[Times] = []

    def spans(self) -> Iterator[JsonObject]:
        for session in self._sessions():
            yield from self._session(session)
        view = self._view
        start = int(view.started_wall * 1e9)
        whole = min([start, *(a for a, _ in self._times)]), max([start, *(b for _, b in self._times)])
        values = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": view.run,
            "replayer.state": view.state,
            "replayer.exit_code": view.exit_code,
        }
        yield span(self._trace, self._root, None, f"invoke_workflow {view.run}", INTERNAL, whole, values)

    def _sessions(self) -> Iterator[_Session]:
        """As soon as the journal says that they ended; those that did not, last."""
        open_: dict[tuple[str, int], _Session] = {
            (attempt.session, attempt.number): _Session(lane, attempt)
            for lane in self._view.lanes
            for attempt in lane.attempts
        }
        with (self._folder / JOURNAL).open("rb") as stream:
            for line in stream:
                found = _event(line)
                key = found.get("session", ""), found.get("attempt", 0)
                if key not in open_:
                    continue
                if found["type"] == "session_finished":
                    yield open_.pop(key)
                elif "turn" in found:
                    self._take(open_[key], found)
        yield from open_.values()

    def _take(self, session: _Session, found: JsonObject) -> None:
        found.pop("arrivals", None)
        if found["type"] == "turn_started":
            lane_turn = LaneTurn(session.lane.name, session.attempt.number)
            session.turns[found["turn"]] = _Turn(found, lane_turn)
        elif found["turn"] in session.turns:
            if self._content is None and found["type"] == "turn_finished":
                found["content"] = found["reasoning"] = ""
            take(session.turns[found["turn"]].lane_turn, found)

    def _session(self, session: _Session) -> Iterator[JsonObject]:
        attempt, lane = session.attempt, session.lane
        own = span_id(self._trace, attempt.session, attempt.number)
        times: list[Times] = []
        for number, turn in sorted(session.turns.items()):
            if turn.lane_turn.reply is None:
                continue
            for one, when in self._turn(session, own, attempt.turns[number], turn):
                times.append(when)
                yield one
        if not times:
            return
        whole = min(a for a, _ in times), max(b for _, b in times)
        self._times.append(whole)
        failed = attempt.outcome if not attempt.complete else None
        values = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": attempt.trace,
            "gen_ai.conversation.id": attempt.session,
            **_lane(lane),
            "replayer.repeat": attempt.repeat,
            "replayer.attempt": attempt.number,
            "replayer.outcome": attempt.outcome,
            "replayer.cache_reset": attempt.cache_reset,
        }
        name = f"invoke_agent {attempt.trace}"
        yield span(self._trace, own, self._root, name, INTERNAL, whole, values, error=failed)

    def _turn(
        self, session: _Session, parent: str, facts: TurnFacts, turn: _Turn
    ) -> Iterator[tuple[JsonObject, Times]]:
        """The chat span and those of the calls that were executed for it."""
        reply = turn.lane_turn.reply
        assert reply is not None
        own = span_id(parent, facts.turn)
        start = int(facts.wall * 1e9)
        times = start, start + reply["total_ns"]
        values = _chat(session, facts, reply)
        if self._content is not None:
            values |= self._content.of(session.attempt.trace, turn.started, reply)
        events = verdict_events(turn.lane_turn, times[1], with_text=self._content is not None)
        name = f"chat {session.lane.model or ''}".strip()
        yield (
            span(self._trace, own, parent, name, CLIENT, times, values, error=facts.error, events=events),
            times,
        )
        for run in turn.lane_turn.tool_runs:
            end = start + run["at"] - facts.at
            when = end - (run["duration_ns"] or 0), end
            yield self._tool(own, run, reply["tool_calls"], when), when

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


def _event(line: bytes) -> JsonObject:
    """A torn last line says nothing."""
    try:
        return loads(line)
    except orjson.JSONDecodeError:
        return {}


def _lane(lane: LaneView) -> dict[str, object]:
    server = urlsplit(lane.base_url)
    return {
        "gen_ai.provider.name": lane.kind,
        "gen_ai.request.model": lane.model,
        "server.address": server.hostname,
        "server.port": server.port,
        "replayer.lane": lane.name,
    }


def _chat(session: _Session, facts: TurnFacts, reply: JsonObject) -> dict[str, object]:
    settings, usage = session.lane.settings, reply["usage"] or {}
    sampling = settings.get("sampling") or {}
    return {
        "gen_ai.operation.name": "chat",
        **_lane(session.lane),
        **{f"gen_ai.request.{name}": sampling.get(key) for key, name in _SAMPLING.items()},
        "gen_ai.request.max_tokens": facts.max_tokens,
        "gen_ai.request.stream": settings.get("stream"),
        "gen_ai.conversation.id": session.attempt.session,
        "gen_ai.response.finish_reasons": [reply["finish_reason"]] if reply["finish_reason"] else None,
        "gen_ai.response.time_to_first_chunk": None if facts.ttft_ns is None else facts.ttft_ns / 1e9,
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens"),
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
