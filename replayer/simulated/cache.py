"""A paged prefix cache: a radix tree over packed tokens, in whole blocks, with LRU eviction.

For any block size it answers what vLLM's chained block hashes and SGLang's radix tree would: the longest cached
prefix in whole blocks, and never the whole prompt, because the last token must be computed
(`vllm-0.21.0-h200`: 3632 of 3646 in blocks of 16; `sglang-0.5.12-h200`: 3693 of 3694 with page size 1).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from replayer.simulated.token_bytes import WIDTH
from replayer.text import shared_start


@dataclass(slots=True, eq=False)
class Node:
    """One edge of the tree and the node at its end. `edge` is a whole number of blocks."""

    edge: bytes
    parent: Node | None
    children: dict[bytes, Node] = field(default_factory=dict)
    used: int = 0
    cut: bool = False
    """Blocks at its end were evicted: what was cached after it is gone."""
    pins: int = 0
    """Running requests that need it: it cannot be evicted."""


@dataclass(slots=True)
class Place:
    """Where an inserted prompt ended: the node, and the tokens after its last whole block."""

    node: Node
    rest: bytes


class PrefixCache:
    def __init__(self, block_size: int, pool_tokens: int) -> None:
        self._block = block_size * WIDTH
        self._capacity = pool_tokens * WIDTH
        self._pinned = self._reserved = self._evicted = 0
        self.clear()

    def clear(self) -> bool:
        """False, and nothing is done, while requests run on it."""
        if self._pinned or self._reserved:
            return False
        self._roots: dict[str, Node] = {}
        self._bytes = 0
        self._clock = 0
        self._leaves: list[tuple[int, int, Node]] = []
        return True

    @property
    def tokens(self) -> int:
        return self._bytes // WIDTH

    @property
    def held(self) -> int:
        """Tokens that running requests need: their cached prompts, and what they computed since."""
        return (self._pinned + self._reserved) // WIDTH

    @property
    def evicted(self) -> int:
        """Tokens, since the start."""
        return self._evicted // WIDTH

    @property
    def over(self) -> bool:
        return self._bytes + self._reserved > self._capacity

    def reserve(self, tokens: int) -> None:
        """Room for tokens that are computed but not yet shared, or (negative) given back; whole blocks count."""
        self._reserved += tokens * WIDTH
        self._evict(None)

    def match(self, tokens: bytes, *, salt: str = "", backoff: bool = False) -> int:
        """How many leading tokens of a prompt are cached and may be used. Each salt has a tree of its own."""
        return self.find(tokens, salt=salt, backoff=backoff)[1]

    def find(self, tokens: bytes, *, salt: str = "", backoff: bool = False) -> tuple[Node, int]:
        """The node that holds the cached prefix, for `pin`, and its tokens."""
        limit = max(0, len(tokens) - WIDTH) // self._block * self._block
        node, found = self._walk(tokens[:limit], self._root(salt))
        return node, (max(0, found - self._block) if backoff else found) // WIDTH

    def pin(self, node: Node) -> Node:
        at: Node | None = node
        while at is not None:
            at.pins += 1
            self._pinned += len(at.edge) if at.pins == 1 else 0
            at = at.parent
        return node

    def unpin(self, node: Node) -> None:
        at: Node | None = node
        while at is not None:
            at.pins -= 1
            self._pinned -= 0 if at.pins else len(at.edge)
            at = at.parent
        if not node.children and not node.pins:
            heapq.heappush(self._leaves, (node.used, id(node), node))
        self._evict(None)

    def insert(self, tokens: bytes, *, salt: str = "") -> Place:
        return self._insert(self._root(salt), tokens)

    def extend(self, place: Place, tokens: bytes) -> None:
        """Cache what was generated after a prompt, unless the prompt was evicted meanwhile."""
        if place.node in self._roots.values() or (place.node.parent is not None and not place.node.cut):
            self._insert(place.node, place.rest + tokens)

    def _insert(self, start: Node, tokens: bytes) -> Place:
        whole = len(tokens) // self._block * self._block
        node, found = self._walk(tokens[:whole], start)
        if found < whole:
            node = self._add(node, tokens[found:whole])
        self._touch(node)
        self._evict(node)
        return Place(node, tokens[whole:])

    def _root(self, salt: str) -> Node:
        return self._roots.setdefault(salt, Node(b"", None))

    def _walk(self, tokens: bytes, node: Node) -> tuple[Node, int]:
        """Follow `tokens` as far as they are cached; the last node is split so that it ends there."""
        at = 0
        while child := node.children.get(tokens[at : at + self._block]):
            shared = shared_start(child.edge, tokens[at : at + len(child.edge)]) // self._block * self._block
            at += shared
            if shared < len(child.edge):
                return self._split(child, shared), at
            node = child
        self._touch(node)
        return node, at

    def _split(self, node: Node, at: int) -> Node:
        """A new node takes the head of the edge; `node` keeps the tail, so that places stay valid."""
        assert node.parent is not None
        head = Node(node.edge[:at], node.parent, {node.edge[at : at + self._block]: node}, node.used)
        head.pins = node.pins
        node.parent.children[node.edge[: self._block]] = head
        node.edge, node.parent = node.edge[at:], head
        self._touch(head)
        return head

    def _add(self, parent: Node, edge: bytes) -> Node:
        child = Node(edge, parent)
        parent.children[edge[: self._block]] = child
        self._bytes += len(edge)
        return child

    def _touch(self, node: Node | None) -> None:
        self._clock += 1
        last = node
        while node is not None:
            node.used = self._clock
            node = node.parent
        if last is not None and not last.children:
            heapq.heappush(self._leaves, (self._clock, id(last), last))

    def _evict(self, keep: Node | None) -> None:
        """Cut the tails of the leaves that were used longest ago and that no running request needs."""
        while self.over and self._leaves:
            used, _, leaf = heapq.heappop(self._leaves)
            if leaf.children or leaf.parent is None or leaf.used != used or leaf.pins:
                continue
            if leaf is keep and self._leaves:
                heapq.heappush(self._leaves, (self._clock + 1, id(leaf), leaf))
                leaf.used = self._clock = self._clock + 1
                continue
            self._trim(leaf)

    def _trim(self, leaf: Node) -> None:
        blocks = -(-(self._bytes + self._reserved - self._capacity) // self._block)
        cut = min(len(leaf.edge), blocks * self._block)
        self._bytes -= cut
        self._evicted += cut
        leaf.cut, parent = True, leaf.parent
        if cut < len(leaf.edge):
            leaf.edge = leaf.edge[:-cut]
            heapq.heappush(self._leaves, (leaf.used, id(leaf), leaf))
            return
        assert parent is not None
        del parent.children[leaf.edge[: self._block]]
        leaf.parent = None
        if not parent.children and parent.parent is not None:
            heapq.heappush(self._leaves, (parent.used, id(parent), parent))
