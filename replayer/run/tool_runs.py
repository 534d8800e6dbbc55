"""One executed call of a turn, beside what the recording holds for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import orjson

from replayer.journal.events import ToolRunFinished
from replayer.lazy import dataclass
from replayer.run.turn import TurnKey
from replayer.signals.call_loops import Called
from replayer.tools.compare import Comparison, compare
from replayer.tools.outcome import ToolOutcome
from replayer.traces.schema import ToolCallItem, ToolResultItem, plain
from replayer.traces.trees import Line
from replayer.wire.types import ToolCall

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory
    from replayer.tools.execution import Executor

ToolMode = Literal["recorded", "sandbox", "matched"]

_OUTPUT_KEPT = 16_384
"""Characters of a call's output in the journal; both ends are kept."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """`source` says where the text came from that the model reads; `against_recorded` compares the executed one."""

    call_index: int
    call_id: str
    name: str | None
    outcome: ToolOutcome
    source: Literal["sandbox", "recorded", "none"]
    against_recorded: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded call with its result."""

    recorded_turn: int
    call: ToolCallItem
    result: ToolResultItem

    @property
    def text(self) -> str:
        return plain(self.result.content)


class Recording:
    """The recorded calls of a thread and their results, found again by what they say."""

    def __init__(self, history: RecordedHistory) -> None:
        self.by_turn: dict[int, list[ToolCallItem]] = {}
        self._results = results(history)
        self._equal: dict[bytes, list[Recorded]] = {}
        self._agents = agent_tools(history)
        started = parent_calls(history)
        self._lines = {started[line.thread]: line for line in history.lines[1:] if line.thread in started}
        for recorded_turn in history.turns:
            calls = [item for item in history.recorded(recorded_turn) if isinstance(item, ToolCallItem)]
            self.by_turn[recorded_turn] = calls
            for call in calls:
                if call.call_id in self._results:
                    known = Recorded(recorded_turn, call, self._results[call.call_id])
                    self._equal.setdefault(fingerprint(call), []).append(known)

    def result(self, call: ToolCallItem) -> ToolResultItem | None:
        return self._results.get(call.call_id)

    def equal(self, call: ToolCall | ToolCallItem, recorded_turn: int | None) -> Recorded | None:
        """The recorded call that says the same: of this turn if there is one, else the first not yet `taken`."""
        found = self._equal.get(fingerprint(call), [])
        return next((one for one in found if one.recorded_turn == recorded_turn), found[0] if found else None)

    def agent(self, call: ToolCall | ToolCallItem) -> Recorded | None:
        """The recorded call that started a subagent with this tool, the next one not yet `taken`."""
        if call.name not in self._agents:
            return None
        found = [one for known in self._equal.values() for one in known if one.call.name == call.name]
        return min(found, key=lambda one: one.recorded_turn, default=None)

    def subagent(self, call: ToolCall | ToolCallItem, known: Recorded) -> Line | None:
        """The recorded thread that a call starts, where it is the recorded call."""
        return self._lines.get(known.call.id) if fingerprint(call) == fingerprint(known.call) else None

    def take(self, recorded: Recorded) -> None:
        """Uses a recorded call up, so that the same call again is answered by its later result."""
        found = self._equal[fingerprint(recorded.call)]
        if len(found) > 1:
            found.remove(recorded)


def agent_tools(history: RecordedHistory) -> frozenset[str]:
    """Names of the tools whose calls started the subagents of the session."""
    calls = map(history.trace.item, parent_calls(history).values())
    return frozenset(call.name for call in calls if isinstance(call, ToolCallItem))


def parent_calls(history: RecordedHistory) -> dict[str, int]:
    """The items whose calls started the subagents of the session, by thread."""
    started = {line.thread for line in history.lines[1:]}
    return {
        thread.id: thread.parent_call
        for thread in history.trace.threads
        if thread.id in started and thread.parent_call is not None
    }


def results(history: RecordedHistory) -> dict[str, ToolResultItem]:
    """Every tool result that some turn of the thread was sent, by call id."""
    found: dict[str, ToolResultItem] = {}
    seen: set[int] = set()
    for recorded_turn in history.turns:
        new = set(history.trace.context(recorded_turn)) - seen
        seen |= new
        found |= {item.call_id: item for item in history.trace.tool_results(sorted(new))}
    return found


def fingerprint(call: ToolCall | ToolCallItem) -> bytes:
    """Equal for calls that mean the same: the name, and the arguments whatever their spelling."""
    try:
        arguments = orjson.dumps(orjson.loads(call.arguments), option=orjson.OPT_SORT_KEYS)
    except ValueError:
        arguments = call.arguments.encode("utf-8", "replace")
    return (call.name or "").encode("utf-8", "replace") + b"\0" + arguments


def called(history: RecordedHistory) -> frozenset[str]:
    """Names of all tools that the thread's recorded replies called."""
    items = (item for recorded_turn in history.turns for item in history.recorded(recorded_turn))
    return frozenset(item.name for item in items if isinstance(item, ToolCallItem))


def as_called(call: ToolCallItem, result: ToolResultItem | None) -> Called:
    """As the signals take it."""
    if result is None:
        return Called(call.name, call.arguments)
    return Called(call.name, call.arguments, plain(result.content), result.is_error)


def offered(history: RecordedHistory) -> frozenset[str]:
    """Names of all tools that some turn of the thread was offered; where the trace does not say, that it called."""
    sets = {history.trace.turns[recorded_turn].tool_set for recorded_turn in history.turns}
    known = [history.trace.tool_sets[name] for name in sets if name in history.trace.tool_sets]
    return frozenset(tool.name for tools in known for tool in tools.tools) or called(history)


async def executed(executor: Executor, call: ToolCall | ToolCallItem, tools: frozenset[str]) -> ToolOutcome:
    """A tool that was offered but is not part of the client's own (an MCP server's) is not executed, not unknown."""
    if call.name in tools and call.name not in executor.kit.names:
        return ToolOutcome(
            "not_executable_here", f"{call.name} cannot be executed in a sandbox", is_error=True
        )
    return await executor.execute(call)


def against(outcome: ToolOutcome, recorded: Recorded | None) -> Comparison | None:
    if recorded is None or outcome.kind == "not_executable_here":
        return None
    return compare(outcome.output, recorded.text)


def from_recording(recorded: Recorded) -> ToolOutcome:
    kind: Literal["tool_error", "ok"] = "tool_error" if recorded.result.is_error else "ok"
    return ToolOutcome(kind, recorded.text, recorded.result.is_error)


def tool_events(key: TurnKey, runs: Iterable[ToolRun]) -> list[ToolRunFinished]:
    """What the journal keeps of executed calls."""
    return [
        ToolRunFinished(
            **key.where(),
            call_index=run.call_index,
            name=run.name,
            outcome="recorded" if run.source == "recorded" else run.outcome.kind,
            against_recorded=run.against_recorded,
            duration_ns=int(run.outcome.duration * 1e9),
            exit_code=run.outcome.exit_code,
            output=_both_ends(run.outcome.output),
            detail=run.outcome.detail,
        )
        for run in runs
    ]


def _both_ends(text: str) -> str:
    if len(text) <= _OUTPUT_KEPT:
        return text
    half = _OUTPUT_KEPT // 2
    return f"{text[:half]}\n… {len(text) - _OUTPUT_KEPT} characters left out …\n{text[-half:]}"
