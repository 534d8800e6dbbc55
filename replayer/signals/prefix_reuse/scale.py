"""Depths of a prompt in the engine's own tokens, from the prompts that it has counted."""

from __future__ import annotations

from collections.abc import Iterator

from replayer.signals.prefix_reuse.index import Node, Position
from replayer.signals.prefix_reuse.tokens import template_tail

_BETWEEN = 0.15
"""Share of the distance to the nearest prompt that the engine counted by which an estimate between two may be off."""


class Scale:
    """Depths of a prompt in the engine's tokens: between prompts that the engine has counted itself, in proportion."""

    def __init__(self, end: Position, length: int, tokens: int, owner: tuple[int, int] | None) -> None:
        self._known: list[tuple[int, int]] = []
        """Deepest first, as far as they were asked for: a long thread has one for each of its turns."""
        self._next: Node | None = end.resolve().node
        self._ends = [(length, tokens)] + ([owner] if owner else [])

    def _deepest_first(self) -> Iterator[tuple[int, int]]:
        yield from self._known
        while (node := self._next) is not None and node.parent is not None:
            self._next = node.parent
            if node.anchor is not None:
                self._known.append((node.depth, node.anchor))
                yield self._known[-1]

    def tokens(self, depth: int) -> tuple[int, int]:
        """Tokens up to a depth, and by how much that may be off."""
        if depth <= 0:
            return 0, template_tail("engine")
        (low, few), above = (0, 0), [end for end in self._ends if end[0] >= depth]
        for known in self._deepest_first():
            if known[0] >= depth:
                above.append(known)
            if known[0] <= depth:
                low, few = known
                break
        high, many = min(above) if above else self._ends[-1]
        if high <= low:
            return few, template_tail("engine")
        rate = max(0.0, (many - few) / (high - low))
        distance = min(depth - low, high - depth) * rate
        return round(few + (depth - low) * rate), template_tail("engine") + round(_BETWEEN * distance)
