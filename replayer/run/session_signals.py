"""Feeds the list of signals with the turns of a session, and states what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from replayer.journal.events import SignalFinding
from replayer.run.prefix_watch import Server
from replayer.run.tool_runs import ToolRun, as_called
from replayer.run.turn import FinishedTurn, TurnKey, finding_event, recorded_text
from replayer.signals.base import Expected, Signal, TurnFacts
from replayer.signals.call_loops import Called
from replayer.signals.every import every_signal
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.traces.schema import (
    AnyItem,
    ToolCallItem,
    ToolResultItem,
    Usage,
    plain,
)
from replayer.wire.types import Reply, Request


class SessionSignals:
    """One attempt at a session. `server` is shared with all sessions of all lanes on it; None leaves its cache out."""

    def __init__(self, server: Server | None, *, recorded_mode: bool) -> None:
        self._server = server
        self._recorded_mode = recorded_mode
        self._signals = every_signal()

    def begin(self, expected: Expected) -> list[Signal]:
        """The signals that watch the next reply."""
        for signal in self._signals:
            signal.begin(expected)
        return self._signals

    def asked(self, key: TurnKey, request: Request, *, filler: bool) -> None:
        """A request is about to be sent."""
        if self._server is not None:
            self._server.asked(key.name, key.thread, request, filler=filler)

    def answered(
        self, key: TurnKey, reply: Reply, usage: Usage | None
    ) -> Future[PrefixFinding | None] | None:
        """A reply is whole; what its prefix reuse was is worked out beside the loop."""
        return None if self._server is None else self._server.answered(key.name, reply, usage)

    def ended(self, key: TurnKey) -> None:
        """The attempt is over."""
        if self._server is not None:
            self._server.ended(key.thread)

    def after_turn(
        self,
        turn: FinishedTurn,
        runs: Sequence[ToolRun],
        results: dict[str, ToolResultItem],
        reuse: PrefixFinding | None = None,
    ) -> Iterator[SignalFinding]:
        """`results` are the recorded results by call id."""
        reply, recorded = turn.reply, turn.prepared.recorded
        theirs = [
            as_called(item, results.get(item.call_id)) for item in recorded if isinstance(item, ToolCallItem)
        ]
        facts = TurnFacts(
            turn.key.turn,
            reply,
            recorded_text(recorded),
            _ours(reply, runs, recorded, results),
            theirs if self._recorded_mode else (),
            reuse,
        )
        for signal in self._signals:
            for finding in signal.after_turn(facts):
                yield finding_event(turn.key.where(), signal, finding)

    def verdicts(self) -> dict[str, str]:
        """Sentences on the whole session."""
        return {key: words for signal in self._signals for key, words in signal.verdicts().items()}


def _ours(
    reply: Reply,
    runs: Sequence[ToolRun],
    recorded: tuple[AnyItem, ...],
    results: dict[str, ToolResultItem],
) -> list[Called]:
    """The engine's calls with what came back; without a sandbox, the recorded result of an equal call."""
    if runs:
        by_index = {run.call_index: run for run in runs}
        return [
            Called(call.name or "", call.arguments, run.outcome.output, run.outcome.is_error)
            for call in reply.tool_calls
            if (run := by_index.get(call.index)) is not None
        ]
    known = {
        (item.name, item.arguments): results.get(item.call_id)
        for item in recorded
        if isinstance(item, ToolCallItem)
    }
    return [
        Called(
            call.name or "",
            call.arguments,
            plain(result.content) if (result := known.get((call.name or "", call.arguments))) else None,
        )
        for call in reply.tool_calls
    ]
