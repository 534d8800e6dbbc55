"""One turn: send a request, watch its reply, state the raw facts."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

import orjson

from replayer.journal.events import Alarm, SignalFinding, TurnFinished, VerdictGiven
from replayer.journal.packing import pack
from replayer.lazy import dataclass
from replayer.run.live_feed import LiveFeed
from replayer.signals.base import Finding, Signal, StreamFinding
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem, Usage
from replayer.wire.types import Delta, JsonObject, Reply, Request

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from replayer.run.prompts import PreparedTurn
    from replayer.signals.prefix_reuse.analyser import PrefixReuse
    from replayer.signals.prefix_reuse.finding import PrefixFinding

BULKY = frozenset({"prompt_token_ids", "token_ids", "logprobs"})
"""Extras that grow with the prompt or the reply: they are read while the turn is at hand, not journalled."""

_LOOKED_AT = 1 << 15
"""Characters that signals look at without a look at the clock."""

_CHANNEL = attrgetter("channel", "call_index")

UsageSource = Literal["usage", "computed", "none"]


@dataclass(frozen=True, slots=True)
class TurnKey:
    """Where a turn belongs: lane, session, attempt (from 1) and its position in the session."""

    lane: str
    session: str
    attempt: int
    turn: int
    line: str = ""
    """The thread of a subagent; empty for the main one."""

    @property
    def name(self) -> str:
        """SESSION/TURN; a later attempt names itself."""
        again = f"#{self.attempt}" if self.attempt > 1 else ""
        return f"{self.session}{again}/{self.turn}"

    @property
    def thread(self) -> str:
        """The line of turns that it belongs to."""
        return f"{self.session}#{self.attempt}" + (f"#{self.line}" if self.line else "")

    def where(self) -> JsonObject:
        return {"session": self.session, "attempt": self.attempt, "turn": self.turn}


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """A turn whose reply is whole: all that verdict, signals and prefix diagnosis need. Nothing of it is timed any more."""

    key: TurnKey
    prepared: PreparedTurn
    reply: Reply
    usage: Usage | None
    collapse: JsonObject | None
    reuse: Future[PrefixFinding | None] | None = None
    """How much of the prompt's prefix was reused; on its way."""
    pair: Reply | None = None
    """The answer to the same request in the other mode."""


class Watch:
    """Feeds one reply's deltas to its signals and to the screen, and decides whether an alarm ends the stream."""

    def __init__(
        self,
        key: TurnKey,
        signals: list[Signal],
        feed: LiveFeed,
        emit: Callable[[Alarm], None],
        *,
        observe: Callable[[], bool],
        seconds: float,
    ) -> None:
        """`observe`: whether an alarm leaves the stream running. `seconds`: what the reply has."""
        self.key = key
        self.signals = signals
        self.stopped_by: str | None = None
        self.collapse: JsonObject | None = None
        self._observers = [signal for signal in signals if type(signal).observe is not Signal.observe]
        self.fed = 0
        self._feed = feed
        self._emit = emit
        self._observe = observe
        self._until = time.monotonic() + seconds

    def on_deltas(self, deltas: list[Delta]) -> bool:
        """Returns True to end the stream."""
        stop = False
        for delta in deltas if len(deltas) == 1 else _joined(deltas):
            self.fed += delta.pieces
            self._feed.add(self.key.lane, self.key.session, self.key.turn, delta)
            for part in (delta,) if len(delta.text) <= _LOOKED_AT else self._parts(delta):
                for signal in self._observers:
                    for finding in signal.observe(part):
                        stop |= self._alarm(signal, finding)
        return stop

    def _parts(self, delta: Delta) -> Iterator[Delta]:
        """A delta of megabytes, which takes seconds to look at, for as long as the reply is not overdue."""
        for start in range(0, len(delta.text), _LOOKED_AT):
            if time.monotonic() > self._until:
                return
            yield delta._replace(text=delta.text[start : start + _LOOKED_AT])

    def finish(self, reply: Reply) -> None:
        """What the signals find once the reply is whole."""
        for signal in self.signals:
            for finding in signal.end(reply):
                self._alarm(signal, finding, ended=True)

    def _alarm(self, signal: Signal, found: StreamFinding, *, ended: bool = False) -> bool:
        collapsed, finding = found.level == "collapsed", found.as_dict()
        stop = collapsed and not ended and not self._observe()
        if collapsed and self.collapse is None:
            self.collapse = finding
        self._emit(alarm_event(self.key.where(), signal, found, stopped=stop))
        if stop:
            self.stopped_by = signal.name
        return stop


