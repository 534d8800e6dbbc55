"""The sessions of a plan, the order in which they run, and how they are dealt out to several processes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from replayer.plan.model import LanePlan, Plan

T = TypeVar("T")
_PART = "#"
"""Between the name of a trace and the number of its tree, where it has several."""


@dataclass(frozen=True, slots=True, order=True)
class Session:
    """One trace replayed on one lane, once. `repeat` counts from 0."""

    lane: str
    trace: str
    repeat: int

    @property
    def id(self) -> str:
        return f"{self.lane}/{self.trace}/{self.repeat}"


def sessions(plan: Plan, traces: Sequence[str]) -> list[Session]:
    """All sessions of a plan, repeat by repeat, so that an early end leaves whole comparisons."""
    return [
        Session(lane.name, trace, repeat)
        for repeat in range(plan.repeat)
        for trace in traces
        for lane in plan.lane
    ]


def labelled(name: str, histories: list[T]) -> dict[str, T]:
    """The histories of a trace by label: its name, or `NAME#1`, `NAME#2`, … where its threads are independent."""
    if len(histories) == 1:
        return {name: histories[0]}
    return {f"{name}{_PART}{number}": history for number, history in enumerate(histories, 1)}


def trace_name(label: str) -> str:
    """The trace that a label belongs to: the folder of its copy."""
    return label.partition(_PART)[0]


def batches(plan: Plan, todo: Sequence[Session]) -> list[list[list[Session]]]:
    """The order of work: phases one after another, each a set of queues that run at the same time.

    `parallel`: one queue per lane, lanes of one `exclusive` group in blocks. `sequential`: lane after lane, repeat
    after repeat. `interleaved`: one session at a time, A B B A, so that drift hits both lanes alike.
    """
    if plan.order == "interleaved":
        return _interleaved(plan, todo)
    if plan.order == "sequential":
        return [[queue] for lane in plan.lane for queue in _by_repeat(lane, todo)]
    by_lane = {lane.name: [session for session in todo if session.lane == lane.name] for lane in plan.lane}
    phases = _parallel(plan, by_lane)
    return [part for phase in phases for part in _rested(phase)] if plan.cool_down else phases


def _by_repeat(lane: LanePlan, todo: Sequence[Session]) -> list[list[Session]]:
    mine = [session for session in todo if session.lane == lane.name]
    return [
        [session for session in mine if session.repeat == n]
        for n in sorted({session.repeat for session in mine})
    ]


def _rested(phase: list[list[Session]]) -> Iterator[list[list[Session]]]:
    """A phase repeat by repeat, so that there is a moment to rest in."""
    for repeat in sorted({session.repeat for queue in phase for session in queue}):
        parts = [[session for session in queue if session.repeat == repeat] for queue in phase]
        yield [part for part in parts if part]


def _interleaved(plan: Plan, todo: Sequence[Session]) -> list[list[list[Session]]]:
    order: list[list[list[Session]]] = []
    for _, group in itertools.groupby(todo, key=lambda session: (session.repeat, session.trace)):
        lanes = list(group)
        order.append([lanes if len(order) % 2 == 0 else lanes[::-1]])
    exclusive = {lane.name for lane in plan.lane if lane.exclusive}
    blocks = [[[c for c in todo if c.lane == name]] for name in sorted(exclusive)]
    open_lanes = [[[c for c in queue if c.lane not in exclusive] for queue in phase] for phase in order]
    return [phase for phase in [*open_lanes, *blocks] if any(phase)]


def _parallel(plan: Plan, by_lane: dict[str, list[Session]]) -> list[list[list[Session]]]:
    groups: dict[str, list[list[Session]]] = {}
    for lane in plan.lane:
        if by_lane[lane.name]:
            groups.setdefault(lane.exclusive or f"/{lane.name}", []).append(by_lane[lane.name])
    phases = itertools.zip_longest(*groups.values())
    return [[queue for queue in phase if queue] for phase in phases]


@dataclass(frozen=True, slots=True)
class Share:
    """The `number`th of `of` parts, counted from 0."""

    number: int = 0
    of: int = 1

    def part(self, total: int) -> int:
        """Of so many places, those of this part: the parts add up to all."""
        return total // self.of + (self.number < total % self.of)

    def deal(self, order: Iterable[T]) -> Iterator[T]:
        """Every `of`th of what comes."""
        return islice(order, self.number, None, self.of)


def shards(todo: Sequence[Session], n: int) -> list[list[Session]]:
    """The sessions in `n` parts, each in the order of `todo`.

    A session with all its threads lies in one part. Sessions of one trace and repeat lie together whatever their lane; the
    hash of the two decides their turn, so that parts differ by one tree at most.
    """
    trees = sorted({(session.trace, session.repeat) for session in todo}, key=_hash)
    part_of = {tree: place % n for place, tree in enumerate(trees)}
    parts: list[list[Session]] = [[] for _ in range(n)]
    for session in todo:
        parts[part_of[session.trace, session.repeat]].append(session)
    return parts


def _hash(tree: tuple[str, int]) -> bytes:
    trace, repeat = tree
    return hashlib.sha256(f"{trace}/{repeat}".encode()).digest()
