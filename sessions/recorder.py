"""Plays a session script: runs its calls and writes what happened as a native trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from replayer.traces.schema import (
    AssistantItem,
    CompactionItem,
    Context,
    ReasoningItem,
    SystemItem,
    Thread,
    ToolCallItem,
    ToolResultItem,
    ToolRun,
    UserItem,
)
from replayer.traces.writer import TraceWriter
from sessions.script import Answer, Call, Compact, Say, Session, Step, User


class Tools(Protocol):
    """The workspace of a session, and its tools."""

    async def run(self, call: Call) -> Answer: ...


class Recorder:
    """Writes one session, its subagents included. Call ids count through the whole trace."""

    def __init__(self, session: Session, tools: Tools, writer: TraceWriter) -> None:
        self.session = session
        self.tools = tools
        self.writer = writer
        self.tool_set = writer.add_tool_set(session.tools)
        self.calls = 0
        self.agents = 0

    async def play(self) -> None:
        self.writer.add_thread(Thread(id="main", title=self.session.title))
        await self._thread("main", self.session.system, self.session.steps)

    async def _thread(self, thread: str, system: str, steps: Sequence[Step]) -> str:
        """Plays one thread; returns the last thing the agent said in it."""
        pending = [self.writer.add_item(SystemItem(id=0, text=system))]
        base: int | None = None
        length, said = 0, ""
        for step in steps:
            if isinstance(step, User):
                pending.append(self.writer.add_item(UserItem(id=0, content=step.content)))
            elif isinstance(step, Compact):
                base, length = None, 0
                pending = [
                    self.writer.add_item(SystemItem(id=0, text=system)),
                    self.writer.add_item(CompactionItem(id=0, text=step.summary)),
                ]
            else:
                context = Context(append=tuple(pending), base=base, keep=length)
                produced = self._produced(step)
                base = self._turn(thread, context, produced, step)
                length += len(pending) + len(produced)
                pending = await self._results(thread, step, produced[len(produced) - len(step.calls) :])
                said = step.text
        return said

    def _produced(self, step: Say) -> list[int]:
        put = self.writer.add_item
        items = [put(ReasoningItem(id=0, text=step.reasoning))] if step.reasoning else []
        if step.text:
            items.append(put(AssistantItem(id=0, text=step.text)))
        return items + [put(self._call_item(call)) for call in step.calls]

    def _call_item(self, call: Call) -> ToolCallItem:
        self.calls += 1
        return ToolCallItem(
            id=0,
            call_id=f"call_{self.calls:04d}",
            name=call.tool,
            arguments=call.text,
            parsed=call.arguments,
        )

    def _turn(self, thread: str, context: Context, produced: list[int], step: Say) -> int:
        return self.writer.add_turn(
            context=context,
            produced=produced,
            thread=thread,
            tool_set=self.tool_set,
            finish_reason="tool_calls" if step.calls else "stop",
        )

    async def _results(self, thread: str, step: Say, call_items: Sequence[int]) -> list[int]:
        """Runs the calls in their order; the results are written in the order in which they came back."""
        first = self.calls - len(step.calls) + 1
        written: dict[int, int] = {}
        for index, call in enumerate(step.calls):
            call_id = f"call_{first + index:04d}"
            answer = await self._answer(thread, call, call_items[index])
            item = ToolResultItem(
                id=0, call_id=call_id, name=call.tool, content=answer.text, is_error=answer.is_error
            )
            written[index] = self.writer.add_item(item)
            run = ToolRun(call=call_items[index], result=written[index], exit_code=answer.exit_code)
            self.writer.add_tool_run(run)
        return [written[index] for index in step.results]

    async def _answer(self, thread: str, call: Call, item: int) -> Answer:
        if not call.agent:
            return await self.tools.run(call)
        self.agents += 1
        name = f"agent-{self.agents}"
        self.writer.add_thread(
            Thread(
                id=name,
                parent=thread,
                parent_call=item,
                title=call.arguments.get("label") or call.arguments.get("description"),
            )
        )
        return Answer(await self._thread(name, self.session.agent_system, call.agent))
