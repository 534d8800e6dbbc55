"""How much of each prompt the engine took from its cache, as one of the signals (`prefix_reuse` has the analysis)."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.signals.base import Signal, TurnFacts
from replayer.signals.prefix_reuse.conclusion import session_verdict
from replayer.signals.prefix_reuse.finding import PrefixFinding


class PrefixReuseSignal(Signal):
    """Keeps a session's findings for its verdict; the runner makes them, since tokens may have to be asked for."""

    name = "prefix_reuse"
    version = 1

    def __init__(self) -> None:
        self._found: list[PrefixFinding] = []

    def after_turn(self, turn: TurnFacts) -> Sequence[PrefixFinding]:
        if turn.reuse is None:
            return ()
        self._found.append(turn.reuse)
        return (turn.reuse,)

    def verdicts(self) -> dict[str, str]:
        return {"prefix_cache": session_verdict(self._found)} if self._found else {}
