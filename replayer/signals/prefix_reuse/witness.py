"""Time to first token as an independent witness of prefix reuse, for lanes that run one stream at a time."""

from __future__ import annotations

import math

from replayer.signals.prefix_reuse.finding import TurnReuse, Witness

_CLEAR = 2.0
"""How many times longer a full prefill must be than the ideal one before a time can tell them apart."""

_MARGIN = 1.2
"""How far from the middle, on a ratio scale, a time must lie."""

_LEAST_NS = 100_000_000
"""A shorter cold prefill is mostly fixed cost, which caching does not shorten."""


class TtftWitness:
    """Learns the lane's pace from requests that nothing can have been cached for."""

    def __init__(self) -> None:
        self._tokens = 0
        self._ns = 0

    def learn(self, turn: TurnReuse, ttft_ns: int) -> None:
        """Keep the longest cold request: the fixed cost weighs least in it."""
        if turn.shared * 8 <= turn.prompt_tokens and turn.prompt_tokens > self._tokens:
            self._tokens, self._ns = turn.prompt_tokens, ttft_ns

    def judge(self, turn: TurnReuse, ttft_ns: int) -> Witness | None:
        """`cached` or `recomputed`, whichever prefill time is nearer on a ratio scale; None when it cannot tell."""
        if not self._tokens or not turn.ideal:
            return None
        pace = self._ns / self._tokens
        cold = pace * turn.prompt_tokens
        warm = pace * max(1, turn.prompt_tokens - turn.ideal)
        middle = math.sqrt(cold * warm)
        if cold < _CLEAR * warm or cold < _LEAST_NS or middle / _MARGIN < ttft_ns < middle * _MARGIN:
            return None
        return "cached" if ttft_ns < middle else "recomputed"
