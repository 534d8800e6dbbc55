"""What the time to the first token says of a prompt: whether it was computed or came from the cache."""

from __future__ import annotations

import math

from replayer.signals.prefix_reuse.finding import TurnReuse, Witness

_CLEAR = 2.0
"""How many times longer a full prefill must be than the ideal one before a time can tell them apart."""

_MARGIN = 1.2
"""How far from the middle, on a ratio scale, a time must lie."""

_APART = 1.5
"""How many times longer than the shortest the longest cold prompt must be to learn the cost of a token from both."""

_LEAST_NS = 100_000_000
"""A shorter cold prefill is mostly fixed cost, which caching does not shorten."""


class TtftWitness:
    """Time to first token as an independent witness, on servers that run one stream at a time.

    A first token costs a fixed part and a part per token that is computed. The cost per token is learnt from requests
    that nothing can have been cached for: between the shortest and the longest of them, or above the quickest answer of
    all, as far as that can be a fixed cost. Where that leaves next to nothing, as with a small model, the clock cannot tell a warm cache from a cold one.
    """

    def __init__(self) -> None:
        self._cold: dict[int, int] = {}
        """Quickest time to first token in nanoseconds, by length of prompts that nothing was cached for."""
        self._quickest = 0

    def learn(self, turn: TurnReuse, ttft_ns: int) -> None:
        self._quickest = min(self._quickest or ttft_ns, ttft_ns)
        if turn.shared * 8 <= turn.prompt_tokens:
            length = turn.prompt_tokens
            self._cold[length] = min(self._cold.get(length, ttft_ns), ttft_ns)
            if len(self._cold) > 2:
                self._cold = {length: self._cold[length] for length in (min(self._cold), max(self._cold))}

    def judge(self, turn: TurnReuse, ttft_ns: int) -> Witness | None:
        """`cached` or `recomputed`, whichever time is nearer on a ratio scale; None when it cannot tell."""
        if not self._cold or not turn.ideal:
            return None
        fixed, pace = self._pace(min(self._quickest, ttft_ns))
        cold = fixed + pace * turn.prompt_tokens
        warm = fixed + pace * max(1, turn.prompt_tokens - turn.ideal)
        middle = math.sqrt(cold * warm)
        if cold < _CLEAR * warm or cold < _LEAST_NS or middle / _MARGIN < ttft_ns < middle * _MARGIN:
            return None
        return "cached" if ttft_ns < middle else "recomputed"

    def _pace(self, quickest: int) -> tuple[float, float]:
        """Nanoseconds of the fixed part, and per token."""
        short, long = min(self._cold), max(self._cold)
        if long >= _APART * short:
            pace = max(0.0, (self._cold[long] - self._cold[short]) / (long - short))
            return max(0.0, self._cold[long] - pace * long), pace
        fixed = min(quickest, _LEAST_NS)
        return fixed, (self._cold[long] - fixed) / long
