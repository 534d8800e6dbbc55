"""Whether a finished run broke a limit: honesty rule 5 and the plan's own limits."""

from __future__ import annotations

from pathlib import Path

from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.journal.several_runs import check_same_traces
from replayer.journal.view import LaneView, load
from replayer.metrics.figures import finished_turns, lane_figures
from replayer.metrics.gate import broken, parse
from replayer.plan.model import Plan


def broken_limits(folder: Path, plan: Plan, lag_p99_ns: int) -> list[str]:
    """One sentence per broken limit; empty when the run holds."""
    view = load(folder)
    reasons = [reason for lane in view.lanes for reason in _lane_reasons(lane, plan)]
    if _lag_counts(plan) and lag_p99_ns > plan.limits.lag_ms * 1e6:
        reasons.append(
            f"the receiving loop was {lag_p99_ns / 1e6:.0f} ms late at the 99th percentile "
            f"(limit {plan.limits.lag_ms:.0f} ms): this machine is too busy for the times to be trusted"
        )
    if not plan.fail_if:
        return reasons
    base = load(find_run(plan.baseline)) if plan.baseline else None
    return reasons + broken(plan.fail_if, [lane_figures(lane) for lane in view.lanes], view, base)


def _lag_counts(plan: Plan) -> bool:
    """Whether a late receiver fails the run. A gate that asks for no time is not turned red by a busy CI runner; a limit of
    the plan's own always counts."""
    own = plan.limits.lag_ms != type(plan.limits)().lag_ms
    return own or not plan.fail_if or any(parse(condition).timed for condition in plan.fail_if)


def check_baseline(plan: Plan, folder: Path) -> None:
    """Raises PlanError, before anything is sent, where the plan's baseline cannot be compared with this run."""
    if plan.baseline is None:
        return
    where = find_run(plan.baseline)
    base = load(where)
    if base.mode != plan.mode:
        raise PlanError(
            f"--baseline {where.name} is a run with {base.mode} history, this one has {plan.mode}"
        )
    check_same_traces([where, folder])
    lanes = {lane.name for lane in base.lanes}
    if len(lanes) > 1 and not lanes & {lane.name for lane in plan.lane}:
        raise PlanError(
            f"--baseline {where.name} has no lane named as one of this run (it has {', '.join(sorted(lanes))})"
        )


def _lane_reasons(lane: LaneView, plan: Plan) -> list[str]:
    turns = finished_turns(lane)
    errors = sum(turn.error is not None for turn in turns)
    reasons = []
    if lane.load is not None and lane.load.outcome == "server_gone":
        reasons.append(f"{lane.name}: its server was gone before the load's time was over")
    if turns and errors / len(turns) > plan.limits.errors:
        reasons.append(
            f"{lane.name}: {errors} of {len(turns)} turns ended in an engine error "
            f"(limit {plan.limits.errors:.0%})"
        )
    whole = [turn for turn in turns if turn.error is None and not turn.stopped]
    if lane.facts.get("promises_done"):
        missing = sum(not turn.done for turn in whole)
        if missing:
            reasons.append(f"{lane.name}: {missing} of {len(whole)} streams ended without [DONE]")
    if lane.facts.get("promises_usage"):
        missing = sum(turn.usage_source != "usage" for turn in whole)
        if missing:
            reasons.append(f"{lane.name}: {missing} of {len(whole)} replies came without usage")
    return reasons
