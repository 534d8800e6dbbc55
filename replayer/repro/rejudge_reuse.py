"""Prefix reuse judged again from a journal: requests are built anew and given to today's watch of their server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pkgutil import resolve_name

from replayer.engines.base import EngineFacts, origin
from replayer.engines.registry import KINDS
from replayer.journal.events import (
    AnyEvent,
    Primed,
    RunResumed,
    SessionEvent,
    SessionFinished,
    SessionStarted,
    TelemetryRead,
    TurnFinished,
    TurnStarted,
)
from replayer.journal.turns import Attempt
from replayer.journal.view import LaneView
from replayer.prefix.server_watch import Answer, ServerWatch, assistant_message
from replayer.repro.rebuild import Rebuilder, SentRequests
from replayer.run.turn import finding_event
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.telemetry.deltas import deltas
from replayer.traces.schema import Usage

_LOST = ("unreachable", "stream_broken")
"""Faults after which the server may be another process."""


class ReuseAgain:
    """Follows a journal and gives the findings of today's rules. One watch for each server, over all its lanes."""

    def __init__(self, lanes: Mapping[str, LaneView], rebuilders: Mapping[str, Rebuilder]) -> None:
        self._rebuilders = rebuilders
        self._origins = {name: origin(lanes[name].base_url) for name in rebuilders}
        self._servers = {
            self._origins[name]: (facts_of(lane), any(one.mode == "live" for one in lane.attempts))
            for name, lane in lanes.items()
            if name in rebuilders
        }
        self._silent = _silent(lanes, self._origins)
        self._begin()

    def take(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """The findings that follow an event."""
        match event:
            case RunResumed():
                self._begin()
            case TelemetryRead() if event.lane in self._origins:
                self._watch(event.lane).sampled(event.lane, event.sample, event.at)
            case SessionStarted() | Primed() | TurnStarted() | TurnFinished() | SessionFinished():
                attempt = self._requests.attempt(event)
                if attempt is not None:
                    yield from self._of(attempt, event)
            case _:
                pass

    def _begin(self) -> None:
        """A process knows nothing of the one before: its sessions run again, and their turns in flight never end."""
        self._watches = {
            server: ServerWatch(known, server, live=live) for server, (known, live) in self._servers.items()
        }
        self._requests = SentRequests(self._rebuilders)

    def _of(self, attempt: Attempt, event: SessionEvent) -> Iterator[AnyEvent]:
        watch, thread = self._watch(attempt.lane), f"{attempt.session}#{attempt.number}"
        match event:
            case SessionStarted() if event.cache_reset == "yes":
                watch.reset(event.at)
            case SessionFinished():
                watch.ended(thread)
                self._requests.ended(event)
            case TurnStarted() if (sent := self._requests.built(attempt, event)) is not None:
                recorded = self._rebuilders[attempt.lane].history(attempt.trace).trace.turns
                filler = recorded[event.recorded_turn].tokens is not None
                watch.asked(_name(event), thread, sent.body, event.at, filler=filler)
            case Primed() if (sent := self._requests.built(attempt, event)) is not None:
                name, ended = f"{thread}/-1", event.at - event.ago_ns
                watch.asked(name, thread, sent.body, ended - event.total_ns, filler=True)
                self._answered(watch, name, event, ended, _usage(event))
            case TurnFinished():
                usage = _usage(event)
                if usage is not None and usage.cached_tokens is None and usage.prompt_tokens is not None:
                    usage = replace(usage, cached_tokens=self._silent[self._origins[attempt.lane]])
                found = self._answered(watch, _name(event), event, event.at, usage)
                if found is not None:
                    where = {
                        "at": event.at,
                        "session": event.session,
                        "attempt": event.attempt,
                        "turn": event.turn,
                    }
                    yield finding_event(where, PrefixReuse, found)

    def _answered(
        self, watch: ServerWatch, name: str, event: TurnFinished | Primed, ended: int, usage: Usage | None
    ) -> PrefixFinding | None:
        """Of what filled the cache, only the cache learns."""
        if event.fault is not None:
            watch.failed(name, ended, lost=event.fault["kind"] in _LOST)
            return None
        sent, first, complete, message = ended - event.total_ns, None, True, assistant_message("", "", ())
        if isinstance(event, TurnFinished):
            message = assistant_message(event.content, event.reasoning, event.tool_calls)
            first = None if event.prefill_ns is None else sent + event.prefill_ns
            complete = event.finish_reason is not None
        answer = Answer(message=message, usage=usage, sent=sent, first=first, ended=ended, complete=complete)
        return watch.answered(name, answer)

    def _watch(self, lane: str) -> ServerWatch:
        return self._watches[self._origins[lane]]


def _usage(event: TurnFinished | Primed) -> Usage | None:
    return Usage(**event.usage) if event.usage else None


def _name(event: TurnStarted | TurnFinished) -> str:
    again = f"#{event.attempt}" if event.attempt > 1 else ""
    return f"{event.session}{again}/{event.turn}"


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
