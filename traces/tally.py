"""Counting a trace while its records pass: what `import` and `trace check` print."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence

from replayer.traces.records import TokenTurns
from replayer.traces.schema import AnyItem, Content, Thread, TokenShape, ToolCallItem, ToolResultItem, Usage

CHARS_PER_TOKEN = 4
"""Rule of thumb for English and code; an estimate, and called one wherever it is shown."""


class Tally:
    """Feed it every item once, in order of ids, and every turn with its full context."""

    def __init__(self) -> None:
        self.turns = 0
        self.tool_calls = 0
        self.largest_prompt = 0
        self._sizes = array("L")
        self._calls: dict[int, str] = {}
        self._answered: set[str] = set()
        self._failed: set[int] = set()
        self._seen_failed: dict[tuple[str, int], int] = {}
        self._threads: set[str] = set()

    def item(self, number: int, item: AnyItem) -> None:
        """A number that was counted before is passed over."""
        if isinstance(item, ToolCallItem):
            self.call(number, item.call_id, text_size(item))
        elif isinstance(item, ToolResultItem):
            self.result(number, item.call_id, text_size(item), item.is_error)
        else:
            self.text(number, text_size(item))

    def text(self, number: int, size: int) -> None:
        """An item that is neither call nor result, by its size in characters."""
        if number == len(self._sizes):
            self._sizes.append(size)

    def call(self, number: int, call_id: str, size: int) -> None:
        if number == len(self._sizes):
            self._sizes.append(size)
            self._calls[number] = call_id

    def result(self, number: int, call_id: str, size: int, is_error: bool) -> None:
        if number == len(self._sizes):
            self._sizes.append(size)
            self._answered.add(call_id)
            if is_error:
                self._failed.add(number)

    def thread(self, thread: Thread) -> None:
        if thread.parent:
            self._threads.add(thread.id)

    def turn(
        self,
        thread: str,
        context: Sequence[int],
        produced: Collection[int],
        usage: Usage | None = None,
        tokens: TokenShape | None = None,
    ) -> None:
        self.turns += 1
        self._threads.add(thread)
        for number in produced:
            self.tool_calls += number in self._calls
        if self._failed and context:
            self._count_failed(thread, context)
        if tokens is not None:
            prompt = tokens.input_tokens
        elif usage is not None and usage.prompt_tokens is not None:
            prompt = usage.prompt_tokens
        else:
            prompt = sum(map(self._sizes.__getitem__, context)) // CHARS_PER_TOKEN
        self.largest_prompt = max(self.largest_prompt, prompt)

    def token_turns(self, turns: TokenTurns) -> None:
        """Turns without items."""
        self.turns += len(turns.threads)
        self._threads.update(turns.threads)
        self.largest_prompt = max(self.largest_prompt, *turns.sent)

    @property
    def threads(self) -> int:
        return max(1, len(self._threads))

    @property
    def failed_results(self) -> int:
        """Equal results are one item, but count as often as they stand in a thread."""
        placed = {number for _, number in self._seen_failed}
        return sum(self._seen_failed.values()) + len(self._failed - placed)

    def unpaired(self) -> Iterator[str]:
        """Calls without result and results without call, each as a warning."""
        called = set(self._calls.values())
        if called - self._answered:
            yield f"tool calls that have no result: {len(called - self._answered)}"
        if self._answered - called:
            yield f"tool results that have no call: {len(self._answered - called)}"

    def _count_failed(self, thread: str, context: Sequence[int]) -> None:
        for number in self._failed.intersection(context):
            key = (thread, number)
            self._seen_failed[key] = max(self._seen_failed.get(key, 0), context.count(number))


def text_size(item: AnyItem) -> int:
    """Characters that an item puts into a prompt."""
    if isinstance(item, ToolCallItem):
        return len(item.name) + len(item.arguments)
    return content_size(getattr(item, "text", None) or getattr(item, "content", None) or "")


def content_size(content: Content) -> int:
    """Characters of a text or of the text parts of a content list."""
    if isinstance(content, str):
        return len(content)
    return sum(len(str(part.get("text", ""))) for part in content)
