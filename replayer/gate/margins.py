"""What a gate may overlook: how much worse a figure may be, in points of a share or in percent of a time or speed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from replayer.errors import PlanError
from replayer.metrics.catalogue import COMPARED, Metric, resolve
from replayer.metrics.decide import ALPHA, PRIMARY_SHARE
from replayer.metrics.run_documents import Pair

DEFAULT_MARGINS = {"usable_turn_rate": "1", "ttft_ms.p95": "10%", "decode_tok_s": "10%"}
"""An invalid call, a collapse or an engine error makes its turn unusable: one figure for all of them finds a regression
with the fewest turns."""
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(%?)\Z")


@dataclass(frozen=True, slots=True)
class Margin:
    """`amount` is a share: 0.01 is one point of a rate, or one percent of a time."""

    metric: Metric
    amount: float
    relative: bool

    def allowed(self, pair: Pair) -> float:
        """In the unit of the figure."""
        return self.amount * abs(pair.value_a) if self.relative else self.amount

    def has_room(self, pair: Pair) -> bool:
        """Whether the figure can get worse by more than is allowed at all: no share falls below 0."""
        room = pair.value_a if pair.better == "higher" else 1 - pair.value_a
        return self.relative or room > self.amount

    def is_beyond(self, pair: Pair) -> bool:
        """Worse by more than is allowed, be it noise or not."""
        worse = pair.difference if pair.better == "lower" else -pair.difference
        return worse > self.allowed(pair)

    def is_broken(self, pair: Pair) -> bool:
        """Worse beyond noise, and by more than is allowed."""
        return pair.decided and (pair.p_value_adjusted or 0.0) < self.level and self.is_beyond(pair)

    @property
    def level(self) -> float:
        """Rates and times are two families that share the 5 %."""
        return ALPHA * (1 - PRIMARY_SHARE if self.metric.drifts else PRIMARY_SHARE)

    def words(self) -> str:
        unit = "%" if self.relative else "point" if self.amount == 0.01 else "points"
        return f"{self.amount * 100:g} {unit}"


def margins(given: dict[str, str]) -> dict[str, Margin]:
    """The defaults with what was given. Raises PlanError naming the figure."""
    return {key: _margin(key, text) for key, text in {**DEFAULT_MARGINS, **given}.items() if text != "off"}


def _margin(key: str, text: str) -> Margin:
    try:
        metric = resolve(key, among=COMPARED)
    except PlanError as error:
        raise PlanError(f"--margin {key}={text}: {error}") from None
    found = _AMOUNT.match(text.strip())
    relative = metric.unit != "points"
    if found is None or (relative and not found[2]) or (not relative and found[2]):
        form = f"{key}=10%" if relative else f"{key}=1 (points)"
        raise PlanError(f"--margin {key}={text}: write {form}, or {key}=off")
    return Margin(metric, float(found[1]) / 100, relative)


def parse(texts: list[str]) -> dict[str, str]:
    """`METRIC=AMOUNT` of the command line."""
    found = {}
    for text in texts:
        key, equals, amount = text.partition("=")
        if not equals:
            raise PlanError(
                f"--margin {text!r} is not METRIC=AMOUNT, for example usable_turn_rate=1 or ttft_ms.p95=10%"
            )
        found[key.strip()] = amount.strip()
    margins(found)
    return found
