"""One turn on the wire: its request goes out, its reply is watched, its raw facts are journalled."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from replayer.journal.events import AnyEvent, Primed, SignalFinding, TurnStarted
from replayer.lazy import dataclass
from replayer.plan.model import Plan
from replayer.requests.fields import asked_lengths, token_limit
from replayer.run.lag import LagMeter
from replayer.run.live_feed import LiveFeed
from replayer.run.turn import FinishedTurn, TurnKey, Watch, finished, flat, observes, recorded_text, searcher
from replayer.signals.base import Expected
from replayer.tools.verdicts.engine_fault import is_away
from replayer.traces.reader import Trace
from replayer.wire.types import Reply, Request

if TYPE_CHECKING:
    from replayer.run.lanes import Instance
    from replayer.run.prompts import PreparedTurn
    from replayer.run.session_signals import SessionSignals


@dataclass(slots=True)
class Exchange:
    """Sends the turns of one session. What it does until a request is out delays the next turn, and nothing else."""

    plan: Plan
    trace: Trace
    instance: Instance
    on_collapse: str
    emit: Callable[[AnyEvent], None]
    feed: LiveFeed
    lag: LagMeter
    signals: SessionSignals
    lost: bool = False
    """The server is gone for good: the last turn failed for that."""

    async def send(self, key: TurnKey, turn: PreparedTurn) -> FinishedTurn:
        engine = self.instance.engine
        self.emit(
            TurnStarted(
                **key.where(),
                recorded_turn=turn.recorded_turn,
                body_bytes=turn.request.content_length,
                body_sha256=turn.sha256,
                wall=time.time(),
                sent=turn.sent,
                asked=asked_lengths(self.trace.turns[turn.recorded_turn], turn.fields),
                max_tokens=token_limit(turn.fields),
            )
        )
        sent = 0
        while True:
            self.signals.asked(key, turn.request, filler=turn.filler)
            reply, watch = await self._watched(key, turn)
            sent += 1
            if not await self._returned(key, reply, sent):
                break
            self.signals.answered(key, reply, None)
        self.lost = reply.fault is not None and self.instance.presence.out is not None
        if sent > 1:
            retries = reply.timing.retries + sent - 1
            reply = dataclasses.replace(reply, timing=dataclasses.replace(reply.timing, retries=retries))
        usage = engine.usage(reply.usage, reply.extra)
        busy = self.lag.busy_at > reply.timing.sent
        self.emit(finished(key, reply, usage, watch, lag_ns=self._lateness(reply), busy=busy))
        reuse = self.signals.answered(key, reply, usage)
        pair = None
        if turn.other and not reply.stopped_by_us and not is_away(reply):
            pair = await self._other_answer(key, turn.other)
        return FinishedTurn(key, turn, reply, usage, watch.collapse, reuse, pair)

    async def prime(self, key: TurnKey, turn: PreparedTurn) -> Primed:
        """Send a prompt for the cache's sake: its answer is neither watched nor judged. What is to be journalled."""
        self.signals.asked(key, turn.request, filler=True)
        reply = await self.instance.client.chat(turn.request)
        usage = self.instance.engine.usage(reply.usage, reply.extra)
        self.signals.answered(key, reply, usage)
        return Primed(
            session=key.session,
            attempt=key.attempt,
            recorded_turn=turn.recorded_turn,
            usage=flat(usage) if usage else None,
            total_ns=reply.timing.ended - reply.timing.sent,
            ago_ns=time.monotonic_ns() - reply.timing.ended,
            fault=flat(reply.fault) if reply.fault else None,
        )

    async def _watched(self, key: TurnKey, turn: PreparedTurn) -> tuple[Reply, Watch]:

        def observe() -> bool:
            return self.on_collapse == "observe" or observes(self.plan.seed, key, self.plan.observe_share)

        expected = Expected(searcher(turn.request), recorded_text(turn.recorded) if turn.recorded else None)
        signals = [] if turn.filler else self.signals.begin(expected)
        seconds = self.plan.timeouts.total
        watch = Watch(key, signals, self.feed, self.emit, observe=observe, seconds=seconds)
        reply = await self.instance.client.chat(turn.request, on_deltas=watch.on_deltas)
        watch.finish(reply)
        return reply, watch

    async def _returned(self, key: TurnKey, reply: Reply, sent: int) -> bool:
        """Whether the turn is to be sent again, because its server was away."""
        return await self.instance.presence.returned(
            reply, sent, lane=key.lane, patience=self.plan.timeouts.server, emit=self.emit
        )

    async def _other_answer(self, key: TurnKey, request: Request) -> Reply:
        """The answer in the other mode, kept in the journal beside the turn."""
        reply = await self.instance.client.chat(request)
        finding = {
            "streamed": reply.streamed,
            "content": reply.content,
            "reasoning": reply.reasoning,
            "tool_calls": [flat(call) for call in reply.tool_calls],
            "finish_reason": reply.finish_reason,
            "usage": reply.usage,
            "fault": flat(reply.fault) if reply.fault else None,
        }
        self.emit(SignalFinding(**key.where(), signal="other_mode", version=1, finding=finding))
        return reply

    def _lateness(self, reply: Reply) -> int:
        """How late this turn's own bytes were read; without kernel stamps, what the receiver was late meanwhile."""
        late = reply.timing.late_ns
        return late if late is not None else self.lag.worst_since(reply.timing.sent)
