"""A request that a run sent, built anew from its folder: from the trace, the plan, and what the journal adds."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import orjson

from replayer.engines.base import Engine
from replayer.engines.registry import KINDS
from replayer.errors import ReplayerError, RunFolderError
from replayer.journal import turns as facts
from replayer.journal.events import (
    Primed,
    SessionEvent,
    SessionFinished,
    SessionStarted,
    TurnStarted,
)
from replayer.journal.older import loads
from replayer.journal.parts import lines
from replayer.journal.run_traces import histories_of
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.plan.model import LanePlan, Plan
from replayer.plan.schedule import trace_name
from replayer.requests.fields import asked_fields
from replayer.requests.history import RecordedHistory
from replayer.requests.lengths import Length
from replayer.requests.transform import Messages, load_transform
from replayer.run.isolation import Isolation, again
from replayer.wire.types import JsonObject, Request

Likeness = Literal["same", "as_long", "differs", "withheld"]
"""`withheld`: it carried a secret, which the run folder does not have. `same`: byte for byte, by its SHA-256. `as_long`: an older journal kept the length alone."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    body: bytes
    stream: bool
    likeness: Likeness


class Rebuilder:
    """Requests of one lane of a run. Raises RunFolderError where the folder lacks the trace, or names a kind of engine that is not known."""

    def __init__(self, folder: Path, plan: Plan, lane: LaneView) -> None:
        self._folder, self._plan, self._lane = folder, plan, lane
        self._lane_plan: LanePlan = next(one for one in plan.lane if one.name == lane.name)
        self._transform = load_transform(plan.transform) if plan.transform else None
        kind = lane.facts.get("kind", lane.kind)
        if kind not in KINDS:
            raise RunFolderError(
                f"{folder}: lane {lane.name!r} is of kind {kind!r}, which this replayer does not know"
            )
        self._engine = KINDS[kind].open(lane.base_url, httpx.AsyncClient())  # never asked anything
        self._histories: dict[str, RecordedHistory] = {}

    def history(self, trace: str) -> RecordedHistory:
        if trace not in self._histories:
            plan = {"dialect": self._plan.dialect, "profile": self._plan.profile}
            self._histories |= histories_of(self._folder, trace_name(trace), plan)
        if trace not in self._histories:
            raise RunFolderError(f"{self._folder}: its trace has no part {trace!r}")
        return self._histories[trace]

    def request(self, attempt: Attempt, turn: int) -> Rebuilt:
        """The turn's request as the journal has it."""
        return self.built(attempt, turn, list(_started(self._folder, attempt, turn)))

    def built(self, attempt: Attempt, turn: int, started: list[JsonObject]) -> Rebuilt:
        """`started`: the `turn_started` lines of the attempt up to this turn."""
        isolation = self._isolation(self._engine, attempt)
        recorded_turn = self.history(attempt.trace).trace.turns[attempt.turns[turn].recorded_turn]
        fields = asked_fields(recorded_turn, self._engine.sampling_fields) | self._lane_plan.fields(
            self._lane.model or "", self._plan.max_tokens, self._engine.request_fields()
        )
        request = self._build(attempt, turn, fields | isolation.fields, isolation.marker, started)
        body = b"".join(bytes(piece) for piece in request.body)
        withheld = any(not place.startswith("url") for place in self._lane_plan.lost_secrets)
        likeness: Likeness = "withheld" if withheld else _likeness(body, started[-1])
        return Rebuilt(body, self._lane_plan.stream, likeness)

    def _isolation(self, engine: Engine, attempt: Attempt) -> Isolation:
        if attempt.isolation is None:
            return Isolation()
        older = f"{self._folder.name}/{trace_name(attempt.trace)}/{attempt.repeat}/{attempt.number}"
        return again(engine, attempt.tag or older, attempt.isolation)

    def _build(
        self,
        attempt: Attempt,
        turn: int,
        fields: JsonObject,
        marker: str | None,
        started: list[JsonObject],
    ) -> Request:
        history, recorded_turn, stream = (
            self.history(attempt.trace).over(self._lane_plan.wire),
            attempt.turns[turn].recorded_turn,
            self._lane_plan.stream,
        )
        sent = started[-1].get("sent") or {}
        if attempt.mode == "live" and "line" not in sent:
            return history.build(recorded_turn, _live_messages(started), fields, stream=stream)
        length = Length(sent["words"], sent["pads"], sent.get("block", 0)) if "words" in sent else None
        if self._transform is None:
            return history.request(recorded_turn, fields, marker=marker, stream=stream, length=length)
        messages = self._transform(history.messages(recorded_turn, marker=marker, length=length))
        return history.build(recorded_turn, messages, fields, stream=stream)


class SentRequests:
    """Follows a journal and builds each request of some lanes anew as it comes by."""

    def __init__(self, rebuilders: Mapping[str, Rebuilder]) -> None:
        self._rebuilders = rebuilders
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._started: dict[tuple[str, int], list[JsonObject]] = defaultdict(list)

    def attempt(self, event: SessionEvent) -> Attempt | None:
        """The attempt that an event belongs to; None where its lane is not one of these."""
        if isinstance(event, SessionStarted) and event.lane in self._rebuilders:
            self._attempts[event.session, event.attempt] = Attempt.of(event)
        return self._attempts.get((event.session, event.attempt))

    def ended(self, event: SessionFinished) -> None:
        del self._attempts[event.session, event.attempt]
        self._started.pop((event.session, event.attempt), None)

    def built(self, attempt: Attempt, event: TurnStarted | Primed) -> Rebuilt | None:
        """What filled the cache before the first turn has the number -1. None where an older journal did not keep what it sent."""
        turn, started = -1, [{"body_bytes": 0}]
        if isinstance(event, TurnStarted):
            turn, started = event.turn, self._started[event.session, event.attempt]
            started.append(event.model_dump())
            facts.start(attempt, event)
        else:
            attempt.opened()[turn] = TurnFacts(turn=turn, recorded_turn=event.recorded_turn, wall=0.0)
        try:
            return self._rebuilders[attempt.lane].built(attempt, turn, started)
        except ReplayerError:
            return None


_TURN_STARTED = (b'"turn_started"', b'"step_started"')
"""The second is what schema 1 says."""


def _started(folder: Path, attempt: Attempt, turn: int) -> Iterator[JsonObject]:
    """The `turn_started` lines of an attempt, up to a turn, which is the last: threads of a session overtake each other."""
    mark = orjson.dumps(attempt.session)
    for line in lines(folder):
        if not any(kind in line for kind in _TURN_STARTED) or mark not in line or not line.endswith(b"\n"):
            continue
        event = loads(line)
        if (event["session"], event["attempt"]) == (attempt.session, attempt.number):
            yield event
            if event["turn"] == turn:
                return


def _live_messages(started: list[JsonObject]) -> Messages:
    messages: Messages = []
    for event in started:
        if event.get("sent") is None:
            raise RunFolderError(
                "this run with live history was made by an older replayer, which did not keep what it sent: replay it"
            )
        if "line" not in event["sent"]:  # a subagent's turn has its recorded history
            messages = messages[: event["sent"]["keep"]] + event["sent"]["messages"]
    return messages


def _likeness(body: bytes, started: JsonObject) -> Likeness:
    digest = started.get("body_sha256")
    if digest is not None:
        return "same" if hashlib.sha256(body).hexdigest() == digest else "differs"
    return "as_long" if len(body) == started["body_bytes"] else "differs"
