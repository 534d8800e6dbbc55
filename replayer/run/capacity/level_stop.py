"""Ends a level as soon as its share of good turns is known to lie on one side of its threshold."""

from __future__ import annotations

from collections import deque

from replayer.journal.events import AnyEvent, SessionFinished, SessionStarted, TurnStarted
from replayer.journal.turns import TurnFacts
from replayer.journal.view import Fold
from replayer.metrics.capacity.levels import decided, shares_of
from replayer.metrics.capacity.limits import Limit
from replayer.metrics.capacity.search import Outcome
from replayer.metrics.capacity.stamp import LEAST_SECONDS, LEAST_TURNS
from replayer.plan.load_shape import STEADY, LoadShape

_EVERY = 5
"""Turns between two looks."""


class LevelStop:
    """Takes every event of a level. Turns count in the order of sending, and none before all that were sent earlier have
    ended: those that are quick would otherwise speak for the slow ones."""

    metric = "share of good turns"

    def __init__(self, sessions: int, load: LoadShape, limits: tuple[Limit, ...], threshold: float) -> None:
        self._needed, self._warm_up = STEADY * sessions, load.warm_up * 1e9
        self._least = max(LEAST_TURNS, sessions)
        self._limits, self._threshold = limits, threshold
        self._fold = Fold()
        self._alive = 0
        self._steady: int | None = None
        """When enough sessions were alive, on the journal's clock."""
        self._sent: deque[TurnFacts] = deque()
        self._counted: list[TurnFacts] = []
        self._looked = 0
        self.outcome: Outcome | None = None

    def apply(self, event: AnyEvent) -> None:
        self._fold.apply(event)
        match event:
            case SessionStarted():
                self._alive += 1
                if self._alive >= self._needed and self._steady is None:
                    self._steady = event.at
            case SessionFinished():
                self._alive -= 1
            case TurnStarted() if self._is_steady(event.at):
                self._sent.append(self._fold.attempt(event.session, event.attempt).turns[event.turn])
            case _:
                pass
        while self._sent and self._sent[0].total_ns is not None and self._is_judged(self._sent[0]):
            self._counted.append(self._sent.popleft())

    def _is_judged(self, turn: TurnFacts) -> bool:
        return turn.usable is not None or turn.error is not None

    def _is_steady(self, at: int) -> bool:
        begun = next(iter(self._fold.loads.values())).started if self._fold.loads else at
        return self._steady is not None and at >= begun + self._warm_up

    def reason(self) -> str | None:
        """Why the level need not go on."""
        n = len(self._counted)
        if self.outcome is None and n >= max(self._least, self._looked + _EVERY) and self._long_enough():
            self._looked = n
            shares = shares_of(self._counted, self._limits, self._threshold)
            self.outcome = decided(shares, self._limits, self._threshold)
        if self.outcome is None:
            return None
        return f"{n} turns are enough: the level {self.outcome}"

    def _long_enough(self) -> bool:
        return self._fold.last_at - self._counted[0].at >= LEAST_SECONDS * 1e9