def alarm_event(where: JsonObject, signal: Signal | type[Signal], found: Finding, *, stopped: bool) -> Alarm:
    facts = found.as_dict()
    return Alarm(**where, signal=signal.name, version=signal.version, finding=facts, stopped=stopped)


def finding_event(where: JsonObject, signal: Signal | type[PrefixReuse], found: Finding) -> SignalFinding:
    """What a signal states after a turn."""
    return SignalFinding(**where, signal=signal.name, version=signal.version, finding=found.as_dict())


def verdict_event(where: JsonObject, verdict: Verdict, modes: JsonObject | None = None) -> VerdictGiven:
    return VerdictGiven(
        **where,
        usable=verdict.usable,
        faults=[flat(fault) for fault in verdict.faults],
        against_recording=[flat(finding) for finding in verdict.against_recording],
        schema_valid=verdict.schema_valid,
        modes=modes,
    )


def collapse_words(finding: JsonObject | None) -> str | None:
    return None if finding is None else f"{finding.get('kind')}: {finding.get('unit', '')!r}"


def _joined(deltas: list[Delta]) -> list[Delta]:
    """What came together as one piece per channel: signals say the same however a text is cut."""
    found = []
    for (channel, call), pieces in groupby(deltas, _CHANNEL):
        same = list(pieces)
        text, count = "".join([piece.text for piece in same]), sum([piece.pieces for piece in same])
        found.append(Delta(same[-1].at, channel, text, call, count))
    return found


def observes(seed: int, key: TurnKey, share: float) -> bool:
    """Whether this turn belongs to the seeded share whose alarms are left running."""
    return random.Random(f"{seed}/{key.session}/{key.turn}").random() < share


def finished(
    key: TurnKey, reply: Reply, reported: Usage | None, watch: Watch, *, lag_ns: int, busy: bool
) -> TurnFinished:
    """The raw facts of an exchange, as the journal keeps them."""
    timing = reply.timing
    usage, source = _usage(reported, watch)
    return TurnFinished(
        **key.where(),
        content=reply.content,
        reasoning=reply.reasoning,
        tool_calls=[flat(call) for call in reply.tool_calls],
        finish_reason=reply.finish_reason,
        usage=flat(usage) if usage else None,
        usage_source=source,
        extra={name: value for name, value in reply.extra.items() if name not in BULKY},
        done=reply.done,
        wire=reply.wire,
        fault=flat(reply.fault) if reply.fault else None,
        stopped_by_us=watch.stopped_by,
        retries=timing.retries,
        headers_ns=_since(timing.sent, timing.headers),
        ttft_ns=_since(timing.sent, timing.first_token),
        began_ns=_since(timing.sent, timing.began),
        total_ns=timing.ended - timing.sent,
        stamped_by=timing.stamped_by,
        arrivals=pack(timing.arrivals),
        deltas=len(timing.arrivals),
        notes=[flat(note) for note in reply.notes],
        lag_ns=lag_ns,
        busy=busy,
    )


def _usage(usage: Usage | None, watch: Watch) -> tuple[Usage | None, UsageSource]:
    """The engine's usage, or a client-side count for a stream that we ended before its usage came.

    The count is of deltas up to the alarm: a lower bound of the tokens where one delta carries several.
    """
    if usage is not None and usage.completion_tokens is not None:
        return usage, "usage"
    if watch.stopped_by is not None:
        return dataclasses.replace(usage or Usage(), completion_tokens=watch.fed), "computed"
    return usage, "usage" if usage else "none"


def flat(value: DataclassInstance) -> JsonObject:
    """The fields of what holds no other dataclass: `asdict` takes ten times as long."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _since(start: int, end: int | None) -> int | None:
    return None if end is None else end - start


def searcher(request: Request) -> Callable[[str], bool]:
    """Whether a text stands in the prompt, looked up in the request's own bytes."""

    def contains(text: str) -> bool:
        try:
            needle = orjson.dumps(text)[1:-1]
        except TypeError:
            return False
        return any(needle in bytes(piece) for piece in request.body)

    return contains


def recorded_text(items: tuple[AnyItem, ...]) -> str:
    """What the recorded turn said and called, as one text: evidence that a repetition was there before."""
    texts = [item.text for item in items if isinstance(item, AssistantItem | ReasoningItem)]
    return "\n".join(texts + [item.arguments for item in items if isinstance(item, ToolCallItem)])
