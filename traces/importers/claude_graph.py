"""A Claude Code session as a graph of lines, and its paths as the items of a prompt.

Lines, replies and calls are numbers in packed tables, because a session that never compacts has millions of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replayer.traces.compact import Index, Lists
from replayer.traces.importers.builder import Prompt
from replayer.wire.types import JsonObject

NONE = -1


@dataclass(slots=True)
class Reply:
    """One API response while its blocks arrive; calls by their numbers."""

    thread: str
    number: int
    prompt: Prompt
    started: float | None
    items: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    message: JsonObject = field(default_factory=dict)
    ended: float | None = None


class Graph:
    """Each line's parent, and what it adds to a prompt: its own items, or the reply that it belongs to."""

    def __init__(self) -> None:
        self._keys = Index()
        self._line_of_key = array("i")
        self.parents = array("i")
        self.reply_of = array("i")
        self._places = array("i")
        """Of each line, where its items and answers stand; NONE where it adds nothing."""
        self._items = Lists()
        self._answers = Lists()
        self._replies = Lists()
        self._calls_of_replies = Lists()
        self._place_of_reply = array("i")
        self._result_items = array("i")
        self._result_orders = array("i")
        self.open: dict[int, Reply] = {}
        self.instead: dict[int, int] = {}
        """What the model saw in place of a result, from its first prompt on."""
        self.cleared: dict[int, dict[int, int]] = {}
        """By line, the results that prompts behind it no longer hold, and what stands there."""

    def find(self, key: str) -> int:
        number = self._keys.find(key)
        return self._line_of_key[number] if number >= 0 else NONE

    def link(
        self, key: str, parent: int, items: Sequence[int] = (), reply: int = NONE, answers: Sequence[int] = ()
    ) -> int:
        """Adds a line; a later line of the same key stands for it from then on."""
        line = len(self.parents)
        self.parents.append(parent)
        self.reply_of.append(reply)
        self._places.append(self._items.append(items) if items else NONE)
        if items:
            self._answers.append(answers)
        number = self._keys.add(key)
        if number == len(self._line_of_key):
            self._line_of_key.append(line)
        else:
            self._line_of_key[number] = line
        return line

    def keep(self, head: str, tail: str, behind: str) -> None:
        """After a compaction the lines from `head` to `tail` follow the line `behind` anew, and what follows follows them."""
        first, line, kept = self.find(head), self.find(tail), list[int]()
        while line not in (NONE, first):
            kept.append(line)
            line = self.parents[line]
        if line == NONE:
            return
        for line in (first, *reversed(kept)):
            self.parents.append(self.find(behind))
            self.reply_of.append(self.reply_of[line])
            self._places.append(self._places[line])
            self._line_of_key[self._keys.find(behind)] = len(self.parents) - 1
        self._line_of_key[self._keys.find(tail)] = self.find(behind)

    def result(self, call: int) -> int:
        found = self._result_items[call] if 0 <= call < len(self._result_items) else NONE
        return self.instead.get(found, found)

    def begin(self, reply: Reply) -> None:
        self.open[reply.number] = reply
        self._place_of_reply.append(NONE)

    def close(self, reply: Reply) -> None:
        del self.open[reply.number]
        self._place_of_reply[reply.number] = self._replies.append(reply.items)
        self._calls_of_replies.append(reply.calls)

    def answer(self, call: int, order: int, item: int) -> bool:
        """Notes the result of a call; False where it has one already."""
        while len(self._result_items) <= call:
            self._result_items.append(NONE)
            self._result_orders.append(NONE)
        if self._result_items[call] != NONE:
            return False
        self._result_items[call], self._result_orders[call] = item, order
        return True

    def results(self, calls: Iterable[int]) -> list[int]:
        """The results of calls in the order in which they came."""
        known = [call for call in calls if self.result(call) != NONE]
        found = sorted((self._result_orders[call], self.result(call)) for call in known)
        return [item for _, item in found]

    def said(self, line: int) -> Sequence[int]:
        place = self._places[line]
        return [self.instead.get(item, item) for item in self._items[place]] if place != NONE else ()

    def answers(self, line: int) -> Sequence[int]:
        """Calls whose results are among the line's items."""
        return self._answers[self._places[line]]

    def reply(self, number: int) -> tuple[Iterable[int], Iterable[int]]:
        """Items and calls of a reply, as far as they have come."""
        if number in self.open:
            return self.open[number].items, self.open[number].calls
        place = self._place_of_reply[number]
        return self._replies[place], self._calls_of_replies[place]


class Branch:
    """A path on the graph as items: the blocks of a reply together, then the results of its calls in recorded order.

    It is extended while the session goes on; `gaps` says that a call was passed over unanswered, so that a result which
    comes later still belongs before what is already there, and the path must be read anew.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.leaf = NONE
        self.gaps = False
        self._items = array("i")
        self._seen = bytearray()
        self._waiting: list[int] = []

    def extend(self, lines: Iterable[int]) -> None:
        graph = self._graph
        for line in lines:
            reply = graph.reply_of[line]
            if reply != NONE:
                self._reply(reply)
            elif cleared := graph.cleared.get(line):
                self._settle()
                self._items = array("i", (cleared.get(item, item) for item in self._items))
            elif said := graph.said(line):
                # Results of the last reply come together, in _settle; what else the line holds comes behind them.
                awaited = graph.results(call for call in graph.answers(line) if call in self._waiting)
                loose = [item for item in said if item not in awaited]
                if loose:
                    self._settle()
                    self._items.extend(loose)

    def prompt(self) -> Prompt:
        return Prompt(self._items, self._graph.results(self._waiting))

    def _reply(self, number: int) -> None:
        self._seen.extend(bytes(max(0, number + 1 - len(self._seen))))
        if not self._seen[number]:
            self._settle()
            self._seen[number] = 1
            items, calls = self._graph.reply(number)
            self._items.extend(items)
            self._waiting += calls

    def _settle(self) -> None:
        if self._waiting:
            found = self._graph.results(self._waiting)
            self.gaps = self.gaps or len(found) < len(self._waiting)
            self._items.extend(found)
            self._waiting.clear()
