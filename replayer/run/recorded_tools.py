"""Recorded mode with a sandbox: each turn's calls run in the workspace as the recording had it at that turn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from replayer.run.tool_runs import Recorded, Recording, ToolRun, against, executed, fingerprint, offered
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import FileError, SandboxLost, Snapshot
from replayer.traces.schema import ToolCallItem
from replayer.wire.types import ToolCall

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory
    from replayer.tools.execution import Executor

Snapshots = dict[int, Snapshot]


class RecordedTools:
    """Executes the replies of one session. `states` may be shared by all sessions of a trace: what one has worked out
    (the workspace before each turn) the others take over."""

    def __init__(self, history: RecordedHistory, executor: Executor, states: Snapshots | None = None) -> None:
        self.executor = executor
        self.recording = Recording(history)
        self.states = {} if states is None else states
        self.turns = history.turns
        self._offered = offered(history)
        self.diverged_at: int | None = None
        """The first turn at which a recorded call, run again, did not say what it said when it was recorded."""

    async def run(self, recorded_turn: int, calls: Iterable[ToolCall]) -> list[ToolRun]:
        """Run what the engine called at this turn, in the workspace as it was before it."""
        await self._bring_to(recorded_turn)
        wanted = list(calls)
        runs = []
        for call in wanted:
            outcome = await self._execute(call)
            known = self._known(call, recorded_turn)
            name, number = call.name, call.id or f"call_{call.index}"
            runs.append(ToolRun(call.index, number, name, outcome, "sandbox", against(outcome, known)))
        if [fingerprint(one) for one in wanted] == [
            fingerprint(one) for one in self.recording.by_turn[recorded_turn]
        ]:
            await self._keep_next(recorded_turn, runs)
        return runs

    async def _bring_to(self, recorded_turn: int) -> None:
        """Turns before this one whose state nobody knows yet are played from the recording."""
        place = self.turns.index(recorded_turn)
        start = max((n for n in range(place + 1) if self.turns[n] in self.states), default=0)
        await self.executor.sandbox.restore(self.states.get(self.turns[start]))
        for earlier in self.turns[start:place]:
            runs = [await self._again(earlier, call) for call in self.recording.by_turn[earlier]]
            await self._keep_next(earlier, runs)

    async def _again(self, recorded_turn: int, call: ToolCallItem) -> ToolRun:
        outcome = await self.executor.execute(call)
        return ToolRun(
            0, call.call_id, call.name, outcome, "sandbox", against(outcome, self._known(call, recorded_turn))
        )

    async def _execute(self, call: ToolCall | ToolCallItem) -> ToolOutcome:
        """A call that takes the sandbox down with it is one that broke a limit; the next turn gets a new one."""
        try:
            return await executed(self.executor, call, self._offered)
        except SandboxLost as error:
            await self.executor.sandbox.restart()
            return ToolOutcome("limit", str(error), is_error=True, detail={"limit": "sandbox"})

    def _known(self, call: ToolCall | ToolCallItem, recorded_turn: int) -> Recorded | None:
        known = self.recording.equal(call, recorded_turn)
        return known if known and known.recorded_turn == recorded_turn else None

    async def _keep_next(self, recorded_turn: int, runs: list[ToolRun]) -> None:
        if self.diverged_at is None and any(run.against_recorded == "different" for run in runs):
            self.diverged_at = recorded_turn
        following = self.turns.index(recorded_turn) + 1
        if following < len(self.turns) and self.turns[following] not in self.states:
            with contextlib.suppress(FileError):
                self.states[self.turns[following]] = await self.executor.sandbox.snapshot()
