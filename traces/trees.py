"""The threads of a trace as trees: which subagent was started by which turn, and which turn waited for its result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from replayer.lazy import dataclass
from replayer.traces.reader import Trace
from replayer.traces.requests import is_replayable
from replayer.traces.schema import AnyItem, Thread, ToolCallItem, ToolResultItem, UserItem


@dataclass(frozen=True, slots=True)
class Line:
    """One thread of a tree: its replayable turns in order.

    `after` is the turn whose call started it and `joined` the turn of its parent that was sent its result. Both are
    None for the root; `joined` is None too where the parent went on without waiting.
    """

    thread: str
    turns: tuple[int, ...]
    after: int | None = None
    joined: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """An independent part of a trace: a root thread and all its subagents. The root is the first line."""

    lines: tuple[Line, ...]
    turns: tuple[int, ...]
    """All replayable turns in the order in which they began."""

    @property
    def root(self) -> str:
        return self.lines[0].thread


def trees(trace: Trace) -> list[Tree]:
    """The trees that hold a turn to replay, in the order of their first turns. Threads of a token trace are trees of
    one thread each: its requests are independent."""
    turns, begun = _turns_by_thread(trace)
    known = {thread.id: thread for thread in trace.threads}
    children: dict[str, list[str]] = defaultdict(list)
    roots: list[str] = []
    for name in turns:
        parent = _living_parent(known, name, turns)
        (roots if parent is None else children[parent]).append(name)
    found = []
    for root in roots:
        lines = tuple(_lines(trace, known, turns, children, root))
        every = sorted(number for line in lines for number in line.turns)
        if begun.keys() >= set(every):
            every.sort(key=begun.__getitem__)
        found.append(Tree(lines, tuple(every)))
    return found


def _turns_by_thread(trace: Trace) -> tuple[dict[str, tuple[int, ...]], dict[int, float]]:
    """And when each began, where that is known."""
    found: dict[str, list[int]] = {}
    begun: dict[int, float] = {}
    for turn in trace.turns:
        if is_replayable(turn):
            found.setdefault(turn.thread, []).append(turn.id)
            if turn.times is not None and turn.times.started is not None:
                begun[turn.id] = turn.times.started
    if "main" in found:
        found = {"main": found.pop("main"), **found}
    return {name: tuple(numbers) for name, numbers in found.items()}, begun


def _living_parent(known: dict[str, Thread], name: str, turns: dict[str, tuple[int, ...]]) -> str | None:
    """The nearest ancestor with a turn to replay. A circle of parents has none: the file is damaged there."""
    seen = {name}
    parent = known[name].parent if name in known else None
    while parent is not None and parent not in turns:
        if parent in seen or parent not in known:
            return None
        seen.add(parent)
        parent = known[parent].parent
    return None if parent in seen else parent


def _lines(
    trace: Trace,
    known: dict[str, Thread],
    turns: dict[str, tuple[int, ...]],
    children: dict[str, list[str]],
    root: str,
) -> Iterator[Line]:
    yield Line(root, turns[root])
    waiting = [(root, child) for child in children[root]]
    seen = {root}
    while waiting:
        parent, name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        call = known[name].parent_call
        after = _started_by(trace, turns[parent], call, turns[name][0])
        yield Line(name, turns[name], after, _joined_at(trace, turns[parent], call, after, turns[name][-1]))
        waiting += [(name, child) for child in children[name]]


def _started_by(trace: Trace, parent: Sequence[int], call: int | None, first: int) -> int:
    """The turn that produced the call; where the recording does not say, the parent's last turn before the child's."""
    for number in parent:
        if call is not None and call in trace.turns[number].produced:
            return number
    before = [number for number in parent if _is_after(trace, first, number)]
    return max(before, default=parent[0])


def _is_after(trace: Trace, one: int, other: int) -> bool:
    """Whether a turn began after another: by their times, since a file may hold a subagent behind its parent."""
    begun = [trace.turns[number].times for number in (one, other)]
    a, b = (times.started if times else None for times in begun)
    return one > other if a is None or b is None or a == b else a > b


def _joined_at(trace: Trace, parent: Sequence[int], call: int | None, after: int, last: int) -> int | None:
    """The turn that was sent the result of the subagent. A result that came before its `last` turn says only that it was
    started; then it is the turn behind it that was sent a message about the call. None: nobody waited."""
    item = trace.item(call) if call is not None else None
    if not isinstance(item, ToolCallItem):
        return None
    seen, started = set(trace.context(after)), False
    for number in parent:
        if number <= after:
            continue
        new = [trace.item(n) for n in trace.context(number) if n not in seen]
        seen.update(trace.context(number))
        if any(isinstance(one, ToolResultItem) and one.call_id == item.call_id for one in new):
            started = True
        elif not (started and any(_names(one, item.call_id) for one in new)):
            continue
        if _is_after(trace, number, last):
            return number
    return None


def _names(item: AnyItem, call_id: str) -> bool:
    """Whether a message of the client is about a call: Claude Code notifies so of what ran in the background."""
    return isinstance(item, UserItem) and f">{call_id}<" in str(item.content)
