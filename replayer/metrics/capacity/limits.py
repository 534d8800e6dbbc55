"""Limits of a level: `ttft_ms.p95=15000,decode_tok_s.p5=30`, each held by a share of the turns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from replayer.errors import PlanError
from replayer.journal.turns import TurnFacts
from replayer.metrics import turn_values as of
from replayer.text import nearest

_LIMIT = re.compile(r"(?P<figure>[a-z_]+)(\.p(?P<place>\d+(\.\d+)?))?=(?P<bound>\d+(\.\d+)?)\Z")


FIGURES: dict[str, tuple[Callable[[TurnFacts], float | None], bool]] = {
    "ttft_ms": (of.ttft_ms, True),
    "tpot_ms": (of.tpot_ms, True),
    "e2e_ms": (of.e2e_ms, True),
    "decode_tok_s": (of.decode_tok_s, False),
}
"""How a turn's value is read, and whether it has to stay under its bound."""
_SHOWN = {
    "ttft_ms": "TTFT {} ms",
    "tpot_ms": "TPOT {} ms",
    "e2e_ms": "whole reply {} ms",
    "decode_tok_s": "decode {} tok/s",
}
PLACES = {True: 95.0, False: 5.0}
"""Quantiles that are meant where none is named."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a figure of single turns, and the share of turns that must keep it."""

    figure: str
    bound: float
    share: float
    under: bool

    @property
    def words(self) -> str:
        sign = "≤" if self.under else "≥"
        return f"{self.figure} {sign} {self.bound:g} in {self.share:.0%} of the turns"

    def value(self, turn: TurnFacts) -> float | None:
        return FIGURES[self.figure][0](turn)

    def keeps(self, turn: TurnFacts) -> bool | None:
        """None where the turn does not say: its times are not the engine's, or its tokens were held back. A reply of one
        token has no speed, and keeps it; one that broke off keeps nothing."""
        if turn.error is not None or turn.ttft_ns is None:
            return False
        value = self.value(turn)
        if turn.stalled or (value is None and turn.held_back):
            return None
        return value is None or (value <= self.bound if self.under else value >= self.bound)


def shown(words: str) -> str:
    """A limit's words for people: `TTFT ≤ 2000 ms in 95% of the turns`."""
    figure, sign, bound, rest = words.split(" ", 3)
    return f"{_SHOWN[figure].format(f'{sign} {bound}')} {rest}"


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Raises PlanError."""
    return tuple(_parse(part.strip()) for part in text.split(",") if part.strip())


def _parse(text: str) -> Limit:
    found = _LIMIT.match(text)
    if found is None:
        raise PlanError(
            f"limit {text!r} is not FIGURE.pN=VALUE, for example ttft_ms.p95=15000 or decode_tok_s.p5=30"
        )
    figure = found["figure"]
    if figure not in FIGURES:
        raise PlanError(f"limit {text!r}: no figure {figure!r}{nearest(figure, FIGURES)}")
    under = FIGURES[figure][1]
    place = float(found["place"] or PLACES[under])
    share = place / 100 if under else 1 - place / 100
    if not 0 < share < 1:
        raise PlanError(f"limit {text!r}: the quantile must lie between 0 and 100")
    return Limit(figure, float(found["bound"]), share, under)


def within(turn: TurnFacts, limits: tuple[Limit, ...]) -> bool | None:
    """Whether a turn keeps every limit; None where its times say nothing."""
    kept = [limit.keeps(turn) for limit in limits]
    return False if False in kept else None if None in kept else True


def is_good(turn: TurnFacts, limits: tuple[Limit, ...]) -> bool | None:
    """Within every limit and usable. What is known not to be usable is not good, whatever its times are."""
    if turn.usable is False:
        return False
    return within(turn, limits)
