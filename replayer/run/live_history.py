"""Live mode: the engine's own replies and the real results of its calls are what it is sent next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import orjson

from replayer.requests.dialects.base import FREEFORM, OWN, STORED
from replayer.requests.history import RecordedHistory
from replayer.run.tool_runs import (
    Recording,
    ToolMode,
    ToolRun,
    against,
    executed,
    fingerprint,
    from_recording,
    offered,
)
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import SandboxLost
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem, UserItem
from replayer.traces.trees import Line
from replayer.wire.types import JsonObject, Reply, ToolCall

if TYPE_CHECKING:
    from replayer.tools.execution import Executor

Ending = Literal["stopped", "budget", "collapsed", "same_failure", "engine_error", "sandbox_lost"]
ClientName = Literal["verbatim", "zed"]
Message = JsonObject

EMPTY_RESULT = "<Tool returned an empty string>"
"""What Zed sends in place of a result that holds nothing but blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePolicy:
    """How a session goes on and when it ends."""

    tools: ToolMode = "sandbox"
    turn_budget: int | None = None
    """Replies at most; None is twice as many as the recording has, at least ten more."""
    malformed: Literal["answer", "substitute"] = "answer"
    """A reply that is not usable is answered as the client would answer it, or the recorded turn stands for it."""
    same_failure: int = 3
    """The session ends when one call failed this often in a row."""


@dataclass(slots=True)
class Said:
    """One reply as the conversation takes it, the engine's own or a recorded one."""

    text: str
    reasoning: str
    calls: Sequence[ToolCall | ToolCallItem]
    reasoning_field: str = "reasoning_content"
    runs_calls: bool = True
    stored: str | None = None
    """The id by which the server has stored it, where the dialect goes on from that."""
    own: Sequence[Message] = ()
    """The reply in the form of its wire, with signatures and all; () on chat."""


@dataclass(slots=True)
class Counts:
    """What was done to keep the session going."""

    replies: int = 0
    substituted: int = 0
    malformed_answered: int = 0
    ids_replaced: int = 0
    calls_not_run: int = 0


@dataclass(slots=True)
class Streak:
    call: bytes = b""
    length: int = 0


