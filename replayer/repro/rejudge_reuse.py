"""Prefix reuse judged again from a journal: requests are built anew and given to today's watch of their server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pkgutil import resolve_name

from replayer.engines.base import EngineFacts, origin
from replayer.engines.registry import KINDS
from replayer.errors import ReplayerError
from replayer.journal import turns as facts
from replayer.journal.events import (
    AnyEvent,
    Primed,
    RunResumed,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    TelemetryRead,
    TurnFinished,
    TurnStarted,
)
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.prefix.server_watch import Answer, ServerWatch, assistant_message
from replayer.repro.rebuild import Rebuilder
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.telemetry.deltas import deltas
from replayer.traces.schema import Usage
from replayer.wire.types import JsonObject

_LOST = ("unreachable", "stream_broken")
"""Faults after which the server may be another process."""


class ReuseAgain:
    """Follows a journal and gives the findings of today's rules. One watch for each server, over all its lanes."""

    def __init__(self, lanes: Mapping[str, LaneView], rebuilders: Mapping[str, Rebuilder]) -> None:
        self._rebuilders = rebuilders
        self._origins = {name: origin(lanes[name].base_url) for name in rebuilders}
        self._servers = {
            self._origins[name]: (facts_of(lanes[name]), _is_live(lanes[name])) for name in rebuilders
        }
        self._silent = _silent(lanes, self._origins)
        self._begin()

    def take(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """The findings that follow an event."""
        match event:
            case RunResumed():
                self._begin()
            case SessionStarted() if event.lane in self._origins:
                self._attempts[event.session, event.attempt] = Attempt.of(event)
                if event.cache_reset == "yes":
                    self._watch(event.lane).reset(event.at)
            case TelemetryRead() if event.lane in self._origins:
                self._watch(event.lane).sampled(event.lane, event.sample, event.at)
            case Primed() if (event.session, event.attempt) in self._attempts:
                self._primed(self._attempts[event.session, event.attempt], event)
            case TurnStarted() | TurnFinished() | SessionFinished():
                attempt = self._attempts.get((event.session, event.attempt))
                if attempt is not None:
                    yield from self._of(attempt, event)
            case _:
                pass

    def _begin(self) -> None:
        """A process knows nothing of the one before: its sessions run again, and their turns in flight never end."""
        self._watches = {
            server: ServerWatch(known, server, live=live) for server, (known, live) in self._servers.items()
        }
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._started: dict[tuple[str, int], list[JsonObject]] = defaultdict(list)

    def _of(
        self, attempt: Attempt, event: TurnStarted | TurnFinished | SessionFinished
    ) -> Iterator[AnyEvent]:
        watch, thread = self._watch(attempt.lane), f"{attempt.session}#{attempt.number}"
        if isinstance(event, SessionFinished):
            watch.ended(thread)
            del self._attempts[event.session, event.attempt]
            self._started.pop((event.session, event.attempt), None)
        elif isinstance(event, TurnStarted):
            self._asked(watch, attempt, event, thread)
        else:
            yield from self._answered(watch, attempt, event)

    def _primed(self, attempt: Attempt, event: Primed) -> None:
        """The prompt that a session begins behind: only the cache learns from it."""
        attempt.opened()[-1] = TurnFacts(turn=-1, recorded_turn=event.recorded_turn, wall=0.0)
        name, watch = f"{attempt.session}#{attempt.number}/-1", self._watch(attempt.lane)
        ended = event.at - event.ago_ns
        sent = ended - event.total_ns
        try:
            built = self._rebuilders[attempt.lane].built(attempt, -1, [{"body_bytes": 0}])
        except ReplayerError:
            return
        watch.asked(name, f"{attempt.session}#{attempt.number}", built.body, sent, filler=True)
        if event.fault is not None:
            watch.failed(name, ended, lost=event.fault["kind"] in _LOST)
            return
        usage = Usage(**event.usage) if event.usage else None
        message = assistant_message("", "", ())
        watch.answered(
            name, Answer(message=message, usage=usage, sent=sent, first=None, ended=ended, complete=True)
        )

    def _asked(self, watch: ServerWatch, attempt: Attempt, event: TurnStarted, thread: str) -> None:
        started = self._started[event.session, event.attempt]
        started.append(event.model_dump())
        facts.start(attempt, event)
        rebuilder = self._rebuilders[attempt.lane]
        try:
            sent = rebuilder.built(attempt, event.turn, started)
        except ReplayerError:
            return  # an older journal did not keep what it sent: nothing is said of this turn
        shape = rebuilder.history(attempt.trace).trace.turns[event.recorded_turn].tokens
        watch.asked(_name(event), thread, sent.body, event.at, filler=shape is not None)

    def _answered(self, watch: ServerWatch, attempt: Attempt, event: TurnFinished) -> Iterator[AnyEvent]:
        if event.fault is not None:
            lost = event.fault["kind"] in _LOST
            watch.failed(_name(event), event.at, lost=lost)
            return
        sent = event.at - event.total_ns
        usage = Usage(**event.usage) if event.usage else None
        if usage is not None and usage.cached_tokens is None and usage.prompt_tokens is not None:
            usage = replace(usage, cached_tokens=self._silent[self._origins[attempt.lane]])
        answer = Answer(
            message=assistant_message(event.content, event.reasoning, event.tool_calls),
            usage=usage,
            sent=sent,
            first=None if event.prefill_ns is None else sent + event.prefill_ns,
            ended=event.at,
            complete=event.finish_reason is not None,
        )
        found = watch.answered(_name(event), answer)
        if found is not None:
            yield SignalFinding(
                at=event.at,
                session=event.session,
                attempt=event.attempt,
                turn=event.turn,
                signal=PrefixReuse.name,
                version=PrefixReuse.version,
                finding=found.as_dict(),
            )

    def _watch(self, lane: str) -> ServerWatch:
        return self._watches[self._origins[lane]]


def _name(event: TurnStarted | TurnFinished) -> str:
    again = f"#{event.attempt}" if event.attempt > 1 else ""
    return f"{event.session}{again}/{event.turn}"


def _is_live(lane: LaneView) -> bool:
    return any(attempt.mode == "live" for attempt in lane.attempts)


def facts_of(lane: LaneView) -> EngineFacts:
    """What the journal keeps of a lane's engine. Its log knows a pool that the server itself does not report."""
    known = {field.name: lane.facts[field.name] for field in fields(EngineFacts) if field.name in lane.facts}
    log = lane.facts.get("log") or {}
    known["kv_pool_tokens"] = known.get("kv_pool_tokens") or log.get("kv_pool_tokens")
    return EngineFacts(**{"kind": lane.kind, "base_url": lane.base_url} | known)


def _silent(lanes: Mapping[str, LaneView], origins: Mapping[str, str]) -> dict[str, int | None]:
    """What a missing count of cached tokens means on each server: 0 where it reports hits otherwise and its kind leaves
    a 0 out, or where its own counter says that there was no hit at all."""
    found: dict[str, int | None] = dict.fromkeys(origins.values())
    for name, server in origins.items():
        lane = lanes[name]
        kind = KINDS.get(str(lane.facts.get("kind", lane.kind)))
        reports = any(turn.cached_tokens is not None for turn in lane.turns)
        if reports and kind is not None and resolve_name(kind.adapter).silent_cached == 0:
            found[server] = 0
        counters = deltas([reading.sample for reading in lane.telemetry]).counters
        if counters.get("cached_tokens") == 0 and counters.get("prompt_tokens"):
            found[server] = 0
    return found
