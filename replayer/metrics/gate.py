"""`--fail-if`: conditions on the figures of a run that turn a CI job red.

usable_turn_rate < 0.95              a figure of the catalogue, of any lane
collapsed_turns > 0
ttft_ms.p95 > 500                    a time names its quantile
server.preempted > 0                 any other number of a lane in `report --json`, by its path
usable_turn_rate drops by > 0.02     against the baseline run, else the first lane; only where it is more than noise
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import fields

from replayer.errors import PlanError
from replayer.journal.several_runs import against
from replayer.journal.view import RunView
from replayer.lazy import dataclass
from replayer.metrics.catalogue import COMPARED, METRICS, Metric, resolve
from replayer.metrics.compare import compare, family
from replayer.metrics.documents import LaneFigures, number_at
from replayer.metrics.shown import number, with_unit
from replayer.plan.model import Plan

_PATTERN = re.compile(r"\s*([\w.]+)\s*(drops by|rises by)?\s*(<=|>=|<|>|==)\s*(-?\d+(?:\.\d+)?)\s*\Z")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
_PATHS = {field.name for field in fields(LaneFigures)}


def check_plan(plan: Plan, origin: str) -> None:
    """Raises PlanError for a condition that does not parse, or an early stop on an unknown metric.

    The plan itself cannot check them: it lies below the metrics.
    """
    for condition in plan.fail_if:
        try:
            parse(condition)
        except PlanError as error:
            raise PlanError(f"{origin}: fail_if: {error}") from None
    if plan.stop_when_decided is not None:
        try:
            resolve(plan.stop_when_decided, among=COMPARED)
        except PlanError as error:
            words = f"stop_when_decided {plan.stop_when_decided!r} is not a metric"
            raise PlanError(f"{origin}: {words}: {error}") from None
        if len(plan.lane) < 2:
            raise PlanError(f"{origin}: stop_when_decided compares lanes, and there is only one")


@dataclass(frozen=True, slots=True)
class Condition:
    """`metric` is None for a path into `report --json`."""

    text: str
    figure: str
    metric: Metric | None
    change: str | None
    sign: str
    bound: float

    @property
    def timed(self) -> bool:
        """It is about a time or a speed, as far as a path tells."""
        if self.metric is not None:
            return self.metric.unit in ("ms", "tok/s", "requests/s")
        return any(word in self.figure for word in ("_ms", "tok_s", "per_s", "goodput"))

    def holds(self, value: float) -> bool:
        return _COMPARE[self.sign](value, self.bound)

    def read(self, lane: LaneFigures) -> float | None:
        if self.metric is not None:
            return lane.figures.get(self.metric.key)
        return number_at(lane, self.figure)

    def words(self, value: float) -> str:
        """`TTFT p95 22.6 ms (limit 20 ms)`."""
        if self.metric is None:
            return f"{self.figure} {number(value)} (limit {self.sign} {self.bound:g})"
        shown, limit = (with_unit(self.metric, one) for one in (value, self.bound))
        return f"{self.metric.label} {shown} (limit {limit})"


def parse(text: str) -> Condition:
    """Raises PlanError naming the expression and what is wrong with it."""
    match = _PATTERN.match(text)
    if match is None:
        raise PlanError(
            f'--fail-if {text!r} is not FIGURE < NUMBER, for example "usable_turn_rate < 0.95" '
            'or "usable_turn_rate drops by > 0.02"'
        )
    figure, change, sign, bound = match.groups()
    try:
        metric = _metric(figure, compared=bool(change))
    except PlanError as error:
        raise PlanError(f"--fail-if {text!r}: {error}") from None
    return Condition(text, figure, metric, change, sign, float(bound))


def _metric(figure: str, *, compared: bool) -> Metric | None:
    """None for a path; a figure of the catalogue may also be named by its path."""
    by_path = {metric.path: metric for metric in METRICS.values()}
    if not compared and figure not in METRICS:
        if figure in by_path:
            return by_path[figure]
        head, dot, _ = figure.partition(".")
        if dot and head in _PATHS and not any(path.startswith(f"{head}.p") for path in by_path):
            return None
    return resolve(figure, among=COMPARED if compared else METRICS)


def broken(
    conditions: tuple[str, ...], lanes: list[LaneFigures], view: RunView, base: RunView | None = None
) -> list[str]:
    """One sentence per condition and lane that holds. `base`: the run that changes are measured against."""
    reasons = []
    for condition in map(parse, conditions):
        if condition.change:
            reasons += _changes(condition, view, base)
            continue
        reasons += [
            f"{lane.lane}: {condition.words(value)}, --fail-if {condition.text!r}"
            for lane in lanes
            if (value := condition.read(lane)) is not None and condition.holds(value)
        ]
    return reasons


def _changes(condition: Condition, view: RunView, base: RunView | None) -> list[str]:
    """A change that could be noise breaks nothing: the same comparison, in the same family, as `compare` prints."""
    first, pairs = view.lanes[0].name, None
    if base is not None:
        view, pairs = against(view, base)
    direction = -1 if condition.change == "drops by" else 1
    return [
        f"{pair.conclusion}, --fail-if {condition.text!r}"
        for pair in compare(view, pairs=pairs, metrics=family(condition.figure))
        if pair.metric == condition.figure and (base is not None or pair.a == first)
        if pair.decided and condition.holds(direction * pair.difference)
    ]
