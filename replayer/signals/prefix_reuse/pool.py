"""Which of the tokens ever seen a KV pool of known size would still hold: whole blocks, least recently used out first."""

from __future__ import annotations

import heapq

from replayer.signals.prefix_reuse.index import Node, Position, RadixIndex, path


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
        self.taken = 0
        """Tokens taken up in all, those held again included."""
        self.evicted = 0

    @property
    def tokens(self) -> int:
        """What it can hold."""
        return self._capacity * self._block

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

    def _offer(self, node: Node) -> None:
        heapq.heappush(self._candidates, (node.used, -node.order, node))

    def _evict(self) -> None:
        used, _, node = heapq.heappop(self._candidates)
        blocks = self._blocks(node)
        if used != node.used or node.pins or node.resident <= node.start:
            return
        cut = min(blocks, self._held - self._capacity)
        left = (node.resident // self._block - cut) * self._block if cut < blocks else node.start
        self._hold(node, left)
        if cut < blocks:
            self._offer(node)