class LiveConversation:
    """The messages of one live session. Ask for `next_messages`, send them, `accept` the reply; until `finished`.

    With `executor=None` only recorded results are there: calls that the recording does not hold are not executed.
    """

    def __init__(
        self,
        history: RecordedHistory,
        executor: Executor | None,
        policy: LivePolicy | None = None,
        client: ClientName = "verbatim",
        subagent: Callable[[Line], Awaitable[None]] | None = None,
    ) -> None:
        self.history = history
        self.executor = executor
        self.policy = policy or LivePolicy()
        self.client = client
        self._subagent = subagent
        self.counts = Counts()
        self.finished: Ending | None = None
        self.substituted: str | None = None
        """Why the recorded turn stands for the last reply; None where the engine's own does."""
        self._recording = Recording(history)
        self._offered = offered(history)
        self._turns = history.lines[0].turns
        self._messages = history.messages(self._turns[0])
        self._waiting = later_user_messages(history)
        self._position = 0
        self._ids: set[str] = set()
        self._streak = Streak()
        recorded = len(self._turns)
        self._budget = self.policy.turn_budget or max(2 * recorded, recorded + 10)

    @property
    def recorded_turn(self) -> int:
        """The recorded turn at this position, whose tools are offered.

        A session that is longer than the recording stays at the last turn before the user's next message.
        """
        last = self._waiting[0][0] - 1 if self._waiting else len(self._turns) - 1
        return self._turns[min(self._position, last)]

    def next_messages(self) -> list[Message]:
        """The messages of the next request. The list is new, its messages are shared."""
        return list(self._messages)

    async def accept(self, reply: Reply, verdict: Verdict) -> list[ToolRun]:
        """Take a reply into the conversation and run its calls. Sets `finished` when this was the last one."""
        recorded_turn = self.recorded_turn
        collapsed = any(fault.klass == "collapsed" for fault in verdict.faults)
        self.substituted = self._why_substituted(reply, verdict)
        if self.substituted is None and (collapsed or reply.fault):
            self.counts.replies += 1
            self.finished = "collapsed" if collapsed else "engine_error"
            return []
        said = self._recorded_turn(recorded_turn) if self.substituted else self._own(reply)
        self.counts.replies += 1
        self._position += 1
        self.counts.substituted += self.substituted is not None
        runs: list[ToolRun] = []
        try:
            await self._carry_out(said, recorded_turn, runs)
            self._go_on(said, runs)
        except SandboxLost:
            self.finished = "sandbox_lost"
        return runs

    async def check(self) -> JsonObject | None:
        """Runs the trace's check command: whether the work is done. None where the trace has no such command."""
        command = self.executor.sandbox.workspace.check if self.executor else ()
        if not command or self.executor is None:
            return None
        code, limit = None, None
        try:
            ran = await self.executor.sandbox.run(command)
            code, limit, output = ran.exit_code, ran.limit, ran.output[-2000:]
        except SandboxLost as error:
            output = str(error)
        facts = {"command": list(command), "exit_code": code, "limit": limit}
        return {**facts, "passed": code == 0, "output": output}

    def _why_substituted(self, reply: Reply, verdict: Verdict) -> str | None:
        if self.policy.malformed != "substitute" or verdict.usable:
            return None
        if self._position >= len(self._turns):
            return None
        fatal = [fault.klass for fault in verdict.faults if fault.fatal]
        return fatal[0] if fatal else "unusable"

    def _recorded_turn(self, recorded_turn: int) -> Said:
        items = self.history.recorded(recorded_turn)
        calls = [item for item in items if isinstance(item, ToolCallItem)]
        return Said(joined(items, AssistantItem), joined(items, ReasoningItem), calls)

    def _own(self, reply: Reply) -> Said:
        # Zed runs calls only when the engine says that it ended for them.
        runs_calls = self.client != "zed" or reply.finish_reason == "tool_calls"
        named = reply.reasoning_field or "reasoning_content"
        stored = reply.extra.get("id") if self.history.dialect.keeps_state else None
        return Said(reply.content, reply.reasoning, reply.tool_calls, named, runs_calls, stored, reply.output)

    async def _carry_out(self, said: Said, recorded_turn: int, runs: list[ToolRun]) -> None:
        """Adds to `runs` what was run, so that it is there even when the sandbox ends in the middle."""
        if not said.runs_calls:
            self.counts.calls_not_run += len(said.calls)
            self._messages.append(self._assistant(said, ()))
            return
        ids = [self._unique_id(call) for call in said.calls]
        self._messages.append(self._assistant(said, ids))
        for place, (call, name) in enumerate(zip(said.calls, ids, strict=True)):
            run = await self._execute(call, place, name, recorded_turn)
            self.counts.malformed_answered += run.outcome.detail.get("malformed", False)
            answer = {"role": "tool", "tool_call_id": name, "content": self._result(run.outcome)}
            self._messages.append(answer | ({FREEFORM: True} if call.freeform else {}))
            runs.append(run)

    async def _execute(
        self, call: ToolCall | ToolCallItem, place: int, name: str, recorded_turn: int
    ) -> ToolRun:
        """In `matched` mode an equal call runs too, so that the workspace keeps up, but its recorded result counts.

        A subagent cannot be executed here: what the recorded one came back with answers the call, once its thread has been
        replayed where the call is the recorded one.
        """
        known = self._recording.equal(call, recorded_turn) or self._recording.agent(call)
        done = await executed(self.executor, call, self._offered) if self.executor else None
        comparison = against(done, known) if done else None
        if known:
            self._recording.take(known)
            line = self._recording.subagent(call, known)
            if line is not None and self._subagent is not None:
                await self._subagent(line)
        if known and (self.policy.tools != "sandbox" or done is None or done.kind == "not_executable_here"):
            return ToolRun(place, name, call.name, from_recording(known), "recorded", comparison)
        if done:
            return ToolRun(place, name, call.name, done, "sandbox", comparison)
        missing = ToolOutcome("not_executable_here", "This call is not in the recording", is_error=True)
        return ToolRun(place, name, call.name, missing, "none")

    def _go_on(self, said: Said, runs: Sequence[ToolRun]) -> None:
        if self._failed_again(said, runs):
            self.finished = "same_failure"
        elif not runs and not self._next_user():
            self.finished = "stopped"
        elif self.counts.replies >= self._budget:
            self.finished = "budget"

    def _next_user(self) -> bool:
        """The model has ended its turn: the user's next recorded message follows, if there is one."""
        if not self._waiting:
            return False
        self._position, messages = self._waiting.pop(0)
        self._messages += messages
        return True

    def _failed_again(self, said: Said, runs: Sequence[ToolRun]) -> bool:
        for call, run in zip(said.calls, runs, strict=False):
            if run.outcome.kind == "ok":
                self._streak = Streak()
                continue
            mark = fingerprint(call)
            self._streak = Streak(mark, self._streak.length + 1 if mark == self._streak.call else 1)
            if self._streak.length >= self.policy.same_failure:
                return True
        return False

    def _unique_id(self, call: ToolCall | ToolCallItem) -> str:
        given = call.id if isinstance(call, ToolCall) else call.call_id
        if not given or given in self._ids:
            self.counts.ids_replaced += 1
            given = f"call_{len(self._ids) + 1:08x}"
        self._ids.add(given)
        return given

    def _assistant(self, said: Said, ids: Sequence[str]) -> Message:
        text = said.text
        if self.client == "zed" and said.reasoning:
            text = said.reasoning + text
        message: Message = {"role": "assistant", "content": text if text or not ids else None}
        if said.reasoning and self.client != "zed":
            message[said.reasoning_field] = said.reasoning
        if ids:
            message["tool_calls"] = [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": call.name or "", "arguments": self._arguments(call)},
                }
                for call, name in zip(said.calls, ids, strict=True)
            ]
        given = [call.id if isinstance(call, ToolCall) else call.call_id for call in said.calls]
        if said.own and given == list(ids or given):
            message[OWN] = list(said.own)
            if said.stored:
                message[STORED] = said.stored
        return message

    def _arguments(self, call: ToolCall | ToolCallItem) -> str:
        """Zed keeps the parsed value and writes it anew; what it could not parse becomes an empty object."""
        if self.client != "zed":
            return call.arguments
        try:
            return orjson.dumps(orjson.loads(call.arguments or "{}")).decode()
        except ValueError:
            return "{}"

    def _result(self, outcome: ToolOutcome) -> str:
        if self.client == "zed" and not outcome.output.strip():
            return EMPTY_RESULT
        return outcome.output


def joined(items: Sequence[AnyItem], kind: type[AssistantItem] | type[ReasoningItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, kind))


def later_user_messages(history: RecordedHistory) -> list[tuple[int, list[Message]]]:
    """What the user said after the first request: the position of the turn that answers it, and the messages."""
    turns = history.lines[0].turns
    seen = set(history.trace.context(turns[0]))
    found = []
    for position, recorded_turn in enumerate(turns[1:], 1):
        fresh = [number for number in history.trace.context(recorded_turn) if number not in seen]
        seen.update(fresh)
        items = [history.trace.item(number) for number in fresh]
        written = [history.dialect.message([item]) for item in items if isinstance(item, UserItem)]
        messages = [message for message in written if message]
        if messages:
            found.append((position, messages))
    return found
