"""What is found over the turns of a session: loops of calls and of texts, and prefix reuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from replayer.journal.events import SignalFinding
from replayer.run.prefix_watch import PrefixWatch
from replayer.run.tool_runs import ToolRun
from replayer.run.turn import TurnKey
from replayer.signals.call_loops import Called, CallLoops
from replayer.signals.prefix_reuse import PrefixFinding, session_verdict
from replayer.signals.repetition_memory import RepetitionMemory
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    ReasoningItem,
    ToolCallItem,
    ToolResultItem,
    Usage,
    plain,
)
from replayer.wire.types import Reply

Messages = list[dict[str, Any]]


class SessionSignals:
    """One attempt at a session. `prefix` is shared with the other sessions of its engine instance."""

    def __init__(self, prefix: PrefixWatch | None, *, recorded_mode: bool) -> None:
        self._prefix = prefix
        self._recorded_mode = recorded_mode
        self._memory = RepetitionMemory()
        self._loops = CallLoops()
        self._reuse: list[PrefixFinding] = []

    @property
    def needs_prompt(self) -> bool:
        return self._prefix is not None

    async def prefix(
        self, key: TurnKey, messages: Messages, tools: Messages, reply: Reply, usage: Usage | None
    ) -> list[SignalFinding]:
        if self._prefix is None or reply.fault is not None:
            return []
        found = await self._prefix.analyse(key.session, key.turn, messages, tools, reply, usage)
        if found is None:
            return []
        self._reuse.append(found)
        return [_finding(key, "prefix_reuse", 1, found.as_dict())]

    def after_turn(
        self,
        key: TurnKey,
        reply: Reply,
        runs: Sequence[ToolRun],
        recorded: tuple[AnyItem, ...],
        results: dict[str, ToolResultItem],
    ) -> Iterator[SignalFinding]:
        """`results` are the recorded results by call id."""
        for text in self._memory.after_turn(reply, recorded_text(recorded)):
            yield _finding(key, RepetitionMemory.name, RepetitionMemory.version, text.to_dict())
        theirs = [called(item, results) for item in recorded if isinstance(item, ToolCallItem)]
        ours = _ours(reply, runs, recorded, results)
        for loop in self._loops.turn(key.turn, ours, theirs if self._recorded_mode else ()):
            yield _finding(key, CallLoops.name, CallLoops.version, loop.to_dict())

    def verdicts(self) -> dict[str, str]:
        """Sentences on the whole session."""
        return {"prefix_cache": session_verdict(self._reuse)} if self._reuse else {}


def _finding(key: TurnKey, signal: str, version: int, finding: dict[str, Any]) -> SignalFinding:
    return SignalFinding(**key.where(), signal=signal, version=version, finding=finding)


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


def called(item: ToolCallItem, results: dict[str, ToolResultItem]) -> Called:
    result = results.get(item.call_id)
    if result is None:
        return Called(item.name, item.arguments)
    return Called(item.name, item.arguments, plain(result.content), result.is_error)


def recorded_text(items: tuple[AnyItem, ...]) -> str:
    """What the recorded turn said and called, as one text: evidence that a repetition was there before."""
    texts = [item.text for item in items if isinstance(item, AssistantItem | ReasoningItem)]
    return "\n".join(texts + [item.arguments for item in items if isinstance(item, ToolCallItem)])
