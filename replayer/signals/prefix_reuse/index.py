"""A radix tree over token streams: the longest prefix shared with anything a server was sent or gave, and which of it a
KV pool of known size would still hold (whole blocks, least recently used out first)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import count

from replayer.lazy import Newest, dataclass
from replayer.signals.prefix_reuse.tokens import WIDTH, Segment, common
from replayer.text import shared_start

_RECENT = 64
"""Streams that may still be extended or gone on from, and are therefore never forgotten."""
_THREADS = 4096
"""Lines of turns whose last stream is kept to go on from."""
_SCOPES = 64
"""Scopes that are kept after the last line of turns in them has ended."""
_TIDY = 1024
"""Offers to the pool's eviction beyond twice those that count, after which the others are dropped."""


@dataclass(slots=True, eq=False)
class Node:
    """An edge and the point at its end. `depth` is in tokens from the root, `label` the edge's packed tokens."""

    label: bytes
    depth: int
    parent: Node | None
    order: int
    owner: str = ""
    """Key of the stream that first brought this edge."""
    children: dict[bytes, Node] = field(default_factory=dict)
    seen: int = 0
    """Clock of the last stream that ended here; only leaves are ever forgotten by it."""
    used: int = 0
    resident: int = 0
    """Depth up to which the pool still holds this edge (see `Pool`)."""
    pins: int = 0
    """Children in which or below which the pool holds tokens."""
    passes: int = 0
    """Prompts that went through it; beyond two they are not counted."""
    settled: int | None = None
    """When a reply first proved that the server had computed it, since the last doubt."""
    anchor: int | None = None
    """Tokens from the root to the end of the edge, where the server counted a prompt that ended here."""
    stamp: int = 0
    """What the pool had taken up in all when this was last used."""

    def __lt__(self, other: Node) -> bool:
        """Nodes used at the same time, and of the same order, go in any order: a heap only has to be able to compare them."""
        return False

    @property
    def start(self) -> int:
        return self.parent.depth if self.parent else 0


@dataclass(frozen=True, slots=True)
class Position:
    """A point on the edge that ends in `node`. Splits leave it valid: they only insert nodes above."""

    node: Node
    depth: int

    def resolve(self) -> Position:
        node = self.node
        while node.parent is not None and node.parent.depth >= self.depth:
            node = node.parent
        return Position(node, self.depth)


def _tree(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.children.values())
        yield node


def path(node: Node | None) -> list[Node]:
    """The edges from the root to a node."""
    found = []
    while node is not None and node.parent is not None:
        found.append(node)
        node = node.parent
    return found[::-1]


