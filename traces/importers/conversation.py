"""One thread of an agent's session, read in order; shared by the formats that record messages one after another."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from replayer.traces.importers.builder import Builder, Prompt


class Conversation:
    """What the model is sent next, and the reply that is open. A turn costs what is new in it."""

    def __init__(self, builder: Builder, thread: str = "main") -> None:
        self.builder, self.thread = builder, thread
        self.context = array("i")
        self.produced: list[int] = []
        self.late: list[int] = []
        """What came while the reply was open; it follows the reply."""

    def said(self, *items: int) -> None:
        """Items that the model is sent."""
        if self.produced:
            self.late += items
        else:
            self.context.extend(items)

    @property
    def ending(self) -> str:
        """The finish reason that the open reply's items support."""
        return "tool_calls" if any(map(self.builder.is_call, self.produced)) else "stop"

    def close(self, *, forget: bool = False, **facts: object) -> None:
        """Ends the open reply, if any, as a turn; with `forget` it is not sent again."""
        if self.produced:
            self.builder.turn(Prompt(self.context), self.produced, thread=self.thread, **facts)
            self.context.extend(() if forget else self.produced)
        self.context.extend(self.late)
        self.produced, self.late = [], []

    def restart(self, items: Iterable[int]) -> None:
        """From here on the model is sent these items instead of what it was sent before."""
        self.context = array("i", items)


class Tree:
    """Entries that name their parents, of a session in which the user goes back and branches off."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str | None, tuple[int, ...]]] = {}
        self._restarts: dict[str, str | None] = {}

    def add(self, key: str, parent: str | None, items: Sequence[int]) -> None:
        self._entries[key] = parent, tuple(items)

    def restart(self, key: str, first_kept: str | None) -> None:
        """The entry stands for all that is before it on its path, except from `first_kept` on."""
        self._restarts[key] = first_kept

    def items(self, leaf: str | None) -> list[int]:
        """What a request behind `leaf` is sent."""
        path: list[str] = []
        seen: set[str] = set()
        stop: str | None = None
        key = leaf
        while key is not None and key in self._entries and key not in seen:
            seen.add(key)
            path.append(key)
            if key in self._restarts and stop is None:
                stop = self._restarts[key] or key
            if key == stop:
                break
            key = self._entries[key][0]
        path.reverse()
        last = next((key for key in reversed(path) if key in self._restarts), None)
        if last is None:
            return [item for key in path for item in self._entries[key][1]]
        kept = path[: path.index(last)] if self._restarts[last] in path else []
        order = [last, *kept, *path[path.index(last) + 1 :]]
        return [
            item
            for key in order
            for item in self._entries[key][1]
            if key == last or key not in self._restarts
        ]
