"""A Claude Code session as a graph of lines, and its paths as the items of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Response:
    """One API response while its blocks arrive."""

    thread: str
    order: int
    context: list[int]
    items: list[int] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    message: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    ended: float | None = None
    written: bool = False


@dataclass(slots=True)
class Node:
    """One line on the graph: what it adds to a context, or the response that it belongs to."""

    parent: Node | None
    items: tuple[int, ...] = ()
    response: Response | None = None
    answers: tuple[str, ...] = ()


class Line:
    """A path on the graph as items: the blocks of a response together, then the results of its calls in recorded order.

    It is extended while the session goes on; `gaps` says that a call was passed over unanswered, so that a result which
    comes later still belongs before what is already there, and the path must be read anew.
    """

    def __init__(self) -> None:
        self.leaf: Node | None = None
        self.gaps = False
        self._items: list[int] = []
        self._seen: set[int] = set()
        self._waiting: list[str] = []

    def extend(self, nodes: Iterator[Node], results: Mapping[str, tuple[int, int]]) -> None:
        for node in nodes:
            if node.response is not None:
                self._reply(node.response, results)
            elif node.items:
                # Results of the last response come together, in _settle; what else the line holds comes behind them.
                awaited = {
                    results[call][1] for call in node.answers if call in self._waiting and call in results
                }
                loose = [item for item in node.items if item not in awaited]
                if loose:
                    self._settle(results)
                    self._items += loose

    def context(self, results: Mapping[str, tuple[int, int]]) -> list[int]:
        return [*self._items, *_answers(self._waiting, results)]

    def _reply(self, response: Response, results: Mapping[str, tuple[int, int]]) -> None:
        if id(response) not in self._seen:
            self._settle(results)
            self._seen.add(id(response))
            self._items += response.items
            self._waiting += response.calls

    def _settle(self, results: Mapping[str, tuple[int, int]]) -> None:
        if self._waiting:
            found = _answers(self._waiting, results)
            self.gaps = self.gaps or len(found) < len(self._waiting)
            self._items += found
            self._waiting.clear()


def _answers(calls: list[str], results: Mapping[str, tuple[int, int]]) -> list[int]:
    found = [results[call] for call in calls if call in results]
    return [item for _, item in sorted(found)]