class RadixIndex:
    """Streams of tokens, each distinct token stored once.

    Streams of one `thread` that start with the same segments go on from where those ended, so a turn costs what is
    new in it. A `scope` (salt, adapter) has a root of its own: nothing is shared across. `limit` bounds the tokens
    kept, at four bytes each: the branches seen longest ago go first.
    """

    def __init__(self, limit: int = 32_000_000) -> None:
        self.order = count(1)
        self._roots: dict[str, Node] = {}
        self.tokens = 0
        self.forgotten = 0
        """Tokens dropped because of the limit."""
        self._limit = limit
        self._clock = 0
        self._owner = ""
        self._threads: Newest[str, tuple[tuple[Segment, ...], list[Position]]] = Newest(_THREADS)

    def add(
        self, segments: Sequence[Segment], owner: str = "", *, scope: str = "", thread: str = ""
    ) -> tuple[Position, Position]:
        """Store a stream. Returns the point up to which its tokens were known, and its end."""
        self._owner, name = owner, f"{scope}\n{thread}"
        last, marks = self._threads.pop(name, ((), [Position(self._root(scope), 0)]))
        known = shared_start(last, tuple(segments))
        del marks[known + 1 :]
        position = marks[known].resolve()
        met: Position | None = None
        for segment in segments[known:]:
            position, matched = (position, 0) if met else self._walk(position, segment)
            if matched * WIDTH < len(segment):
                met = met or position
                position = self._grow(position, segment[matched * WIDTH :])
            marks.append(position)
        self._threads[name] = tuple(segments), marks
        self._see(position)
        return met or position, position

    def _root(self, scope: str) -> Node:
        """Scopes are in the order in which they were last entered."""
        root = self._roots.pop(scope) if scope in self._roots else Node(b"", 0, None, 0)
        self._roots[scope] = root
        return root

    def leave(self, thread: str, scopes: Iterable[str]) -> list[Node]:
        """Forget where a line of turns stands in these scopes: it has ended. Of those that nobody is in any more, the last
        ones are kept: a part of the same recording may follow. Returns what is forgotten, of many scopes at once."""
        for scope in scopes:
            self._threads.pop(f"{scope}\n{thread}", None)
        if len(self._roots) <= len(self._threads) + 2 * _SCOPES:
            return []
        live = {name.rpartition("\n")[0] for name in self._threads}
        left = [scope for scope in self._roots if scope not in live]
        gone = [node for scope in left[:-_SCOPES] for node in list(_tree(self._roots.pop(scope)))]
        for node in gone:
            self.tokens -= len(node.label) // WIDTH
            node.children.clear()  # parents refer back: only the garbage collector, which is put off, could free both
        return gone

    def extend(self, position: Position, segment: Segment, owner: str = "") -> Position:
        """Store what followed a stream, without making it the stream that the next one is compared with."""
        self._owner = owner
        position, matched = self._walk(position.resolve(), segment)
        if matched * WIDTH < len(segment):
            position = self._grow(position, segment[matched * WIDTH :])
        self._see(position)
        return position

    def split(self, position: Position) -> Node:
        """The node that ends exactly at a position."""
        position = position.resolve()
        node, depth = position.node, position.depth
        if node.depth == depth or node.parent is None:
            return node
        return self._split(node, depth)

    def _walk(self, position: Position, segment: Segment) -> tuple[Position, int]:
        node, depth = position.node, position.depth
        done, end = 0, len(segment)
        while done < end:
            if depth == node.depth:
                child = node.children.get(segment[done : done + WIDTH])
                if child is None:
                    break
                node = child
            at = (depth - node.start) * WIDTH
            turn = min(len(node.label) - at, end - done)
            matched = common(node.label[at : at + turn], segment[done : done + turn])
            depth += matched
            done += matched * WIDTH
            if matched * WIDTH < turn:
                break
        return Position(node, depth), done // WIDTH

    def _grow(self, position: Position, label: bytes) -> Position:
        parent = self.split(position)
        depth = parent.depth + len(label) // WIDTH
        child = Node(label, depth, parent, next(self.order), self._owner, resident=parent.depth)
        parent.children[label[:WIDTH]] = child
        self.tokens += len(label) // WIDTH
        return Position(child, depth)

    def _split(self, node: Node, depth: int) -> Node:
        parent = node.parent
        assert parent is not None
        cut = (depth - parent.depth) * WIDTH
        upper = Node(node.label[:cut], depth, parent, next(self.order), node.owner, used=node.used)
        upper.passes, upper.settled, upper.stamp = node.passes, node.settled, node.stamp
        upper.resident = min(node.resident, depth)
        node.resident = max(node.resident, depth)
        upper.pins = int(node.resident > depth or node.pins > 0)
        upper.children[node.label[cut : cut + WIDTH]] = node
        parent.children[node.label[:WIDTH]] = upper
        node.label, node.parent = node.label[cut:], upper
        return upper

    def _see(self, position: Position) -> None:
        self._clock += 1
        position.resolve().node.seen = self._clock
        if self.tokens > self._limit:
            self._forget()

    def _forget(self) -> None:
        """Drop whole leaves, oldest first, down to three quarters of the limit; never a recent stream."""
        goal = self._limit * 3 // 4
        self._threads.clear()  # their marks may lie on what goes now
        while self.tokens > goal:
            old = sorted(self._forgettable(), key=lambda leaf: leaf.seen)
            if not old:
                return
            for leaf in old:
                self._drop(leaf)
                if self.tokens <= goal:
                    return

    def _forgettable(self) -> list[Node]:
        """Leaves that no recent stream ended in and that hold no block of the pool."""
        return [
            node
            for root in self._roots.values()
            for node in _tree(root)
            if node.parent is not None
            and not node.children
            and node.seen < self._clock - _RECENT
            and node.resident <= node.start
        ]

    def _drop(self, leaf: Node) -> None:
        assert leaf.parent is not None
        del leaf.parent.children[leaf.label[:WIDTH]]
        leaf.parent.seen = max(leaf.parent.seen, leaf.seen)
        tokens = len(leaf.label) // WIDTH
        self.tokens -= tokens
        self.forgotten += tokens


