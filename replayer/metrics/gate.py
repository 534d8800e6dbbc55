"""`--fail-if`: conditions on the figures of a run that turn a CI job red.

usable_turn_rate < 0.95              a figure of any lane
collapsed_turns > 0
ttft_ms.p95 > 500                    a figure within a figure
usable_turn_rate drops by > 0.02     against the baseline run, else the first lane; only where it is more than noise
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replayer.errors import PlanError
from replayer.journal.several_runs import against
from replayer.journal.view import RunView
from replayer.metrics.compare import ALL, METRICS, compare, lane_pairs
from replayer.plan.model import Plan
from replayer.text import nearest

_PATTERN = re.compile(r"\s*([\w.]+)\s*(drops by|rises by)?\s*(<=|>=|<|>|==)\s*(-?\d+(?:\.\d+)?)\s*\Z")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
_PATHS = {
    "usable_turn_rate": "usable_turn_rate.value",
    "invalid_calls": "tool_calls.invalid",
    "failed_executions": "tool_calls.failed_execution",
    "collapsed_turns": "repetition.collapsed_turns",
    "collapsed_rate": "repetition.rate.value",
    "prefix_hit_rate": "prefix_cache.reported",
    "decode_tok_s": "decode_tok_s.value",
    "prefill_tok_s": "prefill_tok_s.value",
    "ttft_ms": "ttft_ms.p95",
    "itl_ms": "itl_ms.p95",
    "tpot_ms": "load.tpot_ms.p95",
    "output_tok_s": "load.output_tok_s",
    "goodput": "load.goodput.requests_per_s",
    "goodput_share": "load.goodput.met.value",
    "error_rate": "load.error_rate.value",
    "schema_valid_rate": "load.schema_valid.value",
    "acceptance_rate": "acceptance.rate",
    "finished_sessions": "finished_sessions.value",
    "errors": "errors",
}
"""Short names of figures; a dotted path into `report --json` works too."""


def check_plan(plan: Plan, origin: str) -> None:
    """Raises PlanError for a condition that does not parse, or an early stop on an unknown metric.

    The plan itself cannot check them: it lies below the metrics.
    """
    for condition in plan.fail_if:
        try:
            parse(condition)
        except PlanError as error:
            raise PlanError(f"{origin}: fail_if: {error}") from None
    stop = plan.stop_when_decided
    if stop is not None and stop not in METRICS:
        raise PlanError(f"{origin}: stop_when_decided {stop!r} is not a metric{nearest(stop, METRICS)}")
    if stop is not None and len(plan.lane) < 2:
        raise PlanError(f"{origin}: stop_when_decided compares lanes, and there is only one")


@dataclass(frozen=True, slots=True)
class Condition:
    text: str
    figure: str
    change: str | None
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        return _COMPARE[self.sign](value, self.bound)


def parse(text: str) -> Condition:
    """Raises PlanError naming the expression and what is wrong with it."""
    match = _PATTERN.match(text)
    if match is None:
        raise PlanError(
            f'--fail-if {text!r} is not FIGURE < NUMBER, for example "usable_turn_rate < 0.95" '
            'or "usable_turn_rate drops by > 0.02"'
        )
    figure, change, sign, bound = match.groups()
    known = list(ALL) if change else list(_PATHS)
    if figure.partition(".")[0] not in known and "." not in figure:
        raise PlanError(f"--fail-if {text!r}: no figure {figure!r}{nearest(figure, known, cutoff=0.4)}")
    return Condition(text, figure, change, sign, float(bound))


def broken(
    conditions: tuple[str, ...], document: dict[str, Any], view: RunView, base: RunView | None = None
) -> list[str]:
    """One sentence per condition and lane that holds. `base`: the run that changes are measured against."""
    reasons = []
    for condition in map(parse, conditions):
        if condition.change:
            reasons += _changes(condition, view, base)
        else:
            reasons += _figures(condition, document)
    return reasons


def _figures(condition: Condition, document: dict[str, Any]) -> list[str]:
    reasons = []
    for lane in document["lanes"]:
        value = _look_up(lane, _PATHS.get(condition.figure, condition.figure))
        if value is not None and condition.holds(value):
            reasons.append(f"{lane['lane']}: {condition.figure} is {value:g} (--fail-if {condition.text!r})")
    return reasons


def _look_up(lane: dict[str, Any], path: str) -> float | None:
    value: Any = lane
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, dict):
        return float(sum(count for count in value.values() if isinstance(count, int | float)))
    return float(value) if isinstance(value, int | float) else None


def _changes(condition: Condition, view: RunView, base: RunView | None) -> list[str]:
    """A change that could be noise breaks nothing."""
    if base is not None:
        view, pairs = against(view, base)
    else:
        pairs = list(lane_pairs(view.lanes, view.lanes[0].name))
    direction = -1 if condition.change == "drops by" else 1
    return [
        f"{pair['conclusion']} (--fail-if {condition.text!r})"
        for pair in compare(view, pairs=pairs, metrics=[condition.figure])
        if pair["decided"] and condition.holds(direction * pair["difference"])
    ]
