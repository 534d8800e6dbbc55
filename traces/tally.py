"""Counting a trace while its records pass: what `import` and `trace check` print."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from replayer.traces.compact import Index
from replayer.traces.records import TokenTurns
from replayer.traces.schema import AnyItem, Content, Thread, TokenShape, ToolCallItem, ToolResultItem, Usage

CHARS_PER_TOKEN = 4
"""Rule of thumb for English and code; an estimate, and called one wherever it is shown."""


_OTHER, _CALL, _RESULT, _FAILED = range(4)
_CALLED, _ANSWERED = 1, 2


class _Line:
    """A thread's last turn, prompt and reply: characters, and how often each failed result stands in it."""

    def __init__(self) -> None:
        self.size = 0
        self.failed: dict[int, int] = {}


class Tally:
    """Feed it every item once, in order of ids, and every turn; takes about ten bytes an item."""

    def __init__(self) -> None:
        self.turns = 0
        self.tool_calls = 0
        self.largest_prompt = 0
        self.calls = Index()
        """Call ids by number."""
        self._paired = bytearray()
        self._sizes = array("I")
        self._kinds = bytearray()
        self._failed = 0
        self._most_failed: dict[tuple[str, int], int] = {}
        self._lines: dict[str, _Line] = {}
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
        self._count(number, size, _OTHER)

    def call(self, number: int, call_id: str, size: int) -> None:
        if self._count(number, size, _CALL):
            self._pair(call_id, _CALLED)

    def result(self, number: int, call_id: str, size: int, is_error: bool) -> None:
        if self._count(number, size, _FAILED if is_error else _RESULT):
            self._pair(call_id, _ANSWERED)
            self._failed += is_error

    def is_call(self, number: int) -> bool:
        return self._kinds[number] == _CALL

    def thread(self, thread: Thread) -> None:
        if thread.parent:
            self._threads.add(thread.id)

    def turn(
        self,
        thread: str,
        added: Sequence[int],
        produced: Sequence[int],
        usage: Usage | None = None,
        tokens: TokenShape | None = None,
        dropped: Sequence[int] | None = None,
    ) -> None:
        """A turn that was sent what its thread's last one was sent and said, less `dropped`, then `added`.

        Where `dropped` is None, it was sent `added` alone.
        """
        self.turns += 1
        self._threads.add(thread)
        line = self._lines.get(thread)
        if line is None or dropped is None:
            line = self._lines[thread] = _Line()
        kinds, sizes = self._kinds, self._sizes
        for number in dropped or ():
            line.size -= sizes[number]
            if kinds[number] == _FAILED:
                line.failed[number] -= 1
        for number in added:
            line.size += sizes[number]
            if kinds[number] == _FAILED:
                times = line.failed[number] = line.failed.get(number, 0) + 1
                self._most_failed[thread, number] = max(self._most_failed.get((thread, number), 0), times)
        self._prompt(line.size, usage, tokens)
        for number in produced:
            line.size += sizes[number]
            self.tool_calls += kinds[number] == _CALL
        if tokens is not None:
            self.tool_calls += tokens.tool_calls
            self._failed += tokens.failed_calls

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
        placed = {number for _, number in self._most_failed}
        return sum(self._most_failed.values()) + self._failed - len(placed)

    def unpaired(self) -> Iterator[str]:
        """Calls without result and results without call, each as a warning."""
        if lonely := self._paired.count(_CALLED):
            yield f"tool calls that have no result: {lonely}"
        if lonely := self._paired.count(_ANSWERED):
            yield f"tool results that have no call: {lonely}"

    def _count(self, number: int, size: int, kind: int) -> bool:
        if number < len(self._sizes):
            return False
        self._sizes.append(size)
        self._kinds.append(kind)
        return True

    def _pair(self, call_id: str, mark: int) -> None:
        call = self.calls.add(call_id)
        if call == len(self._paired):
            self._paired.append(mark)
        else:
            self._paired[call] |= mark

    def _prompt(self, size: int, usage: Usage | None, tokens: TokenShape | None) -> None:
        if tokens is not None:
            prompt = tokens.input_tokens
        elif usage is not None and usage.prompt_tokens is not None:
            prompt = usage.prompt_tokens
        else:
            prompt = size // CHARS_PER_TOKEN
        self.largest_prompt = max(self.largest_prompt, prompt)


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