class Pool:
    """LRU residency over a radix index.

    A request touches its whole path, so along a path the last use never grows with depth; the victim is the
    deepest block of the path used longest ago, as in vLLM's free queue and SGLang's leaf eviction.
    """

    def __init__(self, index: RadixIndex, block_size: int, capacity_tokens: int) -> None:
        self._index = index
        self._block = block_size
        self._capacity = capacity_tokens // block_size
        self._clock = 0
        self._held = 0
        self._candidates: list[tuple[int, int, Node]] = []
        self._tidy_at = _TIDY
        self._gone = Node(b"", 0, None, 0)
        self.taken = 0
        """Tokens taken up in all, those held again included."""
        self.evicted = 0

    @property
    def tokens(self) -> int:
        """What it can hold."""
        return self._capacity * self._block

    def resize(self, tokens: int) -> None:
        """What does not fit any more is evicted with the next use."""
        self._capacity = tokens // self._block

    def resident(self, position: Position) -> int:
        """How many leading tokens of the stream that ends at `position` are still held."""
        depth = 0
        for node in path(position.resolve().node):
            depth = min(node.resident, position.depth)
            if node.resident < node.depth:
                break
        return depth

    def use(self, position: Position) -> None:
        """The stream up to `position` is now held and was used last; what does not fit any more is evicted."""
        self._clock += 1
        end = self._index.split(position)
        for node in path(end):
            node.used, node.stamp = self._clock, self.taken
            if node.resident < node.depth:
                self._hold(node, node.depth)
        self._offer(end)
        while self._held > self._capacity and self._candidates:
            self._evict()

    def _blocks(self, node: Node) -> int:
        return node.resident // self._block - node.start // self._block

    def _hold(self, node: Node, depth: int) -> None:
        before, was = self._blocks(node), self._occupied(node)
        node.resident = depth
        change = self._blocks(node) - before
        self._held += change
        self.taken += max(0, change) * self._block
        self.evicted += max(0, -change) * self._block
        if self._occupied(node) != was:
            self._repin(node, -1 if was else 1)

    @staticmethod
    def _occupied(node: Node) -> bool:
        return node.pins > 0 or node.resident > node.start

    def _repin(self, node: Node, change: int) -> None:
        parent = node.parent
        while parent is not None:
            was = self._occupied(parent)
            parent.pins += change
            if change < 0 and not parent.pins:
                self._offer(parent)
            if self._occupied(parent) == was:
                return
            parent = parent.parent

    def condense(self, gone: Sequence[Node]) -> None:
        """What is held of forgotten streams keeps its room and its turn, without its text: a node for each last use."""
        held: dict[int, int] = {}
        for node in gone:
            if node.resident > node.start:
                held[node.used] = held.get(node.used, 0) + self._blocks(node)
            node.used, node.label = -1, b""
        for used, blocks in held.items():
            if blocks:
                depth, order = blocks * self._block, next(self._index.order)
                self._offer(Node(b"", depth, self._gone, order, used=used, resident=depth))

    def _offer(self, node: Node) -> None:
        heapq.heappush(self._candidates, (node.used, -node.order, node))
        if len(self._candidates) > self._tidy_at:
            self._candidates = [found for found in set(self._candidates) if self._counts(found)]
            heapq.heapify(self._candidates)
            self._tidy_at = 2 * len(self._candidates) + _TIDY

    @staticmethod
    def _counts(offered: tuple[int, int, Node]) -> bool:
        """Whether it was not used again since it was offered, and holds something that nothing below it needs."""
        used, _, node = offered
        return used == node.used and not node.pins and node.resident > node.start

    def _evict(self) -> None:
        offered = heapq.heappop(self._candidates)
        if not self._counts(offered):
            return
        node = offered[2]
        blocks = self._blocks(node)
        cut = min(blocks, self._held - self._capacity)
        left = (node.resident // self._block - cut) * self._block if cut < blocks else node.start
        self._hold(node, left)
        if cut < blocks:
            self._offer(node)
